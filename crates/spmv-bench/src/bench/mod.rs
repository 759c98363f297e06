//! `cargo xtask bench`: what to multiply, where and how; the rest is in the modules.

mod args;
mod block_product;
pub(crate) mod blocks;
pub(crate) mod census;
mod compare;
pub(crate) mod comparison;
pub(crate) mod devices;
pub(crate) mod entrant;
pub(crate) mod epilogues;
pub(crate) mod exchange;
pub(crate) mod files;
pub(crate) mod hetero;
pub(crate) mod html;
pub(crate) mod inputs;
pub(crate) mod live;
mod machine;
pub(crate) mod measure;
pub(crate) mod mixed;
pub(crate) mod partition;
mod peers;
pub(crate) mod prepare;
mod races;
pub(crate) mod regular;
pub(crate) mod report;
mod rows;
pub(crate) mod runner;
pub(crate) mod scale;
mod sets;
pub(crate) mod solve;
pub(crate) mod stop;
pub(crate) mod suites;
mod sweep;
mod table;
pub(crate) mod tan_2019;
pub(crate) mod text;
pub(crate) mod tiling;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use indicatif::{ProgressBar, ProgressStyle};
use spmv::{Dtype, plan::Algorithm};

pub use args::Args;
use args::QUICK_MATRICES;
use comparison::Gpu;
pub(crate) use comparison::MatrixCache;
use devices::Target;
use inputs::{Input, Loaded};
use live::Live;
use machine::Others;
pub(crate) use machine::{commit, machine};
use measure::Eviction;
use report::{Cache, Device, Report, SCHEMA, factor};
use runner::Way;
use stop::{Stop, Stopped};

/// How a run ended whose results are right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Everything was measured.
    Complete,
    /// What was measured until then has been printed and written.
    Interrupted,
}

impl Ending {
    /// What the process returns.
    pub fn code(self) -> ExitCode {
        match self {
            Ending::Complete => ExitCode::SUCCESS,
            Ending::Interrupted => ExitCode::from(stop::EXIT_STATUS),
        }
    }
}

/// Measures, prints, writes.
///
/// # Errors
/// If nothing can be measured, or any result is wrong. What was measured before an error is printed and written.
pub fn run(args: &Args) -> anyhow::Result<Ending> {
    if args.peers {
        peers::environment::enter()?;
    }
    let algorithms = args.algorithms()?;
    let dir = args.suite_dir.as_deref();
    let (mut inputs, left_out) = match args.millions {
        Some(n) => {
            (args.matrix.iter().cloned().map(Input::File).chain(inputs::generated(n)).collect(), vec![])
        }
        None if args.tan_2019 => (inputs::tan_2019(&args.matrix, dir), vec![]),
        None => inputs::select(&args.matrix, args.suites, dir)?,
    };
    if args.quick {
        inputs.truncate(QUICK_MATRICES);
    }
    if args.census {
        write!(args.console(), "{}", census::text(&census::of_all(&inputs)?))?;
        return Ok(Ending::Complete);
    }
    if let Some(at) = args.compare_one {
        comparison::process::compare_one(args, inputs.get(at).context("no matrix of this index")?)?;
        return Ok(Ending::Complete);
    }
    let mut targets = devices::open(&args.backend)?;
    let several = args.devices.map(|n| devices::several(&targets, n as usize)).transpose()?;
    targets.extend(several.into_iter().flatten());
    // Opened by the processes that compare; here there is only to be one.
    let gpu = args.peers.then(|| Gpu::open(&args.backend, &targets).map(drop));
    let stop = Stop::at_interrupt()?;
    let bar = progress(inputs.len() * args.precision.len() * args.caches().len() * args.products().len());
    bar.set_message("measuring the read bandwidth of memory");
    let eviction = Eviction::new();
    let read_gbs = eviction.read_gbs();
    let names: Vec<String> = inputs.iter().map(|input| factor(input.name(), args.transposed)).collect();
    let live = Live::new(
        args.console(),
        &bar,
        names.iter().map(String::as_str),
        targets.iter().map(|target| target.label.as_str()),
    );
    let (targets, algorithms) = (&targets[..], &algorithms[..]);
    let bench = Bench { args, targets, algorithms, eviction: &eviction, bar: &bar, stop, live: &live };
    bench.run(&inputs, left_out, gpu, read_gbs)
}

/// A report without results.
fn empty(targets: &[Target], args: &Args, read_gbs: f64) -> Report {
    Report {
        schema: SCHEMA.into(),
        machine: machine(),
        commit: commit(),
        date: machine::date(),
        load: None,
        ended_early: None,
        read_gbs,
        devices: targets.iter().map(|t| Device { read_gbs: t.read_gbs(read_gbs), ..t.device() }).collect(),
        left_out: left_out(targets, &args.precision, args.caches()),
        absent: BTreeMap::new(),
        peers: BTreeMap::new(),
        rows: vec![],
        sweep: vec![],
        comparison: None,
        comparisons: vec![],
        hetero: vec![],
        regular: vec![],
    }
}

