//! One prepared matrix in several threads, one `x` in several runs, and memory that is dropped while runs use it.

use libtest_mimic::Trial;
use spmv_backend::Backend;
use spmv_core::{Csr, Dtype, Tiling};
use spmv_exec::{Algorithm, Device, DeviceVec, Error, Options, Prepared};

use crate::check::{compare, input, same_bits};
use crate::corpus::of_lengths;
use crate::outcome::Check;
use crate::{MOST_BLOW_UP, Variant, can, fixups, forced, refusals, trial, with_memory};

/// Runs of each thread.
const RUNS: usize = 50;
/// Runs that are forgotten, so that some of them are on their way when memory is dropped.
const FORGOTTEN: usize = 6;

/// Few enough for buffers of 1300 bytes.
const N_ROWS: usize = 140;
const N_COLS: usize = 67;

/// A device, a matrix and the ways to multiply it.
struct Fixture<'a, B: Backend> {
    device: &'a Device<B>,
    a: Csr<f32>,
    x: Vec<f32>,
    ways: Vec<Options>,
}

/// Trials of a variant, for each algorithm.
pub(crate) fn trials<B: Backend, F>(
    label: &str,
    device: &Device<B>,
    variant: &Variant<F>,
    at: usize,
) -> Vec<Trial> {
    let tests: [(&str, Test<B>); 3] = [
        ("two_threads", two_threads),
        ("x_in_two_runs", x_in_two_runs),
        ("dropped_in_flight", dropped_in_flight),
    ];
    let mut trials = Vec::new();
    for &algorithm in with_memory(variant, at) {
        let tiling = forced(variant, algorithm);
        for (name, test) in tests {
            let device = device.clone();
            let each = move || Fixture::new(&device, algorithm, tiling).each(test);
            trials.push(trial(format!("{label}/{algorithm}/f32/{name}"), Box::new(each)));
        }
    }
    trials
}

/// What is done in each way to multiply.
type Test<B> = fn(&Fixture<'_, B>, &Options) -> Result<(), String>;

/// The matrix and `x` on the device, and their product.
struct Ready<B: Backend> {
    prepared: Prepared<B, f32>,
    x: DeviceVec<B, f32>,
    /// Of one run, and right.
    sums: Vec<f32>,
}

impl<'a, B: Backend> Fixture<'a, B> {
    /// Empty rows, short ones and a long one: with a small tiling, tiles are dirty and sums are carried.
    fn new(device: &'a Device<B>, algorithm: Algorithm, tiling: Option<Tiling>) -> Self {
        let lens: Vec<usize> = (0..N_ROWS).map(|r| if r == 100 { 66 } else { [3, 0, 5, 1][r % 4] }).collect();
        let facts = algorithm.facts();
        let a = of_lengths(&lens, N_COLS).map_values(|v| v as f32);
        let one_nonzero_a_cell = facts.is_some_and(|facts| facts.stores_one_nonzero_a_cell);
        let a = if one_nonzero_a_cell { refusals::without_repeats_and_zeros(&a) } else { a };
        let ways = fixups(algorithm).iter().map(|&fixup| {
            let options =
                Options { algorithm, tiling, fixup, max_blow_up: MOST_BLOW_UP, ..Options::default() };
            let can = can(device, Dtype::F32, &options);
            Options { tiling: tiling.filter(|_| can.is_ok()), ..options }
        });
        let ways = ways.collect();
        Self { device, x: (0..N_COLS).map(|i| input(i, true) as f32).collect(), a, ways }
    }

    /// Does it in every way.
    fn each(&self, test: Test<B>) -> Check {
        for options in &self.ways {
            test(self, options).map_err(|e| format!("{:?}: {e}", options.fixup))?;
        }
        Ok(0)
    }

    /// The prepared matrix with `x` and the sums of one run, which are right.
    fn prepare(&self, options: &Options) -> Result<Ready<B>, String> {
        let Some(prepared) = refusals::prepare(self.device, &self.a, options)? else {
            return Err("the layout refused the matrix".into());
        };
        let multiply = || -> Result<_, Error> {
            let mut workspace = prepared.workspace()?;
            let (x, mut y) = (self.device.upload(&self.x)?, self.device.zeros(N_ROWS)?);
            prepared.apply(&mut workspace, 1.0, &x, 0.0, &mut y)?;
            let sums = y.to_vec()?;
            Ok((x, sums))
        };
        let (x, sums) = multiply().map_err(|e| e.to_string())?;
        let reference = spmv_core::oracle::multiply(self.a.view(), 1.0, &self.x, 0.0, &vec![0.0f32; N_ROWS]);
        compare(&reference, true, &sums)?;
        Ok(Ready { prepared, x, sums })
    }
}

/// Two threads multiply by the same prepared matrix, each on a stream of its own.
fn two_threads<B: Backend>(f: &Fixture<'_, B>, options: &Options) -> Result<(), String> {
    let Ready { prepared, x, sums } = f.prepare(options)?;
    let work = || -> Result<(), String> {
        let fail = |e: Error| e.to_string();
        let mut workspace = prepared.workspace().map_err(fail)?;
        let mut y = f.device.zeros(N_ROWS).map_err(fail)?;
        for run in 0..RUNS {
            prepared.apply(&mut workspace, 1.0, &x, 0.0, &mut y).map_err(fail)?;
            same_bits(&format!("run {run}"), &sums, &y.to_vec().map_err(fail)?)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads = [scope.spawn(work), scope.spawn(work)];
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().unwrap_or_else(|_| Err("a thread panicked".into())))
    })
}

