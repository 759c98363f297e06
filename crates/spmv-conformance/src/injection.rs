//! Every verb of a whole scenario fails once: the error reaches the caller, no `y` can be read that is not finished, and all
//! works again.
//!
//! The scenario prepares a matrix, makes a workspace, and multiplies in every way that there is. It runs once without a
//! fault, which counts the calls of verbs; then once for each call and each `Fault`. Whatever fails is done again at once,
//! by the same device, matrix, workspace and vectors.

use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use libtest_mimic::Trial;
use spmv_backend::{Backend, Error as DeviceError, Result as DeviceResult};
use spmv_core::{Csr, Dtype, Tiling, oracle};
use spmv_exec::{Algorithm, Device, DeviceVec, Error, Fixup, Options, Prepared, Repair, Workspace};

use crate::check::input;
use crate::corpus::of_lengths;
use crate::faults::{Fault, Faults};
use crate::probe::Probe;
use crate::watch::{Opened, Watch};
use crate::{MOST_BLOW_UP, Share, can, fixups, refusals};

/// For one scenario with one fault. It takes milliseconds.
const TIME_LIMIT: Duration = Duration::from_secs(120);

/// Alpha and beta: sums that are stored at once, and sums that are scaled and added to what is there.
const SCALINGS: [(f32, f32); 2] = [(1.0, 0.0), (2.0, 3.0)];

/// Failures of a trial that are reported.
const SHOWN: usize = 8;

/// Of the calls that fail, those at which the device is lost: one of so many.
const LOST: usize = 3;

/// Trials of a device in which calls of verbs fail, one for each algorithm and each way to repair its sums, with that tiling
/// where it can do it. None where it does not open: [`suite`](crate::suite) says so.
///
/// One of `every_nth` calls of a scenario fails, others in each trial from the share's on; in the full suite each of them.
pub fn trials<B: Backend>(
    label: &str,
    opened: DeviceResult<B>,
    tiling: Tiling,
    algorithms: &[Algorithm],
    (share, every_nth): (Share, usize),
) -> Vec<Trial> {
    let Ok(Ok(device)) = opened.map(Device::new) else { return vec![] };
    let ways = algorithms
        .iter()
        .flat_map(|&algorithm| fixups(algorithm).iter().map(move |fixup| (algorithm, *fixup)));
    let trial = |(turn, (algorithm, fixup))| {
        let in_words = match fixup {
            Fixup::Auto => "",
            Fixup::Host => "/host",
            Fixup::Device => "/device",
        };
        let name = format!("{}-{label}/{algorithm}/f32{in_words}/injected_failures", B::NAME);
        let options = Options {
            algorithm,
            tiling: Some(tiling),
            fixup,
            max_blow_up: MOST_BLOW_UP,
            ..Options::default()
        };
        let tiling = options.tiling.filter(|_| can(&device, Dtype::F32, &options).is_ok());
        let options = Options { tiling, ..options };
        let (device, share) = (device.clone(), share.next(turn));
        Trial::test(name, move || Ok(check(&device, options, share, every_nth)?))
    };
    ways.enumerate().map(trial).collect()
}

/// Sixty rows with empty ones and a long one, in tiles of a few entries: tiles are dirty, and sums are carried.
fn matrix(options: &Options) -> Csr<f32> {
    let lens: Vec<usize> = (0..60).map(|r| if r == 40 { 50 } else { [3, 0, 5, 1][r % 4] }).collect();
    let a = of_lengths(&lens, 67).map_values(|v| v as f32);
    let one_nonzero_a_cell = options.algorithm.facts().is_some_and(|facts| facts.stores_one_nonzero_a_cell);
    if one_nonzero_a_cell { refusals::without_repeats_and_zeros(&a) } else { a }
}

