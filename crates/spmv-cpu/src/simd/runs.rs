//! Sums of rows of runs: a run is one masked load of values and one of x, and no element of x is loaded by itself.

use std::ops::Range;

use spmv_core::Runs;

use super::loops::{INTO_L1, Sources, check, eight, eight_mut, prefetch_lines, store};
use super::operand::{LANES, RunRows, SimdValue};

/// Runs of a step, each with a sum of its own: four sums hide the latency of the additions.
const STEP: usize = 4;
const LONGEST: usize = Runs::LONGEST;

/// Asks for what comes some steps after: the hardware alone does not keep up, as in the loops over CSR.
#[inline(always)]
fn prefetch<T>(runs: *const u32, vals: *const T) {
    const AHEAD_BYTES: usize = 4096;
    // Of the greatest length: lines left out of a stream, as of every other one, also keep the hardware from asking for them.
    prefetch_lines::<INTO_L1, _>(runs.wrapping_byte_add(AHEAD_BYTES), STEP * size_of::<u32>());
    prefetch_lines::<INTO_L1, _>(vals.wrapping_byte_add(AHEAD_BYTES), STEP * LONGEST * size_of::<T>());
}

#[cold]
#[inline(never)]
pub(super) fn beyond(col: usize, len: usize, n_cols: usize, end: usize, n_entries: usize) -> ! {
    panic!("{len} columns from {col} on of {n_cols}, and entries up to {end} of {n_entries}");
}

/// The first column of a run, and how many entries it has.
#[inline(always)]
fn parts(run: u32) -> (usize, usize) {
    ((run >> Runs::LEN_BITS) as usize, LONGEST - (run as usize) % LONGEST)
}

/// Adds the products of a run whose entries begin at `entry`; where the next run's do.
///
/// # Safety
///
/// The CPU has the features of `L`.
#[inline(always)]
unsafe fn add_checked<T: SimdValue, L: Sources<T>>(
    a: &RunRows<'_, T>,
    run: u32,
    entry: usize,
    sums: L::V,
) -> (L::V, usize) {
    let (col, len) = parts(run);
    let end = entry + len;
    if col + len > a.x.len() || end > a.vals.len() {
        beyond(col, len, a.x.len(), end, a.vals.len());
    }
    // SAFETY: so many of both are there, as was just checked; features by contract.
    let sums = unsafe {
        let (vals, x) = (a.vals.as_ptr().add(entry), a.x.as_ptr().add(col));
        L::mul_add(L::load_first(vals, len), L::load_first(x, len), sums)
    };
    (sums, end)
}

/// Eight partial sums of a row whose entries begin at `entry`, and where the next row's do.
///
/// # Safety
///
/// The CPU has the features of `L`.
#[inline(always)]
unsafe fn row<T: SimdValue, L: Sources<T>>(
    a: &RunRows<'_, T>,
    runs: Range<usize>,
    mut entry: usize,
) -> (L::V, usize) {
    let (vals, x) = (a.vals.as_ptr(), a.x.as_ptr());
    let (n_entries, n_cols) = (a.vals.len(), a.x.len());
    // Runs of the greatest length fit where they are less, and a step of such runs before that entry.
    let first_beyond = n_cols.saturating_sub(LONGEST - 1).saturating_mul(LONGEST);
    let last_entry = n_entries.saturating_sub(STEP * LONGEST);
    let (steps, rest) = a.runs[runs].as_chunks::<STEP>();
    // SAFETY: features by contract; runs were found to fit, those of a step by a comparison for each and one for all their entries.
    unsafe {
        let zero = L::splat(T::Accum::default());
        let mut sums = [zero; STEP];
        for step in steps {
            prefetch(step.as_ptr(), vals.wrapping_add(entry));
            if entry < last_entry && step.iter().all(|run| (*run as usize) < first_beyond) {
                for (run, sums) in step.iter().zip(&mut sums) {
                    let (col, len) = parts(*run);
                    *sums = L::add_first(vals.add(entry), x.add(col), len, *sums);
                    entry += len;
                }
            } else {
                for (run, sums) in step.iter().zip(&mut sums) {
                    (*sums, entry) = add_checked::<T, L>(a, *run, entry, *sums);
                }
            }
        }
        for run in rest {
            (sums[0], entry) = add_checked::<T, L>(a, *run, entry, sums[0]);
        }
        let [s0, s1, s2, s3] = sums;
        (L::add(L::add(s0, s1), L::add(s2, s3)), entry)
    }
}

