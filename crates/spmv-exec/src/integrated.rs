//! Plans on devices that share the host's memory, with made-up capabilities.

use spmv_backend::{DeviceCaps, DeviceKind, MemoryModel};
use spmv_core::{Dtype, RowStats, Tiling};

use crate::{Algorithm, Layouts, Options, Repair, plan};

/// A chip whose GPU shares the host's memory, as Tegra: the paper's measurements choose, not those of a discrete GPU.
fn integrated(memory: MemoryModel) -> DeviceCaps {
    let mut caps = DeviceCaps::new("a chip", DeviceKind::IntegratedGpu, memory);
    (caps.subgroup, caps.compute_units, caps.cross_block_reduction) = (Some((2, 32)), 1, true);
    caps
}

/// 100,000 rows of a mean and greatest length.
fn lengths(mean: f64, max: usize) -> RowStats {
    let n_rows = 100_000;
    RowStats {
        n_rows,
        n_cols: n_rows,
        nnz: (n_rows as f64 * mean) as usize,
        mean,
        max,
        ..RowStats::default()
    }
}

#[test]
fn on_integrated_devices_uneven_rows_are_speculated_on_and_the_host_repairs() {
    for memory in [MemoryModel::UnifiedCoherent, MemoryModel::UnifiedMapped] {
        for subgroup in [None, Some((8, 8)), Some((32, 32)), Some((2, 32))] {
            let mut caps = integrated(memory);
            caps.subgroup = subgroup;
            let planned = |mean: f64, max: usize| {
                plan(&lengths(mean, max), Dtype::F32, &caps, None, &Options::default()).unwrap()
            };
            // dc2, ASIC_680k, webbase-1M, rail4284: irregular in the paper.
            for (mean, max) in [(6.6, 114_190), (5.7, 395_259), (3.1, 4700), (2634.0, 56_181)] {
                let plan = planned(mean, max);
                let told = (plan.algorithm, plan.repair);
                assert_eq!(told, (Algorithm::SpeculativeSegmentedSum, Repair::Host), "{caps:?}");
                assert!(plan.explain().contains("in the memory that it shares"), "{}", plan.explain());
            }
            // cant, qcd5_4, mc2depi: regular.
            for (mean, max) in [(64.2, 78), (39.0, 39), (4.0, 4)] {
                assert_eq!(planned(mean, max).algorithm, Algorithm::CsrVector, "{caps:?}");
            }
        }
    }
}

#[test]
fn a_discrete_gpu_keeps_blocks_of_rows_in_managed_memory_too() {
    for memory in [MemoryModel::Discrete, MemoryModel::UnifiedMapped, MemoryModel::UnifiedCoherent] {
        let mut caps = integrated(memory);
        caps.kind = DeviceKind::DiscreteGpu;
        for max in [353, 395_259] {
            let options = Options { layouts: Layouts::Csr, ..Options::default() };
            let plan = plan(&lengths(5.6, max), Dtype::F32, &caps, None, &options).unwrap();
            assert_eq!((plan.algorithm, plan.repair), (Algorithm::Ipcsr, Repair::None), "{memory:?}");
        }
    }
}

#[test]
fn cores_of_the_host_keep_what_was_measured_on_them() {
    let caps = DeviceCaps::new("a CPU", DeviceKind::Cpu, MemoryModel::UnifiedCoherent);
    let plan = plan(&lengths(5.6, 395_259), Dtype::F32, &caps, None, &Options::default()).unwrap();
    assert_eq!(plan.algorithm, Algorithm::MergePath);
}

#[test]
fn bunches_that_share_a_subgroup_are_refused_for_speculation() {
    let asked = |lanes, bunches| {
        let tiling = Some(Tiling::new(lanes, 6, 2, bunches).unwrap());
        let algorithm = Algorithm::SpeculativeSegmentedSum;
        let options = Options { algorithm, tiling, ..Options::default() };
        let caps = integrated(MemoryModel::UnifiedCoherent);
        plan(&lengths(5.6, 353), Dtype::F32, &caps, None, &options).map(drop).map_err(|e| e.to_string())
    };
    assert_eq!([asked(4, 1), asked(32, 2)], [Ok(()), Ok(())]);
    assert_eq!(
        asked(4, 2).unwrap_err(),
        "a chip has no barriers of less than a subgroup; use a tiling with B=1"
    );
}
