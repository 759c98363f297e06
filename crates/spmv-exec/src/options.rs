//! What a user may choose.

use spmv_core::format::MAX_BLOW_UP;
use spmv_core::{Dtype, Tiling};

use crate::algorithms::Algorithm;
use crate::choice::Choice;

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

/// Which layouts `Auto` may choose.
///
/// ```
/// use spmv_exec::Layouts;
/// assert_eq!(Layouts::default(), Layouts::Any);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Layouts {
    /// Whichever is expected to be fastest, up to [`max_blow_up`](Options::max_blow_up) times the bytes of CSR.
    #[default]
    Any,
    /// The CSR arrays alone: the matrix takes no more memory than they do, and is prepared in the time of a copy.
    Csr,
}

/// Whether preparing a matrix times candidates on the matrix itself and takes the fastest.
///
/// A choice by timing may differ between runs, and with it the order in which sums are added: results then have other bits. So trials
/// are off by default. To get the same bits in every run, save [`Plan::choice`](crate::Plan::choice) once and give it again by
/// [`Options::with_choice`].
///
/// Each candidate is laid out on the device and timed for some 20 ms, or for three products where they take longer; its kernels are
/// compiled first, if the device has not compiled them before. The device holds two layouts of the matrix meanwhile, and vectors for a
/// product. A candidate replaces the planned one only if it takes at most 98% of
/// its time.
///
/// ```
/// use spmv_exec::{Options, Tune};
/// assert_eq!(Options::default().tune, Tune::Off);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Tune {
    /// The plan is taken as it is: a pure function of statistics, capabilities, profile and options.
    #[default]
    Off,
    /// Times up to 10 candidates: algorithms that the heuristic or a prediction favours, each with its planned tiling. With
    /// [`algorithm`](Options::algorithm) given, its tilings next to the planned one.
    Quick,
    /// Times up to 40 candidates: those of `Quick`, tilings next to those of the two fastest algorithms, and tilings next to the fastest
    /// of all.
    Thorough,
}

/// How to prepare a matrix.
///
/// ```
/// use spmv_exec::{Algorithm, Options};
/// let options = Options { algorithm: Algorithm::MergePath, ..Options::default() };
/// assert_eq!(options.tiling, None);
/// let first_five = Options { algorithm: Algorithm::EllCsr, regular_width: Some(5), ..Options::default() };
/// assert_ne!(first_five, Options { algorithm: Algorithm::EllCsr, ..Options::default() });
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Which algorithm.
    pub algorithm: Algorithm,
    /// T, W, S, B; `None` leaves them to the plan.
    pub tiling: Option<Tiling>,
    /// Where stage 2 happens.
    pub fixup: Fixup,
    /// Ratio of a layout's bytes to those of CSR above which algorithms with [a layout of their
    /// own](Algorithm::has_own_layout) refuse a matrix ([`MAX_BLOW_UP`] by default); one that is no number refuses all.
    pub max_blow_up: f64,
    /// Which layouts `Auto` may choose; an algorithm that is named keeps its own.
    pub layouts: Layouts,
    /// Products that are expected of the matrix; `None` for many. For a few, `Auto` takes no layout that costs more to make than it saves.
    pub expected_runs: Option<u64>,
    /// How wide the regular part of [`EllCsr`](Algorithm::EllCsr) (slots of each row) and [`DiaCsr`](Algorithm::DiaCsr)
    /// (columns on either side of the diagonal) is; other algorithms have none. `None` takes the narrowest part that holds
    /// [80%](spmv_core::regular::SHARE) of the stored entries.
    pub regular_width: Option<usize>,
    /// Whether candidates are timed on the matrix. What is given here is kept: trials choose the algorithm, the tiling or both, as far as
    /// they are left open, among what [`layouts`](Self::layouts), [`expected_runs`](Self::expected_runs) and
    /// [`max_blow_up`](Self::max_blow_up) allow.
    pub tune: Tune,
    /// Whether the matrix is also multiplied with several right-hand sides ([`Queue::apply_block`](crate::Queue::apply_block)). They run on
    /// the arrays of CSR: where the plan has another layout, these take memory besides.
    pub blocks: bool,
    /// Type in which the values of the matrix are kept; `None` for that of `x`. Narrower values take less memory and time, as in iterative
    /// refinement, while vectors and sums stay in `f32` or `f64`: values in `f16` or `bf16` with either, values in `f32` with `f64`. Each
    /// value is rounded to the nearest once, when the matrix is prepared or gets new values; a finite one that would become infinite
    /// is refused ([`Error::Narrow`](crate::Error::Narrow)). [`exact_values`](crate::exact_values) finds a type that rounds none.
    pub values: Option<Dtype>,
}

impl Options {
    /// The same with the algorithm and the tiling of a choice, so that nothing is left to trials. O(1).
    ///
    /// ```
    /// use spmv_exec::{Algorithm, Options};
    /// let options = Options::default().with_choice("csr_vector T=4,W=1,S=1,B=32".parse()?);
    /// assert_eq!(options.algorithm, Algorithm::CsrVector);
    /// # Ok::<(), spmv_exec::ChoiceError>(())
    /// ```
    #[must_use]
    pub fn with_choice(self, choice: Choice) -> Self {
        Self { algorithm: choice.algorithm, tiling: Some(choice.tiling), ..self }
    }

    /// Whether times were measured so: with the tilings, the repair and the regular part that are chosen.
    pub(crate) fn is_as_measured(&self) -> bool {
        self.tiling.is_none() && self.fixup == Fixup::Auto && self.regular_width.is_none()
    }
}

impl Default for Options {
    fn default() -> Self {
        let (algorithm, tiling, fixup) = (Algorithm::Auto, None, Fixup::Auto);
        let (max_blow_up, layouts, expected_runs, regular_width) = (MAX_BLOW_UP, Layouts::Any, None, None);
        let (tune, blocks, values) = (Tune::Off, false, None);
        Self {
            algorithm,
            tiling,
            fixup,
            max_blow_up,
            layouts,
            expected_runs,
            regular_width,
            tune,
            blocks,
            values,
        }
    }
}
