//! What a faulty device or a careless caller may do, and what they get for it.

use spmv_backend::{Backend, Error as DeviceError};
use spmv_core::format::FormatError;
use spmv_core::{Csr, Tiling};
use spmv_cpu::{Cpu, Mask, Options as CpuOptions};
use spmv_fixup::FixupError;

use crate::{Algorithm, Device, DeviceVec, Error, Fixup, Options, Prepared, Workspace};

const N: usize = 6;

struct Fixture {
    device: Device<Cpu>,
    prepared: Prepared<Cpu, f32>,
    workspace: Workspace<Cpu, f32>,
    x: DeviceVec<Cpu, f32>,
    y: DeviceVec<Cpu, f32>,
}

/// Six rows with two empty ones, in tiles of two entries: three tiles, two bunches.
fn fixture(discrete: bool) -> Fixture {
    let mask = Mask { discrete, ..Mask::default() };
    let device = Device::new(Cpu::open(CpuOptions { mask, ..CpuOptions::default() }).unwrap()).unwrap();
    let a = Csr::new(N, 2, vec![0u32, 1, 1, 3, 5, 5, 6], vec![0, 1, 0, 1, 0, 1], vec![1.0; 6]).unwrap();
    let options = Options {
        algorithm: Algorithm::SpeculativeSegmentedSum,
        tiling: Some(Tiling::new(2, 1, 2, 1).unwrap()),
        fixup: Fixup::Host,
        ..Options::default()
    };
    let prepared = device.prepare(a.view(), &options).unwrap();
    let workspace = prepared.workspace().unwrap();
    let x = device.upload(&[1.0, 10.0]).unwrap();
    let y = device.zeros(N).unwrap();
    Fixture { device, prepared, workspace, x, y }
}

impl Fixture {
    /// Runs with something overwritten between stage 1 and stage 2.
    fn corrupted(&mut self, scratch: &str, value: u32) -> Error {
        let (backend, workspace) = (self.device.backend(), &mut self.workspace);
        let mut pending = self.prepared.enqueue(workspace, 1.0, &self.x, 0.0, &mut self.y).unwrap();
        let stream = backend.open_stream(false).unwrap();
        backend.write(&stream, pending.scratch(scratch), 0, &value.to_ne_bytes()).unwrap();
        pending.wait().unwrap_err()
    }

    fn check_works(&mut self) {
        self.prepared.apply(&mut self.workspace, 1.0, &self.x, 0.0, &mut self.y).unwrap();
        assert_eq!(self.y.to_vec().unwrap(), [1.0, 0.0, 11.0, 11.0, 0.0, 10.0]);
    }
}

#[test]
fn an_index_that_the_device_corrupted_is_an_error_and_y_unreadable() {
    for discrete in [false, true] {
        let mut f = fixture(discrete);
        let e = f.corrupted("speculator", 77);
        assert_eq!(e, FixupError::TileOutOfRange { tile: 77, n_tiles: 3 }.into());
        assert_eq!(f.y.to_vec(), Err(Error::Unrepaired));
        let e = f.corrupted("sync_rows", u32::MAX);
        assert_eq!(e, FixupError::CarryMisplaced { bunch: 0, row: u32::MAX, n_rows: N }.into());
        let e = f.corrupted("dirty_count", 1 << 31);
        assert_eq!(e, FixupError::TooManyTiles { count: 1 << 31, n_tiles: 3 }.into());
        f.check_works();
    }
}

