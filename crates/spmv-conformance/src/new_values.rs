//! Values that a prepared matrix is given anew.

use std::sync::Arc;

use libtest_mimic::Trial;
use num_traits::{One, Zero};
use spmv_backend::{Backend, DeviceCaps, Types};
use spmv_core::{Csr, Dtype, Tiling, Value, by_dtype, oracle};
use spmv_exec::{Algorithm, Device, Error, Options, Prepared, Sums};

use crate::check::{compare, input, number};
use crate::corpus::of_lengths;
use crate::faults::{Fault, Faults, Verb};
use crate::outcome::Check;
use crate::probe::Probe;
use crate::watch::{Opened, Watch};
use crate::{
    REGULAR_WIDTHS, Share, Variant, can, fixups, forced, is_full, mixed, planned, refusals, trial,
    trial_where, with_memory,
};

/// Few enough for buffers of 1300 bytes, and odd, so that 16-bit values end within a word.
const N_ROWS: usize = 61;
/// Enough for a part in slots besides one in coordinates, and bytes of a buffer that holds them.
const N_ROWS_OF_BOTH: usize = 8301;
const BYTES_OF_BOTH: u64 = 1 << 20;
/// Enough for slots of diagonals that no row has.
const N_ROWS_IN_LINES: usize = 1101;
pub(crate) const N_COLS: usize = 67;

/// Trials of a variant: for two types, in turn, of algorithms with a layout of their own, and for one of others; or for all.
pub(crate) fn trials<B: Backend, F>(
    label: &str,
    device: &Device<B>,
    variant: &Variant<F>,
    at: usize,
) -> Vec<Trial> {
    let mut trials = Vec::new();
    for (turn, &algorithm) in with_memory(variant, at).iter().enumerate() {
        let tiling = forced(variant, algorithm);
        let in_turn = algorithm.has_own_layout() || is_full();
        let plain = if in_turn { Share::of(turn).part(&Dtype::ALL, 3) } else { vec![Dtype::F32] };
        // Of values next to wider vectors one algorithm of three tries them.
        let of_mixed = mixed(turn).into_iter().filter(|_| in_turn && (turn % 3 == 0 || is_full()));
        let of_types = plain.into_iter().map(Types::of).chain(of_mixed);
        for types in of_types {
            let (name, device) = (format!("{label}/{algorithm}/{types}/new_values"), device.clone());
            let options = Options { values: Some(types.value), ..planned(algorithm) };
            let dtype = types.vector;
            let can = can(&device, dtype, &options);
            let each = move || by_dtype!(dtype, T => each::<B, T>(&device, &options, tiling));
            trials.push(trial_where(can, name, Box::new(each)));
        }
    }
    if at == 0 {
        for algorithm in variant.algorithms.iter().copied().filter(|a| has_own_layout(*a, Sums::Direct)) {
            let device = device.clone();
            let failing = move || failing(&device, algorithm);
            trials.push(trial(format!("{label}/{algorithm}/f32/new_values_that_fail"), Box::new(failing)));
        }
    }
    trials
}

fn has_own_layout(algorithm: Algorithm, sums: Sums) -> bool {
    algorithm.facts().is_some_and(|facts| facts.own_layout && facts.sums == sums)
}

fn each<B: Backend, T: Value>(device: &Device<B>, planned: &Options, tiling: Option<Tiling>) -> Check {
    let opened = Opened::new(device).map_err(|e| e.to_string())?;
    for options in ways::<B, T>(device, planned, tiling) {
        let at = |e| format!("{:?}, width {:?}: {e}", options.fixup, options.regular_width);
        check::<B, T>(&opened, &options).map_err(at)?;
    }
    Ok(0)
}

