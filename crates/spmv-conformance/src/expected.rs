//! What a device may refuse. Any other refusal is a fault: a trial that cannot run fails.

use std::any::type_name;
use std::convert::Infallible;

use spmv_backend::{Backend, DeviceCaps, DtypeSet};
use spmv_core::{Dtype, Runs, Tiling};
use spmv_exec::{Algorithm, Options};

/// What a trial asks of a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) caps: &'a DeviceCaps,
    /// Types in which the device is known not to compute.
    pub(crate) lacks: DtypeSet,
    /// Of vectors.
    pub(crate) dtype: Dtype,
    /// Of values.
    pub(crate) value: Dtype,
    pub(crate) algorithm: Algorithm,
    pub(crate) tiling: Option<Tiling>,
}

impl<'a> Asked<'a> {
    pub(crate) fn new(caps: &'a DeviceCaps, lacks: DtypeSet, dtype: Dtype, options: &Options) -> Self {
        let value = options.values.unwrap_or(dtype);
        Self { caps, lacks, dtype, value, algorithm: options.algorithm, tiling: options.tiling }
    }

    /// Whether a tiling was asked for that is so.
    fn tiling(&self, is: impl Fn(&Tiling) -> bool) -> bool {
        self.tiling.as_ref().is_some_and(is)
    }

    /// Whether the kernel was built ahead of time, and not for this tiling.
    fn is_not_built(&self, tiling: &Tiling) -> bool {
        let kernel = self.algorithm.facts().map(|facts| facts.kernel);
        let of_kernel = |built: &&spmv_backend::Built| Some(built.kernel) == kernel;
        self.caps.built.iter().find(of_kernel).is_some_and(|b| !b.holds(tiling.lanes(), tiling.width()))
    }
}

type Row = (&'static str, fn(&Asked<'_>) -> bool);

/// Words of a refusal, and when it is right. A plan of the device's own tiling is refused for types alone.
const EXPECTED_REFUSALS: &[Row] = &[
    ("f64 arithmetic", |asked| asked.lacks.contains(Dtype::F64) && asked.dtype.accum() == Dtype::F64),
    ("c64 arithmetic", |asked| asked.lacks.contains(Dtype::C64) && asked.dtype.accum() == Dtype::C64),
    ("f64 storage", |asked| asked.lacks.contains(Dtype::F64) && asked.value == Dtype::F64),
    ("c64 storage", |asked| asked.lacks.contains(Dtype::C64) && asked.value == Dtype::C64),
    ("f16 storage", |asked| asked.lacks.contains(Dtype::F16) && asked.value == Dtype::F16),
    ("groups of several bunches", |asked| asked.tiling(|t| t.bunches() > 1)),
    ("so a group holds one bunch", |asked| asked.tiling(|t| t.bunches() > 1)),
    ("barriers of less than a group", |asked| asked.tiling(|t| t.bunches() > 1)),
    ("barriers of less than a subgroup", |asked| asked.tiling(|t| t.bunches() > 1)),
    ("built for T=", |asked| asked.tiling(|t| asked.is_not_built(t))),
    ("slices of 32 lanes", |asked| {
        asked.tiling(|t| {
            t.group_lanes() > 1 && (!t.group_lanes().is_multiple_of(32) || !32u32.is_multiple_of(t.lanes()))
        })
    }),
    ("runs of", |asked| asked.tiling(|t| t.width() as usize > Runs::MOST)),
    ("entries a lane", |asked| asked.tiling(|t| t.width() > asked.caps.max_tile.0)),
];

/// Whether a refusal in these words is right.
pub(crate) fn is_expected(asked: &Asked<'_>, words: &str) -> bool {
    EXPECTED_REFUSALS.iter().any(|(part, is_right)| words.contains(part) && is_right(asked))
}

/// The types that the device may lack: where `SPMV_REQUIRE` names the backend those that the variant hides, else those that
/// the device says it lacks.
pub(crate) fn lacks(is_required: bool, hidden: DtypeSet, caps: &DeviceCaps) -> DtypeSet {
    let is_there = |dtype: &Dtype| caps.storage.contains(*dtype) && caps.arithmetic.contains(dtype.accum());
    let missing = Dtype::ALL.into_iter().filter(|dtype| !is_required && !is_there(dtype));
    missing.fold(hidden, DtypeSet::with)
}

/// Whether the backend captures: one that does not has no type of graph.
pub(crate) fn captures<B: Backend>() -> bool {
    type_name::<B::Graph>() != type_name::<Infallible>()
}

#[cfg(test)]
mod tests {
    use spmv_backend::{DeviceKind, MemoryModel};

    use super::*;

    fn caps() -> DeviceCaps {
        let mut caps = DeviceCaps::new("a GPU", DeviceKind::DiscreteGpu, MemoryModel::Discrete);
        caps.storage = DtypeSet::ALL.without(Dtype::F16);
        caps
    }

    #[test]
    fn a_type_that_a_required_device_begins_to_refuse_is_no_expected_refusal() {
        let caps = caps();
        let options = Options { algorithm: Algorithm::CsrVector, ..Options::default() };
        let e = |lacks| {
            let asked = Asked::new(&caps, lacks, Dtype::F16, &options);
            let one = spmv_core::RowStats { n_rows: 1, n_cols: 1, nnz: 1, max: 1, ..Default::default() };
            let e = spmv_exec::plan(&one, Dtype::F16, &caps, None, &options).unwrap_err();
            is_expected(&asked, &e.to_string())
        };
        assert!(e(lacks(false, DtypeSet::NONE, &caps)));
        assert!(!e(lacks(true, DtypeSet::NONE, &caps)));
        assert!(e(lacks(true, DtypeSet::NONE.with(Dtype::F16), &caps)));
    }

    #[test]
    fn a_plan_of_its_own_tiling_is_refused_for_types_alone() {
        let caps = caps();
        let tiling = Some(Tiling::new(4, 1, 1, 2).unwrap());
        let words = "a GPU has no shuffles over 4 lanes, so a group holds one bunch; use a tiling with B=1";
        let options = Options { algorithm: Algorithm::SpeculativeSegmentedSum, ..Options::default() };
        for (tiling, expected) in [(None, false), (tiling, true)] {
            let asked = Asked::new(&caps, DtypeSet::NONE, Dtype::F32, &Options { tiling, ..options });
            assert_eq!(is_expected(&asked, words), expected);
        }
    }
}
