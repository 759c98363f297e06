//! Searches by models, by runs, and with times that are made up.

use std::cell::{Cell, RefCell};

use proptest::prelude::*;
use spmv_core::{Csr, Dtype, oracle};
use spmv_cpu::Cpu;
use spmv_exec::{Algorithm, Device};

use super::*;
use crate::models::{CORES_FEATURES, DEVICE_FEATURES, Models, Svr};
use crate::partition::{By, Step};
use crate::pattern::Pattern;

fn devices() -> CoDevices<Cpu, Cpu> {
    let open = || Device::new(Cpu::open(Default::default())?);
    CoDevices::new(open().unwrap(), 1, open).unwrap()
}

/// Quasi-diagonal, Tetris and general.
fn matrices() -> [Csr<f64>; 3] {
    let n = 600u32;
    let matrix = |cells: Vec<(u32, u32)>| {
        let entries: Vec<_> = cells.into_iter().map(|(r, c)| (r, c, f64::from(c % 5) + 0.5)).collect();
        Csr::from_coo(n as usize, n as usize, &entries).unwrap()
    };
    let far = |r: u32, k: u32| (r, (r * 131 + k * k * 37 + k) % n);
    let diagonals =
        (0..n).flat_map(|r| (0..5).map(move |k| (r, (r + k).min(n - 1)))).chain((0..n).map(|r| far(r, 1)));
    let even = (0..n).flat_map(|r| (0..6).map(move |k| far(r, k)));
    let long = (0..2u32).flat_map(|r| (0..n / 2).map(move |c| (r * 70, 2 * c)));
    let uneven = (0..n / 10).flat_map(|r| (0..100).map(move |k| (r * 10, (k * 3 + r) % n)));
    [matrix(diagonals.collect()), matrix(even.chain(long).collect()), matrix(uneven.collect())]
}

fn is_right(co_matrix: &CoMatrix<Cpu, Cpu, f64>, a: &Csr<f64>) {
    let x: Vec<f64> = (0..a.n_cols()).map(|i| 0.25 + (i % 7) as f64).collect();
    let mut y = vec![f64::NAN; a.n_rows()];
    co_matrix.apply(&mut co_matrix.workspace().unwrap(), 1.0, &x, 0.0, &mut y).unwrap();
    let reference = oracle::multiply(a.view(), 1.0, &x, 0.0, &y);
    assert!(reference.error_over_bound(&y) <= 1.0, "{}", co_matrix.explain());
}

/// Models with these seconds, whatever the part is like.
fn models(device: f64, cores: f64) -> Models {
    let caps = devices().device().caps().clone();
    let svr = |n: usize, seconds: f64| Svr {
        means: vec![0.0; n],
        deviations: vec![1.0; n],
        width: 1.0,
        vectors: vec![],
        weights: vec![],
        bias: seconds.ln(),
    };
    let mut models = Models::new(&caps, &caps);
    models.put(SplitModels {
        value: Dtype::F64.name().into(),
        device: svr(DEVICE_FEATURES.len(), device),
        cores: svr(CORES_FEATURES.len(), cores),
    });
    models
}

#[test]
fn by_runs_every_pattern_is_split_or_the_reason_is_given() {
    for (a, pattern) in matrices().iter().zip([Pattern::QuasiDiagonal, Pattern::Tetris, Pattern::General]) {
        let co_matrix = CoMatrix::prepare(
            &devices(),
            a.view(),
            &Options::default(),
            &Steering { runs: 2, ..Steering::default() },
        )
        .unwrap();
        let partition = co_matrix.partition().unwrap();
        assert_eq!(partition.pattern, pattern);
        assert!(partition.trace.iter().all(|step| step.by == By::Runs && step.total_s > 0.0));
        assert!(partition.trace.len() <= 60, "{}", partition.trace());
        // The cores alone, the device alone, and then where the search begins.
        let [cores, device, start] = [0, 1, 2].map(|at| partition.trace[at].split);
        assert_eq!((cores.rows, device.rows), (0, a.n_rows()));
        let starts_regular = start.regular != Regular::None;
        assert_eq!(starts_regular, pattern != Pattern::General, "{}", partition.trace());
        let tried = |algorithm| partition.trace.iter().any(|step| step.split.options.algorithm == algorithm);
        assert!(tried(Algorithm::Auto) && tried(Algorithm::SpeculativeSegmentedSum));
        let explained = co_matrix.explain();
        assert!(explained.contains("matrix; ") && explained.contains("measured"), "{explained}");
        is_right(&co_matrix, a);
    }
}

