//! `cargo xtask blocks`: products with several right-hand sides, next to as many products with one and to other libraries.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use spmv::oracle::{self, Reference};
use spmv::{BackendKind, BlockShape, Csr, DeviceKind, Dtype, Options, Value};

use super::Ending;
use super::block_product::{Contestant, ON_GPU, Problem, Result};
use super::comparison::{Gpu, GpuValue};
use super::devices::{self, Target};
use super::measure::Run;
use super::peers::{self, PeerValue};
use super::races::{Race, RaceArgs, mean_line};
use super::report::{Spread, distinct};

/// `cargo xtask blocks`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    race: RaceArgs,
    /// Right-hand sides.
    #[arg(long, value_delimiter = ',', default_value = "4,8,32,64", value_parser = clap::value_parser!(u16).range(1..=1024))]
    columns: Vec<u16>,
    /// Columns next to each other, instead of rows.
    #[arg(long)]
    column_major: bool,
    /// Types of values.
    #[arg(long, value_delimiter = ',', default_value = "f32,f64", value_parser = crate::precision::of_sums)]
    precision: Vec<Dtype>,
    /// Times `mkl_sparse_mm` of MKL and SciPy next to the CPU, and every algorithm of `cusparseSpMM` next to CUDA's first device.
    #[arg(long)]
    peers: bool,
    /// Multiplies on so many devices of each backend together, too, as `bench` does.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=64))]
    devices: Option<u32>,
}

/// Bytes of X and Y together at most: more would not fit next to copies for other libraries.
const MOST_BYTES: usize = 16 << 30;

/// What was measured of one block on one device.
struct Measured {
    device: String,
    dtype: Dtype,
    columns: usize,
    matrix: String,
    /// Of ours, and of as many products with one right-hand side.
    ours: Spread,
    one_by_one: Spread,
    /// Names of others, and the microseconds of each.
    peers: Vec<(String, f64)>,
}

/// A row of the table for each matrix, precision, number of columns and device, then means.
///
/// # Errors
/// If a device fails, or a result is wrong.
pub(crate) fn run(args: &Args) -> anyhow::Result<Ending> {
    let mut field = args.race.open()?;
    let several = args.devices.map(|n| devices::several(&field.targets, n as usize)).transpose()?;
    field.targets.extend(several.into_iter().flatten());
    let gpu = args.peers.then(|| Gpu::open(&args.race.backend, &field.targets));
    let gpu = gpu.and_then(|gpu| gpu.inspect_err(|e| eprintln!("cusparse is left out: {e:#}")).ok());
    let bench = Bench { args, gpu, said: RefCell::default() };
    let order = if args.column_major { "column-major" } else { "row-major" };
    let each = |race: &Race<'_>, dtype| match dtype {
        Dtype::F32 => bench.matrix::<f32>(race),
        _ => bench.matrix::<f64>(race),
    };
    field.run(&format!("{order} X and Y"), &HEADER, &args.precision, each, means)
}

const HEADER: [&str; 11] = [
    "matrix",
    "rows",
    "nonzeros",
    "type",
    "columns",
    "on",
    "us",
    "GFlop/s",
    "one by one",
    "over peer",
    "peer",
];

struct Bench<'a> {
    args: &'a Args,
    gpu: Option<Gpu>,
    said: RefCell<BTreeSet<String>>,
}

