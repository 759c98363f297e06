//! Every instruction set against a plain loop, for each value type.

use std::ops::Range;

use spmv_core::Value;

use super::{Columns, Isa, Onto, Operand, PaddedColumns, SimdValue, Slots};
use crate::numbers::{Numbers, for_all_numbers};

/// Numbers of each type, and back.
trait Test: SimdValue {
    const EPS: f64 = if size_of::<Self::Accum>() == 4 { 1e-6 } else { 1e-14 };

    fn val(v: f64) -> Self::Val {
        Value::from_f64(v)
    }

    fn vector(v: f64) -> Self::Vector {
        Value::from_f64(v)
    }

    fn accum(v: f64) -> Self::Accum {
        Value::from_f64(v)
    }

    fn back(sum: Self::Accum) -> f64 {
        sum.parts()[0]
    }

    /// The product of a value with an element of `x`, of few digits each.
    fn product(val: Self::Val, x: Self::Vector) -> f64 {
        val.parts()[0] * x.parts()[0]
    }
}

impl<T: SimdValue> Test for T {}

/// Entries with some infinite and NaN values, which rows that do not contain them must not see.
struct Case<T: Numbers> {
    cols: Vec<u32>,
    vals: Vec<T::Val>,
    x: Vec<T::Vector>,
}

impl<T: Test> Case<T> {
    fn new(n: usize, poison: impl Fn(usize) -> bool) -> Self {
        let mut seed = 1_u32;
        let mut next = |below: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) % below
        };
        Self {
            cols: (0..n).map(|_| next(97)).collect(),
            vals: (0..n)
                .map(|e| if poison(e) { f64::NAN } else { f64::from(next(64)) / 16.0 - 2.0 })
                .map(T::val)
                .collect(),
            x: (0..97).map(|_| T::vector(f64::from(next(64)) / 16.0 - 2.0)).collect(),
        }
    }

    fn operand(&self) -> Operand<'_, T> {
        // SAFETY: columns were taken below 97, the length of x.
        let cols = unsafe { Columns::new_unchecked(&self.cols, self.x.len()) };
        Operand::<T>::new(cols, &self.vals, &self.x)
    }

    fn sum(&self, range: Range<usize>) -> f64 {
        range.map(|e| T::product(self.vals[e], self.x[self.cols[e] as usize])).sum()
    }
}

fn close<T: Test>(got: f64, want: f64, scale: f64, what: &str) {
    assert!((got - want).abs() <= T::EPS * scale.max(1.0), "{what}: {got} for {want}");
}

fn dots<T: Test>() {
    for isa in Isa::available() {
        for start in 0..16 {
            for len in 0..70 {
                let case = Case::<T>::new(100, |e| e < start || e >= start + len);
                let got = T::back(T::dot(isa, &case.operand(), start..start + len));
                close::<T>(got, case.sum(start..start + len), 4.0 * len as f64, isa.name());
            }
        }
    }
}

fn all_rows<T: Test>() {
    // Empty, short, equal, mixed and long rows, and each with an end that is not a multiple of eight.
    let mixes: [&[u32]; 12] = [
        &[0],
        &[1],
        &[4],
        &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
        &[0, 1, 2, 3, 4],
        &[1, 8, 5, 3, 2],
        &[9, 1, 1, 1, 1, 1, 1],
        &[16, 9, 17, 3, 2, 12],
        &[1, 1, 1, 60, 1, 1, 1, 1, 1],
        &[30, 31, 32, 33, 0],
        &[2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 300],
        &[96, 0, 0, 0, 0, 0, 0, 0],
    ];
    for isa in Isa::available() {
        for (mix, lens) in mixes.iter().enumerate() {
            for rows in [0, 1, 7, 8, 9, 31, 600, 1203] {
                // Many rows begin at one of them, in turn.
                let firsts = [0, 3, 11];
                for &first in if rows > 31 { &firsts[mix % 3..][..1] } else { &firsts[..] } {
                    check_rows::<T>(isa, lens, rows, first, &format!("{} {mix} {rows} {first}", isa.name()));
                }
            }
        }
    }
}