/// Two runs read one `x` at the same time, and end in either order.
fn x_in_two_runs<B: Backend>(f: &Fixture<'_, B>, options: &Options) -> Result<(), String> {
    let Ready { prepared, x, sums } = f.prepare(options)?;
    let run = |first_ends_first: bool| -> Result<[Vec<f32>; 2], Error> {
        let (mut w1, mut w2) = (prepared.workspace()?, prepared.workspace()?);
        let (mut y1, mut y2) = (f.device.zeros(N_ROWS)?, f.device.zeros(N_ROWS)?);
        let first = prepared.enqueue(&mut w1, 1.0, &x, 0.0, &mut y1)?;
        let second = prepared.enqueue(&mut w2, 1.0, &x, 0.0, &mut y2)?;
        if first_ends_first {
            first.wait()?;
            second.wait()?;
        } else {
            second.wait()?;
            first.wait()?;
        }
        Ok([y1.to_vec()?, y2.to_vec()?])
    };
    for first_ends_first in [true, false] {
        for y in run(first_ends_first).map_err(|e| e.to_string())? {
            same_bits("one of two runs", &sums, &y)?;
        }
    }
    Ok(())
}

/// Runs are forgotten, then all that they use is dropped, in one order or the other, while the device multiplies by another
/// matrix.
fn dropped_in_flight<B: Backend>(f: &Fixture<'_, B>, options: &Options) -> Result<(), String> {
    for vectors_first in [true, false] {
        let Ready { prepared: other, x: other_x, sums } = f.prepare(options)?;
        let run = || -> Result<Vec<f32>, Error> {
            let mut kept = Vec::new();
            for _ in 0..FORGOTTEN {
                let prepared = f.device.prepare(f.a.view(), options)?;
                let mut workspace = prepared.workspace()?;
                let (x, mut y) = (f.device.upload(&f.x)?, f.device.zeros(N_ROWS)?);
                std::mem::forget(prepared.enqueue(&mut workspace, 1.0, &x, 0.0, &mut y)?);
                if vectors_first {
                    drop((x, y));
                    kept.push((Some(prepared), Some(workspace), None));
                } else {
                    drop(prepared);
                    drop(workspace);
                    kept.push((None, None, Some((x, y))));
                }
            }
            let (mut workspace, mut y) = (other.workspace()?, f.device.zeros(N_ROWS)?);
            other.apply(&mut workspace, 1.0, &other_x, 0.0, &mut y)?;
            for (_, _, vectors) in &kept {
                assert!(
                    vectors.as_ref().is_none_or(|(_, y)| y.to_vec() == Err(Error::Unrepaired)),
                    "nobody waited"
                );
            }
            drop(kept);
            y.to_vec()
        };
        same_bits("the run after forgotten ones", &sums, &run().map_err(|e| e.to_string())?)?;
    }
    Ok(())
}
