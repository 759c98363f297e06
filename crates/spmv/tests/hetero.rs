//! The corpus of `spmv-conformance` on devices with the host's cores, over every kind of split and type of values; and
//! splits that are searched for, as users get them.

use std::sync::Arc;

use libtest_mimic::{Failed, Trial};
use spmv::{
    BackendKind, Context, Csr, Dtype, Scalar, Value, bf16, by_dtype,
    hetero::{Regular, Split, Steering},
    oracle,
    plan::Tiling,
};
use spmv_backend::Backend;
use spmv_conformance::{Share, absent, compare, corpus, input, is_full, is_required, same_bits};
use spmv_cpu::Cpu;
use spmv_exec::{Algorithm, Device, Options};
use spmv_hetero::{CoDevices, CoMatrix};

/// Kinds of splits, for a matrix of so many rows.
fn splits(n_rows: usize) -> [(&'static str, Vec<Split>); 4] {
    let some = [n_rows / 3, n_rows.saturating_sub(1)];
    let rows = |regular: Regular, rows: &[usize]| -> Vec<Split> {
        rows.iter().map(|rows| Split { regular, ..Split::by_rows(*rows) }).collect()
    };
    let options = Options { algorithm: Algorithm::SpeculativeSegmentedSum, ..Options::default() };
    let speculative = some.map(|rows| Split { options, ..Split::by_rows(rows) });
    let widths = [0, 1, 40];
    let of = |kind: fn(usize) -> Regular| {
        widths.iter().flat_map(|width| rows(kind(*width), &[0, n_rows / 2])).collect()
    };
    [
        ("rows", rows(Regular::None, &[some[0], some[1], n_rows, 0])),
        ("rows-spec_segsum", speculative.to_vec()),
        ("diagonals", of(|half_width| Regular::Diagonals { half_width })),
        ("slots", of(|width| Regular::Slots { width })),
    ]
}

/// One matrix in each of the scalings, twice.
fn check<B: Backend, T: Value>(
    devices: &CoDevices<B, Cpu>,
    case: &corpus::Case,
    split: &Split,
    scalings: &[(f64, f64)],
) -> Result<(), String> {
    let fail = |e: spmv_exec::Error| format!("{split}: {e}");
    let number = <T::Accum as Value>::from_f64;
    let (mut a, exact) = (case.matrix.map_values(T::from_f64), case.exact);
    let mut co_matrix = CoMatrix::with_split(devices, a.view(), split).map_err(fail)?;
    let mut workspace = co_matrix.workspace().map_err(fail)?;
    let x: Vec<T> = (0..a.n_cols()).map(|i| T::from_f64(case.x(i))).collect();
    for &(alpha, beta) in scalings {
        let old = |i| if beta == 0.0 { number(f64::NAN) } else { number(input(i, exact)) };
        let old: Vec<_> = (0..a.n_rows()).map(old).collect();
        let reference =
            oracle::multiply(a.view(), T::Wide::from_f64(alpha), &x, T::Wide::from_f64(beta), &old);
        let case = |e: String| format!("{split}, alpha {alpha}, beta {beta}: {e}");
        let mut run = || {
            let mut y = old.clone();
            co_matrix.apply(&mut workspace, number(alpha), &x, number(beta), &mut y).map(|_| y).map_err(fail)
        };
        let first = run()?;
        compare(&reference, exact, &first).map_err(case)?;
        same_bits("the second run", &first, &run()?).map_err(case)?;
    }
    a.vals_mut()
        .iter_mut()
        .enumerate()
        .for_each(|(at, v)| *v = T::from_wide(v.widen() + T::Wide::from_f64((at % 3) as f64)));
    co_matrix.set_values(a.vals()).map_err(fail)?;
    let mut y = vec![number(0.0); a.n_rows()];
    let reference = oracle::multiply(a.view(), T::Wide::from_f64(1.0), &x, T::Wide::from_f64(0.0), &y);
    co_matrix.apply(&mut workspace, number(1.0), &x, number(0.0), &mut y).map_err(fail)?;
    compare(&reference, exact, &y).map_err(|e| format!("{split}, new values: {e}"))
}

/// All kinds of splits, types of values and groups of the corpus on one device.
fn of_device<B: Backend>(at: usize, label: &str, device: spmv_backend::Result<B>, trials: &mut Vec<Trial>) {
    let cores = || Device::new(Cpu::open(Default::default())?);
    let devices =
        device.map_err(Into::into).and_then(|device| CoDevices::new(Device::new(device)?, 2, cores));
    let devices = match devices {
        Ok(devices) => Arc::new(devices),
        Err(e) => return trials.push(absent(&format!("hetero-{label}"), B::NAME, &e.to_string())),
    };
    let can = |dtype: &Dtype| {
        let caps = devices.device().caps();
        caps.storage.contains(*dtype) && caps.arithmetic.contains(dtype.accum())
    };
    let tiling = Tiling::new(32, 4, 2, 1).expect("a valid tiling");
    for dtype in Dtype::ALL {
        if !can(&dtype) {
            let name = format!("hetero-{label}/{dtype} [the device has none]");
            // No device that is required lacks a type.
            let required = is_required(B::NAME);
            let trial =
                Trial::test(name, move || if required { Err("no such values".into()) } else { Ok(()) });
            trials.push(trial.with_ignored_flag(!required));
            continue;
        }
        let groups = |kind| corpus::groups().into_iter().enumerate().map(move |group| (kind, group));
        for (kind, (turn, (group, matrices))) in (0..splits(1).len()).flat_map(groups) {
            // Kinds, types and groups take turns: every two of them meet on one device or another.
            if !is_full() && !(kind + turn + dtype as usize + 3 * at).is_multiple_of(12) {
                continue;
            }
            let devices = Arc::clone(&devices);
            let name = format!("hetero-{label}/{}/{dtype}/{group}", splits(1)[kind].0);
            let share = Share::of(kind + dtype as usize);
            trials.push(Trial::test(name, move || {
                let group = matrices(&tiling, share);
                // A regular part splits rows in two, which are scaled one by one.
                let splits_rows = splits(1)[kind].1.iter().any(|split| split.regular != Regular::None);
                for (i, case) in
                    group.cases.iter().enumerate().filter(|(_, c)| !(splits_rows && c.whole_rows))
                {
                    let scalings = group.scalings.unwrap_or_else(|| share.scalings(i, group.cases.len()));
                    for split in &share.next(i).part(&splits(case.matrix.n_rows())[kind].1, 3) {
                        by_dtype!(dtype, T => check::<B, T>(&devices, case, split, scalings))
                            .map_err(|e| Failed::from(format!("{}: {e}", case.name)))?;
                    }
                }
                Ok(())
            }));
        }
    }
}

/// Quasi-diagonal, Tetris and general.
fn matrices() -> [Csr<f64>; 3] {
    let n = 2000u32;
    let value = |e: u32| f64::from(e % 13) / 8.0 - 0.7;
    let matrix = |cells: Vec<(u32, u32)>| {
        let entries: Vec<_> = cells.into_iter().map(|(r, c)| (r, c, value(r * 31 + c))).collect();
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

/// As users have it: with splits that are searched for, given, or where the search begins.
fn as_users_have_it<T: Scalar>(context: &Context) -> spmv::Result<()>
where
    T::Accum: Scalar,
{
    let number = <T::Accum as Value>::from_f64;
    for a in matrices() {
        let a = a.map_values(T::from_f64);
        let given = Split { regular: Regular::Slots { width: 2 }, ..Split::by_rows(900) };
        let ways = [
            Steering { runs: 2, ..Steering::default() },
            Steering { runs: 0, ..Steering::default() },
            Steering { budget_s: 0.0, ..Steering::default() },
            Steering { split: Some(given), ..Steering::default() },
        ];
        for steering in ways {
            let (is_given, is_hasty) = (steering.split.is_some(), steering.budget_s == 0.0);
            let matrix = context.steered(steering).prepare(&a)?;
            assert_eq!(matrix.partition().is_none(), is_given);
            if is_hasty {
                let partition = matrix.partition().expect("no split was given");
                assert_eq!(
                    (partition.trace.len(), partition.stopped_s),
                    (2, Some(0.0)),
                    "{}",
                    partition.trace()
                );
                assert!(matrix.explain().contains("stopped at its budget of 0 s"), "{}", matrix.explain());
            }
            let x: Vec<T> = (0..a.n_cols()).map(|i| T::from_f64(input(i, false))).collect();
            let (device_x, mut y) = (context.upload(&x)?, context.upload(&vec![number(1.5); a.n_rows()])?);
            let stats = matrix.apply(number(-2.0), &device_x, number(3.0), &mut y)?;
            let reference = oracle::multiply(
                a.view(),
                T::Wide::from_f64(-2.0),
                &x,
                T::Wide::from_f64(3.0),
                &vec![number(1.5); a.n_rows()],
            );
            assert!(reference.error_over_bound(&y.to_vec()?) <= 1.0, "{}", matrix.explain());
            assert!(stats.shares_s.is_some_and(|[device, cores]| device + cores > 0.0));
            let reference = oracle::multiply(
                a.view(),
                T::Wide::from_f64(1.0),
                &x,
                T::Wide::from_f64(0.0),
                &vec![number(0.0); a.n_rows()],
            );
            assert!(reference.error_over_bound(&matrix.multiply(&x)?) <= 1.0, "{}", matrix.explain());
            let mut workspace = matrix.workspace()?;
            let e = matrix.enqueue(&mut workspace, number(1.0), &device_x, number(0.0), &mut y).unwrap_err();
            assert!(e.to_string().contains("use apply"), "{e}");
        }
    }
    Ok(())
}

fn of_context(context: &Context) -> spmv::Result<()> {
    let context = context.with_host_cores()?;
    assert!(context.cores().is_some() && context.with_host_cores().is_ok() && context.steering().is_some());
    as_users_have_it::<f32>(&context)?;
    if !is_full() {
        return Ok(());
    }
    if context.caps().storage.contains(Dtype::Bf16) {
        as_users_have_it::<bf16>(&context)?;
    }
    if context.caps().arithmetic.contains(Dtype::F64) {
        as_users_have_it::<f64>(&context)?;
    }
    Ok(())
}

fn main() {
    let mut trials = Vec::new();
    let discrete = spmv_cpu::Mask { discrete: true, ..Default::default() };
    of_device(0, "cpu", Cpu::open(Default::default()), &mut trials);
    of_device(
        1,
        "cpu-discrete",
        Cpu::open(spmv_cpu::Options { mask: discrete, ..Default::default() }),
        &mut trials,
    );
    #[cfg(feature = "opencl")]
    of_device(2, "opencl", spmv_opencl::Options::from_env().and_then(spmv_opencl::OpenCl::open), &mut trials);
    #[cfg(feature = "wgpu")]
    of_device(3, "wgpu", spmv_wgpu::Options::from_env().and_then(spmv_wgpu::Wgpu::open), &mut trials);
    #[cfg(feature = "cuda")]
    of_device(4, "cuda", spmv_cuda::Options::from_env().and_then(spmv_cuda::Cuda::open), &mut trials);
    for kind in BackendKind::ALL {
        match Context::with(kind) {
            Ok(context) => trials.push(Trial::test(format!("hetero-{kind}/as users have it"), move || {
                of_context(&context).map_err(|e| Failed::from(e.to_string()))
            })),
            Err(e) => trials.push(absent(&format!("hetero-{kind}-context"), kind.name(), &e.to_string())),
        }
    }
    trials.push(Trial::test("hetero/the cores are no device of their own", || {
        match Context::hetero() {
            Ok(context) => assert_ne!(context.backend(), BackendKind::Cpu),
            Err(e) => assert!(e.to_string().contains("cpu: these are the cores"), "{e}"),
        }
        Ok(())
    }));
    spmv_conformance::run(trials, None);
}