impl Bench<'_> {
    fn say_once(&self, what: String) {
        if self.said.borrow_mut().insert(what.clone()) {
            eprintln!("{what}");
        }
    }

    fn matrix<T: PeerValue + GpuValue>(&self, race: &Race<'_>) -> anyhow::Result<Vec<Measured>> {
        let (dtype, loaded) = (<T as Value>::DTYPE, race.loaded);
        let a: Csr<T> = loaded.matrix.map_values(T::from_f64);
        let sums = [pattern, other_pattern].map(|of: fn(usize) -> f64| {
            let x: Vec<T> = (0..a.n_cols()).map(|i| T::from_f64(of(i))).collect();
            oracle::multiply(
                a.view(),
                T::Wide::from_f64(1.0),
                &x,
                T::Wide::default(),
                &vec![T::default(); a.n_rows()],
            )
        });
        let mut measured = Vec::new();
        for columns in self.args.columns.iter().map(|n| usize::from(*n)) {
            let of = |n_rows: usize| match self.args.column_major {
                false => BlockShape::row_major(n_rows, columns),
                true => BlockShape::column_major(n_rows, columns),
            };
            let (of_x, of_y) = (of(a.n_cols()), of(a.n_rows()));
            let values = of_x.len() + of_y.len();
            if values.saturating_mul(dtype.bytes()) > MOST_BYTES {
                eprintln!("{}: {columns} columns of {dtype} take more than {MOST_BYTES} bytes", loaded.name);
                continue;
            }
            let mut x = vec![T::default(); of_x.len()];
            for column in 0..columns {
                let [first, second] = weights(column);
                for row in 0..a.n_cols() {
                    let value = first * pattern(row) + second * other_pattern(row);
                    x[of_x.index(row, column)] = T::from_f64(value);
                }
            }
            let problem = Problem { a: &a, x: &x, of_x, of_y };
            let (ours, one_by_one, peers) = self.race(race, &problem, &sums)?;
            let (device, matrix) = (race.target.label.clone(), loaded.name.clone());
            let one = Measured { device, dtype, columns, matrix, ours, one_by_one, peers };
            race.print(&one.row(&loaded.matrix));
            measured.push(one);
        }
        Ok(measured)
    }

    /// All contestants of one device, in turn; their results are checked.
    #[allow(clippy::type_complexity)] // Ours, one by one, and others with their names.
    fn race<T: PeerValue + GpuValue>(
        &self,
        race: &Race<'_>,
        problem: &Problem<'_, T>,
        sums: &[Reference<T::Wide>; 2],
    ) -> anyhow::Result<(Spread, Spread, Vec<(String, f64)>)> {
        let target = race.target;
        let mut contestants = ours(target, problem)?;
        let peers = match (target.context.backend(), &self.gpu) {
            _ if target.is_several() => vec![],
            (BackendKind::Cpu, _) if self.args.peers => peers::blocks(problem).into(),
            (BackendKind::Cuda, Some(gpu)) => match gpu.blocks(problem) {
                Ok(all) => all.into_iter().map(Ok).collect(),
                Err(e) => vec![Err(e)],
            },
            _ => vec![],
        };
        for peer in peers {
            match peer {
                Ok(peer) => contestants.push(peer),
                Err(e) => self.say_once(format!("left out next to {}: {e:#}", target.label)),
            }
        }
        let names: Vec<String> = contestants.iter().map(|one| one.name.clone()).collect();
        let (mut runs, mut results) = (vec![], vec![]);
        for Contestant { run, result, .. } in contestants {
            runs.push(run);
            results.push(result);
        }
        let spreads = race.interleave(&mut runs)?;
        drop(runs);
        for (name, result) in names.iter().zip(results) {
            check(&result()?, problem.of_y, sums).with_context(|| name.clone())?;
        }
        let others = names.into_iter().zip(&spreads).skip(2).map(|(name, spread)| (name, spread.median));
        let others = others.collect();
        let mut spreads = spreads.into_iter();
        let (ours, one_by_one) = (spreads.next(), spreads.next());
        Ok((ours.context("no run of ours")?, one_by_one.context("no run of single products")?, others))
    }
}

/// Small integers, so that X holds them exactly.
fn pattern(i: usize) -> f64 {
    (i % 7) as f64 - 3.0
}

fn other_pattern(i: usize) -> f64 {
    (i / 3 % 5) as f64 - 2.0
}

/// What a column has of either pattern.
fn weights(column: usize) -> [f64; 2] {
    [(column % 3) as f64 + 1.0, (column % 5) as f64]
}

/// Compares each column with the sums of both patterns.
fn check<T: spmv::Accum>(y: &[T], shape: BlockShape, sums: &[Reference<T::Wide>; 2]) -> anyhow::Result<()> {
    for column in 0..shape.columns() {
        let weights = weights(column);
        let wide = weights.map(T::Wide::from_f64);
        let magnitudes = sums[0].magnitude.iter().zip(&sums[1].magnitude);
        let expected = Reference {
            y: sums[0].y.iter().zip(&sums[1].y).map(|(a, b)| wide[0] * *a + wide[1] * *b).collect(),
            magnitude: magnitudes.map(|(a, b)| weights[0] * a + weights[1] * b).collect(),
            roundings: sums[0].roundings.clone(),
        };
        let found: Vec<T> = (0..shape.n_rows()).map(|row| y[shape.index(row, column)]).collect();
        let over = expected.error_over_bound(&found);
        ensure!(over <= 1.0, "column {column}: {over} times the bound of rounding errors");
    }
    Ok(())
}

