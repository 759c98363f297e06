//! What a user may choose.

use std::fmt;
use std::str::FromStr;

use spmv_core::Tiling;

/// Which algorithm multiplies.
///
/// ```
/// use spmv_exec::Algorithm;
/// assert_eq!("spec_segsum".parse(), Ok(Algorithm::SpeculativeSegmentedSum));
/// assert_eq!(Algorithm::MergePath.to_string(), "merge_path");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Algorithm {
    /// What the plan expects to be fastest.
    #[default]
    Auto,
    /// Liu & Vinter 2015: the device speculates, the CPU repairs.
    SpeculativeSegmentedSum,
    /// One lane a row (Bell & Garland 2009).
    CsrScalar,
    /// One bunch a row (Bell & Garland 2009).
    CsrVector,
    /// Rows and entries cut evenly (Merrill & Garland 2016).
    MergePath,
    /// Blocks of rows, products in local memory (Gao et al.).
    Ipcsr,
}

impl Algorithm {
    /// Every algorithm that can be asked for by name, `Auto` first.
    pub const ALL: [Algorithm; 6] = [
        Algorithm::Auto,
        Algorithm::SpeculativeSegmentedSum,
        Algorithm::CsrScalar,
        Algorithm::CsrVector,
        Algorithm::MergePath,
        Algorithm::Ipcsr,
    ];

    /// Name on the command line: the stem of its kernel, or `auto`.
    pub const fn name(self) -> &'static str {
        match self {
            Algorithm::Auto => "auto",
            Algorithm::SpeculativeSegmentedSum => "spec_segsum",
            Algorithm::CsrScalar => "csr_scalar",
            Algorithm::CsrVector => "csr_vector",
            Algorithm::MergePath => "merge_path",
            Algorithm::Ipcsr => "ipcsr",
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no algorithm's.
///
/// ```
/// use spmv_exec::Algorithm;
/// let e = "fast".parse::<Algorithm>().unwrap_err();
/// assert_eq!(e.to_string(), "unknown algorithm 'fast'; known: auto spec_segsum csr_scalar csr_vector merge_path ipcsr");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown algorithm '{0}'; known: {known}", known = Algorithm::ALL.map(Algorithm::name).join(" "))]
pub struct UnknownAlgorithm(String);

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    fn from_str(s: &str) -> Result<Self, UnknownAlgorithm> {
        Algorithm::ALL.into_iter().find(|a| a.name() == s).ok_or_else(|| UnknownAlgorithm(s.to_owned()))
    }
}

/// Where stage 2 of speculative segmented sum happens.
///
/// ```
/// use spmv_exec::Fixup;
/// assert_eq!(Fixup::default(), Fixup::Auto);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Fixup {
    /// On the host where it can map device memory, else on the device.
    #[default]
    Auto,
    /// On the host; where memory is discrete, `y` is copied to the host and back.
    Host,
    /// On the device.
    Device,
}

/// How to prepare a matrix.
///
/// ```
/// use spmv_exec::{Algorithm, Options};
/// let options = Options { algorithm: Algorithm::MergePath, ..Options::default() };
/// assert_eq!(options.tiling, None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Which algorithm.
    pub algorithm: Algorithm,
    /// T, W, S, B; `None` leaves them to the plan.
    pub tiling: Option<Tiling>,
    /// Where stage 2 happens.
    pub fixup: Fixup,
}
