//! What a kernel is compiled for.

use std::fmt;
use std::str::FromStr;

use spmv_core::{Dtype, Tiling, for_each_value};

use crate::kernels::{Group, KernelId};
use crate::params::{Elem, ParamKind};
use crate::types::Types;

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
        KernelId::ALL.iter().copied().find(|k| k.stem() == s).ok_or_else(|| UnknownKernel(s.to_owned()))
    }
}

impl KernelId {
    /// Whether the kernel takes a parameter of this name.
    ///
    /// ```
    /// use spmv_backend::KernelId;
    /// assert!(KernelId::Axpby.takes("beta") && !KernelId::Axpby.takes("x"));
    /// ```
    pub fn takes(self, name: &str) -> bool {
        self.params().iter().any(|param| param.name == name)
    }

    /// Whether the kernel multiplies values of the matrix by those of `x`, which may then have another type.
    ///
    /// ```
    /// use spmv_backend::KernelId;
    /// assert!(KernelId::Ell.multiplies() && !KernelId::CarryApply.multiplies());
    /// ```
    pub fn multiplies(self) -> bool {
        let reads = |elem| self.params().iter().any(|param| param.kind == ParamKind::Read(elem));
        reads(Elem::Value) && reads(Elem::Vector)
    }

    /// Whether the kernel works on whole tiles in local memory, the rows of which it is told.
    pub(crate) fn walks_tiles(self) -> bool {
        self.takes("tile_rows")
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
    /// Local memory and group barriers. Then a group of speculative segmented sum holds one bunch, because its fast path
    /// for a tile in one row diverges between bunches.
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

/// What of the matrix is multiplied.
///
/// ```
/// use spmv_backend::Operation;
/// assert_eq!(Operation::default().name(), "plain");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// The matrix.
    #[default]
    Plain,
    /// Its transpose.
    Transposed,
    /// Its conjugate transpose.
    Conjugate,
}

impl Operation {
    /// Lower-case name, as in labels.
    pub const fn name(self) -> &'static str {
        match self {
            Operation::Plain => "plain",
            Operation::Transposed => "transposed",
            Operation::Conjugate => "conjugate",
        }
    }
}

/// Everything a kernel is compiled for: cache key and label.
///
/// S is no part of the code: every kernel that walks takes it as the argument `tiles`.
///
/// ```
/// use spmv_backend::{KernelId, KernelSpec, Lanes, Operation};
/// use spmv_core::{Dtype, Tiling};
/// let spec = KernelSpec::new(KernelId::CsrVector, Dtype::F64, Lanes::Workgroup, Tiling::new(8, 1, 4, 1)?);
/// assert!(spec.defines().contains(&("LANES_WORKGROUP", 1)) && spec.defines().contains(&("VECTOR_F64", 1)));
/// assert!(spec.defines().contains(&("WIDTH", 1)));
/// assert_eq!(spec.code(), KernelSpec { tiling: Tiling::new(8, 1, 1, 1)?, ..spec });
/// assert_eq!(spec.to_string(), "csr_vector/f64/workgroup/T=8,W=1,S=4,B=1");
/// let other = KernelSpec { operation: Operation::Transposed, columns: 4, ..spec };
/// assert_eq!(other.to_string(), "csr_vector/f64/transposed/x4/workgroup/T=8,W=1,S=4,B=1");
/// # Ok::<(), spmv_core::TilingError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KernelSpec {
    /// Which kernel.
    pub id: KernelId,
    /// Types of values, `x` and sums.
    pub types: Types,
    /// What of the matrix is multiplied.
    pub operation: Operation,
    /// Number of right-hand sides: columns of `x` and `y`.
    pub columns: u16,
    /// How lanes talk.
    pub lanes: Lanes,
    /// T, W, S, B.
    pub tiling: Tiling,
}

impl KernelSpec {
    /// A kernel of the matrix as it is, for one right-hand side of the type of the values.
    pub const fn new(id: KernelId, value: Dtype, lanes: Lanes, tiling: Tiling) -> Self {
        Self { id, types: Types::of(value), operation: Operation::Plain, columns: 1, lanes, tiling }
    }