/// What all measurements of a run have in common.
struct Bench<'a> {
    args: &'a Args,
    targets: &'a [Target],
    algorithms: &'a [Algorithm],
    eviction: &'a Eviction,
    bar: &'a ProgressBar,
    stop: &'a Stop,
    live: &'a Live,
}

impl Bench<'_> {
    /// Measures everything, or until it is stopped or fails, and publishes what there is then.
    fn run(
        &self,
        inputs: &[Input],
        left_out: Vec<String>,
        gpu: Option<anyhow::Result<()>>,
        read_gbs: f64,
    ) -> anyhow::Result<Ending> {
        let mut report = empty(self.targets, self.args, read_gbs);
        report.left_out.extend(left_out);
        let (mut pictures, others) = (Vec::new(), Others::watch());
        let ended = self.measure_all(inputs, gpu, &mut report, &mut pictures);
        report.load = others.threads();
        self.bar.finish_and_clear();
        report.ended_early = ended.as_ref().err().map(|e| format!("{e:#}"));
        // Files of earlier runs stay if this one has nothing to put there.
        if ended.is_ok() || report.n_results() > 0 {
            self.publish(&report, &pictures)?;
        }
        match ended {
            Ok(()) => verdict(&report),
            Err(e) if e.is::<Stopped>() => Ok(Ending::Interrupted),
            Err(e) => Err(e),
        }
    }

    fn measure_all(
        &self,
        inputs: &[Input],
        gpu: Option<anyhow::Result<()>>,
        report: &mut Report,
        pictures: &mut Vec<html::Picture>,
    ) -> anyhow::Result<()> {
        for input in inputs {
            self.stop.check()?;
            self.bar.set_message(format!("{}: reading", input.name()));
            let loaded = input.load().with_context(|| input.name().to_owned())?;
            let measured = self.measure(&loaded, report);
            if self.args.html.is_some() && report.rows.iter().any(|row| row.matrix == loaded.name) {
                pictures.push(html::Picture::of(&loaded.name, loaded.matrix.view()));
            }
            measured?;
        }
        match gpu {
            None => Ok(()),
            Some(Err(e)) => {
                report.absent.insert(comparison::CUSPARSE.into(), format!("{e:#}"));
                Ok(())
            }
            Some(Ok(())) => {
                comparison::process::compare_all(inputs, (self.bar, self.stop, self.live), report)
            }
        }
    }

    /// Adds the results of one matrix in every precision and state of the caches.
    fn measure(&self, loaded: &Loaded, report: &mut Report) -> anyhow::Result<()> {
        let args = self.args;
        let cases =
            args.precision.iter().flat_map(|precision| args.caches().iter().map(move |c| (precision, c)));
        for (&precision, &cache) in cases {
            for &transposed in args.products() {
                let name = factor(&loaded.name, transposed);
                self.bar.set_message(format!("{name} {precision} {cache:?}").to_lowercase());
                let able: Vec<&Target> =
                    self.targets.iter().filter(|p| p.obstacle(precision, cache).is_none()).collect();
                if able.is_empty() {
                    self.bar.inc(1);
                    continue;
                }
                let way = Way {
                    targets: &able,
                    algorithms: self.algorithms,
                    tiling: args.tiling(),
                    tune: args.tune.map(Into::into),
                    transposed,
                    cache,
                    repeat: args.repeat(),
                    peers: args.peers && able.iter().any(|target| target.is_cores()),
                    eviction: self.eviction,
                    stop: self.stop,
                    live: self.live,
                };
                let measure = match (args.sweep, args.hetero, args.regular) {
                    (true, ..) => sweep::measure,
                    (_, true, _) => hetero::measure,
                    (.., true) => regular::measure,
                    _ => runner::measure,
                };
                let measured = measure(&way, loaded, precision, report);
                self.live.show(report);
                measured.with_context(|| format!("{name} in {precision}"))?;
                self.bar.inc(1);
            }
        }
        Ok(())
    }

    /// Prints the tables, writes the files.
    fn publish(&self, report: &Report, pictures: &[html::Picture]) -> anyhow::Result<()> {
        let args = self.args;
        self.live.finish(&match (args.sweep, args.hetero, args.regular) {
            (true, ..) => sweep::text(report),
            (_, true, _) => hetero::text(report, args.trace),
            (.., true) => regular::text(report),
            _ => table::text(report),
        });
        let write =
            |path: &Path, text: &str| files::write(path, text).with_context(|| path.display().to_string());
        if let Some(path) = &args.json {
            write(path, &(serde_json::to_string_pretty(report)? + "\n"))?;
        }
        if let Some(path) = &args.html {
            write(path, &html::page(report, pictures))?;
        }
        Ok(())
    }
}

