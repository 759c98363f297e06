use std::borrow::Cow;

use proptest::prelude::*;
use spmv_core::{Csr, Tiling};

use super::*;

/// Of groups that take whole slices, on a device of so few units that rows are cut where they can be.
pub(super) fn shape(lanes: u32, width: u32) -> Shape {
    Shape::of(&Tiling::new(lanes, width, 1, 32 / lanes).unwrap(), 1)
}

/// The row at each position, as a kernel finds it.
fn order(slices: &Slices) -> Cow<'_, [u32]> {
    if slices.is_sorted() { Cow::Borrowed(slices.perm()) } else { (0..slices.n_rows as u32).collect() }
}

/// Of lanes that take whole slices, each of eight lanes.
fn of_a_lane(width: u32) -> Shape {
    Shape::of(&Tiling::new(1, width, 1, 1).unwrap(), 1)
}

pub(super) fn filled(a: &Csr<f64>, slices: &Slices) -> (Vec<u32>, Vec<f64>) {
    let (mut words, mut vals) = (vec![7; slices.n_words()], vec![7.0; slices.n_slots()]);
    slices.fill(a.view(), 0..slices.n_slices(), &mut words, &mut vals);
    (words, vals)
}

/// `y` by what a kernel reads.
fn multiplied(slices: &Slices, (words, vals): &(Vec<u32>, Vec<f64>), n_rows: usize, x: &[f64]) -> Vec<f64> {
    let (numbers, width, rows) = (slices.numbers(), slices.shape.width, slices.shape.rows());
    let slice_lanes = slices.shape.slice_lanes;
    let (perm, mut y) = (order(slices), vec![0.0; n_rows]);
    for (slice, of_slice) in numbers.chunks(4).enumerate() {
        let [slot, mut lengths, base, flags] = std::array::from_fn(|i| of_slice[i] as usize);
        let (n_steps, narrow, ragged) = (flags >> 7, flags & 1 != 0, flags & 2 != 0);
        let (lanes, is_part, stepped) = (1 << (flags >> 2 & 7), flags & 32 != 0, flags & 64 != 0);
        assert!(slice < slices.n_long() || lanes == slices.shape.lanes && !is_part);
        let first = if is_part { words[lengths] as usize } else { slice };
        lengths += slice_lanes * usize::from(is_part);
        let cols = lengths + if ragged { n_steps.div_ceil(16) * slice_lanes } else { 0 };
        for (step, lane) in (0..n_steps).flat_map(|step| (0..slice_lanes).map(move |lane| (step, lane))) {
            let col = match narrow {
                true => words[cols + step / 2 * slice_lanes + lane] >> (step % 2 * 16) & 0xffff,
                false if stepped => words[cols + step * lanes + lane % lanes] + (lane / lanes) as u32,
                false => words[cols + step * slice_lanes + lane],
            };
            if col == if narrow { 0xffff } else { u32::MAX } {
                continue;
            }
            let len = match ragged {
                true => (words[lengths + step / 16 * slice_lanes + lane] >> (step % 16 * 2) & 3) as usize + 1,
                false => width,
            };
            let row = perm[first * rows + lane / lanes] as usize;
            for j in 0..len {
                let val = vals[slot + (step * width + j) * slice_lanes + lane];
                y[row] += val * x[base + col as usize + j];
            }
        }
    }
    y
}