    /// The same with values of another type than `x` and sums; a kernel that does not multiply them by `x` is that of `x` alone.
    ///
    /// ```
    /// use spmv_backend::{KernelId, KernelSpec, Lanes, Types};
    /// use spmv_core::{Dtype, Tiling};
    /// let types = Types::stored_as(Dtype::F32, Dtype::F64).unwrap();
    /// let label = |id| {
    ///     let spec = KernelSpec::new(id, Dtype::F64, Lanes::Workgroup, Tiling::new(8, 1, 1, 1).unwrap());
    ///     spec.with_types(types).to_string()
    /// };
    /// assert_eq!(label(KernelId::CsrVector), "csr_vector/f32*f64+f64/workgroup/T=8,W=1,S=1,B=1");
    /// assert_eq!(label(KernelId::CarryApply), "carry_apply/f64/workgroup/T=8,W=1,S=1,B=1");
    /// ```
    #[must_use]
    pub fn with_types(self, types: Types) -> Self {
        let types = if self.id.multiplies() { types } else { Types::of(types.vector) };
        Self { types, ..self }
    }

    /// The same with S = 1: plans that differ in S alone share their code.
    #[must_use]
    pub fn code(&self) -> Self {
        Self { tiling: self.tiling.with_tiles(1), ..*self }
    }

    /// Names and numbers for `-D` (CUDA, OpenCL) and substitution (WGSL): types of values and of `x`, and
    /// other axes that are not at their defaults.
    pub fn defines(&self) -> Vec<(&'static str, u32)> {
        let lanes = match self.lanes {
            Lanes::Subgroup => "LANES_SUBGROUP",
            Lanes::Workgroup => "LANES_WORKGROUP",
        };
        let [value, vector, accum] = type_defines(self.types);
        let mut defines = vec![
            (value, 1),
            (vector, 1),
            (lanes, 1),
            ("LANES", self.tiling.lanes()),
            ("WIDTH", self.tiling.width()),
            ("BUNCHES", self.tiling.bunches()),
        ];
        let axes = [
            (accum, 1, self.types.accum != self.types.vector.accum()),
            ("COMPLEX", 1, self.types.accum.is_complex()),
            ("TRANSPOSED", 1, self.operation == Operation::Transposed),
            ("CONJUGATE", 1, self.operation == Operation::Conjugate),
            ("COLUMNS", u32::from(self.columns), self.columns != 1),
        ];
        defines.extend(axes.into_iter().filter(|axis| axis.2).map(|(name, value, _)| (name, value)));
        defines
    }

    /// Local memory that a group needs, in bytes.
    pub fn local_bytes(&self) -> u64 {
        self.id.local_bytes(&Group::of(self))
    }
}

impl Group {
    /// Of a spec.
    pub fn of(spec: &KernelSpec) -> Self {
        let sum = spec.types.accum.bytes() as u64;
        let tiling = &spec.tiling;
        let (tile, lanes) = (u64::from(tiling.tile_entries()), u64::from(tiling.group_lanes()));
        let bunches = u64::from(tiling.bunches());
        let shuffles = spec.lanes == Lanes::Subgroup;
        let talk = if shuffles { 0 } else { lanes * (sum + 4) };
        let kept = if shuffles { 0 } else { lanes * sum };
        let held = (bunches * tile + bunches * tile / 32 + lanes) * sum;
        Self { sum, tile, lanes, bunches, talk, kept, held }
    }
}

/// Defines of the types of values, of `x` and of sums.
fn type_defines(types: Types) -> [&'static str; 3] {
    macro_rules! defines {
        ($($variant:ident $t:ty, $capitals:literal;)*) => {[
            match types.value { $(Dtype::$variant => concat!("VALUE_", $capitals),)* },
            match types.vector { $(Dtype::$variant => concat!("VECTOR_", $capitals),)* },
            match types.accum { $(Dtype::$variant => concat!("ACCUM_", $capitals),)* },
        ]};
    }
    for_each_value!(defines)
}

impl fmt::Display for KernelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.id, self.types)?;
        if self.operation != Operation::Plain {
            write!(f, "/{}", self.operation.name())?;
        }
        if self.columns != 1 {
            write!(f, "/x{}", self.columns)?;
        }
        write!(f, "/{}/{}", self.lanes, self.tiling)
    }
}