/// The numbers are those of the snapshot in `spmv-fixup`, whose model of the device this kernel must equal.
#[test]
fn the_papers_example_before_and_after_repair() {
    let row_ptr = vec![0u32, 3, 8, 14, 19, 27, 29, 29, 34, 37, 37, 44, 48];
    let a = Csr::new(12, 1, row_ptr, vec![0; 48], (1..=48).map(|e| e as f64).collect()).unwrap();
    let device = Device::new(Cpu::open(CpuOptions::default()).unwrap()).unwrap();
    let options = Options {
        algorithm: Algorithm::SpeculativeSegmentedSum,
        tiling: Some(Tiling::new(4, 6, 2, 1).unwrap()),
        fixup: Fixup::Host,
        ..Options::default()
    };
    let prepared = device.prepare(a.view(), &options).unwrap();
    let mut workspace = prepared.workspace().unwrap();
    let (x, mut y) = (device.upload(&[1.0]).unwrap(), device.upload(&[-1.0; 12]).unwrap());
    let mut pending = prepared.enqueue(&mut workspace, 1.0, &x, 0.0, &mut y).unwrap();

    let stream = device.backend().open_stream(false).unwrap();
    let read = |buffer: &_, bytes: &mut [u8]| device.backend().read(&stream, buffer, 0, bytes).unwrap();
    let (mut before, mut sum, mut row, mut tile, mut count) =
        ([0.0f64; 12], [0.0f64], [9u32], [9u32], [9u32]);
    read(pending.unrepaired_y(), bytemuck::cast_slice_mut(&mut before));
    read(pending.scratch("sync_sums"), bytemuck::cast_slice_mut(&mut sum));
    read(pending.scratch("sync_rows"), bytemuck::cast_slice_mut(&mut row));
    read(pending.scratch("speculator"), bytemuck::cast_slice_mut(&mut tile));
    read(pending.scratch("dirty_count"), bytemuck::cast_slice_mut(&mut count));
    assert_eq!((sum, row, tile, count), ([6.0], [0], [1], [1]));
    let compact = [0.0, 30.0, 69.0, 85.0, 188.0, 57.0, 160.0, 108.0, 287.0, 186.0];
    assert_eq!(before[..10], compact);
    assert_eq!(before[10..], [-1.0, -1.0], "no sum was stored this far right");

    assert_eq!(pending.wait().unwrap().dirty_tiles, Some(1));
    let repaired = [6.0, 30.0, 69.0, 85.0, 188.0, 57.0, 0.0, 160.0, 108.0, 0.0, 287.0, 186.0];
    assert_eq!(y.to_vec().unwrap(), repaired);
}

#[test]
fn a_forgotten_run_leaves_y_unreadable_and_the_workspace_usable() {
    let mut f = fixture(false);
    std::mem::forget(f.prepared.enqueue(&mut f.workspace, 1.0, &f.x, 0.0, &mut f.y).unwrap());
    assert_eq!(f.y.to_vec(), Err(Error::Unrepaired));
    let e = f.prepared.apply(&mut f.workspace, 1.0, &f.x, 1.0, &mut f.y).unwrap_err();
    assert_eq!(e, Error::Unrepaired, "beta != 0 would read it");
    f.check_works();
}

/// Where pieces of rows join, what counts them must be zero before a run, whatever became of the one before.
#[test]
fn a_run_that_failed_leaves_no_arrivals_behind() {
    let f = fixture(false);
    let a = Csr::new(1, 1, vec![0u32, 8], vec![0; 8], vec![1.0f32; 8]).unwrap();
    let options = Options {
        algorithm: Algorithm::Ipcsr,
        tiling: Some(Tiling::new(2, 1, 1, 1).unwrap()),
        ..Options::default()
    };
    let prepared = f.device.prepare(a.view(), &options).unwrap();
    let mut workspace = prepared.workspace().unwrap();
    let (backend, stream) = (f.device.backend(), f.device.backend().open_stream(false).unwrap());
    let arrivals = |workspace: &mut Workspace<Cpu, f32>| {
        let mut counts = [9u32; 4];
        backend
            .read(
                &stream,
                workspace.parts[0].scratch("arrivals").unwrap(),
                0,
                bytemuck::cast_slice_mut(&mut counts),
            )
            .unwrap();
        counts
    };
    assert_eq!(arrivals(&mut workspace), [0; 4]);
    backend.write(&stream, workspace.parts[0].scratch("arrivals").unwrap(), 0, &[7; 16]).unwrap();
    workspace.in_use = true;
    let (x, mut y) = (f.device.upload(&[1.0]).unwrap(), f.device.zeros(1).unwrap());
    prepared.apply(&mut workspace, 1.0, &x, 0.0, &mut y).unwrap();
    assert_eq!((arrivals(&mut workspace), y.to_vec().unwrap()), ([0; 4], vec![8.0]));
}

#[test]
fn a_dropped_run_is_waited_for() {
    let mut f = fixture(false);
    drop(f.prepared.enqueue(&mut f.workspace, 1.0, &f.x, 0.0, &mut f.y).unwrap());
    assert_eq!(f.y.to_vec().unwrap(), [1.0, 0.0, 11.0, 11.0, 0.0, 10.0]);
}