/// With every width of a regular part, and wherever sums are repaired.
pub(crate) fn ways<'a, B: Backend, T: Value>(
    device: &'a Device<B>,
    planned: &'a Options,
    tiling: Option<Tiling>,
) -> impl Iterator<Item = Options> + 'a {
    let widths = if planned.algorithm.has_own_layout() { &REGULAR_WIDTHS[..] } else { &[None] };
    let all =
        fixups(planned.algorithm).iter().flat_map(move |fixup| widths.iter().map(move |w| (*fixup, *w)));
    all.map(move |(fixup, regular_width)| {
        let asked = Options { tiling, fixup, regular_width, ..*planned };
        let tiling = tiling.filter(|_| can(device, T::DTYPE, &asked).is_ok());
        Options { tiling, ..asked }
    })
}

/// Whether a width was asked for that the algorithm has no use for, so that another of the [`ways`] is the same.
pub(crate) fn is_repeated<B: Backend, T: Value>(prepared: &Prepared<B, T>, asked: &Options) -> bool {
    asked.regular_width.is_some() && prepared.plan().regular_width.is_none()
}

/// Enough for each part of a layout that is multiplied by another algorithm's kernel, and for diagonals that begin with cache lines, if the
/// device can hold so many.
pub(crate) fn rows_for(algorithm: Algorithm, caps: &DeviceCaps) -> usize {
    match algorithm.facts() {
        _ if caps.max_buffer_bytes < BYTES_OF_BOTH => N_ROWS,
        Some(facts) if facts.rates != facts.kernel.stem() => N_ROWS_OF_BOTH,
        Some(facts) if facts.stores_one_nonzero_a_cell => N_ROWS_IN_LINES,
        _ => N_ROWS,
    }
}

/// Empty rows, short ones and a long one; or diagonals that mirror each other until values are set.
pub(crate) fn matrix<T: Value>(algorithm: Algorithm, n_rows: usize) -> Csr<T> {
    if algorithm.facts().is_some_and(|facts| facts.stores_one_nonzero_a_cell) {
        let entries = |row: i64| {
            let cols = [-9, -1, 0, 1, 6].map(|offset| row + offset).into_iter();
            let inside = cols.filter(|col| (0..N_COLS as i64).contains(col));
            inside.map(move |col| (col as u32, number((row.min(col) % 7 + 1) as f64)))
        };
        return Csr::from_rows(N_COLS, (0..n_rows as i64).map(entries)).expect("columns inside");
    }
    let lens: Vec<usize> = (0..n_rows).map(|r| if r == 40 { 66 } else { [3, 0, 5, 1][r % 4] }).collect();
    of_lengths(&lens, N_COLS).map_values(number)
}

/// Values set anew, twice, between runs of one workspace and of a queue that has not been waited for; a few that are too many.
fn check<B: Backend, T: Value>(opened: &Arc<Opened<B>>, options: &Options) -> Result<(), String> {
    let fail = |e: Error| e.to_string();
    let watch = Watch::new(opened, Faults::default());
    let device = Device::new(Probe::new(&watch)).map_err(fail)?;
    let n_rows = rows_for(options.algorithm, device.caps());
    let mut a = matrix::<T>(options.algorithm, n_rows);
    let x: Vec<T> = (0..N_COLS).map(|i| number(input(i, true))).collect();
    let Some(mut prepared) = refusals::prepare(&device, &a, options)? else {
        return Err("the layout refused the matrix".into());
    };
    if is_repeated(&prepared, options) {
        return Ok(());
    }
    let on_device = device.upload(&x).map_err(fail)?;
    let (mut workspace, mut queue) = (prepared.workspace().map_err(fail)?, device.queue().map_err(fail)?);
    let (mut y, mut of_queue) = (device.zeros(n_rows).map_err(fail)?, device.zeros(n_rows).map_err(fail)?);
    let (one, zero) = (T::Accum::one(), T::Accum::zero());
    for (turn, factor) in [3.0, -2.0].into_iter().enumerate() {
        queue.apply(&prepared, one, &on_device, zero, &mut of_queue).map_err(fail)?;
        let new = |(at, old): (usize, &mut T)| *old = number(factor * old.parts()[0] + (at % 5) as f64);
        a.vals_mut().iter_mut().enumerate().for_each(new);
        let taken = watch.faults.takes();
        prepared.set_values(a.vals()).map_err(fail)?;
        if turn > 0 && watch.faults.takes() > taken {
            return Err("later values allocate memory or open a stream".into());
        }
        watch.check()?;
        let reference = oracle::multiply(a.view(), T::Wide::one(), &x, T::Wide::zero(), &vec![zero; n_rows]);
        prepared.apply(&mut workspace, one, &on_device, zero, &mut y).map_err(fail)?;
        compare(&reference, true, &y.to_vec().map_err(fail)?)?;
        queue.apply(&prepared, one, &on_device, zero, &mut of_queue).map_err(fail)?;
        compare(&reference, true, &of_queue.to_vec().map_err(fail)?)?;
    }
    match prepared.set_values(&[T::default()]) {
        Err(Error::Length { .. }) => Ok(()),
        other => Err(format!("one value: {other:?}")),
    }
}

