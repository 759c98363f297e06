//! What the loops read, and the loops of a type of values as kernels call them.

use std::ops::Range;

use spmv_core::Tiling;

use super::isa::Isa;
use crate::numbers::Numbers;

/// Column indices that are known to be below a bound.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Columns<'a> {
    pub(super) cols: &'a [u32],
    pub(super) bound: usize,
}

impl<'a> Columns<'a> {
    /// Takes the bound on trust.
    ///
    /// # Safety
    ///
    /// Every element of `cols` is less than `bound`.
    pub(crate) unsafe fn new_unchecked(cols: &'a [u32], bound: usize) -> Self {
        Self { cols, bound }
    }

    /// The first `n` columns.
    pub(crate) fn first(self, n: usize) -> Self {
        Self { cols: &self.cols[..n], ..self }
    }
}

/// Entries of a matrix together with the x they gather from; every column index is known to be less
/// than `x.len()`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operand<'a, T: Numbers> {
    pub(super) cols: &'a [u32],
    pub(super) vals: &'a [T::Val],
    pub(super) x: &'a [T::Vector],
    /// Whether entries come from memory.
    pub(super) streams: bool,
}

impl<'a, T: Numbers> Operand<'a, T> {
    /// Bytes of entries that caches hold: few CPUs have a smaller last one.
    const CACHED: usize = 16 << 20;

    /// Joins the arrays.
    ///
    /// # Panics
    ///
    /// Unless there are as many columns as values, and `x` is at least as long as the columns' bound.
    pub(crate) fn new(cols: Columns<'a>, vals: &'a [T::Val], x: &'a [T::Vector]) -> Self {
        assert_eq!(cols.cols.len(), vals.len(), "one column per value");
        assert!(cols.bound <= x.len(), "columns below {} of an x of {}", cols.bound, x.len());
        let streams = size_of_val(cols.cols) + size_of_val(vals) > Self::CACHED;
        Self { cols: cols.cols, vals, x, streams }
    }

    /// The product of entry `e` with its `x`: what the readable kernels use.
    pub(crate) fn product(&self, e: usize) -> T::Accum {
        T::of_val(self.vals[e]) * T::of_x(self.x[self.cols[e] as usize])
    }
}

/// Rows side by side, their entries at a stride. Column indices are less than `x.len()`, or
/// [`PADDING`](Self::PADDING) in slots without an entry, which come after a row's others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slots<'a, T: Numbers> {
    pub(super) cols: &'a [u32],
    pub(super) vals: &'a [T::Val],
    pub(super) x: &'a [T::Vector],
}

impl<'a, T: Numbers> Slots<'a, T> {
    /// The column of a slot without an entry.
    pub(crate) const PADDING: u32 = u32::MAX;

    /// Joins the arrays.
    ///
    /// # Panics
    ///
    /// Unless there are as many columns as values, and `x` is at least as long as the columns' bound.
    pub(crate) fn new(cols: PaddedColumns<'a>, vals: &'a [T::Val], x: &'a [T::Vector]) -> Self {
        let PaddedColumns(Columns { cols, bound }) = cols;
        assert_eq!(cols.len(), vals.len(), "one column per value");
        assert!(bound <= x.len(), "columns below {bound} of an x of {}", x.len());
        Self { cols, vals, x }
    }

    /// The sum of a row, read one slot after another: `n` of them from slot `first` on, each `stride` after the one before.
    pub(crate) fn row(&self, first: usize, stride: usize, n: usize) -> T::Accum {
        let slots = (0..n).map(|k| first + k * stride).take_while(|at| self.cols[*at] != Self::PADDING);
        slots.fold(num_traits::zero(), |sum: T::Accum, at| {
            sum + T::of_val(self.vals[at]) * T::of_x(self.x[self.cols[at] as usize])
        })
    }
}

/// Column indices that are known to be below a bound, but for [`Slots::PADDING`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct PaddedColumns<'a>(Columns<'a>);

impl<'a> PaddedColumns<'a> {
    /// Takes the bound on trust.
    ///
    /// # Safety
    ///
    /// Every element of `cols` is less than `bound`, or [`Slots::PADDING`].
    pub(crate) unsafe fn new_unchecked(cols: &'a [u32], bound: usize) -> Self {
        Self(Columns { cols, bound })
    }

    /// The first `n` columns.
    pub(crate) fn first(self, n: usize) -> Self {
        Self(self.0.first(n))
    }
}

/// Slots of a diagonal and the `x` of each, for some rows. A zero slot has no entry.
pub(crate) type Piece<'a, T> = (&'a [<T as Numbers>::Val], &'a [<T as Numbers>::Vector]);

/// Lanes of a slice.
pub(crate) const SLICE_LANES: usize = Tiling::SLICE_LANES as usize;
/// The column of a run that is not there, in 32 and in 16 bits.
pub(super) const NONE: u32 = u32::MAX;
pub(super) const NARROW_NONE: u32 = 0xffff;
/// Columns of a word, where they have 16 bits, and lengths of runs.
pub(super) const NARROW_COLS: usize = 2;
pub(super) const LENGTHS: usize = 16;

/// A slice: in step `i`, lane `k` has up to `width` entries in consecutive columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slice<'a, T: Numbers> {
    pub(super) n_steps: usize,
    pub(super) width: usize,
    /// The entries of each run less one, where some have fewer than `width`.
    pub(super) lengths: Option<&'a [u32]>,
    /// The first column of each run, less `base`.
    pub(super) cols: &'a [u32],
    pub(super) is_narrow: bool,
    pub(super) base: u32,
    pub(super) vals: &'a [T::Val],
    pub(super) x: &'a [T::Vector],
}