/// One product with all columns, and one with each.
fn ours<'a, T: PeerValue + GpuValue>(
    target: &Target,
    problem: &Problem<'a, T>,
) -> anyhow::Result<Vec<Contestant<'a, T>>> {
    let target = target.anew()?;
    let (context, Problem { a, x, of_x, of_y }) = (&target.context, *problem);
    let (one, zero) = (T::one(), T::zero());
    let options = Options { blocks: true, ..Options::default() };
    let matrix = Rc::new(context.prepare_with(a, &options)?);
    let (on_x, mut queue) = (context.upload_block(x, of_x)?, context.queue()?);
    let y = Rc::new(RefCell::new(context.upload_block(&vec![T::from_f64(f64::NAN); of_y.len()], of_y)?));
    let (of_block, to) = (Rc::clone(&matrix), Rc::clone(&y));
    let together = if context.caps().kind == DeviceKind::Cpu { 1 } else { ON_GPU };
    let all: Run<'a> = Box::new(move |batch, _| {
        let batch = batch * together;
        let start = Instant::now();
        let mut y = to.borrow_mut();
        (0..batch).try_for_each(|_| queue.apply_block(&of_block, one, &on_x, zero, &mut y))?;
        queue.wait()?;
        Ok(start.elapsed().as_secs_f64() / batch as f64)
    });
    let column = |column: usize| (0..of_x.n_rows()).map(|row| x[of_x.index(row, column)]).collect::<Vec<_>>();
    let of_columns = |column_of: usize| Ok((context.upload(&column(column_of))?, matrix.zeros_y()?));
    let columns = (0..of_x.columns()).map(of_columns).collect::<spmv::Result<Vec<_>>>()?;
    let columns = Rc::new(RefCell::new(columns));
    let (of_each, mut queue) = (Rc::clone(&columns), context.queue()?);
    let one_by_one: Run<'a> = Box::new(move |batch, _| {
        let start = Instant::now();
        for _ in 0..batch {
            of_each.borrow_mut().iter_mut().try_for_each(|(x, y)| queue.apply(&matrix, one, x, zero, y))?;
        }
        queue.wait()?;
        Ok(start.elapsed().as_secs_f64() / batch as f64)
    });
    let of_block: Result<'a, T> = Box::new(move || Ok(y.borrow().vector().to_vec()?));
    let of_columns: Result<'a, T> = Box::new(move || {
        let mut all = vec![T::zero(); of_y.len()];
        for (column, (_, y)) in columns.borrow().iter().enumerate() {
            for (row, value) in y.to_vec()?.into_iter().enumerate() {
                all[of_y.index(row, column)] = value;
            }
        }
        Ok(all)
    });
    Ok(vec![
        Contestant { name: "ours".into(), run: all, result: of_block },
        Contestant { name: "one by one".into(), run: one_by_one, result: of_columns },
    ])
}

impl Measured {
    fn fastest_peer(&self) -> Option<&(String, f64)> {
        self.peers.iter().min_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn row(&self, a: &Csr<f64>) -> Vec<String> {
        let Self { device, dtype, columns, matrix, ours, one_by_one, .. } = self;
        let flops = 2.0 * a.nnz() as f64 * *columns as f64;
        let (name, over) = match self.fastest_peer() {
            Some((name, us)) => (name.clone(), format!("{:.2}x", us / ours.median)),
            None => ("-".to_owned(), "-".to_owned()),
        };
        vec![
            matrix.clone(),
            a.n_rows().to_string(),
            a.nnz().to_string(),
            dtype.to_string(),
            columns.to_string(),
            device.clone(),
            format!("{:.1}", ours.median),
            format!("{:.1}", flops / ours.median / 1e3),
            format!("{:.2}x", one_by_one.median / ours.median),
            over,
            name,
        ]
    }
}

/// Lines for each device, precision and number of columns.
fn means(all: &[Measured]) -> Vec<String> {
    let group = |one: &Measured| (one.device.clone(), one.dtype, one.columns);
    let mut lines = Vec::new();
    for of in distinct(all.iter().map(group)) {
        let of_group = || all.iter().filter(|one| group(one) == of);
        let (device, dtype, columns) = &of;
        let over = |than: &str, us: &dyn Fn(&Measured) -> Option<f64>| {
            let ratios: Vec<_> =
                of_group().filter_map(|one| Some((us(one)? / one.ours.median, &*one.matrix))).collect();
            mean_line(&format!("{device} {dtype}, {columns} columns"), than, "", &ratios)
        };
        // The first device of a backend has its name.
        let of_one = |one: &Measured| {
            let (backend, _) = one.device.split_once(" x")?;
            let of_first =
                |other: &&Measured| *other.device == *backend || other.device == format!("{backend}#0");
            let same = |other: &&Measured| {
                (other.dtype, other.columns) == (one.dtype, one.columns) && other.matrix == one.matrix
            };
            Some(all.iter().find(|other| of_first(other) && same(other))?.ours.median)
        };
        lines.extend(over("one device", &of_one));
        lines.extend(over("single products", &|one| Some(one.one_by_one.median)));
        lines.extend(over("the fastest other", &|one| Some(one.fastest_peer()?.1)));
        let names = distinct(of_group().flat_map(|one| &one.peers).map(|(name, _)| name.clone()));
        for name in names.iter().filter(|_| names.len() > 1) {
            lines.extend(over(name, &|one| Some(one.peers.iter().find(|peer| peer.0 == *name)?.1)));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_timed_and_checked_in_both_orders() {
        for column_major in [false, true] {
            run(&Args {
                race: RaceArgs::of_a_test(),
                columns: vec![3],
                column_major,
                precision: vec![Dtype::F32],
                peers: false,
                devices: Some(2),
            })
            .unwrap();
        }
    }

    #[test]
    fn a_wrong_column_is_found() {
        let a = Csr::from_coo(1, 1, &[(0, 0, 1.0f32)]).unwrap();
        let sums = [2.0, 1.0].map(|x| oracle::multiply(a.view(), 1.0, &[x], 0.0, &[0.0f32]));
        let shape = BlockShape::row_major(1, 2);
        // 2 + 0 and 4 + 1.
        assert!(check(&[2.0f32, 5.0], shape, &sums).is_ok());
        assert!(check(&[2.0f32, 4.0], shape, &sums).unwrap_err().to_string().starts_with("column 1: "));
    }
}
