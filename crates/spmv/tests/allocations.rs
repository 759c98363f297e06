//! What a product costs the host's allocator, as a user calls it: outside of any thread pool, on every backend.

use std::alloc::System;

use spmv::{BackendKind, Context, Csr, Error, Options, RunStats, plan::Algorithm};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static COUNTED: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const ROWS: u32 = 40_000;

/// Times that a call allocates on the host, and bytes, in the mean of some; by backend. Nothing grows with the matrix.
///
/// - On the CPU, each launch that several threads share takes a call for help and a job of rayon's; some algorithms launch
///   twice.
/// - CUDA's need nothing.
/// - OpenCL's take a handle for each command; the driver may allocate besides.
/// - wgpu encodes commands anew for each call.
const MOST: &[(BackendKind, [f64; 2])] = &[
    (BackendKind::Cpu, [5.0, 1e3]),
    #[cfg(feature = "cuda")]
    (BackendKind::Cuda, [0.0, 0.0]),
    #[cfg(feature = "opencl")]
    (BackendKind::OpenCl, [12.0, 4e3]),
    #[cfg(feature = "wgpu")]
    (BackendKind::Wgpu, [400.0, 100e3]),
];

const CALLS: u32 = 10;

fn of_a_call(mut call: impl FnMut() -> Result<RunStats, Error>) -> Result<[f64; 2], Error> {
    let region = Region::new(COUNTED);
    (0..CALLS).try_for_each(|_| call().map(drop))?;
    let counted = region.change();
    Ok([counted.allocations, counted.bytes_allocated].map(|n| n as f64 / f64::from(CALLS)))
}

#[test]
fn a_product_allocates_what_the_documentation_says() -> Result<(), Error> {
    const N: usize = ROWS as usize;
    // Long enough to be multiplied in parallel, with empty rows, so that tiles are dirty.
    let rows = (0..ROWS).filter(|r| r % 5 != 2);
    let entries: Vec<_> = rows.flat_map(|r| [(r, r, 1.0f32), (r, (r + 1) % ROWS, 2.0)]).collect();
    let a = Csr::from_coo(N, N, &entries)?;
    let (contexts, _) = Context::every(&BackendKind::ALL);
    let algorithms = [Algorithm::Auto, Algorithm::SpeculativeSegmentedSum, Algorithm::Ipcsr];
    for (context, algorithm) in contexts.iter().flat_map(|c| algorithms.map(|a| (c, a))) {
        let prepared = context.prepare_with(&a, &Options { algorithm, ..Options::default() })?;
        let (x, mut y) = (context.zeros::<f32>(N)?, context.zeros::<f32>(N)?);
        let (host_x, mut host_y) = (vec![1.0; N], vec![0.0; N]);
        let mut on_device = || prepared.apply(1.5, &x, 1.0, &mut y);
        let mut on_host = || prepared.apply_slices(1.5, &host_x, 1.0, &mut host_y);
        for _ in 0..5 {
            on_device()?;
            on_host()?;
        }
        let (_, most) = MOST.iter().find(|(kind, _)| *kind == context.backend()).expect("every backend");
        for (what, counted) in [("vectors", of_a_call(&mut on_device)?), ("slices", of_a_call(&mut on_host)?)]
        {
            println!(
                "{} {algorithm} {what}: {} allocations, {} bytes",
                context.backend(),
                counted[0],
                counted[1]
            );
            assert!(
                counted[0] <= most[0] && counted[1] <= most[1],
                "{} {algorithm} {what}: {counted:?}",
                context.backend()
            );
        }
    }
    Ok(())
}