/// Which words a slice has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    pub(crate) n_steps: usize,
    /// Entries of a run at most.
    pub(crate) width: usize,
    pub(crate) is_narrow: bool,
    /// Whether there are runs of fewer entries.
    pub(crate) is_ragged: bool,
}

impl<'a, T: Numbers> Slice<'a, T> {
    /// Takes the first of the words and of the values.
    ///
    /// # Panics
    ///
    /// Unless there are enough.
    pub(crate) fn new(
        form: Form,
        base: u32,
        words: &'a [u32],
        vals: &'a [T::Val],
        x: &'a [T::Vector],
    ) -> Self {
        let Form { n_steps, width, is_narrow, is_ragged } = form;
        let (lengths, words) =
            words.split_at(if is_ragged { n_steps.div_ceil(LENGTHS) * SLICE_LANES } else { 0 });
        let n_cols = if is_narrow { n_steps.div_ceil(NARROW_COLS) } else { n_steps };
        Self {
            n_steps,
            width,
            lengths: is_ragged.then_some(lengths),
            cols: &words[..n_cols * SLICE_LANES],
            is_narrow,
            base,
            vals: &vals[..n_steps * width * SLICE_LANES],
            x,
        }
    }
}

/// Rows of runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunRows<'a, T: Numbers> {
    /// The first run of each row, and the end.
    pub(crate) run_ptr: &'a [u32],
    /// The entry that the first of these runs begins with. Entries of a run follow those of the run before.
    pub(crate) first_entry: usize,
    /// Of each run eight times its first column, plus how many entries it has less than eight.
    pub(crate) runs: &'a [u32],
    pub(crate) vals: &'a [T::Val],
    pub(crate) x: &'a [T::Vector],
}

/// Rows of a matrix in CSR form, and a panel of right-hand sides: columns next to each other of a matrix X, whose rows are `x_stride` values apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PanelRows<'a, T: Numbers> {
    pub(crate) cols: &'a [u32],
    pub(crate) vals: &'a [T::Val],
    /// From the panel's first column on.
    pub(crate) x: &'a [T::Vector],
    pub(crate) x_stride: usize,
    pub(crate) columns: usize,
}

impl<T: Numbers> PanelRows<'_, T> {
    /// Columns of a panel at most.
    pub(super) const MOST_COLUMNS: usize = 32;
}

/// Types of numbers with their loops.
pub(crate) trait SimdValue: Numbers {
    /// Sum of products over entries `range`: one row or a piece of one.
    ///
    /// Panics unless `range` lies within the operand's entries. An `isa` this CPU lacks counts as `Scalar`.
    fn dot(isa: Isa, a: &Operand<'_, Self>, range: Range<usize>) -> Self::Accum;

    /// Whole rows: `y[i] = alpha * sum(row_ptr[i]..row_ptr[i + 1]) + beta * y[i]`. A zero `beta` leaves
    /// the old `y` unread.
    ///
    /// Panics unless `row_ptr` has one element more than `y`, never decreases and stays within the
    /// operand's entries. That is checked eight rows at a time before they are read, so that a panic may
    /// come after earlier rows were written. An `isa` this CPU lacks counts as `Scalar`.
    fn rows(
        isa: Isa,
        a: &Operand<'_, Self>,
        row_ptr: &[u32],
        alpha: Self::Accum,
        beta: Self::Accum,
        y: &mut [Self::Accum],
    );

    /// Sums of rows side by side: slot `k` of row `i`, of `n`, is at `first + i + k * stride`.
    ///
    /// Panics unless all lie within the slots. An `isa` this CPU lacks counts as `Scalar`.
    fn slots(isa: Isa, a: &Slots<'_, Self>, first: usize, stride: usize, n: usize, sums: &mut [Self::Accum]);

    /// Adds to the sums of some rows the products of their slots on diagonals, one after another; of a slot that is zero none.
    ///
    /// Panics unless the pieces have as many slots as there are sums. An `isa` this CPU lacks counts as `Scalar`.
    fn diagonals(isa: Isa, pieces: &[Piece<'_, Self>], sums: &mut [Self::Accum]);

    /// Sums of the lanes of a slice.
    ///
    /// Panics if a column is beyond x. An `isa` this CPU lacks counts as `Scalar`.
    fn slice(isa: Isa, a: &Slice<'_, Self>) -> [Self::Accum; SLICE_LANES];

    /// Rows of runs: `y[i] = alpha * sum + beta * y[i]`. A zero `beta` leaves the old `y` unread.
    ///
    /// Panics unless there is a row for each `y`, whose runs are there, and end before the ends of the values and of x. An `isa` this CPU
    /// lacks counts as `Scalar`.
    fn runs(isa: Isa, a: &RunRows<'_, Self>, alpha: Self::Accum, beta: Self::Accum, y: &mut [Self::Accum]);

    /// Whole rows for each column of a panel: `y[i * y_stride + y_at + k] = alpha * sum + beta * y[i * y_stride + y_at + k]` for row `i` and
    /// column `k`, where `at` is `(y_stride, y_at)`. A zero `beta` leaves the old `y` unread.
    ///
    /// Panics where a row is not among the entries, or of X or `y` there is not enough. An `isa` this CPU lacks counts as `Scalar`.
    fn panel(
        isa: Isa,
        a: &PanelRows<'_, Self>,
        row_ptr: &[u32],
        scaling: (Self::Accum, Self::Accum),
        y: &mut [Self::Accum],
        at: (usize, usize),
    );
}
