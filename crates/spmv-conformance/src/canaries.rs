//! Runs write what they may, and nothing else: no byte behind a buffer or around a slice of the host, and no input.

use libtest_mimic::Trial;
use spmv_backend::{Backend, Error as DeviceError, KernelId, KernelSpec};
use spmv_core::{Csr, Dtype, Value, by_dtype, oracle};
use spmv_exec::{Algorithm, Device, Error, Options};

use crate::check::{compare, input, nan, number, same_bits};
use crate::corpus;
use crate::faults::Faults;
use crate::outcome::Check;
use crate::probe::Probe;
use crate::watch::{Opened, Watch};
use crate::{Share, Variant, can, is_full, of_memory, planned, refusals, trial, trial_where, with_memory};

/// Groups of the corpus of which a few matrices are taken.
const GROUPS: [&str; 3] = ["empty_rows", "row_starts_at_boundaries", "long_rows"];
/// How many of each, and in the full suite.
const EACH: [usize; 2] = [1, 2];

/// Elements on either side of a slice of the host.
const GUARD: usize = 16;

/// Trials of a variant, one for each algorithm and type.
pub(crate) fn trials<B: Backend, F>(
    label: &str,
    device: &Device<B>,
    variant: &Variant<F>,
    at: usize,
) -> Vec<Trial> {
    let dtypes = if is_full() { &Dtype::ALL[..] } else { &[Dtype::F32] };
    let mut trials = vec![{
        let device = device.clone();
        trial(format!("{label}/stray_writes_are_seen"), Box::new(move || are_seen(&device)))
    }];
    for (&algorithm, &dtype) in
        with_memory(variant, at).iter().flat_map(|a| dtypes.iter().map(move |d| (a, d)))
    {
        let name = format!("{label}/{algorithm}/{dtype}/canaries");
        let device = device.clone();
        let can = can(&device, dtype, &planned(algorithm));
        let check = move || by_dtype!(dtype, T => check::<B, T>(&device, algorithm));
        trials.push(trial_where(can, name, Box::new(check)));
    }
    trials
}

/// Multiplies a few matrices on the probed device.
///
/// # Errors
/// The first fault, in words.
fn check<B: Backend, T: Value>(device: &Device<B>, algorithm: Algorithm) -> Check {
    let options = planned(algorithm);
    let opened = Opened::new(device).map_err(|e| e.to_string())?;
    let watch = Watch::new(&opened, Faults::default());
    let probed = Device::new(Probe::new(&watch)).map_err(|e| e.to_string())?;
    let rows = spmv_core::RowStats { n_rows: 60, n_cols: 60, nnz: 3000, ..Default::default() };
    let plan = spmv_exec::plan(&rows, T::DTYPE, probed.caps(), None, &options).map_err(|e| e.to_string())?;
    let groups = corpus::groups().into_iter().filter(|(name, _)| GROUPS.contains(name));
    let mut multiplied = 0;
    for case in groups.flat_map(|(_, make)| {
        let cases = make(&plan.kernel.tiling, Share::all()).cases;
        let step = cases.len().div_ceil(EACH[usize::from(is_full())]);
        cases.into_iter().step_by(step)
    }) {
        let a = case.matrix.map_values(number::<T>);
        let is_one = one(&probed, &watch, a, &options).map_err(|e| format!("{}: {e}", case.name))?;
        multiplied += usize::from(is_one);
    }
    if multiplied == 0 {
        return Err("every matrix was refused".into());
    }
    drop(probed);
    match &watch.alive()[..] {
        [] => Ok(0),
        alive => Err(format!("still alive: {}", alive.join(", "))),
    }
}

