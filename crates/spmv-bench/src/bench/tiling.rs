//! The tiling that a run forces: one in numbers, or Table 1 of Liu & Vinter 2015.

use std::str::FromStr;

use spmv::plan::tiling::{Preset, TilingError};
use spmv::{
    DeviceCaps, DeviceKind, Dtype,
    plan::{Algorithm, Tiling},
};

/// Name of the table on the command line.
const TABLE_1: &str = "table1";

/// What `--tiling` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// The paper's T, W, S and B for the device's vendor and the type of values, exactly. A device that cannot run them
    /// refuses.
    Table1,
    /// What the paper of an algorithm gives it: Table 1 for `spec_segsum`, a warp a row for `csr_vector`. Others as planned.
    Published,
    /// These.
    Is(Tiling),
}

impl Asked {
    /// T, W, S and B of an algorithm for values of a type on a device; `None` leaves them to the plan.
    pub(crate) fn tiling(self, algorithm: Algorithm, caps: &DeviceCaps, value: Dtype) -> Option<Tiling> {
        match (self, algorithm) {
            (Asked::Table1, _) | (Asked::Published, Algorithm::SpeculativeSegmentedSum) => {
                Some(Tiling::preset(column(caps), value))
            }
            (Asked::Published, Algorithm::CsrVector) => warp_a_row(caps),
            (Asked::Published, _) => None,
            (Asked::Is(tiling), _) => Some(tiling),
        }
    }
}

impl FromStr for Asked {
    type Err = TilingError;

    fn from_str(s: &str) -> Result<Self, TilingError> {
        if s == TABLE_1 { Ok(Asked::Table1) } else { s.parse().map(Asked::Is) }
    }
}

/// As many lanes for a row as run together (Bell & Garland 2009), 32 where the device does not say.
fn warp_a_row(caps: &DeviceCaps) -> Option<Tiling> {
    const WARP: u32 = 32;
    let lanes = caps.subgroup.map_or(WARP, |(_, most)| u32::from(most));
    Tiling::new(lanes.min(caps.max_group), 1, 1, 1).ok()
}

/// The column of Table 1: that of the GPU's vendor by the words of its name; that of nVidia for other vendors, and for cores
/// of a CPU, of which the paper's GPUs are none.
fn column(caps: &DeviceCaps) -> Preset {
    let name = caps.name.to_lowercase();
    let mut words = name.split(|c: char| !c.is_alphanumeric());
    let is_of = |vendor: &[&str], word: &str| vendor.iter().any(|known| word.starts_with(known));
    if caps.kind == DeviceKind::Cpu {
        return Preset::Nvidia;
    }
    // Drivers name AMD's GPUs by their instruction sets too: `gfx90a`.
    let known = [(&["intel"][..], Preset::Intel), (&["amd", "radeon", "gfx"], Preset::Amd)];
    let of_word = |word| known.iter().find(|(vendor, _)| is_of(vendor, word)).map(|(_, preset)| *preset);
    words.find_map(of_word).unwrap_or(Preset::Nvidia)
}

#[cfg(test)]
mod tests {
    use spmv::MemoryModel;

    use super::*;

    #[test]
    fn table_1_is_taken_by_vendor_and_type() {
        let of = |name: &str, kind| {
            let caps = DeviceCaps::new(name, kind, MemoryModel::UnifiedCoherent);
            let of_segsum = |value| Asked::Table1.tiling(Algorithm::SpeculativeSegmentedSum, &caps, value);
            [Dtype::F32, Dtype::F64].map(|value| of_segsum(value).unwrap().to_string())
        };
        let (gpu, discrete) = (DeviceKind::IntegratedGpu, DeviceKind::DiscreteGpu);
        assert_eq!(of("Intel(R) HD Graphics 5500", gpu), ["T=8,W=16,S=6,B=4", "T=8,W=16,S=6,B=4"]);
        for amd in ["AMD Radeon R7 Graphics", "gfx1103", "Radeon RX 580 Series (RADV POLARIS10)"] {
            assert_eq!(of(amd, gpu), ["T=64,W=16,S=2,B=2", "T=64,W=8,S=5,B=2"], "{amd}");
        }
        let nvidia = ["T=32,W=8,S=7,B=5", "T=32,W=4,S=7,B=5"];
        assert_eq!(
            [of("NVIDIA H200", discrete), of("Apple M1", gpu)],
            [nvidia, nvidia].map(|n| n.map(String::from))
        );
        assert_eq!(of("cpu-haswell-AMD EPYC", DeviceKind::Cpu), nvidia, "its cores are no GPU of AMD");
    }

    #[test]
    fn numbers_are_taken_as_they_are_and_anything_else_is_refused() {
        let tiling = Tiling::new(8, 4, 2, 1).unwrap();
        assert_eq!("T=8,W=4,S=2,B=1".parse(), Ok(Asked::Is(tiling)));
        assert_eq!("table1".parse(), Ok(Asked::Table1));
        assert!(matches!("table2".parse::<Asked>(), Err(TilingError::Syntax(_))));
    }

    #[test]
    fn what_is_published_is_a_warp_a_row_and_table_1_and_nothing_of_others() {
        let mut caps = DeviceCaps::new("NVIDIA H200", DeviceKind::DiscreteGpu, MemoryModel::Discrete);
        caps.subgroup = Some((2, 32));
        let of = |algorithm| Asked::Published.tiling(algorithm, &caps, Dtype::F32).map(|t| t.to_string());
        assert_eq!(of(Algorithm::CsrVector).as_deref(), Some("T=32,W=1,S=1,B=1"));
        assert_eq!(of(Algorithm::SpeculativeSegmentedSum).as_deref(), Some("T=32,W=8,S=7,B=5"));
        assert_eq!([of(Algorithm::Ipcsr), of(Algorithm::CsrScalar)], [None, None]);
    }
}
