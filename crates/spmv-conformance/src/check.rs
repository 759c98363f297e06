//! One matrix on one device, from poison, twice, against the oracle.

use num_traits::Float;
use spmv_backend::Backend;
use spmv_core::tiling::{TileSpan, split_rows};
use spmv_core::{Accum, Csr, CsrView, Value, Wide, by_dtype, oracle};
use spmv_exec::{Device, DeviceVec, Options, Prepared, Repair, Workspace};

use crate::outcome::{Check, Checked};
use crate::{corpus, expected, refusals};

/// Multiplies the matrix of a case (converted to `T`) in each of the scalings, on device vectors and on host slices.
///
/// An exact case demands the oracle's very numbers: for small integers, whose sums are exact in any order.
/// Otherwise the rounding error bound must hold.
///
/// # Errors
/// The first fault, in words.
pub fn check<B: Backend, T: Value>(
    device: &Device<B>,
    options: &Options,
    case: &corpus::Case,
    scalings: &[(f64, f64)],
) -> Checked {
    let mut a = case.matrix.map_values(|val| stored_as::<T>(val, options));
    if options.algorithm.facts().is_some_and(|facts| facts.stores_one_nonzero_a_cell) {
        a = refusals::without_repeats_and_zeros(&a);
    }
    let Some(prepared) = refusals::prepare(device, &a, options)? else { return Ok(None) };
    let prepared = if case.wide { of_wide_offsets(device, &a, options)? } else { prepared };
    let mut workspace = prepared.workspace().map_err(|e| format!("workspace: {e}"))?;
    let x: Vec<T> = (0..a.n_cols()).map(|i| number(case.x(i))).collect();
    let mut dirty = 0;
    for &(alpha, beta) in scalings {
        let run = Multiplication { a: &a, x: &x, alpha, beta, exact: case.exact };
        dirty = run
            .run(&prepared, &mut workspace)
            .map_err(|e| format!("alpha {alpha}, beta {beta}, {}: {e}", prepared.plan().kernel))?;
    }
    Ok(Some(dirty))
}

/// A value as the options have it kept.
pub(crate) fn stored_as<T: Value>(val: f64, options: &Options) -> T {
    match options.values {
        Some(dtype) => by_dtype!(dtype, V => T::from_parts(<V as Value>::from_f64(val).parts())),
        None => number(val),
    }
}

/// A number made of a real one. Of complex types it has a small whole imaginary part, that of zero is zero.
///
/// ```
/// use spmv_conformance::number;
/// use spmv_core::c32;
/// assert_eq!((number::<f32>(2.0), number::<c32>(2.0)), (2.0, c32::new(2.0, 2.0)));
/// ```
pub fn number<T: Value>(re: f64) -> T {
    /// Greater numbers have no imaginary part.
    const MOST: f64 = 1e6;
    let has_both = T::DTYPE.is_complex() && re != 0.0 && re.abs() < MOST;
    T::from_parts([re, if has_both { (re.abs() * 7.0).floor() % 5.0 - 2.0 } else { 0.0 }])
}

/// What is no number, in both parts.
pub(crate) fn nan<T: Value>() -> T {
    T::from_parts([f64::NAN; 2])
}

/// The value at an index of `x` or `y`: small integers, or values whose products round.
pub fn input(i: usize, exact: bool) -> f64 {
    let small = (i * 7 % 9) as f64 - 4.0;
    if exact { small } else { small / 3.0 + 0.1 }
}

/// The same matrix with row offsets of 64 bits.
fn of_wide_offsets<B: Backend, T: Value>(
    device: &Device<B>,
    a: &Csr<T>,
    options: &Options,
) -> Result<Prepared<B, T>, String> {
    let row_ptr: Vec<u64> = a.row_ptr().iter().map(|offset| *offset as u64).collect();
    let wide =
        CsrView::new(a.n_rows(), a.n_cols(), &row_ptr, a.cols(), a.vals()).map_err(|e| e.to_string())?;
    device.prepare(wide, options).map_err(|e| format!("prepare: {e}"))
}

