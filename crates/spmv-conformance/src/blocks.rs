//! Products with several right-hand sides, each column of which the oracle decides.

use libtest_mimic::Trial;
use num_traits::{One, Zero};
use spmv_backend::{Backend, Types};
use spmv_core::{Accum, Csr, Dtype, Value, by_dtype, oracle};
use spmv_exec::{Algorithm, BlockOrder, BlockShape, Device, Error, Options, Prepared, Queue};

use crate::by_indices::watched;
use crate::check::{compare, nan, number, same_bits};
use crate::outcome::Check;
use crate::vectors::{expect, text};
use crate::{ALGORITHMS, Share, can, is_full, mixed, trial, trial_where};

/// About each width of a panel, and more than one panel; by default a third of them, in turn.
const COLUMNS: [usize; 14] = [4, 1, 2, 5, 13, 8, 32, 16, 28, 31, 60, 40, 100, 69];
const SCALINGS: [(f64, f64); 4] = [(1.0, 0.0), (-2.0, 3.0), (1.0, 1.0), (0.0, 2.0)];
/// With rows that groups of GPUs cut, and with one that tasks cut.
const CUT_BY_GROUPS: usize = 9_001;
const CUT_BY_TASKS: usize = 300_001;
/// Rows and columns of a matrix of which four columns of X or Y are less than 300 bytes.
const FEW: usize = 9;

/// Trials of a variant.
pub(crate) fn trials<B: Backend>(label: &str, device: &Device<B>, at: usize) -> Vec<Trial> {
    let mut trials = Vec::new();
    // In place, and in a copy besides another layout.
    for (turn, algorithm) in [false, true].map(first).into_iter().enumerate() {
        let plain = Share::of(at + turn).part(&Dtype::ALL, 3).into_iter().map(Types::of);
        let with_mixed = plain.chain(mixed(turn).into_iter().filter(|_| at == 0 && (turn > 0 || is_full())));
        for (i, types) in with_mixed.enumerate() {
            let options =
                Options { algorithm, blocks: true, values: Some(types.value), ..Options::default() };
            let (name, device) = (format!("{label}/blocks/{types}/{algorithm}"), device.clone());
            let dtype = types.vector;
            let can = can(&device, dtype, &options);
            let columns = Share::of(turn + i).part(&COLUMNS, 3);
            let each = move || by_dtype!(dtype, T => shapes::<B, T>(&device, &options, &columns));
            trials.push(trial_where(can, name, Box::new(each)));
        }
    }
    // A long row and its products take a few MiB, and seconds.
    if device.caps().max_buffer_bytes >= 1 << 24 && (at == 0 || is_full()) {
        let device = device.clone();
        let long_rows = move || long_rows::<B, f32>(&device);
        trials.push(trial(format!("{label}/blocks/f32/long_rows"), Box::new(long_rows)));
    }
    let device = device.clone();
    trials.push(trial(format!("{label}/blocks/f32/refusals"), Box::new(move || refusals::<B, f32>(&device))));
    trials
}

/// The first algorithm with a layout of its own, or without, that takes every matrix and has a kernel of its own.
fn first(has_own_layout: bool) -> Algorithm {
    let is_it = |a: &&Algorithm| {
        a.facts().is_some_and(|f| f.refuses.is_empty() && !f.on_cores && f.kernel.stem() == a.name())
    };
    let mut all = ALGORITHMS.iter().filter(is_it);
    *all.find(|a| a.has_own_layout() == has_own_layout).expect("one of either kind")
}

/// Small integers.
fn matrix<T: Value>(lens: &[usize], n_cols: usize) -> Csr<T> {
    let rows = lens.iter().enumerate().map(|(row, len)| {
        (0..*len).map(move |i| {
            let (row, i) = (row as u64, i as u64);
            let value = ((i * 3 + row) % 5) as f64 - 2.0;
            (((row * 31 + i * 7) % n_cols as u64) as u32, number(value))
        })
    });
    Csr::from_rows(n_cols, rows).expect("columns inside")
}

/// A block of small integers; what is between its columns and rows is not for products.
fn block<T: Value>(shape: BlockShape, between: T) -> Vec<T> {
    let mut all = vec![between; shape.len() + 3];
    for row in 0..shape.n_rows() {
        for column in 0..shape.columns() {
            let value = ((row * 5 + column * 3) % 7) as f64 - 3.0;
            all[shape.index(row, column)] = number(value);
        }
    }
    all
}

fn column<T: Value>(block: &[T], shape: BlockShape, column: usize) -> Vec<T> {
    (0..shape.n_rows()).map(|row| block[shape.index(row, column)]).collect()
}

/// A matrix on a device, and on the host.
struct Both<'a, B: Backend, T: Value> {
    on_device: &'a Prepared<B, T>,
    a: &'a Csr<T>,
}