#[test]
fn repair_in_place_copies_nothing_and_at_a_distance_says_how_much() {
    for (discrete, bytes) in [(false, 0), (true, 2 * N as u64 * 4)] {
        let mut f = fixture(discrete);
        let stats = f.prepared.apply(&mut f.workspace, 1.0, &f.x, 0.0, &mut f.y).unwrap();
        assert_eq!((stats.y_bytes_copied, stats.n_tiles, stats.dirty_tiles), (bytes, 3, Some(2)));
    }
}

/// The count costs a copy, so that only runs which are timed anyway make it.
#[test]
fn tiles_that_the_device_repaired_are_counted_in_timed_workspaces_alone() {
    let f = fixture(false);
    let a = Csr::new(N, 2, vec![0u32, 1, 1, 3, 5, 5, 6], vec![0, 1, 0, 1, 0, 1], vec![1.0f32; 6]).unwrap();
    let options = Options {
        algorithm: Algorithm::SpeculativeSegmentedSum,
        tiling: Some(Tiling::new(2, 1, 2, 1).unwrap()),
        fixup: Fixup::Device,
        ..Options::default()
    };
    let prepared = f.device.prepare(a.view(), &options).unwrap();
    let mut y = f.device.zeros(N).unwrap();
    let (mut timed, mut plain) = (prepared.timed_workspace().unwrap(), prepared.workspace().unwrap());
    for _ in 0..3 {
        let stats = prepared.apply(&mut timed, 1.0, &f.x, 0.0, &mut y).unwrap();
        assert_eq!((stats.n_tiles, stats.dirty_tiles, stats.dirty_share()), (3, Some(2), Some(2.0 / 3.0)));
        let stats = prepared.apply(&mut plain, 1.0, &f.x, 0.0, &mut y).unwrap();
        assert_eq!((stats.n_tiles, stats.dirty_tiles, stats.dirty_share()), (3, None, None));
        assert_eq!(plain.dirty_tiles(&prepared), Ok(2));
    }
}

#[test]
fn what_belongs_elsewhere_is_refused() {
    let (mut f, g) = (fixture(false), fixture(false));
    let e = f.prepared.apply(&mut f.workspace, 1.0, &g.x, 0.0, &mut f.y).unwrap_err();
    assert_eq!(e, Error::Foreign { what: "x", to: "device" });
    let e = g.prepared.apply(&mut f.workspace, 1.0, &g.x, 0.0, &mut g.device.zeros(N).unwrap()).unwrap_err();
    assert_eq!(e, Error::Foreign { what: "the workspace", to: "prepared matrix" });
    let e = f.prepared.apply(&mut f.workspace, 1.0, &f.x, 0.0, &mut f.device.zeros(5).unwrap()).unwrap_err();
    assert_eq!(e, Error::Length { what: "y", found: 5, expected: N });
}

#[test]
fn bytes_that_64_bits_do_not_count_are_out_of_memory() {
    let f = fixture(false);
    let e = f.device.zeros::<f64>(1 << 61).unwrap_err();
    assert!(matches!(e, Error::Device(DeviceError::OutOfMemory { .. })), "{e}");
    let e = f.device.adopt::<f64>(f.device.backend().alloc(8).unwrap(), 1 << 61).unwrap_err();
    assert!(matches!(e, Error::Device(DeviceError::OutOfBounds { .. })), "{e}");
}

#[test]
fn discrete_memory_cannot_be_mapped() {
    let mut f = fixture(true);
    let e = f.x.map(|_| ()).unwrap_err();
    assert!(matches!(e, Error::Device(DeviceError::Unsupported { .. })), "{e}");
}

#[test]
fn a_prepared_matrix_is_shared_between_threads() {
    let f = fixture(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut workspace = f.prepared.workspace().unwrap();
                let mut y = vec![0.0; N];
                for _ in 0..100 {
                    f.prepared.apply_slices(&mut workspace, 2.0, &[1.0, 10.0], 0.0, &mut y).unwrap();
                    assert_eq!(y, [2.0, 0.0, 22.0, 22.0, 0.0, 20.0]);
                }
            });
        }
    });
}