fn check<B: Backend>(
    device: &Device<B>,
    options: Options,
    share: Share,
    every_nth: usize,
) -> Result<(), String> {
    let opened = Opened::new(device).map_err(|e| e.to_string())?;
    let a = matrix(&options);
    let x: Vec<f32> = (0..a.n_cols()).map(|i| input(i, true) as f32).collect();
    let old: Vec<f32> = (0..a.n_rows()).map(|i| input(i + 3, true) as f32).collect();
    let right = SCALINGS.map(|(alpha, beta)| {
        let reference = oracle::multiply(a.view(), alpha.into(), &x, beta.into(), &old);
        reference.y.iter().map(|y| *y as f32).collect()
    });
    let scenario = Arc::new(Scenario { opened, a, x, old, right, options });
    let calls = match &played(&scenario, vec![None])[..] {
        [Ok(calls)] => *calls,
        [Err(e), ..] => return Err(format!("without a fault: {e}")),
        other => return Err(format!("without a fault: {other:?}")),
    };
    let all: Vec<_> = (0..calls).collect();
    let kinds = [(Fault::NotDone, every_nth), (Fault::Done, every_nth), (Fault::Lost, LOST * every_nth)];
    let faults = kinds.into_iter().flat_map(|(fault, every_nth)| {
        share.part(&all, every_nth).into_iter().map(move |call| (call, fault))
    });
    let faults: Vec<_> = faults.collect();
    let results = played(&scenario, faults.iter().copied().map(Some).collect());
    let failures = results.into_iter().zip(faults).filter_map(|(result, (call, fault))| {
        result.err().map(|e| format!("call {call} of {calls}, {fault:?}: {e}"))
    });
    let found: Vec<_> = failures.collect();
    match found.len() {
        0 => Ok(()),
        n => Err(format!("{n} failures, the first of them:\n{}", found[..n.min(SHOWN)].join("\n"))),
    }
}

/// Plays a scenario once with each of the faults, in a thread of its own with a limit of time for each; returns how many
/// calls there were. One that hangs is the last.
fn played<B: Backend>(
    scenario: &Arc<Scenario<B>>,
    faults: Vec<Option<(u64, Fault)>>,
) -> Vec<Result<u64, String>> {
    let (sender, results) = mpsc::channel();
    let (scenario, n) = (Arc::clone(scenario), faults.len());
    thread::spawn(move || {
        for fault in faults {
            let faults = fault.map_or_else(Faults::default, |(call, fault)| Faults::armed(call, fault));
            // What a panic leaves behind is this scenario's alone.
            let played = panic::catch_unwind(AssertUnwindSafe(|| scenario.play(faults)));
            let played = played.unwrap_or_else(|panic| {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
                Err(format!("panicked: {}", text.unwrap_or("with something that is no text")))
            });
            // Nobody receives it after the time limit.
            let _ = sender.send(played);
        }
    });
    let mut all = Vec::new();
    for _ in 0..n {
        match results.recv_timeout(TIME_LIMIT) {
            Ok(result) => all.push(result),
            Err(_) => {
                all.push(Err(format!("hangs for {} s", TIME_LIMIT.as_secs())));
                break;
            }
        }
    }
    all
}

struct Scenario<B: Backend> {
    opened: Arc<Opened<B>>,
    a: Csr<f32>,
    x: Vec<f32>,
    /// What `y` holds before a run.
    old: Vec<f32>,
    /// What it must hold after a run in each scaling.
    right: [Vec<f32>; 2],
    options: Options,
}

/// Why a scenario ends early.
enum End {
    /// The device was lost, and everything went as it should.
    Lost,
    /// What went wrong.
    Wrong(String),
}

impl End {
    fn after(self, what: &str, e: &DeviceError) -> Self {
        match self {
            End::Lost => End::Lost,
            End::Wrong(found) => End::Wrong(format!("{what} after '{e}': {found}")),
        }
    }
}

impl From<String> for End {
    fn from(what: String) -> Self {
        End::Wrong(what)
    }
}

/// The steps of a scenario in which one call may fail.
struct Steps<'a, B: Backend> {
    watch: &'a Arc<Watch<B>>,
}

