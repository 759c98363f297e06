//! Runs allocate nothing: neither for any algorithm, nor for any scaling, once a workspace exists.

use std::alloc::System;

use spmv_core::Csr;
use spmv_cpu::Cpu;
use spmv_exec::{Algorithm, Device, Fixup, Options};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static COUNTED: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[test]
fn a_run_allocates_nothing() {
    // Long enough to be run in parallel, with empty rows, so that tiles are dirty.
    let n = 40_000u32;
    let triplets: Vec<_> =
        (0..n).filter(|r| r % 5 != 2).flat_map(|r| [(r, r, 1.0f32), (r, (r + 1) % n, 2.0)]).collect();
    let a = Csr::from_coo(n as usize, n as usize, &triplets).expect("valid");
    let device = Device::new(Cpu::open(Default::default()).expect("a CPU")).expect("a device");
    let x = device.upload(&vec![1.0f32; n as usize]).expect("memory");
    let mut y = device.zeros::<f32>(n as usize).expect("memory");
    let host_x = vec![1.0f32; n as usize];
    let mut on_host = vec![0.0f32; n as usize];
    for &algorithm in Algorithm::ALL {
        for fixup in [Fixup::Host, Fixup::Device] {
            let options = Options { algorithm, fixup, ..Options::default() };
            let prepared = device.prepare(a.view(), &options).expect("prepared");
            let mut workspace = prepared.workspace().expect("memory");
            // Inside the pool: rayon's queue for callers from outside allocates a block now and then.
            let allocates_nothing = rayon::scope(|_| {
                let mut run = |beta| {
                    prepared.apply(&mut workspace, 1.5, &x, beta, &mut y).expect("a run");
                    prepared.apply_slices(&mut workspace, 1.5, &host_x, beta, &mut on_host).expect("a run");
                };
                run(0.0);
                run(1.0);
                // In one of a few trials: rayon's own queues grow now and then, a run's memory would every time.
                (0..3).any(|_| {
                    let region = Region::new(COUNTED);
                    (0..4).for_each(|i| run(f32::from(u8::from(i % 2 == 0))));
                    region.change().allocations == 0
                })
            });
            assert!(allocates_nothing, "{algorithm} {fixup:?}");
        }
    }
}