#[test]
fn a_run_has_one_column_and_a_short_one_says_so() {
    let rows = [vec![3, 4, 5, 9], vec![], vec![70_000]];
    let entries = |cols: &Vec<u32>| cols.iter().map(|col| (*col, f64::from(*col))).collect::<Vec<_>>();
    let a = Csr::from_rows(100_000, rows.iter().map(entries)).unwrap();
    let slices = Slices::new(a.view(), shape(1, 3)).unwrap();
    assert!(!slices.is_sorted() && *order(&slices) == [0, 1, 2], "three rows are one slice");
    // Two steps, columns of 32 bits, runs of fewer entries than three.
    assert_eq!(slices.numbers(), [0, 0, 0, 2 << 7 | 2]);
    let (words, vals) = filled(&a, &slices);
    assert_eq!((words.len(), vals.len()), (3 * 32, 2 * 3 * 32));
    assert_eq!(words[0] & 15, 2, "three entries, then one");
    assert_eq!((words[32..35].to_vec(), words[64]), (vec![3, u32::MAX, 70_000], 9));
    assert_eq!([vals[0], vals[32], vals[64], vals[96], vals[128]], [3.0, 4.0, 5.0, 9.0, 0.0]);
}

#[test]
fn columns_take_16_bits_where_they_lie_close_together() {
    let of = |far: u32| {
        let a = Csr::from_rows(200_000, [[(1000, 1.0f64), (1000 + far, 2.0)]]).unwrap();
        let slices = Slices::new(a.view(), shape(1, 1)).unwrap();
        (slices.numbers().to_vec(), filled(&a, &slices).0)
    };
    let (numbers, words) = of(65_534);
    assert_eq!((numbers, words[0], words.len()), (vec![0, 0, 1000, 2 << 7 | 1], 65_534 << 16, 32));
    let (numbers, words) = of(65_535);
    assert_eq!((numbers, words[0], words[32], words.len()), (vec![0, 0, 0, 2 << 7], 1000, 66_535, 64));
}

#[test]
fn a_slice_whose_rows_step_on_keeps_the_columns_of_its_first_row() {
    // Lines of 70 rows, whose first and last have no neighbour.
    let n = 700u32;
    let cols = |row: u32| {
        let at = row % 70;
        [
            row.checked_sub(70),
            (at > 0).then(|| row - 1),
            Some(row),
            (at < 69).then(|| row + 1),
            Some(row + 70),
        ]
        .into_iter()
        .flatten()
    };
    let entries = |row: u32| cols(row).map(move |col| (col, f64::from(row % 7 + col % 5)));
    let a = Csr::from_rows(n as usize + 70, (0..n).map(entries)).unwrap();
    let x: Vec<f64> = (0..n + 70).map(|col| f64::from(col % 13)).collect();
    let expected: Vec<f64> =
        (0..n).map(|row| entries(row).map(|(col, val)| val * x[col as usize]).sum()).collect();
    for (shape, n_stepped) in [(shape(1, 1), 5), (shape(1, 3), 0), (of_a_lane(1), 60)] {
        let slices = Slices::new(a.view(), shape).unwrap();
        let filled = filled(&a, &slices);
        let stepped: Vec<_> = slices.numbers().chunks(4).filter(|of| of[3] & 64 != 0).collect();
        assert!(stepped.len() >= n_stepped, "{} of {shape:?}", stepped.len());
        assert!(stepped.iter().all(|of| of[2] == 0 && of[3] & 1 == 0), "whole words");
        assert_eq!(multiplied(&slices, &filled, n as usize, &x), expected, "{shape:?}");
    }
}

#[test]
fn rows_with_as_many_steps_stay_in_their_order() {
    let lens = |n: usize| (0..n).map(|row| if row % 7 == 0 { 16 } else { 3 });
    let entries = |len: u32| (0..len).map(|col| (col * 2, 1.0f64));
    let a = Csr::from_rows(100, lens(200).map(entries)).unwrap();
    let slices = Slices::new(a.view(), shape(1, 1)).unwrap();
    assert!(slices.is_sorted());
    let of = |long| (0..200u32).filter(move |row| row.is_multiple_of(7) == long);
    assert!(slices.perm()[..200].iter().copied().eq(of(true).chain(of(false))));
}