fn check_rows<T: Test>(isa: Isa, lens: &[u32], rows: usize, first: u32, what: &str) {
    let mut ptr = vec![first];
    ptr.extend(lens.iter().cycle().take(rows).scan(first, |end, len| {
        *end += len;
        Some(*end)
    }));
    let end = ptr[rows] as usize;
    // One row of NaN shows whether others read it.
    let nan = rows / 2;
    let bad = if rows > 0 { ptr[nan] as usize..ptr[nan + 1] as usize } else { 0..0 };
    let case = Case::<T>::new(end + 5, |e| e < first as usize || e >= end || bad.contains(&e));
    for (alpha, beta, old) in [(2.0, 0.0, f64::NAN), (-1.0, 0.5, 3.0)] {
        let mut y = vec![T::accum(old); rows];
        T::rows(isa, &case.operand(), &ptr, T::accum(alpha), T::accum(beta), &mut y);
        for (row, &y) in y.iter().enumerate() {
            let range = ptr[row] as usize..ptr[row + 1] as usize;
            let len = range.len() as f64;
            if row == nan && len > 0.0 {
                assert!(T::back(y).is_nan(), "{what}: row {row}");
                continue;
            }
            let want = alpha * case.sum(range) + if beta == 0.0 { 0.0 } else { beta * old };
            close::<T>(T::back(y), want, 8.0 * len + 2.0, &format!("{what}: row {row}"));
        }
    }
}

#[test]
fn dot_matches_a_plain_loop() {
    for_all_numbers!(dots);
}

#[test]
fn rows_match_a_plain_loop() {
    for_all_numbers!(all_rows);
}

fn stencils<T: Test>() {
    // A row that breaks the pattern in each row of a group, and none.
    for odd in 24..41 {
        let mut case = Case::<T>::new(4 * 64, |_| false);
        for (e, col) in case.cols.iter_mut().enumerate() {
            *col = [0, 9, 10, 33][e % 4] + e as u32 / 4;
        }
        case.cols[4 * odd + 2] += u32::from(odd < 40);
        let ptr = (0..=64).map(|row| 4 * row).collect::<Vec<u32>>();
        for isa in Isa::available() {
            let mut y = vec![T::accum(f64::NAN); 64];
            T::rows(isa, &case.operand(), &ptr, T::accum(1.0), T::accum(0.0), &mut y);
            for (row, &y) in y.iter().enumerate() {
                close::<T>(T::back(y), case.sum(4 * row..4 * row + 4), 16.0, isa.name());
            }
        }
    }
}

#[test]
fn stencils_match_a_plain_loop() {
    for_all_numbers!(stencils);
}

#[test]
fn bad_row_pointers_panic() {
    let case = Case::<f64>::new(64, |_| false);
    let ascending = (0..=16).collect::<Vec<u32>>();
    for (at, end) in [(3, 9), (3, u32::MAX), (8, 0), (16, 65), (16, 3), (12, 70)] {
        let mut ptr = ascending.clone();
        ptr[at] = end;
        for isa in Isa::available() {
            let run = || f64::rows(isa, &case.operand(), &ptr, 1.0, 0.0, &mut [0.0; 16]);
            assert!(std::panic::catch_unwind(run).is_err(), "{at} {end} {}", isa.name());
        }
    }
}

#[test]
fn bad_ranges_panic() {
    let case = Case::<f32>::new(64, |_| false);
    for isa in Isa::available() {
        for range in [60..65, 65..65, Range { start: 9, end: 8 }] {
            let run = || f32::dot(isa, &case.operand(), range.clone());
            assert!(std::panic::catch_unwind(run).is_err(), "{}", isa.name());
        }
    }
}

fn side_by_side<T: Test>() {
    const STRIDE: usize = 37;
    const N: usize = 11;
    let mut case = Case::<T>::new(STRIDE * N, |_| false);
    // Rows of 0 to 11 entries, in no order, and eight long ones next to each other.
    let lens: Vec<usize> = (0..STRIDE).map(|row| if row / 8 == 2 { N } else { row * 5 % (N + 1) }).collect();
    for (at, col) in case.cols.iter_mut().enumerate() {
        if at / STRIDE >= lens[at % STRIDE] {
            *col = spmv_core::format::PADDING;
            case.vals[at] = T::val(f64::NAN);
        }
    }
    // SAFETY: columns are those of a case, below the length of x, or padding.
    let cols = unsafe { PaddedColumns::new_unchecked(&case.cols, case.x.len()) };
    let slots = Slots::<T>::new(cols, &case.vals, &case.x);
    let product = |at: usize| T::product(case.vals[at], case.x[case.cols[at] as usize]);
    for (isa, first) in Isa::available().into_iter().flat_map(|isa| [0, 5].map(|first| (isa, first))) {
        let mut sums = vec![T::accum(f64::NAN); STRIDE - first];
        T::slots(isa, &slots, first, STRIDE, N, &mut sums);
        for (row, sum) in (first..).zip(&sums) {
            let want = (0..lens[row]).map(|k| product(row + k * STRIDE)).sum();
            close::<T>(T::back(*sum), want, 50.0, &format!("{} row {row}", isa.name()));
        }
        let beyond = std::panic::AssertUnwindSafe(|| {
            T::slots(isa, &slots, first + 1, STRIDE, N, &mut vec![T::accum(0.0); STRIDE - first])
        });
        assert!(std::panic::catch_unwind(beyond).is_err(), "{}", isa.name());
    }
}