impl<B: Backend> Steps<'_, B> {
    /// Does a step. If the fault strikes in it, the step must fail with that very error; when what it left
    /// behind was checked, it is done again, and must work.
    fn checked<S, R>(
        &self,
        what: &str,
        on: &mut S,
        step: impl Fn(&mut S) -> Result<R, Error>,
        left: impl FnOnce(&mut S) -> Result<(), String>,
    ) -> Result<R, End> {
        let faults = &self.watch.faults;
        let before = faults.injected();
        let result = step(on);
        let injected = faults.injected().filter(|_| before.is_none());
        match (result, injected) {
            (Ok(result), None) => Ok(result),
            (Ok(_), Some(e)) => Err(format!("{what} swallowed: {e}").into()),
            (Err(e), None) => Err(format!("{what}: {e}").into()),
            (Err(found), Some(e)) if found != Error::Device(e.clone()) => {
                Err(format!("{what} reported '{found}' instead of '{e}'").into())
            }
            (Err(_), Some(e)) => {
                self.again(|| left(on)).map_err(|end| end.after(what, &e))?;
                Ok(step(on).map_err(|found| format!("{what} after '{e}', again: {found}"))?)
            }
        }
    }

    /// After a fault no call fails, and what it left behind must be as it should. A device that is lost is not used again.
    fn again(&self, left: impl FnOnce() -> Result<(), String>) -> Result<(), End> {
        self.watch.faults.heal();
        left()?;
        if self.watch.faults.was_lost() { Err(End::Lost) } else { Ok(()) }
    }

    fn step<R>(&self, what: &str, step: impl Fn() -> Result<R, Error>) -> Result<R, End> {
        self.checked(what, &mut (), |_| step(), |_| Ok(()))
    }
}

/// What runs use.
struct Vectors<'a, B: Backend> {
    prepared: &'a Prepared<Probe<B>, f32>,
    workspace: Workspace<Probe<B>, f32>,
    x: DeviceVec<Probe<B>, f32>,
    y: DeviceVec<Probe<B>, f32>,
}

impl<B: Backend> Scenario<B> {
    /// Plays the scenario and drops all that it made; returns how many calls of verbs there were.
    fn play(&self, faults: Faults) -> Result<u64, String> {
        let watch = Watch::new(&self.opened, faults);
        match self.steps(&Steps { watch: &watch }) {
            Ok(()) | Err(End::Lost) => {}
            Err(End::Wrong(what)) => return Err(what),
        }
        let calls = watch.faults.calls();
        if let [first, ..] = &watch.alive()[..] {
            return Err(format!("still alive when all is dropped: {first}"));
        }
        Ok(calls)
    }

    fn steps(&self, steps: &Steps<'_, B>) -> Result<(), End> {
        let watch = steps.watch;
        let device = steps.step("opening", || Device::new(Probe::new(watch)))?;
        let mut prepared = steps.step("preparing", || device.prepare(self.a.view(), &self.options))?;
        self.new_values(steps, &mut prepared)?;
        let prepared = &prepared;
        let workspace = steps.step("making a workspace", || prepared.timed_workspace())?;
        let x = steps.step("uploading x", || device.upload(&self.x))?;
        let y = steps.step("making y", || device.zeros(self.a.n_rows()))?;
        let mut v = Vectors { prepared, workspace, x, y };
        for (i, (alpha, beta)) in SCALINGS.into_iter().enumerate() {
            let run = Run { scenario: self, steps, alpha, beta, right: &self.right[i] };
            run.on_device(&mut v)?;
            run.dropped(&mut v)?;
            run.forgotten(&mut v)?;
            run.captured(&mut v)?;
            run.on_host(&mut v)?;
        }
        Ok(watch.check()?)
    }

    /// Values that are those of before: where memory is short, they stay.
    fn new_values(&self, steps: &Steps<'_, B>, prepared: &mut Prepared<Probe<B>, f32>) -> Result<(), End> {
        steps.checked("setting values", prepared, |prepared| prepared.set_values(self.a.vals()), |_| Ok(()))
    }
}