impl<B: Backend, T: Value> Both<'_, B, T> {
    /// Multiplies twice, with the same bits, and compares each column with the oracle's.
    fn check(
        &self,
        queue: &mut Queue<B>,
        (of_x, of_y): (BlockShape, BlockShape),
        (alpha, beta): (f64, f64),
    ) -> Result<(), String> {
        let device = queue.device().clone();
        let between = nan();
        let x = block(of_x, between);
        let mut before = block(of_y, number::<T::Accum>(77.0));
        if beta == 0.0 {
            let inside = |i: &usize| *i < of_y.len() && column_of(of_y, *i).is_some();
            (0..before.len()).filter(inside).for_each(|i| before[i] = nan::<T::Accum>());
        }
        let on_x = device.upload(&x).map_err(text)?;
        let factors = (number(alpha), number(beta));
        let mut results = Vec::new();
        for _ in 0..2 {
            let mut y = device.upload(&before).map_err(text)?;
            queue
                .apply_block(self.on_device, factors.0, (&on_x, of_x), factors.1, (&mut y, of_y))
                .map_err(text)?;
            results.push(y.to_vec().map_err(text)?);
        }
        same_bits("two products", &results[0], &results[1])?;
        let found = &results[0];
        for k in 0..of_x.columns() {
            let (x, y) = (column(&x, of_x, k), column(&before, of_y, k));
            let reference = oracle::multiply(self.a.view(), number(alpha), &x, number(beta), &y);
            compare(&reference, true, &column(found, of_y, k))
                .map_err(|e| format!("column {k} of {of_x:?} to {of_y:?}: {e}"))?;
        }
        let between = (0..found.len()).filter(|i| column_of(of_y, *i).is_none());
        match between.into_iter().find(|i| found[*i] != before[*i]) {
            Some(at) => Err(format!("{of_y:?}: value {at} is between columns, and {:?}", found[at])),
            None => Ok(()),
        }
    }
}

/// The column that a position is in, if it is of the block.
fn column_of(shape: BlockShape, at: usize) -> Option<usize> {
    let (major, minor) = (at / shape.leading().max(1), at % shape.leading().max(1));
    let (row, column) = match shape.order() {
        BlockOrder::RowMajor => (major, minor),
        BlockOrder::ColumnMajor => (minor, major),
    };
    (row < shape.n_rows() && column < shape.columns()).then_some(column)
}

/// Both orders of X and Y, the latter with values between.
fn orders(n_cols: usize, n_rows: usize, columns: usize) -> Vec<(BlockShape, BlockShape)> {
    let wider = |shape: BlockShape| shape.with_leading(shape.leading() + 3).expect("more than it has");
    let (x, y) = (BlockShape::row_major(n_cols, columns), BlockShape::row_major(n_rows, columns));
    let (x_columns, y_columns) =
        (BlockShape::column_major(n_cols, columns), BlockShape::column_major(n_rows, columns));
    vec![(x, y), (x_columns, wider(y)), (wider(x), wider(y_columns)), (wider(x_columns), y_columns)]
}

fn shapes<B: Backend, T: Value>(device: &Device<B>, options: &Options, columns: &[usize]) -> Check {
    let (watch, device) = watched(device)?;
    let most = device.caps().max_buffer_bytes;
    let is_small = most < 1 << 20;
    // Empty rows, short ones, long ones, and one in several parts where buffers are small.
    let lens: Vec<usize> = match is_small {
        true => (0..FEW).map(|row| if row == 4 { 200 } else { [3, 0, 5, 1, 18][row % 5] }).collect(),
        false => (0..201).map(|row| [3, 0, 5, 1, 40, 2, 2, 2, 130, 9][(row + row / 50) % 10]).collect(),
    };
    let n_cols = if is_small { FEW } else { 157 };
    let mut a = matrix::<T>(&lens, n_cols);
    let mut on_device = device.prepare(a.view(), options).map_err(text)?;
    let mut queue = device.queue().map_err(text)?;
    let mut n_checked = 0;
    let columns = columns.iter().copied().filter(|columns| !is_small || *columns <= 4);
    for (turn, columns) in columns.enumerate() {
        for (at, shapes) in orders(n_cols, lens.len(), columns).into_iter().enumerate() {
            let bytes = [shapes.0.len() * T::DTYPE.bytes(), shapes.1.len() * T::Accum::DTYPE.bytes()];
            if bytes.iter().any(|bytes| *bytes as u64 + 24 > most) {
                continue;
            }
            let both = Both { on_device: &on_device, a: &a };
            both.check(&mut queue, shapes, SCALINGS[(turn + at) % SCALINGS.len()])?;
            n_checked += 1;
        }
        watch.check()?;
        // For the products that follow.
        if turn == 0 {
            let values: Vec<T> = (0..a.nnz()).map(|i| number((i % 3) as f64 - 1.0)).collect();
            a.vals_mut().copy_from_slice(&values);
            on_device.set_values(&values).map_err(text)?;
        }
    }
    // A product with one right-hand side goes on.
    let (x, y) =
        (block::<T>(BlockShape::row_major(n_cols, 1), T::default()), vec![T::Accum::default(); lens.len()]);
    let reference = oracle::multiply(a.view(), T::Wide::one(), &x[..n_cols], T::Wide::zero(), &y);
    let (on_x, mut on_y) = (device.upload(&x[..n_cols]).map_err(text)?, device.upload(&y).map_err(text)?);
    queue.apply(&on_device, one::<T>(), &on_x, T::Accum::default(), &mut on_y).map_err(text)?;
    compare(&reference, true, &on_y.to_vec().map_err(text)?)?;
    watch.check()?;
    Ok(n_checked)
}