#[test]
fn rows_side_by_side_match_a_plain_loop() {
    for_all_numbers!(side_by_side);
}

fn on_diagonals<T: Test>() {
    let case = Case::<T>::new(3 * 64, |_| false);
    for (isa, n) in Isa::available().into_iter().flat_map(|isa| [0, 5, 8, 37].map(|n| (isa, n))) {
        let mut vals = case.vals.clone();
        let mut x: Vec<T::Vector> = (0..vals.len()).map(|i| case.x[i % case.x.len()]).collect();
        // No entry, whatever x is there; and an entry that is none of the numbers.
        (vals[2], x[2], vals[70]) = (T::val(0.0), T::vector(f64::INFINITY), T::val(f64::NAN));
        let pieces = [0, 64, 128].map(|at| (&vals[at..at + n], &x[at..at + n]));
        let mut sums = vec![T::accum(f64::NAN); n];
        T::diagonals(isa, &[], &mut sums, Onto::Zero);
        assert!(sums.iter().all(|sum| T::back(*sum) == 0.0), "{}", isa.name());
        T::diagonals(isa, &pieces[..1], &mut sums, Onto::Zero);
        T::diagonals(isa, &pieces[1..], &mut sums, Onto::Sums);
        let mut at_once = vec![T::accum(f64::NAN); n];
        T::diagonals(isa, &pieces, &mut at_once, Onto::Zero);
        let bits = |sums: &[T::Accum]| sums.iter().map(|sum| T::back(*sum).to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&sums), bits(&at_once), "{}", isa.name());
        for (row, sum) in sums.iter().enumerate() {
            let entries = [row, row + 64, row + 128].into_iter().filter(|at| *at != 2);
            let want = entries.map(|at| T::product(vals[at], x[at])).sum::<f64>();
            match row {
                6 => assert!(T::back(*sum).is_nan()),
                _ => close::<T>(T::back(*sum), want, 20.0, &format!("{} row {row}", isa.name())),
            }
        }
        let fewer = std::panic::AssertUnwindSafe(|| {
            T::diagonals(isa, &pieces, &mut vec![T::accum(0.0); n + 1], Onto::Sums)
        });
        assert!(std::panic::catch_unwind(fewer).is_err(), "{}", isa.name());
    }
}

#[test]
fn rows_on_diagonals_match_a_plain_loop() {
    for_all_numbers!(on_diagonals);
}

fn cut_anywhere<T: Test>() {
    const N: usize = 19;
    // Sums that are rounded.
    let vals: Vec<T::Val> = (0..3 * N).map(|i| T::val(1.0 / (3 + i) as f64)).collect();
    let x: Vec<T::Vector> = (0..3 * N).map(|i| T::vector(1.0 / (7 + i) as f64)).collect();
    let pieces = [0, N, 2 * N].map(|at| (&vals[at..at + N], &x[at..at + N]));
    for isa in Isa::available() {
        let sums = |cut: usize| {
            let mut sums = vec![T::accum(0.0); N];
            for rows in [0..cut, cut..N] {
                let of_rows = pieces.map(|(vals, x)| (&vals[rows.clone()], &x[rows.clone()]));
                T::diagonals(isa, &of_rows, &mut sums[rows], Onto::Zero);
            }
            sums.into_iter().map(|sum| T::back(sum).to_bits()).collect::<Vec<_>>()
        };
        let whole = sums(0);
        (1..N).for_each(|cut| assert_eq!(sums(cut), whole, "{} cut at {cut}", isa.name()));
    }
}

#[test]
fn sums_on_diagonals_are_the_same_wherever_rows_are_cut() {
    for_all_numbers!(cut_anywhere);
}