struct Multiplication<'a, T> {
    a: &'a Csr<T>,
    x: &'a [T],
    alpha: f64,
    beta: f64,
    exact: bool,
}

impl<T: Value> Multiplication<'_, T> {
    fn run<B: Backend>(&self, prepared: &Prepared<B, T>, workspace: &mut Workspace<B, T>) -> Check {
        let (alpha, beta) = (number::<T::Accum>(self.alpha), number::<T::Accum>(self.beta));
        // What must not be read starts as NaN.
        let old: Vec<T::Accum> = (0..self.a.n_rows())
            .map(|i| if self.beta == 0.0 { nan() } else { number(input(i, self.exact)) })
            .collect();
        let reference = self.reference(self.a, self.x, &old);

        let device = prepared.device();
        let fail = |e: spmv_exec::Error| e.to_string();
        let x = device.upload(self.x).map_err(fail)?;
        let mut y = device.upload(&old).map_err(fail)?;
        let stats = prepared.apply(workspace, alpha, &x, beta, &mut y).map_err(fail)?;
        let first = y.to_vec().map_err(fail)?;
        let compared = compare(&reference, self.exact, &first);
        if compared.is_err() && device.caps().flushes_subnormals {
            self.compare_flushed(&old, &first).or(compared)?;
        } else {
            compared?;
        }

        let dirty = match prepared.plan().repair {
            Repair::Device => workspace.dirty_tiles(prepared).map_err(fail)?,
            _ => stats.dirty_tiles.unwrap_or(0),
        };
        let expected = expected_dirty(self.a, prepared);
        if dirty != expected {
            return Err(format!("{dirty} dirty tiles reported, {expected} are"));
        }

        // The second run starts from what the first left behind.
        if self.beta != 0.0 {
            y.write(&old).map_err(fail)?;
        }
        prepared.apply(workspace, alpha, &x, beta, &mut y).map_err(fail)?;
        same_bits("the second run", &first, &y.to_vec().map_err(fail)?)?;

        self.capture(prepared, workspace, &x, &old, &first)?;
        let mut on_host = old.clone();
        prepared.apply_slices(workspace, alpha, self.x, beta, &mut on_host).map_err(fail)?;
        same_bits("the run on host slices", &first, &on_host)?;
        Ok(dirty)
    }

    /// Compares with the product of what is left where subnormal numbers are taken for zero.
    fn compare_flushed(&self, old: &[T::Accum], y: &[T::Accum]) -> Result<(), String> {
        let a = self.a.map_values(flushed);
        let x: Vec<T> = self.x.iter().map(|v| flushed(*v)).collect();
        compare(&self.reference(&a, &x, old), self.exact, y)
    }

    fn reference(&self, a: &Csr<T>, x: &[T], old: &[T::Accum]) -> oracle::Reference<T::Wide> {
        oracle::multiply(a.view(), number(self.alpha), x, number(self.beta), old)
    }

    /// Captured runs, where the device has them, give the same bits: alone and several together, replayed or not.
    fn capture<B: Backend>(
        &self,
        prepared: &Prepared<B, T>,
        workspace: &mut Workspace<B, T>,
        x: &DeviceVec<B, T>,
        old: &[T::Accum],
        first: &[T::Accum],
    ) -> Result<(), String> {
        let (alpha, beta) = (number::<T::Accum>(self.alpha), number::<T::Accum>(self.beta));
        let fail = |e: spmv_exec::Error| e.to_string();
        if !expected::captures::<B>() {
            return Ok(());
        }
        // With beta, several runs are not what one is.
        let counts: &[u32] =
            if self.beta == 0.0 && prepared.plan().repair != Repair::Host { &[1, 2, 3] } else { &[1] };
        for &runs in counts {
            let mut y = prepared.device().upload(old).map_err(fail)?;
            for _ in 0..3 {
                y.write(old).map_err(fail)?;
                let captured = prepared.capture(workspace, runs, alpha, x, beta, &mut y);
                let mut graph = captured.map_err(|e| format!("capturing {runs} runs: {e}"))?;
                for _ in 0..if self.beta == 0.0 { 3 } else { 1 } {
                    graph.replay().map_err(|e| format!("replaying {runs} runs: {e}"))?;
                }
                drop(graph);
                same_bits("a captured run", first, &y.to_vec().map_err(fail)?)?;
                if prepared.plan().repair == Repair::Device {
                    let dirty = workspace.dirty_tiles(prepared).map_err(fail)?;
                    let expected = expected_dirty(self.a, prepared);
                    if dirty != expected {
                        return Err(format!("{dirty} dirty tiles after captured runs, {expected} are"));
                    }
                }
            }
        }
        // A run after captured ones finds its counters as it needs them.
        let mut y = prepared.device().upload(old).map_err(fail)?;
        prepared.apply(workspace, alpha, x, beta, &mut y).map_err(fail)?;
        same_bits("the run after captured ones", first, &y.to_vec().map_err(fail)?)
    }
}