#[test]
fn a_search_begins_with_the_regular_part_that_is_asked_for() {
    let [a, ..] = matrices();
    for regular in [Regular::Diagonals { half_width: 3 }, Regular::Slots { width: 2 }, Regular::None] {
        let steering = Steering { regular: Some(regular), ..Steering::default() };
        let found = MadeUp::search(&a, &steering, [1e-3, 1e-3], 0.0);
        let partition = found.partition();
        assert_eq!(partition.pattern, Pattern::QuasiDiagonal, "that of the matrix");
        assert_eq!(partition.trace[2].split.regular, regular, "{}", partition.trace());
        is_right(&found.co_matrix, &a);
    }
}

#[test]
fn models_alone_leave_a_slow_one_out() {
    let [a, ..] = matrices();
    for (device, cores, name) in [(1e-3, 1e-6, "cores"), (1e-6, 1e-3, "device")] {
        let models = Some(Arc::new(models(device, cores)));
        let steering = Steering { models, runs: 0, ..Steering::default() };
        let co_matrix = CoMatrix::prepare(&devices(), a.view(), &Options::default(), &steering).unwrap();
        let of_cores = co_matrix.split().entries(a.view())[2];
        assert_eq!(of_cores, if name == "cores" { a.nnz() } else { 0 }, "{}", co_matrix.explain());
        assert!(!co_matrix.is_split());
        assert!(
            co_matrix.explain().contains(&format!("the {name} alone, predicted")),
            "{}",
            co_matrix.explain()
        );
        assert!(co_matrix.partition().unwrap().trace.iter().all(|step| step.by == By::Models));
        is_right(&co_matrix, &a);
    }
}

#[test]
fn runs_go_on_where_models_end() {
    let [a, ..] = matrices();
    let steering = Steering { models: Some(Arc::new(models(1e-6, 1e-6))), runs: 2, ..Steering::default() };
    let co_matrix = CoMatrix::prepare(&devices(), a.view(), &Options::default(), &steering).unwrap();
    let partition = co_matrix.partition().unwrap();
    let first_run = partition.trace.iter().position(|step| step.by == By::Runs).unwrap();
    assert!(first_run > 0 && partition.trace[..first_run].iter().all(|step| step.by == By::Models));
    let best = partition.best.unwrap();
    let of_best = |by| partition.trace.iter().any(|step| step.by == by && step.split == best.split);
    assert!(of_best(By::Models) && of_best(By::Runs), "{}", partition.trace());
    is_right(&co_matrix, &a);
}

#[test]
fn trials_are_for_splits_that_are_given() {
    let [_, _, a] = matrices();
    let options = Options { tune: Tune::Quick, ..Options::default() };
    let searched = CoMatrix::prepare(&devices(), a.view(), &options, &Steering::default()).unwrap();
    assert!(searched.plan().trials.is_empty(), "{}", searched.explain());
    let steering = Steering { split: Some(Split::by_rows(300)), ..Steering::default() };
    let given = CoMatrix::prepare(&devices(), a.view(), &options, &steering).unwrap();
    assert!(given.plan().trials.len() > 1, "{}", given.explain());
    is_right(&given, &a);
}

#[test]
fn without_times_it_is_split_where_the_search_would_begin() {
    for a in matrices() {
        let steering = Steering { runs: 0, ..Steering::default() };
        let co_matrix = CoMatrix::prepare(&devices(), a.view(), &Options::default(), &steering).unwrap();
        assert_eq!(co_matrix.split(), Split::of(a.view()));
        assert!(co_matrix.explain().contains("no times are known"), "{}", co_matrix.explain());
        is_right(&co_matrix, &a);
    }
}

#[test]
fn matrices_without_entries_or_rows_are_no_trouble() {
    for (n_rows, n_cols) in [(0, 0), (0, 3), (3, 0), (5, 5)] {
        let a = Csr::<f64>::from_coo(n_rows, n_cols, &[]).unwrap();
        is_right(
            &CoMatrix::prepare(&devices(), a.view(), &Options::default(), &Steering::default()).unwrap(),
            &a,
        );
    }
    let one = Csr::from_coo(1, 1, &[(0, 0, 2.0)]).unwrap();
    is_right(
        &CoMatrix::prepare(&devices(), one.view(), &Options::default(), &Steering::default()).unwrap(),
        &one,
    );
}

/// A search with times that are made up, and every run with the seconds at which it began.
struct MadeUp {
    co_matrix: CoMatrix<Cpu, Cpu, f64>,
    runs: Vec<(Split, f64)>,
    end_s: f64,
}