#[test]
fn writers_have_windows_of_their_own() {
    let n = 8 * 512u32;
    // Longer ones come first: half of the work is in fewer rows.
    let len = |row: u32| match row % 61 {
        3 => 200,
        _ => row * 7 % 13 + if row < n / 4 { 10 } else { 0 },
    };
    let a =
        Csr::from_rows(n as usize, (0..n).map(|row| (0..len(row)).map(move |i| ((row + 3 * i) % n, 1.0))))
            .unwrap();
    let slots = |rows: Range<u32>| rows.map(|row| len(row) as usize + Tiling::ROW_SLOTS).sum::<usize>();
    let first_of_second = (0..n).find(|row| 2 * slots(0..row + 1) > slots(0..n)).unwrap();
    let windows = |shape: Shape| {
        let slices = Slices::new(a.view(), shape).unwrap();
        let rows = |are_such: fn(u32) -> bool| {
            let of = |row: &u32| *row != NONE && are_such(len(*row));
            slices.perm().iter().copied().filter(of).collect::<Vec<_>>()
        };
        let [short, long] = [rows(|len| len < 200), rows(|len| len == 200)];
        let of_first = short.iter().filter(|row| **row < first_of_second).count() / 32 * 32;
        let (of_first, of_second) = short.split_at(of_first);
        let of_window = (short.len() / 8).next_multiple_of(32);
        let windows: Vec<_> = of_first.chunks(of_window).chain(of_second.chunks(of_window)).collect();
        // Rows of a window come before all those of the next; the long ones, which are all as long, in their order.
        (windows.is_sorted_by(|a, b| a.iter().max() < b.iter().min()), long.is_sorted())
    };
    assert_eq!(windows(shape(1, 1)), (false, true));
    assert_eq!(windows(shape(1, 1).written_by(2)), (true, true));
}

#[test]
fn windows_begin_where_writers_do() {
    let windows = |firsts: &[usize]| order::windows(10, 4, firsts);
    assert_eq!(windows(&[]), [0..4, 4..8, 8..10]);
    assert_eq!(windows(&[0, 6]), [0..4, 4..6, 6..10]);
    assert_eq!(windows(&[5, 5, 10]), [0..4, 4..5, 5..9, 9..10]);
    assert_eq!(order::windows(10, usize::MAX, &[3]), [0..3, 3..10]);
    assert_eq!(order::windows(0, 4, &[]), []);
}

#[test]
fn long_rows_have_more_lanes_and_the_longest_several_slices() {
    let len = |row: u32| [3, 20, 3, 2000, 100, 3, 33][row as usize % 7];
    let cols = |row: u32| (0..len(row)).map(move |i| (row + 2 * i, f64::from(i + row)));
    let a = Csr::from_rows(4200, (0..70).map(cols)).unwrap();
    let x: Vec<f64> = (0..4200).map(|col| f64::from(col % 13)).collect();
    let sums = |row: u32| cols(row).map(|(col, val)| val * x[col as usize]).sum::<f64>();
    // Mean rows have 308 steps of a lane, so two lanes are enough for the longest.
    let slices = Slices::new(a.view(), Shape { units: None, ..shape(1, 1) }).unwrap();
    assert_eq!((slices.n_long(), slices.n_slices()), (1, 3));
    let y = multiplied(&slices, &filled(&a, &slices), 70, &x);
    assert!((0..70).all(|row| y[row as usize] == sums(row)));
    // 21620 runs are 675 steps of 32 lanes: enough for 42 slices of 16.
    let slices = Slices::new(a.view(), shape(8, 1)).unwrap();
    assert_eq!((slices.n_long(), slices.parts.len()), (40, 40));
    assert_eq!(slices.rows_of_parts()[..6], [0, 3, 3, 3, 3, 10]);
    let part = slices.numbers()[..4].to_vec();
    assert_eq!((part[0], part[1], part[3] >> 2), (0, 0, 16 << 5 | 1 << 3 | 5));
    let y = multiplied(&slices, &filled(&a, &slices), 70, &x);
    assert!((0..70).all(|row| y[row as usize] == sums(row)));
}