/// Compares with the oracle: the very numbers if they are exact, else within their rounding error bound.
///
/// # Errors
/// What differs, in words.
pub fn compare<A: Accum, W: Wide>(
    reference: &oracle::Reference<W>,
    exact: bool,
    y: &[A],
) -> Result<(), String> {
    if exact {
        return match reference.first_difference(y) {
            None => Ok(()),
            Some(row) => Err(format!("row {row} is {:?}, must be {:?}", y.get(row), reference.y.get(row))),
        };
    }
    let ratio = reference.error_over_bound(y);
    if ratio <= 1.0 { Ok(()) } else { Err(format!("the error is {ratio:.3} times its bound")) }
}

/// A value as devices take it that take subnormal numbers of sums for zero.
///
/// ```
/// use spmv_conformance::flushed;
/// assert_eq!((flushed(1e-40f32), flushed(1e-30f32)), (0.0, 1e-30));
/// ```
pub fn flushed<T: Value>(value: T) -> T {
    let least = <T::Accum as Accum>::Part::min_positive_value().widen();
    T::from_parts(value.parts().map(|part| if part.abs() < least { 0.0 } else { part }))
}

/// Compares a result with that of an earlier run.
///
/// ```
/// use spmv_conformance::same_bits;
/// assert!(same_bits("the second run", &[1.0, f64::NAN], &[1.0, f64::NAN]).is_ok());
/// assert!(same_bits("the second run", &[1.0, 0.0], &[1.0, -0.0]).is_err());
/// assert!(same_bits("the second run", &[1.0, 0.0], &[1.0]).is_err());
/// ```
///
/// # Errors
/// The first row that differs, in words, or the lengths.
pub fn same_bits<A: Value>(what: &str, first: &[A], second: &[A]) -> Result<(), String> {
    if first.len() != second.len() {
        return Err(format!("{what} gave {} rows, the first {}", second.len(), first.len()));
    }
    let bits = |v: &A| v.parts().map(f64::to_bits);
    match first.iter().zip(second).position(|(a, b)| bits(a) != bits(b)) {
        None => Ok(()),
        Some(row) => Err(format!("{what} gave {} in row {row}, the first {}", second[row], first[row])),
    }
}

/// How many tiles hold an empty row, found the slow way in every part.
fn expected_dirty<B: Backend, T: Value>(a: &Csr<T>, prepared: &Prepared<B, T>) -> u32 {
    let plan = prepared.plan();
    if plan.repair == Repair::None {
        return 0;
    }
    let mut dirty = 0;
    for piece in split_rows(a.row_ptr(), plan.max_entries, plan.max_rows) {
        let clip =
            |o: &u32| (*o as usize).clamp(piece.entries.start, piece.entries.end) - piece.entries.start;
        let row_ptr: Vec<u32> =
            a.row_ptr()[piece.rows.start..=piece.rows.end].iter().map(|o| clip(o) as u32).collect();
        let tiling = &plan.kernel.tiling;
        let tiles = 0..tiling.n_tiles(piece.entries.len() as u32);
        dirty += tiles.filter(|&t| TileSpan::of(tiling, t, &row_ptr).is_dirty(&row_ptr)).count();
    }
    dirty as u32
}