/// A scenario's runs in one scaling.
struct Run<'a, B: Backend> {
    scenario: &'a Scenario<B>,
    steps: &'a Steps<'a, B>,
    alpha: f32,
    beta: f32,
    right: &'a [f32],
}

impl<B: Backend> Run<'_, B> {
    fn write(&self, v: &mut Vectors<'_, B>) -> Result<(), End> {
        self.steps.checked("writing y", v, |v| v.y.write(&self.scenario.old), |v| self.is_not_on_its_way(v))
    }

    /// After a copy that failed: another stream may use the vectors at once.
    fn is_not_on_its_way(&self, v: &mut Vectors<'_, B>) -> Result<(), String> {
        if self.steps.watch.faults.was_lost() {
            return Ok(());
        }
        let run = v.prepared.apply(&mut v.workspace, 1.0, &v.x, 0.0, &mut v.y);
        run.map(drop).map_err(|e| format!("a run: {e}"))
    }

    /// After a run that must have worked.
    fn is_right(&self, what: &str, v: &mut Vectors<'_, B>) -> Result<(), End> {
        let y = self.steps.checked("reading y", v, |v| v.y.to_vec(), |_| Ok(()))?;
        self.expect(what, &y)
    }

    fn expect(&self, what: &str, y: &[f32]) -> Result<(), End> {
        match y == self.right {
            true => Ok(()),
            false => Err(format!("{what}: y is {y:?}, must be {:?}", self.right).into()),
        }
    }

    /// After a run that failed: `x` is not in use, and `y` must not be readable, unless it is or was never touched. Then
    /// makes it what the run began with, where it is read.
    fn is_not_half_done(&self, v: &mut Vectors<'_, B>) -> Result<(), String> {
        if !self.steps.watch.faults.was_lost() {
            v.x.write(&self.scenario.x).map_err(|e| format!("writing x: {e}"))?;
        }
        match v.y.to_vec() {
            Err(Error::Unrepaired) => {}
            Ok(y) if y == self.scenario.old || y == self.right => {}
            Ok(y) => return Err(format!("y can be read and is {y:?}")),
            Err(e) => return Err(format!("reading y: {e}")),
        }
        match self.beta {
            0.0 => Ok(()),
            _ => v.y.write(&self.scenario.old).map_err(|e| format!("writing y: {e}")),
        }
    }

    fn on_device(&self, v: &mut Vectors<'_, B>) -> Result<(), End> {
        let taken = self.steps.watch.faults.takes();
        self.write(v)?;
        let apply = |v: &mut Vectors<'_, B>| {
            v.prepared.apply(&mut v.workspace, self.alpha, &v.x, self.beta, &mut v.y)
        };
        self.steps.checked("a run", v, apply, |v| self.is_not_half_done(v))?;
        self.is_right("a run", v)?;
        if v.prepared.plan().repair == Repair::Device {
            let dirty = self.steps.checked(
                "counting dirty tiles",
                v,
                |v| v.workspace.dirty_tiles(v.prepared),
                |_| Ok(()),
            )?;
            if dirty == 0 {
                return Err("no tile was dirty".to_owned().into());
            }
        }
        let can_map = v.prepared.device().caps().memory.host_can_map();
        let mapped = |v: &mut Vectors<'_, B>| if can_map { v.y.map(|y| y.to_vec()) } else { v.y.to_vec() };
        let y = self.steps.checked("mapping y", v, mapped, |_| Ok(()))?;
        if self.steps.watch.faults.takes() > taken {
            return Err("a run, or a copy, allocates memory or opens a stream".to_owned().into());
        }
        self.expect("y, mapped", &y)
    }

    /// Whoever drops a run sees no error; then `y` cannot be read.
    fn dropped(&self, v: &mut Vectors<'_, B>) -> Result<(), End> {
        const WHAT: &str = "a run that is dropped";
        self.write(v)?;
        let faults = &self.steps.watch.faults;
        let before = faults.injected();
        let enqueue = |v: &mut Vectors<'_, B>| {
            v.prepared.enqueue(&mut v.workspace, self.alpha, &v.x, self.beta, &mut v.y).map(drop)
        };
        match (enqueue(v), faults.injected().filter(|_| before.is_none())) {
            (Ok(()), None) => {}
            (Err(e), None) => return Err(format!("{WHAT}: {e}").into()),
            (Err(found), Some(e)) if found != Error::Device(e.clone()) => {
                return Err(format!("{WHAT} reported '{found}' instead of '{e}'").into());
            }
            (_, Some(e)) => {
                self.steps.again(|| self.is_not_half_done(v)).map_err(|end| end.after(WHAT, &e))?;
                enqueue(v).map_err(|found| format!("{WHAT} after '{e}', again: {found}"))?;
            }
        }
        self.is_right("a run that was dropped", v)
    }

    /// The vectors of a forgotten run can be used again once they are written.
    fn forgotten(&self, v: &mut Vectors<'_, B>) -> Result<(), End> {
        self.write(v)?;
        let watch = self.steps.watch;
        let enqueue = |v: &mut Vectors<'_, B>| {
            let run = v.prepared.enqueue(&mut v.workspace, self.alpha, &v.x, self.beta, &mut v.y)?;
            watch.forget_events();
            std::mem::forget(run);
            Ok(())
        };
        // What was enqueued again after an error is as forgotten.
        self.steps.checked("a run that is forgotten", v, enqueue, |v| self.is_not_half_done(v))?;
        if v.y.to_vec() != Err(Error::Unrepaired) {
            return Err("y can be read after a run was forgotten".to_owned().into());
        }
        self.steps.checked("writing x", v, |v| v.x.write(&self.scenario.x), |v| self.is_not_on_its_way(v))
    }

    fn captured(&self, v: &mut Vectors<'_, B>) -> Result<(), End> {
        self.write(v)?;
        let replay = |v: &mut Vectors<'_, B>| {
            let mut graph = v.prepared.capture(&mut v.workspace, 1, self.alpha, &v.x, self.beta, &mut v.y)?;
            let first = graph.replay();
            // Where nothing is added, the same graph must work after an error.
            if first.is_err() && self.beta == 0.0 && !self.steps.watch.faults.was_lost() {
                self.steps.watch.faults.heal();
                graph.replay().expect("a graph can be replayed after an error");
                drop(graph);
                assert_eq!(v.y.to_vec()?, self.right, "by a graph that is replayed after an error");
            }
            first
        };
        self.steps.checked("a captured run", v, replay, |v| self.is_not_half_done(v))?;
        self.is_right("a captured run", v)?;
        self.write(v)?;
        let apply = |v: &mut Vectors<'_, B>| {
            v.prepared.apply(&mut v.workspace, self.alpha, &v.x, self.beta, &mut v.y)
        };
        self.steps.checked("a run after captured ones", v, apply, |v| self.is_not_half_done(v))?;
        self.is_right("a run after captured ones", v)
    }

    /// After an error `y` is unspecified, but no longer in use.
    fn on_host(&self, v: &mut Vectors<'_, B>) -> Result<(), End> {
        let watch = self.steps.watch;
        let apply = |v: &mut Vectors<'_, B>| {
            let mut y = self.scenario.old.clone();
            v.prepared.apply_slices(&mut v.workspace, self.alpha, &self.scenario.x, self.beta, &mut y)?;
            Ok(y)
        };
        // A lost device could not be waited for.
        let left = |_: &mut Vectors<'_, B>| match watch.uses_host_memory() && !watch.faults.was_lost() {
            false => Ok(()),
            true => Err("commands may still use slices of the host".to_owned()),
        };
        for first in [true, false] {
            let taken = watch.faults.takes();
            let y = self.steps.checked("a run on slices of the host", v, apply, left)?;
            self.expect("a run on slices of the host", &y)?;
            // Runs allocate nothing, but for the copies of the first.
            if !first && watch.faults.takes() > taken {
                return Err("a later run on slices of the host allocates memory or opens a stream"
                    .to_owned()
                    .into());
            }
        }
        Ok(())
    }
}