#[test]
fn many_entries_are_filled_by_several_threads() {
    let n = 70_000u32;
    let entries = |row: u32| (0..20).map(move |i| ((row + i * i) % n, f64::from(row % 97 + i)));
    let a = Csr::from_rows(n as usize, (0..n).map(entries)).unwrap();
    let slices = Slices::new(a.view(), shape(2, 2)).unwrap();
    let x: Vec<f64> = (0..n).map(|col| f64::from(col % 13)).collect();
    let y = multiplied(&slices, &filled(&a, &slices), n as usize, &x);
    let expected = |row: u32| entries(row).map(|(col, val)| val * x[col as usize]).sum::<f64>();
    assert!((0..n).all(|row| y[row as usize] == expected(row)));
    // In two batches.
    let (mut words, mut vals) = (vec![0; slices.n_words()], vec![0.0; slices.n_slots()]);
    let mid = slices.first_beyond(0, slices.n_slots() / 2);
    let ((slot, word), n_slices) = (slices.starts(mid), slices.n_slices());
    slices.fill(a.view(), 0..mid, &mut words[..word], &mut vals[..slot]);
    slices.fill(a.view(), mid..n_slices, &mut words[word..], &mut vals[slot..]);
    assert_eq!(multiplied(&slices, &(words, vals), n as usize, &x), y);
}

#[test]
fn many_rows_are_ordered_by_several_threads() {
    let n = 300_000u32;
    let len = |row: u32| if row % 1009 == 7 { 300 } else { row % 5 };
    let entries = |row: u32| (0..len(row)).map(move |i| ((row + i + i / 2) % n, f64::from(row % 97 + i)));
    let a = Csr::from_rows(n as usize, (0..n).map(entries)).unwrap();
    let x: Vec<f64> = (0..n).map(|col| f64::from(col % 13)).collect();
    let expected = |row: u32| entries(row).map(|(col, val)| val * x[col as usize]).sum::<f64>();
    for shape in [shape(1, 1), shape(4, 2)] {
        let slices = Slices::new(a.view(), shape).unwrap();
        assert!(slices.is_sorted() && slices.n_long() > 0);
        let mut rows: Vec<u32> = order(&slices).iter().copied().filter(|row| *row != NONE).collect();
        rows.sort_unstable();
        assert!(rows.into_iter().eq(0..n));
        let y = multiplied(&slices, &filled(&a, &slices), n as usize, &x);
        assert!((0..n).all(|row| y[row as usize] == expected(row)));
    }
}

#[test]
fn long_rows_stay_near_the_rows_around_them() {
    let n = 400_000u32;
    let len = |row: u32| if row % 10 == 3 { 40 + row % 3 } else { 2 };
    let entries = |row: u32| (0..len(row)).map(move |i| ((row + 2 * i) % n, f64::from(row % 97 + i)));
    let far = |row: u32| entries(row).map(move |(col, val)| ((col + row * 7919) % n, val));
    let near = Csr::from_rows(n as usize, (0..n).map(entries)).unwrap();
    let far = Csr::from_rows(n as usize, (0..n).map(far)).unwrap();
    let laid = |a: &Csr<f64>, shape| Slices::new(a.view(), shape).unwrap();
    let n_windows = |a: &Csr<f64>, shape: Shape| {
        let slices = laid(a, shape);
        let is_long: Vec<_> = slices.perm().chunks(shape.rows()).map(|rows| rows[0] % 10 == 3).collect();
        is_long.chunk_by(|a, b| a == b).filter(|slices| slices[0]).count()
    };
    let shape = shape(1, 1);
    let slices = laid(&near, shape);
    let at = |row: u32| slices.perm().iter().position(|of| *of == row).unwrap();
    assert!(at(3) < at(0) && at(0) < at(340_003) && at(340_003) < at(399_999), "two windows of long rows");
    assert!(slices.n_long() < slices.n_slices());
    let small = shape.holding(n as usize - 1);
    assert_eq!([n_windows(&near, shape), n_windows(&far, small)], [2, 2]);
    assert_eq!(n_windows(&near, small), 40_000usize.div_ceil(1 << 8), "where no cache holds x");
    let x: Vec<f64> = (0..n).map(|col| f64::from(col % 13)).collect();
    let expected = |row: u32| entries(row).map(|(col, val)| val * x[col as usize]).sum::<f64>();
    for slices in [slices, laid(&near, small)] {
        let y = multiplied(&slices, &filled(&near, &slices), n as usize, &x);
        assert!((0..n).all(|row| y[row as usize] == expected(row)));
    }
}

