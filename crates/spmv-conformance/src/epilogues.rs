//! What else becomes of a product in the same pass: another vector in place of `y`, and bounds.

use libtest_mimic::Trial;
use num_traits::Zero;
use spmv_backend::{Backend, Types};
use spmv_core::{Csr, Dtype, Value, Wide, by_dtype, oracle};
use spmv_exec::{Device, Epilogue, Error, Options, Prepared};

use crate::check::{compare, input, nan, number};
use crate::corpus::of_lengths;
use crate::new_values::{N_COLS, is_repeated, matrix, rows_for, ways};
use crate::outcome::Check;
use crate::{Share, Variant, can, is_full, mixed, planned, refusals, trial_where, with_memory};

/// What results are clamped to: some are less, some more.
const BOUNDS: [f64; 2] = [-5.0, 9.0];
/// Alpha and beta to try; by default two of them, in turn.
const SCALINGS: [(f64, f64); 4] = [(1.0, 1.0), (1.0, 0.0), (-2.0, 3.0), (0.0, -1.0)];
/// Entries of a row that is cut by whatever cuts rows.
const LONG: usize = 3000;

/// Trials of a variant: for one type, in turn, and where it is complex for a real one, which has bounds; or for all. As planned, by kernels
/// that other trials compile too.
pub(crate) fn trials<B: Backend, F>(
    label: &str,
    device: &Device<B>,
    variant: &Variant<F>,
    at: usize,
) -> Vec<Trial> {
    let mut trials = Vec::new();
    for (turn, &algorithm) in with_memory(variant, at).iter().enumerate() {
        let mut plain = Share::of(turn + at).part(&Dtype::ALL, Dtype::ALL.len());
        if plain.iter().all(|dtype| dtype.is_complex()) {
            plain.push(Dtype::F32);
        }
        // Of values next to wider vectors one algorithm of three tries them.
        let of_mixed = mixed(turn).into_iter().filter(|_| turn % 3 == 1 || is_full());
        for types in plain.into_iter().map(Types::of).chain(of_mixed) {
            let (name, device) = (format!("{label}/{algorithm}/{types}/epilogues"), device.clone());
            let options = Options { values: Some(types.value), ..planned(algorithm) };
            let dtype = types.vector;
            let can = can(&device, dtype, &options);
            let share = Share::of(turn + at);
            let each = move || by_dtype!(dtype, T => each::<B, T>(&device, &options, share));
            trials.push(trial_where(can, name, Box::new(each)));
        }
    }
    trials
}

/// Of a matrix with a row that is cut, unless its layout would pad that too much, and of one without.
fn each<B: Backend, T: Value>(device: &Device<B>, planned: &Options, share: Share) -> Check {
    let algorithm = planned.algorithm;
    let takes_repeats = algorithm.facts().is_none_or(|facts| !facts.stores_one_nonzero_a_cell);
    let n_rows = rows_for(algorithm, device.caps());
    let lens: Vec<usize> =
        (0..n_rows).map(|r| if r == 40 { LONG } else { [3, 0, 5, 1, 70][r % 5] }).collect();
    let cut = takes_repeats.then(|| of_lengths(&lens, N_COLS).map_values(number));
    let matrices = [Some(matrix::<T>(algorithm, n_rows)), cut];
    for (way, options) in ways::<B, T>(device, planned, None).enumerate() {
        for (i, a) in matrices.iter().flatten().enumerate() {
            let scalings = share.next(way + i).part(&SCALINGS, 2);
            let prepared = refusals::prepare(device, a, &options)?;
            let tried = prepared
                .filter(|one| !is_repeated(one, &options))
                .map(|prepared| check(&prepared, a, &scalings));
            let at = |e| {
                let Options { fixup, regular_width, .. } = options;
                format!("{fixup:?}, width {regular_width:?}, {} entries: {e}", a.nnz())
            };
            tried.unwrap_or(Ok(())).map_err(at)?;
        }
    }
    Ok(0)
}

fn check<B: Backend, T: Value>(
    prepared: &Prepared<B, T>,
    a: &Csr<T>,
    scalings: &[(f64, f64)],
) -> Result<(), String> {
    let fail = |e: Error| e.to_string();
    let (device, n_rows) = (prepared.device(), a.n_rows());
    let x: Vec<T> = (0..N_COLS).map(|i| number(input(i, true))).collect();
    let z: Vec<T::Accum> = (0..n_rows).map(|i| number(input(i + 3, true))).collect();
    let (on_device, mut queue) = (device.upload(&x).map_err(fail)?, device.queue().map_err(fail)?);
    let with_z = device.upload(&z).map_err(fail)?;
    let nans: Vec<T::Accum> = vec![nan(); n_rows];
    let unread = device.upload(&nans).map_err(fail)?;
    let [lo, hi] = BOUNDS.map(number::<T::Accum>);
    for &(alpha, beta) in scalings {
        let reference = oracle::multiply(a.view(), number(alpha), &x, number(beta), &z);
        let clamped = clamped(&reference);
        let (alpha, beta) = (number::<T::Accum>(alpha), number::<T::Accum>(beta));
        let of_z = Epilogue::new().plus(if beta.is_zero() { &unread } else { &with_z });
        let mut y = device.upload(&nans).map_err(fail)?;
        // What must not be read is NaN.
        queue.apply_with(prepared, alpha, &on_device, beta, &mut y, of_z).map_err(fail)?;
        compare(&reference, true, &y.to_vec().map_err(fail)?).map_err(|e| format!("beta*z: {e}"))?;
        if T::DTYPE.is_complex() {
            match queue.apply_with(prepared, alpha, &on_device, beta, &mut y, of_z.clamp(lo, hi)) {
                Err(Error::Bounds { .. }) => continue,
                other => return Err(format!("bounds of complex numbers: {other:?}")),
            }
        }
        y.write(&nans).map_err(fail)?;
        queue.apply_with(prepared, alpha, &on_device, beta, &mut y, of_z.clamp(lo, hi)).map_err(fail)?;
        compare(&clamped, true, &y.to_vec().map_err(fail)?).map_err(|e| format!("clamped, beta*z: {e}"))?;
        y.write(&z).map_err(fail)?;
        let bounds = Epilogue::new().clamp(lo, hi);
        queue.apply_with(prepared, alpha, &on_device, beta, &mut y, bounds).map_err(fail)?;
        compare(&clamped, true, &y.to_vec().map_err(fail)?).map_err(|e| format!("clamped: {e}"))?;
    }
    let unchanged = with_z.to_vec().map_err(fail)? == z;
    if unchanged { Ok(()) } else { Err("z was written".into()) }
}

fn clamped<W: Wide>(reference: &oracle::Reference<W>) -> oracle::Reference<W> {
    let clamp = |v: &W| W::of_parts([v.into_parts()[0].clamp(BOUNDS[0], BOUNDS[1]), 0.0]);
    oracle::Reference { y: reference.y.iter().map(clamp).collect(), ..reference.clone() }
}
