//! Any statistics, capabilities and options: the same plan each time, which the device has code for, or an error.
#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use spmv_backend::{Built, DeviceCaps, DeviceKind, DtypeSet, KernelId, MemoryModel, SmLimits};
use spmv_core::regular::{Band, Part};
use spmv_core::{Dtype, HybShape, MatrixStats, RowStats, Runs, Tiling};
use spmv_exec::{Algorithm, Fixup, Layouts, Options, Profile, Tune, plan};

/// Of a matrix in memory: a value and a column take 6 bytes at least.
const MOST_ENTRIES: usize = (1 << 45) - 1;

#[derive(Arbitrary, Debug)]
struct Input {
    stats: Stats,
    value: u8,
    caps: Caps,
    options: Asked,
    /// None, the one that is built in, or that one as if the device had been measured.
    profile: u8,
    /// Rates that the profile lacks.
    without: u64,
}

#[derive(Arbitrary, Debug)]
struct Stats {
    n_rows: usize,
    n_cols: usize,
    nnz: usize,
    min: usize,
    mean: f64,
    max: usize,
    std_dev: f64,
    empty: usize,
    diagonals: Option<usize>,
    /// Half width, entries and diagonals.
    band: Option<(usize, usize, usize)>,
    /// Width and entries.
    slots: Option<(usize, usize)>,
    hyb: Option<(usize, usize)>,
    /// Columns that runs are sampled from.
    cols: Option<Vec<u32>>,
    scatter: f64,
}

#[derive(Arbitrary, Debug)]
struct Caps {
    kind: u8,
    memory: u8,
    storage: u8,
    arithmetic: u8,
    subgroup: Option<(u16, u16)>,
    flags: [bool; 5],
    gathers: u8,
    max_loop_steps: Option<u32>,
    compute_units: u32,
    max_group: u32,
    max_groups: u32,
    max_local_bytes: u32,
    sm_limits: Option<(u32, u32, Option<u32>)>,
    max_buffer_bytes: u64,
    max_tile: (u32, u32),
    built: Vec<(u8, Vec<u32>, Vec<u32>)>,
}

#[derive(Arbitrary, Debug)]
struct Asked {
    algorithm: u8,
    tiling: Option<(u32, u32, u32, u32)>,
    fixup: u8,
    max_blow_up: f64,
    regular_width: Option<usize>,
    only_csr: bool,
    expected_runs: Option<u64>,
    tune: u8,
}

fuzz_target!(|input: Input| {
    let value = pick(&Dtype::ALL, input.value);
    let (stats, caps) = (input.stats.stats(), input.caps.caps());
    let Some(options) = input.options.options() else { return };
    let profile = profile(input.profile, input.without, &caps);
    let planned = plan(stats, value, &caps, profile.as_ref(), &options);
    // As text: two numbers that are none are not equal.
    let again = plan(stats, value, &caps, profile.as_ref(), &options);
    assert_eq!(format!("{planned:?}"), format!("{again:?}"));
    let planned = match planned {
        Ok(planned) => planned,
        Err(e) => return assert!(!e.to_string().is_empty()),
    };
    assert!(planned.explain().contains(planned.algorithm.name()));
    assert_eq!(caps.check_kernel(&planned.kernel), Ok(()));
    assert!(planned.kernel.tiling.group_lanes() <= caps.max_group);
    assert!(planned.kernel.local_bytes() <= u64::from(caps.max_local_bytes));
    // What a matrix is split by.
    assert!(planned.max_entries > 0 && planned.max_rows > 0);
    assert!(planned.algorithm != Algorithm::Auto);
    assert!([Algorithm::Auto, planned.algorithm].contains(&options.algorithm));
    assert!(options.tiling.is_none_or(|tiling| planned.kernel.tiling == tiling));
    assert!(planned.trials.is_empty(), "a plan is made without trials");
    let given = options.with_choice(planned.choice());
    let given = plan(stats, value, &caps, profile.as_ref(), &given).expect("what was planned can be given");
    assert_eq!(
        (given.choice(), given.kernel, given.repair),
        (planned.choice(), planned.kernel, planned.repair)
    );
    assert_eq!((given.max_entries, given.max_rows), (planned.max_entries, planned.max_rows));
    assert!(planned.candidates.is_sorted_by(|a, b| a.seconds.total_cmp(&b.seconds).is_le()));
});