/// A sentence for every device and what it cannot do of what was asked for.
fn left_out(targets: &[Target], precisions: &[Dtype], caches: &[Cache]) -> Vec<String> {
    let mut lines = Vec::new();
    for target in targets {
        for line in caches.iter().flat_map(|c| precisions.iter().filter_map(|p| target.obstacle(*p, *c))) {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}

fn verdict(report: &Report) -> anyhow::Result<Ending> {
    let results = report.n_results();
    match report.n_failed() {
        0 if results == 0 => bail!("nothing was measured: everything was left out"),
        0 => Ok(Ending::Complete),
        failed => bail!("{failed} of {results} results are wrong or missing"),
    }
}

pub(crate) fn progress(steps: usize) -> ProgressBar {
    let style =
        ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {wide_msg}").expect("a valid template");
    let bar = ProgressBar::new(steps as u64).with_style(style);
    bar.enable_steady_tick(std::time::Duration::from_millis(200));
    bar
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use spmv::{BackendKind, Context};

    use super::args::tests::parse;
    use super::*;

    /// Output that asks for an end of the run as soon as it is written to.
    struct StopsAtOnce {
        text: Rc<RefCell<String>>,
        stop: Rc<Stop>,
    }

    impl Write for StopsAtOnce {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.stop.request();
            self.text.borrow_mut().push_str(std::str::from_utf8(bytes).unwrap());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// What a run over three matrices prints and writes as JSON and HTML, if it is stopped after its first output.
    fn stopped(options: &str) -> (String, Report, String) {
        let folder = tempfile::tempdir().unwrap();
        let [json, html] = ["a.json", "a.html"].map(|name| folder.path().join(name));
        let mut args =
            parse(&format!("bench --backend cpu --precision f32,f64 --repeat 1{options}")).unwrap();
        (args.json, args.html) = (Some(json.clone()), Some(html.clone()));
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data");
        let inputs = ["bp_1200", "young1c", "west0479"].map(|name| data.join(format!("{name}.mtx.gz")));
        let inputs = inputs.map(Input::File);
        let targets = [Target::new(Context::with(BackendKind::Cpu).unwrap(), "cpu")];
        let (text, stop) = (Rc::new(RefCell::default()), Rc::new(Stop::new()));
        let out = Box::new(StopsAtOnce { text: Rc::clone(&text), stop: Rc::clone(&stop) });
        let bar = ProgressBar::hidden();
        let names = inputs.iter().map(Input::name);
        let bench = Bench {
            args: &args,
            targets: &targets,
            algorithms: &[Algorithm::CsrScalar],
            eviction: &Eviction::none(),
            bar: &bar,
            stop: &stop,
            live: &Live::new(out, &bar, names, ["cpu"].into_iter()),
        };
        assert_eq!(bench.run(&inputs, vec![], None, 1.0).unwrap(), Ending::Interrupted);
        let read = |path| std::fs::read_to_string(path).unwrap();
        (text.take(), serde_json::from_str(&read(&json)).unwrap(), read(&html))
    }

    #[test]
    fn a_run_that_is_stopped_after_its_first_row_has_it_in_table_and_files() {
        let (text, report, html) = stopped("");
        let row = text.lines().next().unwrap();
        assert!(row.starts_with("bp_1200") && row.contains("f32") && row.contains("GFlop/s"), "{text}");
        assert_eq!(text.lines().filter(|line| line.starts_with("| bp_1200")).count(), 1, "{text}");
        assert!(text.contains("The run ended early") && text.contains("interrupted"), "{text}");
        assert_eq!((report.rows.len(), &*report.rows[0].matrix), (1, "bp_1200"));
        assert!(report.ended_early.unwrap().contains("interrupted"));
        assert_eq!(html.matches("<th scope=\"row\">bp_1200").count(), 1, "a row of the table");
        assert!(!text.contains("young1c") && !html.contains("young1c"));
    }

    #[test]
    fn a_sweep_that_is_stopped_has_the_tilings_that_it_measured() {
        let (text, report, _) = stopped(" --sweep");
        assert!(!report.sweep.is_empty() && report.sweep.iter().all(|cell| cell.matrix == "bp_1200"));
        assert!(text.lines().next().unwrap().contains("T="), "{text}");
        assert_eq!(text.matches("GFlop/s of spec_segsum by W").count(), 1, "{text}");
    }

    #[test]
    fn files_of_an_earlier_run_stay_if_nothing_was_measured() {
        let folder = tempfile::tempdir().unwrap();
        let json = folder.path().join("a.json");
        std::fs::write(&json, "earlier").unwrap();
        let mut args = parse("bench --backend cpu").unwrap();
        args.json = Some(json.clone());
        let (stop, live, bar) = (Stop::new(), Live::discarding(), ProgressBar::hidden());
        stop.request();
        let eviction = &Eviction::none();
        let bench = Bench {
            args: &args,
            targets: &[],
            algorithms: &[],
            eviction,
            bar: &bar,
            stop: &stop,
            live: &live,
        };
        let input = Input::File("none.mtx".into());
        assert_eq!(bench.run(&[input], vec![], None, 1.0).unwrap(), Ending::Interrupted);
        assert_eq!(std::fs::read_to_string(json).unwrap(), "earlier");
    }
}