impl MadeUp {
    /// `seconds` are those of the device and of the cores for all nonzeros; each time that the search asks for the time,
    /// `else_s` have passed.
    fn search(a: &Csr<f64>, steering: &Steering, seconds: [f64; 2], else_s: f64) -> Self {
        let (time_s, runs) = (Cell::new(0.0), RefCell::new(vec![]));
        let mut multiply = |co_matrix: &CoMatrix<Cpu, Cpu, f64>, _: &mut CoWorkspace<Cpu, Cpu, f64>| {
            runs.borrow_mut().push((co_matrix.split(), time_s.get()));
            let [regular, rows, of_cores] = co_matrix.split().entries(a.view());
            let share = |nnz: usize| nnz as f64 / a.nnz() as f64;
            let (device_s, cores_s) = (seconds[0] * share(regular + rows), seconds[1] * share(of_cores));
            let total_s = device_s.max(cores_s);
            time_s.set(time_s.get() + total_s);
            Ok(CoStats { device_s, cores_s, join_s: 0.0, total_s })
        };
        let now_s = || {
            time_s.set(time_s.get() + else_s);
            time_s.get()
        };
        let options = Options::default();
        let co_matrix = CoMatrix::search(&devices(), a.view(), &options, steering, &now_s, &mut multiply);
        Self { co_matrix: co_matrix.unwrap(), runs: runs.into_inner(), end_s: time_s.get() }
    }

    fn n_runs(&self, is_counted: impl Fn(&Split) -> bool) -> usize {
        self.runs.iter().filter(|(split, _)| is_counted(split)).count()
    }

    fn partition(&self) -> &Partition {
        self.co_matrix.partition().unwrap()
    }
}

fn has_device(split: &Split) -> bool {
    split.rows > 0 || split.regular != Regular::None
}

#[test]
fn a_device_that_takes_five_seconds_a_run_is_run_once() {
    for a in matrices() {
        let found = MadeUp::search(&a, &Steering::default(), [5.0, 1e-3], 0.0);
        assert_eq!(found.n_runs(has_device), 1, "{}", found.partition().trace());
        assert!(found.end_s < 2.0 + 5.0, "{} s", found.end_s);
        assert_eq!(found.partition().stopped_s, Some(2.0));
        let explained = found.co_matrix.explain();
        assert!(
            explained.contains("the cores alone, measured 1000.0 us; no split was tried; "),
            "{explained}"
        );
        assert!(explained.contains("; the search stopped at its budget of 2 s"), "{explained}");
        is_right(&found.co_matrix, &a);
    }
}

#[test]
fn with_more_time_splits_above_twice_the_best_are_run_once() {
    for a in matrices() {
        let steering = Steering { budget_s: 12.0, ..Steering::default() };
        let found = MadeUp::search(&a, &steering, [5.0, 1e-3], 0.0);
        let mut n_slow = 0;
        for step in found.partition().trace.iter().filter(|step| step.total_s > 3.0) {
            n_slow += 1;
            assert_eq!(found.n_runs(|split| *split == step.split), 1, "{step}");
        }
        assert!(n_slow >= 2, "{}", found.partition().trace());
        assert!(found.end_s < 12.0 + 5.0, "{} s", found.end_s);
        assert!(!has_device(&found.co_matrix.split()) || found.co_matrix.is_split());
        is_right(&found.co_matrix, &a);
    }
}

#[test]
fn slow_cores_are_left_out_as_well() {
    let [.., a] = matrices();
    let found = MadeUp::search(&a, &Steering::default(), [1e-3, 5.0], 0.0);
    assert_eq!(found.n_runs(|split| !has_device(split)), 1);
    assert!(found.co_matrix.explain().contains("the device alone, measured 1000.0 us"));
    is_right(&found.co_matrix, &a);
}

#[test]
fn without_a_budget_both_run_once_and_the_faster_one_is_taken() {
    for (seconds, name) in [([2e-3, 1e-3], "cores"), ([1e-3, 2e-3], "device")] {
        for budget_s in [0.0, -1.0, f64::NAN] {
            for a in matrices() {
                let steering = Steering { budget_s, ..Steering::default() };
                let found = MadeUp::search(&a, &steering, seconds, 0.0);
                assert_eq!((found.runs.len(), found.partition().trace.len()), (2, 2));
                let explained = found.co_matrix.explain();
                assert!(explained.contains(&format!("the {name} alone, measured 1000.0 us")), "{explained}");
                assert_eq!(found.partition().stopped_s, Some(0.0));
                is_right(&found.co_matrix, &a);
            }
        }
    }
}

