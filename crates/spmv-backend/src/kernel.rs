//! Kernels as data.

use std::fmt;
use std::str::FromStr;

use spmv_core::{Dtype, Tiling};

/// A kernel's stem: the same file name in every language and in `spmv-cpu`.
///
/// ```
/// use spmv_backend::KernelId;
/// assert_eq!(KernelId::SpecSegsum.stem(), "spec_segsum");
/// assert_eq!("merge_path".parse(), Ok(KernelId::MergePath));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum KernelId {
    /// Stage 1 of speculative segmented sum.
    SpecSegsum,
    /// Stage 2 of speculative segmented sum on the device, for discrete memory.
    FixupApply,
    /// One lane a row.
    CsrScalar,
    /// One bunch a row.
    CsrVector,
    /// Rows and entries cut evenly over bunches.
    MergePath,
    /// Blocks of rows whose products a group holds in local memory.
    Ipcsr,
    /// The products of all entries, in their order, in the device's memory.
    PcsrProducts,
    /// Sums of those products by row.
    PcsrSums,
    /// One lane a row of the ELLPACK layout.
    Ell,
    /// One lane a row of jagged diagonals.
    Jad,
    /// One lane a row of whole diagonals.
    Dia,
    /// Adds what `merge_path` and `ipcsr` carried from bunch to bunch.
    CarryApply,
    /// `y <- alpha*t + beta*y`.
    Axpby,
}

impl KernelId {
    /// Every kernel there is.
    pub const ALL: [KernelId; 13] = [
        KernelId::SpecSegsum,
        KernelId::FixupApply,
        KernelId::CsrScalar,
        KernelId::CsrVector,
        KernelId::MergePath,
        KernelId::Ipcsr,
        KernelId::PcsrProducts,
        KernelId::PcsrSums,
        KernelId::Ell,
        KernelId::Jad,
        KernelId::Dia,
        KernelId::CarryApply,
        KernelId::Axpby,
    ];

    /// File stem and label.
    pub const fn stem(self) -> &'static str {
        match self {
            KernelId::SpecSegsum => "spec_segsum",
            KernelId::FixupApply => "fixup_apply",
            KernelId::CsrScalar => "csr_scalar",
            KernelId::CsrVector => "csr_vector",
            KernelId::MergePath => "merge_path",
            KernelId::Ipcsr => "ipcsr",
            KernelId::PcsrProducts => "pcsr_products",
            KernelId::PcsrSums => "pcsr_sums",
            KernelId::Ell => "ell",
            KernelId::Jad => "jad",
            KernelId::Dia => "dia",
            KernelId::CarryApply => "carry_apply",
            KernelId::Axpby => "axpby",
        }
    }

    /// Whether a lane takes whole rows, so that a launch has as many lanes as rows (over S).
    ///
    /// ```
    /// use spmv_backend::KernelId;
    /// assert!(KernelId::Ell.takes_a_row_a_lane() && !KernelId::CsrVector.takes_a_row_a_lane());
    /// ```
    pub const fn takes_a_row_a_lane(self) -> bool {
        matches!(
            self,
            KernelId::CsrScalar | KernelId::PcsrSums | KernelId::Ell | KernelId::Jad | KernelId::Dia
        )
    }

    /// Whether a group is one bunch of more lanes than run together, which find each other's products in memory:
    /// `pcsr_products` leaves them to `pcsr_sums`, which brings them to local memory as `ipcsr` does.
    ///
    /// ```
    /// use spmv_backend::KernelId;
    /// assert!(KernelId::Ipcsr.holds_products_of_a_group() && !KernelId::Ell.holds_products_of_a_group());
    /// ```
    pub const fn holds_products_of_a_group(self) -> bool {
        matches!(self, KernelId::Ipcsr | KernelId::PcsrProducts | KernelId::PcsrSums)
    }
}

impl fmt::Display for KernelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.stem())
    }
}

/// A name that is no kernel's stem.
///
/// ```
/// use spmv_backend::KernelId;
/// assert_eq!("spmv".parse::<KernelId>().unwrap_err().to_string(), "unknown kernel 'spmv'");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown kernel '{0}'")]
pub struct UnknownKernel(String);

impl FromStr for KernelId {
    type Err = UnknownKernel;

    fn from_str(s: &str) -> Result<Self, UnknownKernel> {
        KernelId::ALL.into_iter().find(|k| k.stem() == s).ok_or_else(|| UnknownKernel(s.to_owned()))
    }
}