/// Body of [`SimdValue::runs`].
///
/// # Safety
///
/// The CPU has the features of `L`.
#[inline(always)]
pub(super) unsafe fn runs<T: SimdValue, L: Sources<T>>(
    a: &RunRows<'_, T>,
    alpha: T::Accum,
    beta: T::Accum,
    y: &mut [T::Accum],
) {
    assert_eq!(a.run_ptr.len(), y.len() + 1, "one row more than ends");
    let of_row = |row: usize| a.run_ptr[row] as usize..a.run_ptr[row + 1] as usize;
    let mut entry = a.first_entry;
    let whole = y.len() - y.len() % LANES;
    for first in (0..whole).step_by(LANES) {
        check(eight(a.run_ptr, first), a.runs.len());
        // SAFETY: features by contract.
        unsafe {
            let mut sums = [L::splat(T::Accum::default()); LANES];
            for (at, sums) in (first..).zip(&mut sums) {
                (*sums, entry) = row::<T, L>(a, of_row(at), entry);
            }
            store::<T::Accum, L>(eight_mut(y, first), L::sum_each(sums), alpha, beta);
        }
    }
    for (at, y) in (whole..).zip(&mut y[whole..]) {
        // SAFETY: features by contract.
        let sum = unsafe {
            let (sums, next) = row::<T, L>(a, of_row(at), entry);
            entry = next;
            L::sum(sums)
        };
        *y = crate::kernels::prelude::store(alpha, sum, beta, *y);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use spmv_core::Value;

    use super::super::isa::Isa;
    use super::*;
    use crate::numbers::for_all_numbers;

    /// Rows of runs of `(first column, entries)`, whose values count up from one.
    struct Rows<T: SimdValue> {
        run_ptr: Vec<u32>,
        runs: Vec<u32>,
        vals: Vec<T::Val>,
        x: Vec<T::Vector>,
        sums: Vec<f64>,
    }

    impl<T: SimdValue> Rows<T> {
        /// Of short numbers, so that no sum is rounded.
        fn new(rows: &[Vec<(u32, u32)>], n_cols: usize) -> Self {
            let x: Vec<f64> = (0..n_cols).map(|col| (col % 7) as f64 - 3.0).collect();
            let (mut run_ptr, mut runs, mut vals, mut sums) = (vec![0], vec![], vec![], vec![]);
            for row in rows {
                let mut sum = 0.0;
                for (col, len) in row {
                    runs.push((col << Runs::LEN_BITS) + LONGEST as u32 - len);
                    for at in *col..col + len {
                        let val = (vals.len() % 5) as f64 + 1.0;
                        sum += val * x[at as usize];
                        vals.push(val);
                    }
                }
                run_ptr.push(runs.len() as u32);
                sums.push(sum);
            }
            let vals = vals.into_iter().map(Value::from_f64).collect();
            Self { run_ptr, runs, vals, x: x.into_iter().map(Value::from_f64).collect(), sums }
        }

        fn rows(&self) -> RunRows<'_, T> {
            let Self { run_ptr, runs, vals, x, .. } = self;
            RunRows { run_ptr, first_entry: 0, runs, vals, x }
        }
    }

    fn check_sums<T: SimdValue>() {
        // Runs of every length, rows of up to nine of them, and rows before and behind the last eight.
        let rows: Vec<Vec<_>> = (0..21u32)
            .map(|row| (0..row % 10).map(|run| ((row * 5 + run * 11) % 90, (row + run) % 8 + 1)).collect())
            .collect();
        let a = Rows::<T>::new(&rows, 97);
        for isa in Isa::available() {
            let mut y = vec![<T::Accum as Value>::from_f64(2.0); rows.len()];
            T::runs(
                isa,
                &a.rows(),
                <T::Accum as Value>::from_f64(2.0),
                <T::Accum as Value>::from_f64(0.5),
                &mut y,
            );
            let wanted: Vec<f64> = a.sums.iter().map(|sum| 2.0 * sum + 1.0).collect();
            assert_eq!(y.iter().map(|y| y.parts()[0]).collect::<Vec<_>>(), wanted, "{isa:?}");
        }
    }

    #[test]
    fn rows_are_the_sums_of_their_runs() {
        for_all_numbers!(check_sums);
    }

    #[test]
    fn what_is_next_to_a_run_is_not_read() {
        let mut a = Rows::<f32>::new(&[vec![(3, 2)], vec![(0, 1)]], 6);
        for col in [1, 2, 5] {
            a.x[col] = f32::NAN;
        }
        for isa in Isa::available() {
            let mut y = [f32::NAN; 2];
            f32::runs(isa, &a.rows(), 1.0, 0.0, &mut y);
            assert_eq!(y.map(f64::from).to_vec(), a.sums, "{isa:?}");
        }
    }

    #[test]
    fn runs_beyond_x_or_the_values_are_refused() {
        let a = Rows::<f64>::new(&[vec![(3, 3)]], 6);
        for isa in Isa::available() {
            for a in [
                RunRows { x: &a.x[..5], ..a.rows() },
                RunRows { vals: &a.vals[..2], ..a.rows() },
                RunRows { first_entry: 1, ..a.rows() },
                RunRows { runs: &[], ..a.rows() },
            ] {
                assert!(catch_unwind(|| f64::runs(isa, &a, 1.0, 0.0, &mut [0.0])).is_err(), "{isa:?} {a:?}");
            }
        }
    }
}