proptest! {
    #[test]
    fn every_entry_is_multiplied_once(
        rows in prop::collection::vec(prop_oneof![
            9 => prop::collection::vec((0u32..12, 0u32..5), 0..9),
            1 => prop::collection::vec((0u32..12, 0u32..5), 100..900),
        ], 0..90),
        shape in (prop_oneof![Just(0u32), Just(1), Just(2), Just(8), Just(32)], 1u32..=4)
            .prop_map(|(lanes, width)| if lanes == 0 { of_a_lane(width) } else { shape(lanes, width) }),
    ) {
        // Runs of columns, in any order, some of them twice.
        let entries = |runs: &Vec<(u32, u32)>| {
            let cols = runs.iter().flat_map(|(first, len)| (0..*len).map(move |i| 6 * first + i));
            cols.enumerate().map(|(at, col)| (col, at as f64 + 1.0)).collect::<Vec<_>>()
        };
        let row_ptr: Vec<u32> = std::iter::once(0).chain(rows.iter().map(|row| entries(row).len() as u32)
            .scan(0, |sum, len| { *sum += len; Some(*sum) })).collect();
        let all: Vec<_> = rows.iter().flat_map(entries).collect();
        let (cols, vals) = all.iter().copied().unzip();
        let a = Csr::new(rows.len(), 80, row_ptr, cols, vals).unwrap();
        let slices = Slices::new(a.view(), shape).unwrap();
        let x: Vec<f64> = (0..80).map(|col| f64::from(col) - 30.0).collect();
        let y = multiplied(&slices, &filled(&a, &slices), rows.len(), &x);
        for (row, sum) in rows.iter().zip(y) {
            prop_assert_eq!(sum, entries(row).iter().map(|(col, val)| val * x[*col as usize]).sum::<f64>());
        }
        let (_, vals) = filled(&a, &slices);
        let mut n = 0;
        for (entry, val) in slices.entries_of_slots(a.row_ptr(), |row| a.row_ptr()[row], NONE).unwrap().iter().copied().zip(vals) {
            prop_assert_eq!(val, a.vals().get(entry as usize).copied().unwrap_or(0.0));
            n += usize::from(entry != NONE);
        }
        prop_assert_eq!(n, a.nnz());
        // The same rows cut at stripes.
        let columns = Columns::of(80);
        let cut = Cut::of(a.view(), columns);
        let parts = cut.parts(a.view());
        let stripe = |part: usize| columns.stripe(a.cols()[cut.entries[part] as usize]);
        let slices = Slices::by_stripes(parts, shape, columns).unwrap();
        let order = slices.perm.iter().filter(|part| **part != NONE).map(|part| stripe(*part as usize));
        prop_assert!(order.is_sorted());
        let (mut words, mut vals) = (vec![7; slices.n_words()], vec![7.0; slices.n_slots()]);
        slices.fill(parts, 0..slices.n_slices(), &mut words, &mut vals);
        let sums = multiplied(&slices, &(words, vals), cut.n_parts(), &x);
        for (row, of_row) in cut.rows.windows(2).enumerate() {
            let sum = sums[of_row[0] as usize..of_row[1] as usize].iter().sum::<f64>();
            prop_assert_eq!(sum, entries(&rows[row]).iter().map(|(col, val)| val * x[*col as usize]).sum::<f64>());
        }
    }
}
