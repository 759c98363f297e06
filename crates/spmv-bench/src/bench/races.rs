//! Ways to do the same in a queue, side by side, for each matrix, type and device: what `mixed`, `epilogues` and `blocks` have in common.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context as _;
use spmv::{BackendKind, DeviceKind, Dtype, Queue};

use super::Ending;
use super::block_product::ON_GPU;
use super::devices::{self, Target};
use super::inputs::{self, Input, Loaded};
use super::measure::{Eviction, Run, interleave};
use super::report::{Cache, Spread, mean_and_least};
use super::rows::Rows;
use super::stop::{Stop, Stopped};
use super::suites::SuiteArgs;

/// Which matrices, on what, how often.
#[derive(Debug, clap::Args)]
pub(crate) struct RaceArgs {
    /// Matrix Market files to multiply, or names of matrices of the suites.
    #[arg(long, num_args = 1.., value_name = "FILE")]
    pub(crate) matrix: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) suites: SuiteArgs,
    /// Backends, with all their devices; all that open, without it.
    #[arg(long, value_delimiter = ',')]
    pub(crate) backend: Vec<BackendKind>,
    /// Timed runs of each contestant, at least.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) repeat: u16,
}

/// The matrices and the devices.
pub(crate) struct Field<'a> {
    args: &'a RaceArgs,
    pub(crate) targets: Vec<Target>,
    inputs: Vec<Input>,
    stop: &'static Stop,
}

/// One matrix on one device.
pub(crate) struct Race<'a> {
    pub(crate) target: &'a Target,
    pub(crate) loaded: &'a Loaded,
    rows: &'a Rows,
    repeat: u16,
    stop: &'a Stop,
}

/// What a contestant queues in one run.
pub(crate) type Contestant<'a> = Box<dyn FnMut(&mut Queue) -> spmv::Result<()> + 'a>;

impl RaceArgs {
    /// One small matrix on the CPU.
    #[cfg(test)]
    pub(crate) fn of_a_test() -> RaceArgs {
        RaceArgs {
            matrix: vec![concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/west0479.mtx.gz").into()],
            suites: SuiteArgs { suite: None, max_nnz: None },
            backend: vec![BackendKind::Cpu],
            repeat: 1,
        }
    }

    /// Opens the devices, and says which matrices are left out.
    ///
    /// # Errors
    /// A backend that does not open, and a matrix that is not there.
    pub(crate) fn open(&self) -> anyhow::Result<Field<'_>> {
        let stop = Stop::at_interrupt()?;
        let targets = devices::open(&self.backend)?;
        let (inputs, left_out) = inputs::select(&self.matrix, self.suites, None)?;
        left_out.iter().for_each(|what| eprintln!("{what}"));
        Ok(Field { args: self, targets, inputs, stop })
    }
}

impl Field<'_> {
    /// Prints a table, whose rows `race` prints for each matrix, type and device, and the lines that `means` makes of what it found: of
    /// what was measured until then, if the run is interrupted.
    ///
    /// # Errors
    /// If a device fails, and what `race` returns.
    pub(crate) fn run<R>(
        &self,
        title: &str,
        header: &[&str],
        dtypes: &[Dtype],
        race: impl Fn(&Race<'_>, Dtype) -> anyhow::Result<Vec<R>>,
        means: impl Fn(&[R]) -> Vec<String>,
    ) -> anyhow::Result<Ending> {
        let Self { inputs, targets, .. } = self;
        println!("{title}, warm; medians\n");
        let devices = targets.iter().map(|target| &*target.label);
        let rows = Rows::begin(header, inputs.iter().map(Input::name), devices);
        let mut found = Vec::new();
        let ending = match self.race_all(&rows, dtypes, race, &mut found) {
            Ok(()) => Ending::Complete,
            Err(e) if e.is::<Stopped>() => Ending::Interrupted,
            Err(e) => return Err(e),
        };
        println!();
        if ending == Ending::Interrupted {
            println!("The run ended early, and the rest was not measured\n");
        }
        means(&found).iter().for_each(|line| println!("{line}"));
        println!("\n{}", super::machine::lines());
        Ok(ending)
    }

    fn race_all<R>(
        &self,
        rows: &Rows,
        dtypes: &[Dtype],
        race: impl Fn(&Race<'_>, Dtype) -> anyhow::Result<Vec<R>>,
        found: &mut Vec<R>,
    ) -> anyhow::Result<()> {
        let Self { args, targets, inputs, stop } = self;
        for input in inputs {
            let loaded = input.load()?;
            for dtype in dtypes {
                for target in targets {
                    stop.check()?;
                    if let Some(why) = target.obstacle(*dtype, Cache::Warm) {
                        eprintln!("{why}");
                        continue;
                    }
                    let of = Race { target, loaded: &loaded, rows, repeat: args.repeat, stop };
                    found.extend(race(&of, *dtype).with_context(|| loaded.name.clone())?);
                }
            }
        }
        Ok(())
    }
}

impl Race<'_> {
    /// Times contestants turn by turn, each in a queue of its own.
    ///
    /// # Errors
    /// Failures of the device, and an interrupt.
    pub(crate) fn times(&self, contestants: Vec<Contestant<'_>>) -> anyhow::Result<Vec<Spread>> {
        let context = &self.target.context;
        let together = if context.caps().kind == DeviceKind::Cpu { 1 } else { ON_GPU };
        let mut runs = Vec::new();
        for mut once in contestants {
            let mut queue = context.queue()?;
            let run: Run<'_> = Box::new(move |batch, _| {
                let batch = batch * together;
                let start = Instant::now();
                (0..batch).try_for_each(|_| once(&mut queue))?;
                queue.wait()?;
                Ok(start.elapsed().as_secs_f64() / batch as f64)
            });
            runs.push(run);
        }
        self.interleave(&mut runs)
    }

    /// Times runs turn by turn.
    ///
    /// # Errors
    /// As [`times`](Self::times).
    pub(crate) fn interleave(&self, runs: &mut [Run<'_>]) -> anyhow::Result<Vec<Spread>> {
        interleave(runs, Cache::Warm, Some(usize::from(self.repeat)), &Eviction::none(), self.stop)
    }

    /// Prints a row of the table.
    pub(crate) fn print(&self, cells: &[String]) {
        self.rows.print(cells);
    }
}

/// `what: 1.234x than (geometric mean of 20`, what else `which` says of them, and the least with its matrix; `None` without ratios.
pub(crate) fn mean_line(what: &str, than: &str, which: &str, ratios: &[(f64, &str)]) -> Option<String> {
    let ((mean, least, at), n) = (mean_and_least(ratios)?, ratios.len());
    Some(format!("{what}: {mean:.3}x {than} (geometric mean of {n}{which}, least {least:.3}x, {at})"))
}