#[test]
fn an_entry_that_a_layout_cannot_hold_is_named_by_its_row_of_the_matrix() {
    let mask = Mask { max_buffer_bytes: Some(60), ..Mask::default() };
    let device = Device::new(Cpu::open(CpuOptions { mask, ..CpuOptions::default() }).unwrap()).unwrap();
    let rows = (0..15u32).map(|r| [(r, if r == 11 { 0.0f32 } else { 1.0 })]);
    let a = Csr::<f32>::from_rows(15, rows).unwrap();
    let options = Options { algorithm: Algorithm::Dia, ..Options::default() };
    let e = device.prepare(a.view(), &options).unwrap_err();
    let expected = FormatError::StoredZero { format: "dia", row: 11, col: 11 };
    assert_eq!(e, Error::Format(expected));
    let whole = a.map_values(|_| 2.0f32);
    let prepared = device.prepare(whole.view(), &options).unwrap();
    assert!(prepared.n_parts() > 1);
    assert!(prepared.plan().explain().contains("split: "), "{}", prepared.plan().explain());
}

mod plans {
    use spmv_backend::{DeviceCaps, DeviceKind, DtypeSet, KernelId, Lanes, MemoryModel, SmLimits};
    use spmv_core::{Dtype, RowStats, Tiling};

    use crate::{Algorithm, Fixup, Layouts, Options, Repair, plan};

    /// Not known to be a discrete GPU, for which the heuristic takes `sell`.
    fn gpu() -> DeviceCaps {
        let mut caps = DeviceCaps::new("a GPU", DeviceKind::Other, MemoryModel::Discrete);
        caps.subgroup = Some((32, 32));
        caps
    }

    fn rows() -> RowStats {
        RowStats { n_rows: 1000, n_cols: 1000, nnz: 5000, mean: 5.0, max: 900, ..RowStats::default() }
    }

    #[test]
    fn the_same_inputs_give_the_same_plan() {
        let one = plan(&rows(), Dtype::F32, &gpu(), None, &Options::default()).unwrap();
        assert_eq!(one, plan(&rows(), Dtype::F32, &gpu(), None, &Options::default()).unwrap());
        assert_eq!(one.kernel.tiling.to_string(), "T=32,W=8,S=1,B=5");
        assert_eq!((one.kernel.lanes, one.repair), (Lanes::Subgroup, Repair::Device));
    }

    #[test]
    fn a_gpu_gets_longer_bunches_only_when_short_ones_fill_it() {
        let mut caps = gpu();
        caps.compute_units = 132;
        let s = |nnz, value| {
            let rows = RowStats { nnz, ..rows() };
            plan(&rows, value, &caps, None, &Options::default()).unwrap().kernel.tiling.tiles()
        };
        assert_eq!([1_000_000, 4_000_000, 11_600_000, 90_000_000].map(|n| s(n, Dtype::F32)), [1, 3, 7, 7]);
        assert_eq!([1_000_000, 4_000_000].map(|n| s(n, Dtype::F64)), [2, 5]);
    }

    #[test]
    fn memory_decides_where_stage_2_happens_unless_forced() {
        let mut caps = gpu();
        caps.memory = MemoryModel::UnifiedMapped;
        assert_eq!(plan(&rows(), Dtype::F32, &caps, None, &Options::default()).unwrap().repair, Repair::Host);
        let forced = Options { fixup: Fixup::Device, ..Options::default() };
        assert_eq!(plan(&rows(), Dtype::F32, &caps, None, &forced).unwrap().repair, Repair::Device);
    }

    #[test]
    fn without_shuffles_a_group_holds_one_bunch() {
        let mut caps = gpu();
        caps.subgroup = None;
        let planned = plan(&rows(), Dtype::F64, &caps, None, &Options::default()).unwrap();
        assert_eq!((planned.kernel.lanes, planned.kernel.tiling.bunches()), (Lanes::Workgroup, 1));
        let options = Options { tiling: Some(Tiling::new(32, 4, 7, 5).unwrap()), ..Options::default() };
        let e = plan(&rows(), Dtype::F64, &caps, None, &options).unwrap_err();
        assert_eq!(
            e.to_string(),
            "a GPU has no shuffles over 32 lanes, so a group holds one bunch; use a tiling with B=1"
        );
    }