/// Whatever fails before the device begins to write, memory that is short for example: the old values stay.
fn failing<B: Backend>(device: &Device<B>, algorithm: Algorithm) -> Check {
    let fail = |e: Error| e.to_string();
    let opened = Opened::new(device).map_err(|e| e.to_string())?;
    let a = matrix::<f32>(algorithm, N_ROWS);
    let x: Vec<f32> = (0..N_COLS).map(|i| input(i, true) as f32).collect();
    let options = planned(algorithm);
    let doubled: Vec<f32> = a.vals().iter().map(|v| 2.0 * v).collect();
    let reference = oracle::multiply(a.view(), 1.0, &x, 0.0, &[0.0f32; N_ROWS]);
    let twice = oracle::multiply(a.view(), 2.0, &x, 0.0, &[0.0f32; N_ROWS]);
    for nth in 0.. {
        // The first time says which calls there are before.
        let (mut calls, mut gathers) = (0, false);
        for arms in [false, true] {
            let faults = if arms { Faults::armed(calls + nth, Fault::NotDone) } else { Faults::default() };
            let watch = Watch::new(&opened, faults);
            let device = Device::new(Probe::new(&watch)).map_err(fail)?;
            let prepared = refusals::prepare(&device, &a, &options)?;
            let mut prepared = prepared.ok_or("the layout refused the matrix")?;
            calls = watch.faults.calls();
            let set = prepared.set_values(&doubled);
            let launches = watch.faults.of_verbs().contains_key(&Verb::Launch);
            gathers = if arms { gathers } else { launches };
            if launches && arms {
                return if nth > 2 { Ok(0) } else { Err(format!("a launch by call {nth}")) };
            }
            if !gathers && arms && set.is_ok() {
                return if nth > 1 { Ok(0) } else { Err(format!("new values by {nth} calls")) };
            }
            if set.is_ok() == arms {
                return Err(format!("call {nth}, which fails: {arms}: {set:?}"));
            }
            if arms {
                watch.faults.heal();
                let y = product(&prepared, &x).map_err(|e| format!("after a failure of call {nth}: {e}"))?;
                // Values in the order of CSR are overwritten by one copy: what fails after it leaves new ones, all of them.
                let is_old = compare(&reference, true, &y);
                let found =
                    if gathers || nth == 0 { is_old } else { is_old.or_else(|_| compare(&twice, true, &y)) };
                found.map_err(|e| format!("after a failure of call {nth}: {e}"))?;
            }
        }
    }
    Ok(0)
}

fn product<B: Backend>(a: &Prepared<B, f32>, x: &[f32]) -> Result<Vec<f32>, Error> {
    let (x, mut y) = (a.device().upload(x)?, a.device().zeros(N_ROWS)?);
    a.apply(&mut a.workspace()?, 1.0, &x, 0.0, &mut y)?;
    y.to_vec()
}