/// Whether the matrix was multiplied: its layout may refuse it.
fn one<B: Backend, T: Value>(
    device: &Device<Probe<B>>,
    watch: &Watch<B>,
    a: Csr<T>,
    options: &Options,
) -> Result<bool, String> {
    let one_nonzero_a_cell = options.algorithm.facts().is_some_and(|facts| facts.stores_one_nonzero_a_cell);
    let a = if one_nonzero_a_cell { refusals::without_repeats_and_zeros(&a) } else { a };
    let Some(prepared) = refusals::prepare(device, &a, options)? else { return Ok(false) };
    let fail = |e: Error| e.to_string();
    let mut workspace = prepared.workspace().map_err(fail)?;
    let x: Vec<T> = (0..a.n_cols()).map(|i| number(input(i, true))).collect();
    let on_device = device.upload(&x).map_err(fail)?;
    for (alpha, beta) in [(1.0, 0.0), (2.0, 3.0)] {
        let old: Vec<T::Accum> =
            (0..a.n_rows()).map(|i| if beta == 0.0 { nan() } else { number(input(i, true)) }).collect();
        let reference = oracle::multiply(a.view(), number(alpha), &x, number(beta), &old);
        let (alpha, beta) = (number(alpha), number(beta));
        let mut y = device.upload(&old).map_err(fail)?;
        prepared.apply(&mut workspace, alpha, &on_device, beta, &mut y).map_err(fail)?;
        watch.check()?;
        let first = y.to_vec().map_err(fail)?;
        compare(&reference, true, &first)?;

        y.write(&old).map_err(fail)?;
        let mut graph = prepared.capture(&mut workspace, 1, alpha, &on_device, beta, &mut y).map_err(fail)?;
        graph.replay().map_err(fail)?;
        drop(graph);
        watch.check().map_err(|e| format!("a captured run: {e}"))?;
        same_bits("the captured run", &first, &y.to_vec().map_err(fail)?)?;

        let [guarded_x, guarded_old] = [x.len(), old.len()].map(|len| GUARD..GUARD + len);
        let around = |v: &[T::Accum]| [vec![nan(); GUARD], v.to_vec(), vec![nan(); GUARD]].concat();
        let guard = vec![nan(); GUARD];
        let (x_before, before) = ([&guard[..], &x, &guard].concat(), around(&old));
        let (mut after, x_after) = (before.clone(), x_before.clone());
        prepared
            .apply_slices(&mut workspace, alpha, &x_after[guarded_x], beta, &mut after[guarded_old.clone()])
            .map_err(fail)?;
        watch.check().map_err(|e| format!("on host slices: {e}"))?;
        same_bits("the run on host slices", &around(&first), &after)?;
        same_bits("x, of the host, after the run,", &x_before, &x_after)?;
    }
    Ok(true)
}

/// A kernel that writes a sum too many, one that writes an input, and a command that does not wait for another stream's
/// are found.
///
/// # Errors
/// What was not found.
fn are_seen<B: Backend>(device: &Device<B>) -> Check {
    const N: u32 = 100;
    let opened = Opened::new(device).map_err(|e| e.to_string())?;
    let watch = Watch::new(&opened, Faults::default());
    let probe = Probe::new(&watch);
    let rows = spmv_core::RowStats { n_rows: 1, n_cols: 1, nnz: 1, max: 1, ..Default::default() };
    let options = planned(of_memory()[0]);
    let plan = spmv_exec::plan(&rows, Dtype::F32, probe.caps(), None, &options).map_err(|e| e.to_string())?;
    let axpby = KernelSpec { id: KernelId::Axpby, ..plan.kernel };
    let expect = |what: &str, n_overwritten: u32, expected: Option<&str>| -> Result<(), String> {
        let fail = |e: DeviceError| e.to_string();
        let (stream, bytes) = (probe.open_stream(false).map_err(fail)?, vec![7; 4 * N as usize]);
        let mut buffer = probe.alloc(bytes.len() as u64).map_err(fail)?;
        probe.write(&stream, &mut buffer, 0, &bytes).map_err(fail)?;
        if n_overwritten > 0 {
            probe.stray(&axpby, &buffer, n_overwritten).map_err(fail)?;
        }
        match (watch.check(), expected) {
            (Ok(()), None) => Ok(()),
            (Err(e), Some(expected)) if e.contains(expected) => Ok(()),
            (found, _) => Err(format!("{what}: {found:?}")),
        }
    };
    expect("nothing wrong", 0, None)?;
    expect("an input is written", 1, Some("its bytes 0..4 changed"))?;
    expect("a sum too many", N + 1, Some("bytes 0..4 behind it were overwritten"))?;
    let race = || -> spmv_backend::Result<()> {
        let (first, second) = (probe.open_stream(false)?, probe.open_stream(false)?);
        let mut buffer = probe.alloc(8)?;
        probe.write(&first, &mut buffer, 0, &[1; 8])?;
        probe.wait(&probe.record(&first)?)?;
        probe.write(&second, &mut buffer, 0, &[2; 8])?;
        assert!(watch.races().is_empty(), "the first was waited for");
        probe.read(&first, &buffer, 0, &mut [0; 8])
    };
    race().map_err(|e| e.to_string())?;
    match watch.races().len() {
        1 => Ok(0),
        n => Err(format!("{n} races found of 1")),
    }
}