    #[test]
    fn a_kilobyte_of_local_memory_narrows_the_tiles() {
        let mut caps = gpu();
        caps.max_local_bytes = 1024;
        let planned = plan(&rows(), Dtype::F64, &caps, None, &Options::default());
        let e = planned.unwrap_err().to_string();
        assert!(e.contains("bytes of local memory"), "five bunches of 32 lanes need more: {e}");
        caps.subgroup = Some((8, 8));
        let planned = plan(&rows(), Dtype::F32, &caps, None, &Options::default()).unwrap();
        assert!(planned.kernel.local_bytes() <= 1024 && planned.kernel.tiling.width() < 16);
    }

    #[test]
    fn types_that_the_device_lacks_are_refused_with_a_way_out() {
        let mut caps = gpu();
        caps.arithmetic = DtypeSet::WITHOUT_DOUBLES;
        let e = plan(&rows(), Dtype::F64, &caps, None, &Options::default()).unwrap_err();
        assert_eq!(e.to_string(), "a GPU has no f64 arithmetic; use f32 values, or another backend");
        caps.arithmetic = DtypeSet::NONE.with(Dtype::F32);
        assert!(
            plan(&rows(), Dtype::F16, &caps, None, &Options::default()).is_ok(),
            "16-bit values need f32 sums alone"
        );
    }

    #[test]
    fn vectors_beyond_the_largest_buffer_are_refused_and_matrices_split() {
        let mut caps = gpu();
        caps.max_buffer_bytes = 4000;
        let planned = plan(&rows(), Dtype::F32, &caps, None, &Options::default()).unwrap();
        assert_eq!((planned.max_entries, planned.max_rows), (1000, 999));
        let e = plan(&rows(), Dtype::F64, &caps, None, &Options::default()).unwrap_err();
        assert!(e.to_string().contains("room for x: 8000 bytes"), "{e}");
    }

    #[test]
    fn few_long_rows_are_cut_over_threads_and_small_matrices_are_not() {
        let mut caps = DeviceCaps::new("a CPU", DeviceKind::Cpu, MemoryModel::UnifiedCoherent);
        caps.compute_units = 2;
        let long = RowStats { n_rows: 2000, n_cols: 2000, nnz: 4_000_000, ..RowStats::default() };
        for (algorithm, tiles) in [(Algorithm::CsrScalar, 256), (Algorithm::CsrVector, 250)] {
            let options = Options { algorithm, ..Options::default() };
            let tiling = plan(&long, Dtype::F64, &caps, None, &options).unwrap().kernel.tiling;
            assert_eq!(tiling.tiles(), tiles, "eight parts of 2000 rows, which may begin with a line of y");
            assert!(plan(&rows(), Dtype::F64, &caps, None, &options).unwrap().kernel.tiling.tiles() >= 1000);
        }
        let tiling = plan(&long, Dtype::F64, &caps, None, &Options::default()).unwrap().kernel.tiling;
        assert_eq!(tiling.n_groups(4_002_000), 8);
        let small = RowStats { n_rows: 3000, n_cols: 100, nnz: 7000, ..RowStats::default() };
        let groups = [1, 2, 16].map(|threads| {
            caps.compute_units = threads;
            plan(&small, Dtype::F64, &caps, None, &Options::default()).unwrap().kernel.tiling.n_groups(10_000)
        });
        assert_eq!(groups, [1, 1, 1]);
        caps.compute_units = 16;
        let medium = RowStats { n_rows: 10_000, n_cols: 100, nnz: 90_000, ..RowStats::default() };
        let tiling = plan(&medium, Dtype::F64, &caps, None, &Options::default()).unwrap().kernel.tiling;
        assert_eq!(tiling.n_groups(100_000), 24, "parts of 4096 steps");
    }

    #[test]
    fn rows_choose_the_lanes_of_csr_vector_where_subgroups_are_whole_too() {
        let options = Options { algorithm: Algorithm::CsrVector, ..Options::default() };
        let planned = |caps: &DeviceCaps, mean: f64| {
            let plan = plan(&RowStats { mean, ..rows() }, Dtype::F32, caps, None, &options).unwrap();
            (plan.kernel.tiling.to_string(), plan.kernel.lanes)
        };
        let mut caps = gpu();
        assert_eq!(planned(&caps, 4.0), ("T=2,W=1,S=1,B=64".into(), Lanes::Workgroup));
        assert_eq!(planned(&caps, 500.0), ("T=32,W=1,S=1,B=8".into(), Lanes::Subgroup));
        caps.subgroup = None;
        assert_eq!(planned(&caps, 5000.0), ("T=64,W=1,S=1,B=4".into(), Lanes::Workgroup));
        caps.max_group = 1;
        assert_eq!(planned(&caps, 5000.0), ("T=1,W=1,S=1,B=1".into(), Lanes::Workgroup));
    }

