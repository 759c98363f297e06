//! What a user may choose.

use std::fmt;
use std::str::FromStr;

use spmv_core::Tiling;
use spmv_core::format::MAX_BLOW_UP;

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
    /// Products of all entries in the device's memory, then sums by row (Gao et al.).
    Pcsr,
    /// One lane a row of [`Ell`](spmv_core::format::Ell) (Bell & Garland 2009); refuses what pads too much.
    Ell,
    /// One lane a row of [`Jad`](spmv_core::format::Jad) (Saad 1989).
    Jad,
    /// One lane a row of [`Dia`](spmv_core::format::Dia) (Bell & Garland 2009); refuses what has too many diagonals.
    Dia,
}

impl Algorithm {
    /// Every algorithm that can be asked for by name, `Auto` first.
    pub const ALL: [Algorithm; 10] = [
        Algorithm::Auto,
        Algorithm::SpeculativeSegmentedSum,
        Algorithm::CsrScalar,
        Algorithm::CsrVector,
        Algorithm::MergePath,
        Algorithm::Ipcsr,
        Algorithm::Pcsr,
        Algorithm::Ell,
        Algorithm::Jad,
        Algorithm::Dia,
    ];

    /// Whether it takes a layout of [`spmv_core::format`], which may refuse a matrix, instead of CSR.
    ///
    /// ```
    /// use spmv_exec::Algorithm;
    /// assert!(Algorithm::Jad.has_own_layout() && !Algorithm::Pcsr.has_own_layout());
    /// ```
    pub const fn has_own_layout(self) -> bool {
        matches!(self, Algorithm::Ell | Algorithm::Jad | Algorithm::Dia)
    }

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Algorithm::Auto => "auto",
            Algorithm::SpeculativeSegmentedSum => "spec_segsum",
            Algorithm::CsrScalar => "csr_scalar",
            Algorithm::CsrVector => "csr_vector",
            Algorithm::MergePath => "merge_path",
            Algorithm::Ipcsr => "ipcsr",
            Algorithm::Pcsr => "pcsr",
            Algorithm::Ell => "ell",
            Algorithm::Jad => "jad",
            Algorithm::Dia => "dia",
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
/// assert_eq!(e.to_string(), "unknown algorithm 'fast'; known: auto spec_segsum csr_scalar csr_vector merge_path ipcsr pcsr ell jad dia");
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Which algorithm.
    pub algorithm: Algorithm,
    /// T, W, S, B; `None` leaves them to the plan.
    pub tiling: Option<Tiling>,
    /// Where stage 2 happens.
    pub fixup: Fixup,
    /// Ratio of a layout's bytes to those of CSR above which `Ell`, `Jad` and `Dia` refuse a matrix
    /// ([`MAX_BLOW_UP`], unless one says otherwise); one that is no number refuses all.
    pub max_blow_up: f64,
}

impl Options {
    /// Whether times were measured so: with the tilings and the repair that plans choose.
    pub(crate) fn is_as_measured(&self) -> bool {
        self.tiling.is_none() && self.fixup == Fixup::Auto
    }
}

impl Default for Options {
    fn default() -> Self {
        let (algorithm, tiling, fixup) = (Algorithm::Auto, None, Fixup::Auto);
        Self { algorithm, tiling, fixup, max_blow_up: MAX_BLOW_UP }
    }
}
