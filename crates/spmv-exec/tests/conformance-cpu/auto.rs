//! `Auto` with a profile that favours layouts of their own: what it picks, `prepare` takes, and the product is right.

use libtest_mimic::Trial;
use spmv_backend::{Backend, KernelId};
use spmv_conformance::auto::favouring;
use spmv_conformance::{Share, check, corpus};
use spmv_core::{Csr, Tiling, Value};
use spmv_cpu::Cpu;
use spmv_exec::{Algorithm, Device, Options};

fn device(kernels: &[KernelId]) -> Device<Cpu> {
    let cpu = Cpu::open(Default::default()).unwrap();
    let profile = favouring(cpu.caps(), kernels);
    Device::with_profiles(cpu, vec![profile]).unwrap()
}

const ORDERS: [[KernelId; 4]; 4] = [
    [KernelId::Dia, KernelId::Ell, KernelId::Jad, KernelId::MergePath],
    [KernelId::Ell, KernelId::Jad, KernelId::Dia, KernelId::MergePath],
    [KernelId::Jad, KernelId::Dia, KernelId::Ell, KernelId::MergePath],
    [KernelId::DiaCsr, KernelId::EllCsr, KernelId::Jad, KernelId::MergePath],
];

fn all_of<T: Value>() -> Vec<Algorithm> {
    let mut taken = Vec::new();
    for (turn, order) in ORDERS.into_iter().enumerate() {
        let (device, share) = (device(&order), Share::of(turn));
        for (group, matrices) in corpus::groups() {
            let cases = matrices(&Tiling::new(8, 4, 2, 1).unwrap(), share).cases;
            for (i, case) in cases.iter().enumerate() {
                let what = || format!("{group}/{} by {order:?}", case.name);
                let scalings = share.scalings(i, cases.len());
                let checked = check::<Cpu, T>(&device, &Options::default(), case, scalings);
                assert!(
                    checked.unwrap_or_else(|e| panic!("{}: {e}", what())).is_some(),
                    "{}: refused",
                    what()
                );
                let a: Csr<T> = case.matrix.map_values(T::from_f64);
                taken.push(device.plan(a.view(), &Options::default()).unwrap().algorithm);
            }
        }
    }
    taken
}

fn what_auto_picks_is_never_refused_and_right() {
    for taken in [all_of::<f32>(), all_of::<f64>(), all_of::<spmv_core::f16>()] {
        let regular = [Algorithm::DiaCsr, Algorithm::EllCsr];
        for algorithm in
            [Algorithm::Dia, Algorithm::Ell, Algorithm::Jad, Algorithm::MergePath].into_iter().chain(regular)
        {
            assert!(taken.contains(&algorithm), "{algorithm} was never taken");
        }
    }
}

fn stored_zeros_and_repeated_entries_keep_auto_from_diagonals() {
    let device = device(&ORDERS[0]);
    let taken = |a: &Csr<f32>| {
        let prepared = device.prepare(a.view(), &Options::default()).unwrap();
        prepared.plan().algorithm
    };
    let of = |cols: Vec<u32>, vals: Vec<f32>| Csr::new(2, 2, vec![0u32, 2, 3], cols, vals).unwrap();
    assert_eq!(taken(&of(vec![0, 1, 1], vec![1.0, 2.0, 3.0])), Algorithm::Dia);
    assert_eq!(taken(&of(vec![0, 1, 1], vec![1.0, 0.0, 3.0])), Algorithm::Ell);
    assert_eq!(taken(&of(vec![0, 0, 1], vec![1.0, 2.0, 3.0])), Algorithm::Ell);
}

/// Among the suite's trials, since a program of their own would compile the same code once more.
pub(crate) fn trials() -> [Trial; 2] {
    let trial = |name: &str, test: fn()| {
        Trial::test(format!("cpu-auto/{name}"), move || {
            test();
            Ok(())
        })
    };
    [
        trial("what_auto_picks_is_never_refused_and_right", what_auto_picks_is_never_refused_and_right),
        trial(
            "stored_zeros_and_repeated_entries_keep_auto_from_diagonals",
            stored_zeros_and_repeated_entries_keep_auto_from_diagonals,
        ),
    ]
}