#[test]
fn what_passes_between_runs_counts_too() {
    for a in matrices() {
        // Runs take no time to speak of, all else a tenth of a second.
        let found = MadeUp::search(&a, &Steering::default(), [1e-9, 1e-9], 0.1);
        assert!(found.runs.len() <= 20 && found.end_s < 3.0, "{} runs, {} s", found.runs.len(), found.end_s);
        assert_eq!(found.partition().stopped_s, Some(2.0));
        is_right(&found.co_matrix, &a);
    }
}

#[test]
fn with_time_for_all_of_it_the_search_is_not_stopped() {
    for a in matrices() {
        let found = MadeUp::search(&a, &Steering::default(), [1e-3, 1e-3], 0.0);
        assert_eq!(found.partition().stopped_s, None, "{} s", found.end_s);
        assert!(found.co_matrix.is_split(), "{}", found.co_matrix.explain());
        assert!(!found.co_matrix.explain().contains("budget"));
    }
}

#[test]
fn a_split_that_was_not_compared_alternately_must_gain_more() {
    let [.., a] = matrices();
    // Both together take 0.89 of the time of the device alone.
    let search = |budget_s: f64| {
        let steering = Steering { budget_s, ..Steering::default() };
        MadeUp::search(&a, &steering, [1e-3, 8e-3], 0.0)
    };
    assert!(search(f64::INFINITY).co_matrix.is_split());
    let [mut n_sure, mut n_unsure] = [0, 0];
    for budget_s in (1..60).map(|i| f64::from(i) * 5e-3) {
        let found = search(budget_s);
        let Some(best) = found.partition().best.filter(|best| best.total_s < 0.95e-3) else { continue };
        let is_split = found.co_matrix.is_split();
        // At most 3 and 9 of the trial, then more than the 10 milliseconds of the warm-up where it is decided.
        let is_compared = found.n_runs(|split| *split == best.split) > 3 + 9 + 12;
        assert!(is_compared || !is_split, "{budget_s} s: {}", found.co_matrix.explain());
        *(if is_split { &mut n_sure } else { &mut n_unsure }) += 1;
    }
    assert!(n_sure > 0 && n_unsure > 0, "{n_sure} {n_unsure}");
}

#[test]
fn predictions_leave_half_of_the_budget_to_runs() {
    let [a, ..] = matrices();
    let steering = Steering { models: Some(Arc::new(models(1e-6, 3e-6))), ..Steering::default() };
    let found = MadeUp::search(&a, &steering, [1e-3, 1e-3], 0.2);
    let is_predicted = |step: &&Step| step.by == By::Models;
    let n_predicted = found.partition().trace.iter().take_while(is_predicted).count();
    assert!((1..=5).contains(&n_predicted), "{}", found.partition().trace());
    assert!(found.runs[0].1 < 2.0 && found.partition().stopped_s.is_some());
    is_right(&found.co_matrix, &a);
}

#[test]
fn predictions_alone_end_with_the_budget() {
    let [a, ..] = matrices();
    let models = Some(Arc::new(models(1e-6, 1e-6)));
    let steering = Steering { models, runs: 0, budget_s: 0.0, ..Steering::default() };
    let co_matrix = CoMatrix::prepare(&devices(), a.view(), &Options::default(), &steering).unwrap();
    let partition = co_matrix.partition().unwrap();
    assert_eq!((partition.trace.len(), partition.stopped_s), (2, Some(0.0)), "{}", partition.trace());
    is_right(&co_matrix, &a);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn after_the_budget_no_run_begins_but_the_first_of_each_alone(
        which in 0usize..3,
        device_s in 1e-4..3.0f64,
        cores_s in 1e-4..3.0f64,
        else_s in 0.0..0.05f64,
        budget_s in 0.0..4.0f64,
    ) {
        let a = &matrices()[which];
        let steering = Steering { budget_s, runs: 3, ..Steering::default() };
        let found = MadeUp::search(a, &steering, [device_s, cores_s], else_s);
        let is_alone = |split: &Split| !has_device(split) || split.rows == a.n_rows();
        for (at, (split, start_s)) in found.runs.iter().enumerate() {
            let is_first = found.runs[..at].iter().all(|(before, _)| before != split);
            prop_assert!(*start_s < budget_s || (is_first && is_alone(split)), "{split} at {start_s} s");
        }
        let [device, cores] = found.partition().alone.unwrap();
        let taken = found.co_matrix.split();
        let known = found.partition().trace.iter().find(|step| step.split == taken).unwrap();
        prop_assert!(known.total_s <= 1.0001 * device.total_s.min(cores.total_s), "{}", found.co_matrix.explain());
        is_right(&found.co_matrix, a);
    }
}
