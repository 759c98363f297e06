//! Sums of ranges of rows, some of whose entries stand for those that mirror them too.

use spmv_core::Runs;

use super::loops::{INTO_L1, Sources, prefetch_lines};
use super::operand::{RowRange, RunRows, SimdValue};
use super::runs::beyond;

const LONGEST: usize = Runs::LONGEST;
/// Set in the word of a run whose entries are mirrored.
const MIRRORED: u32 = 1 << Runs::LEN_BITS;

/// Asks for what comes some steps after.
#[inline(always)]
fn prefetch<T>(from: *const T, bytes: usize) {
    const AHEAD_BYTES: usize = 4096;
    prefetch_lines::<INTO_L1, _>(from.wrapping_byte_add(AHEAD_BYTES), bytes);
}

#[cold]
#[inline(never)]
fn beyond_range(col: usize, len: usize, range: RowRange, n_sums: usize) -> ! {
    panic!("{len} columns from {col} on, of {n_sums} rows from {} on", range.first_col);
}

/// Body of [`SimdValue::mirrored`].
///
/// # Safety
///
/// The CPU has the features of `L`.
#[inline(always)]
pub(super) unsafe fn mirrored<T: SimdValue, L: Sources<T>>(
    a: &RunRows<'_, T>,
    range: RowRange,
    sums: &mut [T::Accum],
) {
    assert_eq!(sums.len(), range.n_before + a.run_ptr.len() - 1, "a sum for each row");
    let (n_sums, n_cols, n_entries) = (sums.len(), a.x.len(), a.vals.len());
    let (vals, x) = (a.vals.as_ptr(), a.x.as_ptr());
    let mut entry = a.first_entry;
    for (row, ends) in (range.n_before..).zip(a.run_ptr.windows(2)) {
        let runs = &a.runs[ends[0] as usize..ends[1] as usize];
        prefetch(runs.as_ptr(), size_of_val(runs));
        // A row whose number is no column has no mirrored entries.
        let x_row = a.x.get(range.first_col + row).map_or(T::Accum::default(), |x| T::of_x(*x));
        // SAFETY: features by contract; runs are found to end in x, values and sums before these are read or written.
        unsafe {
            let x_row = L::splat(x_row);
            let zero = L::splat(T::Accum::default());
            let (mut even, mut odd) = (zero, zero);
            for run in runs {
                let (col, len) =
                    ((run >> (Runs::LEN_BITS + 1)) as usize, LONGEST - (*run as usize) % LONGEST);
                let end = entry + len;
                if col + len > n_cols || end > n_entries {
                    beyond(col, len, n_cols, end, n_entries);
                }
                prefetch(vals.add(entry), 1);
                let val = L::load_first(vals.add(entry), len);
                (even, odd) = (odd, L::mul_add(val, L::load_first(x.add(col), len), even));
                if run & MIRRORED != 0 {
                    let at = col.wrapping_sub(range.first_col);
                    if at >= n_sums || len > n_sums - at {
                        beyond_range(col, len, range, n_sums);
                    }
                    let sum = sums.as_mut_ptr().add(at);
                    L::write_first(sum, len, L::mul_add(val, x_row, L::load_first(sum.cast_const(), len)));
                }
                entry = end;
            }
            // What an entry on the diagonal added there is overwritten.
            sums[row] = L::sum(L::add(even, odd));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use spmv_core::Value;

    use super::super::isa::Isa;
    use super::*;
    use crate::numbers::for_all_numbers;

    fn run(col: u32, len: u32, mirrored: bool) -> u32 {
        (col << (Runs::LEN_BITS + 1)) + if mirrored { MIRRORED } else { 0 } + LONGEST as u32 - len
    }

    /// Rows 10 to 17 of a matrix, with entries in columns from 4 on that are mirrored, and others.
    fn check_sums<T: SimdValue>() {
        let range = RowRange { first_col: 4, n_before: 6 };
        let (mut run_ptr, mut runs, mut entries) = (vec![0], Vec::new(), Vec::new());
        for row in 10..18u32 {
            for (col, len, mirrored) in
                [(0, 3, false), (row - 6, 1 + row % 7, true), (row, 1, true), (18, row % 8 + 1, false)]
            {
                runs.push(run(col, len, mirrored));
                entries.extend((col..col + len).map(|col| (row, col, mirrored && col != row)));
            }
            run_ptr.push(runs.len() as u32);
        }
        let val = |at: usize| (at % 5) as f64 + 1.0;
        let x_of = |col: u32| f64::from(col % 7) - 3.0;
        let mut expected = [0.0; 14];
        for (at, (row, col, mirrored)) in entries.iter().enumerate() {
            expected[*row as usize - 4] += val(at) * x_of(*col);
            if *mirrored {
                expected[*col as usize - 4] += val(at) * x_of(*row);
            }
        }
        let vals: Vec<T::Val> = (0..entries.len()).map(|at| Value::from_f64(val(at))).collect();
        let x: Vec<T::Vector> = (0..26).map(|col| Value::from_f64(x_of(col))).collect();
        let a = RunRows::<T> { run_ptr: &run_ptr, first_entry: 0, runs: &runs, vals: &vals, x: &x };
        for isa in Isa::available() {
            // Sums of rows before are clear, others are whatever they were.
            let mut sums = vec![<T::Accum as Value>::from_f64(f64::NAN); 14];
            sums[..6].fill(<T::Accum as Value>::from_f64(0.0));
            T::mirrored(isa, &a, range, &mut sums);
            let expected: Vec<T::Accum> = expected.iter().map(|sum| Value::from_f64(*sum)).collect();
            assert_eq!(sums, expected, "{isa:?}");
        }
    }

    #[test]
    fn an_entry_is_added_to_the_row_of_its_column_too() {
        for_all_numbers!(check_sums);
    }

    #[test]
    fn what_is_beyond_an_end_is_a_panic() {
        let (vals, x) = ([1.0f64; 8], [1.0f64; 20]);
        for isa in Isa::available() {
            let panics = |code: u32, n_entries: usize| {
                let runs = [code];
                let a = RunRows::<f64> {
                    run_ptr: &[0, 1],
                    first_entry: 0,
                    runs: &runs,
                    vals: &vals[..n_entries],
                    x: &x,
                };
                let range = RowRange { first_col: 8, n_before: 4 };
                catch_unwind(|| f64::mirrored(isa, &a, range, &mut [0.0; 5])).is_err()
            };
            assert!(!panics(run(8, 5, true), 8) && !panics(run(3, 8, false), 8), "{isa:?}");
            assert!(panics(run(8, 6, true), 8), "{isa:?}: behind the range");
            assert!(panics(run(7, 2, true), 8), "{isa:?}: before the range");
            assert!(panics(run(13, 8, false), 8), "{isa:?}: behind x");
            assert!(panics(run(8, 5, true), 4), "{isa:?}: behind the values");
        }
    }
}