fn pick<T: Copy>(all: &[T], which: u8) -> T {
    all[usize::from(which) % all.len()]
}

impl Stats {
    fn stats(&self) -> MatrixStats {
        let Self {
            n_rows,
            n_cols,
            nnz,
            min,
            mean,
            max,
            std_dev,
            empty,
            diagonals,
            band,
            slots,
            hyb,
            ref cols,
            scatter,
        } = *self;
        // As far as a matrix in memory can have them.
        let [n_rows, n_cols, nnz] = [n_rows, n_cols, nnz].map(|n| n & MOST_ENTRIES);
        let [min, max, empty] = [min, max, empty].map(|n| n & MOST_ENTRIES);
        let rows = RowStats { n_rows, n_cols, nnz, min, mean, max, std_dev, empty };
        let part = |(width, entries): (usize, usize)| Part { width, entries };
        let band = band.map(|(width, entries, diagonals)| Band { part: part((width, entries)), diagonals });
        let hyb = hyb.map(|(width, rest)| HybShape { width, rest });
        let runs = cols.as_deref().map(Runs::of);
        MatrixStats { rows, diagonals, band, slots: slots.map(part), hyb, runs, scatter }
    }
}

impl Caps {
    fn caps(&self) -> DeviceCaps {
        use DeviceKind::{Cpu, DiscreteGpu, IntegratedGpu, Other};
        use MemoryModel::{Discrete, UnifiedCoherent, UnifiedMapped};
        let kind = pick(&[Cpu, IntegratedGpu, DiscreteGpu, Other], self.kind);
        let memory = pick(&[Discrete, UnifiedMapped, UnifiedCoherent], self.memory);
        // Most devices have most types, so bits say which are missing.
        let types = |missing: u8| {
            let present = Dtype::ALL.into_iter().filter(|value| missing & 1 << *value as u8 == 0);
            present.fold(DtypeSet::NONE, DtypeSet::with)
        };
        let mut caps = DeviceCaps::new("a device", kind, memory);
        (caps.storage, caps.arithmetic) = (types(self.storage), types(self.arithmetic));
        caps.subgroup = self.subgroup;
        [caps.host_pointers, caps.cross_block_reduction, caps.bunch_barriers, caps.timestamps, caps.tasks] =
            self.flags;
        caps.gathers = types(self.gathers);
        caps.max_loop_steps = self.max_loop_steps;
        (caps.compute_units, caps.max_group, caps.max_groups) =
            (self.compute_units, self.max_group, self.max_groups);
        caps.max_local_bytes = self.max_local_bytes;
        caps.sm_limits =
            self.sm_limits.map(|(local_bytes, lanes, groups)| SmLimits { local_bytes, lanes, groups });
        (caps.max_buffer_bytes, caps.max_tile) = (self.max_buffer_bytes, self.max_tile);
        let built = |(kernel, lanes, widths): &(u8, Vec<u32>, Vec<u32>)| Built {
            kernel: pick(KernelId::ALL, *kernel),
            lanes: lanes.clone(),
            widths: widths.clone(),
        };
        caps.built = self.built.iter().map(built).collect();
        caps
    }
}

impl Asked {
    fn options(&self) -> Option<Options> {
        let tiling = match self.tiling {
            Some((t, w, s, b)) => Some(Tiling::new(t, w, s, b).ok()?),
            None => None,
        };
        let fixup = pick(&[Fixup::Auto, Fixup::Host, Fixup::Device], self.fixup);
        let algorithm = pick(Algorithm::ALL, self.algorithm);
        let Self { max_blow_up, regular_width, expected_runs, .. } = *self;
        let layouts = if self.only_csr { Layouts::Csr } else { Layouts::Any };
        let tune = pick(&[Tune::Off, Tune::Quick, Tune::Thorough], self.tune);
        Some(Options { algorithm, tiling, fixup, max_blow_up, layouts, expected_runs, regular_width, tune })
    }
}

fn profile(which: u8, without: u64, caps: &DeviceCaps) -> Option<Profile> {
    let mut profile = match which % 3 {
        0 => return None,
        1 => Profile::cpu().clone(),
        _ => Profile::new(caps),
    };
    let rates = Profile::cpu().rates.iter().enumerate();
    profile.rates = rates.filter(|(i, _)| without >> (i % 64) & 1 == 0).map(|(_, r)| r.clone()).collect();
    Some(profile)
}