fn one<T: Value>() -> T::Accum {
    num_traits::one()
}

/// Rows that several groups or tasks sum, next to others.
fn long_rows<B: Backend, T: Value>(device: &Device<B>) -> Check {
    let (watch, device) = watched(device)?;
    let longest =
        if device.caps().tasks && device.caps().subgroup.is_some() { CUT_BY_TASKS } else { CUT_BY_GROUPS };
    let lens = [2, longest, 1, 0, longest, longest / 2, 7];
    let a = matrix::<T>(&lens, 211);
    let options = Options { blocks: true, ..Options::default() };
    let on_device = device.prepare(a.view(), &options).map_err(text)?;
    let explained = on_device.explain_blocks().unwrap_or_default();
    if !explained.ends_with(" rows are cut") {
        return Err(format!("no row is cut: {explained}"));
    }
    let mut queue = device.queue().map_err(text)?;
    for (turn, columns) in [3, 8, 38].into_iter().enumerate() {
        // By default one or two of the orders each, in turn.
        let every = if is_full() { 1 } else { 3 };
        for (at, shapes) in orders(211, lens.len(), columns).into_iter().enumerate().skip(turn).step_by(every)
        {
            let both = Both { on_device: &on_device, a: &a };
            both.check(&mut queue, shapes, SCALINGS[(turn + at) % SCALINGS.len()])?;
        }
        watch.check()?;
    }
    Ok(1)
}

/// What does not fit is refused in words, and nothing is written.
fn refusals<B: Backend, A: Accum + Value<Accum = A>>(device: &Device<B>) -> Check {
    let (watch, device) = watched(device)?;
    let a = matrix::<A>(&[2, 0, 1], 4);
    let with = |blocks| device.prepare(a.view(), &Options { blocks, ..Options::default() }).map_err(text);
    let (without, with) = (with(false)?, with(true)?);
    let mut queue = device.queue().map_err(text)?;
    let ten: Vec<A> = (0..10).map(|i| A::from_f64(f64::from(i))).collect();
    let (x, mut y) = (device.upload(&ten).map_err(text)?, device.upload(&ten).map_err(text)?);
    let (of_x, of_y) = (BlockShape::row_major(4, 2), BlockShape::row_major(3, 2));
    let (one, zero) = (A::one(), A::zero());
    let refused = queue.apply_block(&without, one, (&x, of_x), zero, (&mut y, of_y));
    if !matches!(&refused, Err(Error::Device(spmv_backend::Error::Unsupported { .. }))) {
        return Err(format!("without blocks: {refused:?}"));
    }
    let shape = |what, found, expected| Error::Shape { what, found, expected };
    let length = |what, found, expected| Error::Length { what, found, expected };
    for (of_x, of_y, expected) in [
        (BlockShape::row_major(3, 2), of_y, shape("X", (3, 2), (4, 2))),
        (of_x, BlockShape::column_major(4, 2), shape("Y", (4, 2), (3, 2))),
        (of_x, BlockShape::row_major(3, 3), shape("Y", (3, 3), (3, 2))),
        (of_x.with_leading(3).map_err(text)?, of_y, length("x", 10, 11)),
        (of_x, of_y.with_leading(5).map_err(text)?, length("y", 10, 12)),
        (of_x, of_y.with_leading(usize::MAX).map_err(text)?, length("y", 10, usize::MAX)),
    ] {
        let refused = queue.apply_block(&with, one, (&x, of_x), zero, (&mut y, of_y));
        if refused.as_ref() != Err(&expected) {
            return Err(format!("{of_x:?} to {of_y:?}: {refused:?}, not {expected:?}"));
        }
    }
    let leading = of_x.with_leading(1);
    if leading != Err(Error::Leading { leading: 1, least: 2 }) {
        return Err(format!("{leading:?}"));
    }
    expect("what was refused", 10, &y.to_vec().map_err(text)?, &ten)?;
    let none = (BlockShape::row_major(4, 0), BlockShape::column_major(3, 0));
    queue.apply_block(&with, one, (&x, none.0), zero, (&mut y, none.1)).map_err(text)?;
    expect("no columns", 10, &y.to_vec().map_err(text)?, &ten)?;
    watch.check()?;
    Ok(1)
}