    #[test]
    fn even_rows_take_csr_vector_where_there_are_enough_of_them() {
        let mut caps = gpu();
        caps.compute_units = 100;
        let taken = |n_rows: usize, mean: f64, max: usize| {
            let nnz = (n_rows as f64 * mean) as usize;
            let rows = RowStats { n_rows, nnz, mean, max, ..rows() };
            plan(&rows, Dtype::F32, &caps, None, &Options::default()).unwrap().algorithm
        };
        let (vector, speculative) = (Algorithm::CsrVector, Algorithm::SpeculativeSegmentedSum);
        assert_eq!(taken(100_000, 5.0, 40), vector);
        assert_eq!(taken(100_000, 5.0, 41), speculative);
        assert_eq!(taken(800, 2000.0, 2000), vector, "32 lanes a row");
        assert_eq!(taken(799, 2000.0, 2000), speculative);
        assert_eq!(taken(0, 0.0, 0), speculative);
        assert_eq!(
            [taken(7_135, 4.9, 32), taken(7_135, 4.9, 33)],
            [vector, speculative],
            "16 steps of 2 lanes"
        );
    }

    #[test]
    fn a_group_leaves_local_memory_for_the_others_of_its_unit() {
        let options = Options { algorithm: Algorithm::Ipcsr, ..Options::default() };
        let width = |caps: &DeviceCaps, value| {
            plan(&rows(), value, caps, None, &options).unwrap().kernel.tiling.width()
        };
        let mut caps = gpu();
        assert_eq!([Dtype::F32, Dtype::F64].map(|v| width(&caps, v)), [8, 8]);
        // Turing, Ada (which holds 12 such groups of 128 lanes), Hopper; Fermi, which holds 8 although it has lanes for 12.
        let units =
            [(64, 1024, 16, [8, 4]), (100, 1536, 24, [8, 4]), (228, 2048, 32, [8, 8]), (48, 1536, 8, [8, 2])];
        for (bytes, lanes, groups, widths) in units {
            caps.sm_limits = Some(SmLimits { local_bytes: bytes * 1024, lanes, groups: Some(groups) });
            assert_eq!([Dtype::F32, Dtype::F64].map(|v| width(&caps, v)), widths, "{bytes}");
        }
    }

    #[test]
    fn where_subgroups_may_be_split_the_row_lengths_choose() {
        let mut caps = gpu();
        (caps.subgroup, caps.compute_units, caps.cross_block_reduction) = (Some((1, 32)), 132, true);
        caps.kind = DeviceKind::DiscreteGpu;
        let of_csr = Options { layouts: Layouts::Csr, ..Options::default() };
        let planned = |caps: &DeviceCaps, mean: f64, max: usize| {
            let rows = RowStats { n_rows: 100_000, mean, max, nnz: 4_000_000, ..rows() };
            let of_any = plan(&rows, Dtype::F32, caps, None, &Options::default()).unwrap();
            assert_eq!(of_any.algorithm, Algorithm::Sell);
            let plan = plan(&rows, Dtype::F32, caps, None, &of_csr).unwrap();
            (plan.algorithm, plan.kernel.tiling.to_string())
        };
        let (vector, blocks, speculative) =
            (Algorithm::CsrVector, Algorithm::Ipcsr, Algorithm::SpeculativeSegmentedSum);
        assert_eq!(planned(&caps, 64.0, 78), (vector, "T=8,W=1,S=1,B=16".into()));
        assert_eq!(planned(&caps, 4.0, 4), (vector, "T=1,W=1,S=1,B=128".into()));
        assert_eq!(planned(&caps, 2000.0, 2000), (vector, "T=32,W=1,S=1,B=4".into()));
        assert_eq!(planned(&caps, 5.6, 353), (blocks, "T=128,W=8,S=1,B=1".into()));
        assert_eq!(planned(&caps, 3.1, 500), (blocks, "T=128,W=4,S=1,B=1".into()));
        assert_eq!(planned(&caps, 5.7, 395_259), (blocks, "T=128,W=8,S=1,B=1".into()));
        assert_eq!(planned(&caps, 2634.0, 56_181).0, speculative);
        let few = RowStats { n_rows: 25, nnz: 129_042, mean: 5161.0, max: 10_500, ..rows() };
        assert_eq!(plan(&few, Dtype::F32, &caps, None, &of_csr).unwrap().algorithm, blocks);
        caps.cross_block_reduction = false;
        assert_eq!(planned(&caps, 5.7, 395_259), (speculative, "T=32,W=8,S=5,B=4".into()));
    }