/// How the lanes of a bunch talk to each other.
///
/// ```
/// use spmv_backend::Lanes;
/// assert_eq!(Lanes::Workgroup.to_string(), "workgroup");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lanes {
    /// Shuffles and ballots; the bunch is a subgroup (warp, wavefront) or part of one.
    Subgroup,
    /// Local memory and group barriers. Then a group of `spec_segsum` holds one bunch, because its fast path for a tile in
    /// one row diverges between bunches.
    Workgroup,
}

impl fmt::Display for Lanes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Lanes::Subgroup => "subgroup",
            Lanes::Workgroup => "workgroup",
        })
    }
}

/// Everything a kernel is compiled for: cache key, label and test name.
///
/// S is no part of the code: every kernel that walks takes it as the argument `tiles`.
///
/// ```
/// use spmv_backend::{KernelId, KernelSpec, Lanes};
/// use spmv_core::{Dtype, Tiling};
/// let spec = KernelSpec { id: KernelId::CsrVector, value: Dtype::F64, lanes: Lanes::Workgroup, tiling: Tiling::new(8, 1, 4, 1)? };
/// assert!(spec.defines().contains(&("LANES_WORKGROUP", 1)));
/// assert!(spec.defines().contains(&("WIDTH", 1)));
/// assert_eq!(spec.code(), KernelSpec { tiling: Tiling::new(8, 1, 1, 1)?, ..spec });
/// # Ok::<(), spmv_core::TilingError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KernelSpec {
    /// Which kernel.
    pub id: KernelId,
    /// Type of matrix and `x`; sums and `y` have its [`accum`](Dtype::accum).
    pub value: Dtype,
    /// How lanes talk.
    pub lanes: Lanes,
    /// T, W, S, B.
    pub tiling: Tiling,
}

impl KernelSpec {
    /// The same with S = 1: plans that differ in S alone share their code.
    #[must_use]
    pub fn code(&self) -> Self {
        Self { tiling: self.tiling.with_tiles(1), ..*self }
    }

    /// Names and numbers for `-D` (CUDA, OpenCL) and substitution (WGSL).
    pub fn defines(&self) -> [(&'static str, u32); 5] {
        let value = match self.value {
            Dtype::F16 => "VALUE_F16",
            Dtype::Bf16 => "VALUE_BF16",
            Dtype::F32 => "VALUE_F32",
            Dtype::F64 => "VALUE_F64",
        };
        let lanes = match self.lanes {
            Lanes::Subgroup => "LANES_SUBGROUP",
            Lanes::Workgroup => "LANES_WORKGROUP",
        };
        [
            (value, 1),
            (lanes, 1),
            ("LANES", self.tiling.lanes()),
            ("WIDTH", self.tiling.width()),
            ("BUNCHES", self.tiling.bunches()),
        ]
    }

    /// Local memory that a group needs, in bytes.
    ///
    /// `spec_segsum` keeps, for each bunch, a tile's products (one more for each lane, so that lanes read
    /// from different banks) and one descriptor bit per entry (in 32-bit words, two more for the end and the
    /// dirty flag); `merge_path` a tile's products and row ends; `fixup_apply` a tile's sums; `ipcsr` a group's products
    /// (one more for every 32), a sum, a row end and a number of a long row for each lane, and how many long rows there
    /// are; `pcsr_sums` a group's products and a sum for each lane. Lanes that cannot shuffle talk through one sum and one
    /// count each, and in `spec_segsum` keep one sum more.
    pub fn local_bytes(&self) -> u64 {
        let sum = self.value.accum().bytes() as u64;
        let (tile, lanes) = (u64::from(self.tiling.tile_entries()), u64::from(self.tiling.group_lanes()));
        let bunches = u64::from(self.tiling.bunches());
        let talk = if self.lanes == Lanes::Workgroup { lanes * (sum + 4) } else { 0 };
        let held = (bunches * tile + bunches * tile / 32 + lanes) * sum;
        match self.id {
            KernelId::SpecSegsum => {
                let kept = if self.lanes == Lanes::Workgroup { lanes * sum } else { 0 };
                talk + kept + lanes * sum + bunches * (tile * sum + (tile / 32 + 2) * 4)
            }
            KernelId::FixupApply => talk + bunches * tile * sum,
            KernelId::CsrVector | KernelId::CarryApply => talk,
            KernelId::MergePath => talk + bunches * tile * (sum + 4),
            KernelId::Ipcsr => held + (2 * lanes + 2) * 4,
            KernelId::PcsrSums => held,
            KernelId::CsrScalar
            | KernelId::PcsrProducts
            | KernelId::Ell
            | KernelId::Jad
            | KernelId::Dia
            | KernelId::Axpby => 0,
        }
    }
}

impl fmt::Display for KernelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}/{}", self.id, self.value, self.lanes, self.tiling)
    }
}
