//! The plan's own tilings are built for every device that CUDA has: needs none.

use spmv_backend::{DeviceCaps, DeviceKind, MemoryModel, SmLimits};
use spmv_conformance::ALGORITHMS;
use spmv_core::{Dtype, RowStats};
use spmv_exec::{Options, plan};

/// KiB of shared memory, threads and blocks of a multiprocessor, as CUDA's programming guide lists them by compute
/// capability.
const UNITS: [(u32, u32, u32); 10] = [
    (64, 2048, 32),  // 6.0, 6.2
    (96, 2048, 32),  // 6.1, 7.0
    (64, 1024, 16),  // 7.5
    (164, 2048, 32), // 8.0
    (100, 1536, 16), // 8.6
    (100, 1536, 24), // 8.9
    (164, 1536, 16), // 8.7
    (228, 2048, 32), // 9.0, 10.0
    (128, 1536, 24), // 12.0
    (48, 2048, 16),  // smaller than any
];

#[test]
fn default_plans_have_entries_on_every_device() {
    for (kib, lanes, groups) in UNITS {
        let mut caps = DeviceCaps::new("some device", DeviceKind::DiscreteGpu, MemoryModel::Discrete);
        (caps.subgroup, caps.cross_block_reduction, caps.max_local_bytes) = (Some((1, 32)), true, 48 * 1024);
        caps.sm_limits = Some(SmLimits { local_bytes: kib * 1024, lanes, groups: Some(groups) });
        for compute_units in [1, 20, 132] {
            caps.compute_units = compute_units;
            for (mean, max) in [
                (0.0, 0),
                (1.0, 9),
                (3.0, 3),
                (16.0, 16),
                (27.0, 27),
                (60.0, 80),
                (60.0, 9000),
                (5000.0, 90_000),
            ] {
                let rows = RowStats { n_rows: 10_000, n_cols: 10_000, mean, max, ..RowStats::default() };
                let rows = RowStats { nnz: (mean * 1e4) as usize, ..rows };
                for &algorithm in ALGORITHMS {
                    for value in Dtype::ALL {
                        let options = Options { algorithm, ..Options::default() };
                        let kernel = plan(&rows, value, &caps, None, &options).expect("a plan").kernel;
                        let (stem, tiling) = (kernel.id.stem(), kernel.tiling);
                        let entry = spmv_kernels_cuda::entry(stem, tiling.lanes(), tiling.width());
                        assert!(entry.is_some(), "{kib} KiB, {lanes} lanes: {kernel}");
                    }
                }
            }
        }
    }
}