    #[test]
    fn a_row_has_fewer_lanes_where_one_lane_may_take_it_in_chunks() {
        let options = Options { algorithm: Algorithm::CsrVector, ..Options::default() };
        let lanes = |least: u16| {
            let mut caps = gpu();
            caps.subgroup = Some((least, 32));
            [0.0, 5.0, 7.0, 16.0, 27.0, 80.0, 5000.0].map(|mean| {
                let rows = RowStats { mean, ..rows() };
                let kernel = plan(&rows, Dtype::F64, &caps, None, &options).unwrap().kernel;
                assert_eq!((kernel.lanes, kernel.tiling.group_lanes()), (Lanes::Subgroup, 128));
                kernel.tiling.lanes()
            })
        };
        assert_eq!(lanes(1), [1, 1, 1, 2, 4, 8, 32]);
        assert_eq!(lanes(2), [2, 2, 2, 4, 4, 16, 32]);
    }

    #[test]
    fn where_loops_are_cut_short_plans_take_short_ones_and_long_ones_are_refused() {
        let long = RowStats { n_rows: 100_000_000, nnz: 500_000_000, ..rows() };
        for (subgroup, max_group) in [(None, 1024), (Some((2, 8)), 1024), (Some((2, 64)), 128)] {
            for &algorithm in Algorithm::ALL {
                let mut caps = gpu();
                (caps.subgroup, caps.max_group) = (subgroup, max_group);
                let options = Options { algorithm, ..Options::default() };
                let free = plan(&long, Dtype::F32, &caps, None, &options).unwrap();
                caps.max_loop_steps = Some(65_535);
                let bound = plan(&long, Dtype::F32, &caps, None, &options).unwrap();
                assert!(bound.kernel.tiling.tile_entries() <= free.kernel.tiling.tile_entries());
                assert!(bound.max_entries <= 65_535 * bound.kernel.tiling.lanes() as usize);
                assert!(bound.max_rows <= 65_535 * bound.kernel.tiling.lanes() as usize);
                let tiling = bound.kernel.tiling.with_tiles(60_000);
                let refused =
                    plan(&long, Dtype::F32, &caps, None, &Options { tiling: Some(tiling), ..options });
                assert_eq!(refused.is_err(), bound.kernel.id != KernelId::Ipcsr, "{}", bound.kernel);
            }
        }
    }

    #[test]
    fn every_algorithm_plans_on_every_kind_of_device() {
        for kind in [DeviceKind::Cpu, DeviceKind::IntegratedGpu, DeviceKind::DiscreteGpu, DeviceKind::Other] {
            for subgroup in
                [None, Some((8, 8)), Some((16, 16)), Some((32, 32)), Some((64, 64)), Some((8, 32))]
            {
                for &algorithm in Algorithm::ALL {
                    for (value, nnz) in [(Dtype::F64, 0), (Dtype::F32, 5000), (Dtype::Bf16, 3_000_000_000)] {
                        let mut caps = gpu();
                        (caps.subgroup, caps.kind, caps.tasks) = (subgroup, kind, kind == DeviceKind::Cpu);
                        let options = Options { algorithm, ..Options::default() };
                        let planned =
                            plan(&RowStats { nnz, ..rows() }, value, &caps, None, &options).unwrap();
                        assert!(planned.explain().contains(planned.kernel.id.stem()));
                        assert_eq!(planned.repair != Repair::None, planned.kernel.id == KernelId::SpecSegsum);
                    }
                }
            }
        }
    }
}
