//! What the loops read, and the loops of a type of values as kernels call them.

use std::ops::Range;

use spmv_core::format::{PADDING, SliceHeader as Header};

use super::isa::Isa;
use crate::numbers::Numbers;

/// Sums in a vector, and rows taken together.
pub(super) const LANES: usize = 8;

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
    /// Joins the arrays.
    ///
    /// # Panics
    ///
    /// Unless there are as many columns as values, and `x` is at least as long as the columns' bound.
    pub(crate) fn new(cols: Columns<'a>, vals: &'a [T::Val], x: &'a [T::Vector]) -> Self {
        assert_eq!(cols.cols.len(), vals.len(), "one column per value");
        assert!(cols.bound <= x.len(), "columns below {} of an x of {}", cols.bound, x.len());
        Self { cols: cols.cols, vals, x, streams: stream(cols.cols, vals) }
    }

    /// The product of entry `e` with its `x`: what the readable kernels use.
    pub(crate) fn product(&self, e: usize) -> T::Accum {
        T::of_val(self.vals[e]) * T::of_x(self.x[self.cols[e] as usize])
    }
}

/// Whether indices and values come from memory: few CPUs have a smaller last cache.
pub(super) fn stream<V>(indices: &[u32], vals: &[V]) -> bool {
    const CACHED: usize = 16 << 20;
    size_of_val(indices) + size_of_val(vals) > CACHED
}

/// Rows side by side, their entries at a stride. Column indices are less than `x.len()`, or
/// [`PADDING`] in slots without an entry, which come after a row's others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slots<'a, T: Numbers> {
    pub(super) cols: &'a [u32],
    pub(super) vals: &'a [T::Val],
    pub(super) x: &'a [T::Vector],
}

impl<'a, T: Numbers> Slots<'a, T> {
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
        let slots = (0..n).map(|k| first + k * stride).take_while(|at| self.cols[*at] != PADDING);
        slots.fold(num_traits::zero(), |sum: T::Accum, at| {
            sum + T::of_val(self.vals[at]) * T::of_x(self.x[self.cols[at] as usize])
        })
    }
}

/// Column indices that are known to be below a bound, but for [`PADDING`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct PaddedColumns<'a>(Columns<'a>);

impl<'a> PaddedColumns<'a> {
    /// Takes the bound on trust.
    ///
    /// # Safety
    ///
    /// Every element of `cols` is less than `bound`, or [`PADDING`].
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

/// The column of a run that is not there, in 32 and in 16 bits.
pub(crate) const NONE: u32 = Header::NONE;
pub(crate) const NARROW_NONE: u32 = Header::NARROW_NONE;
/// Columns of a word, where they have 16 bits, and lengths of runs.
pub(super) const NARROW_COLS: usize = Header::NARROW_COLS;
pub(crate) const LENGTHS: usize = Header::LENGTHS;

/// How much a slice has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    /// Those of a part of a row come first. Words of lengths follow, then those of columns.
    n_words_of_part: usize,
    /// Of lengths and columns.
    n_words: usize,
    n_vals: usize,
}

/// Words of slices, of which the runs are known to end before a bound.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words<'a> {
    words: &'a [u32],
    bound: usize,
}

impl<'a> Words<'a> {
    /// Takes the bound on trust.
    ///
    /// # Safety
    ///
    /// Every column that a slice has there, and those that follow it in its run, are less than `bound`. A lane that has none in a step has
    /// none in the steps after it.
    pub(crate) unsafe fn new_unchecked(words: &'a [u32], bound: usize) -> Self {
        Self { words, bound }
    }
}

/// Slices of rows: lanes side by side, each with a run of entries a step, which ends before `x.len()`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slices<'a, T: Numbers> {
    /// Four of each slice.
    numbers: &'a [u32],
    /// Lanes of a slice: eight or 32.
    pub(super) lanes: usize,
    /// Entries of a run at most.
    pub(super) width: usize,
    words: &'a [u32],
    vals: &'a [T::Val],
    pub(super) x: &'a [T::Vector],
    /// Whether entries come from memory.
    pub(super) streams: bool,
}

/// How vectors of eight lanes read x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// As it stands.
    Stepped,
    /// Element by element.
    Loaded,
}

/// The words and values of a slice.
#[derive(Debug)]
pub(crate) struct Entries<T: SimdValue> {
    pub(super) n_steps: usize,
    pub(super) cols: *const u32,
    pub(super) vals: *const T::Val,
}

/// A slice: in step `i`, lane `k` has up to `width` entries in consecutive columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slice<'a, T: Numbers> {
    pub(super) header: Header,
    /// Entries of a run at most.
    pub(super) width: usize,
    /// The entries of each run less one, where some have fewer than `width`.
    pub(super) lengths: Option<&'a [u32]>,
    /// The first column of each run, less that of the header.
    pub(super) cols: &'a [u32],
    pub(super) vals: &'a [T::Val],
    pub(super) x: &'a [T::Vector],
}

impl<'a, T: Numbers> Slices<'a, T> {
    /// Joins the arrays. There are four numbers for each slice; a slice has `lanes` lanes, and a run at most `width` entries.
    ///
    /// # Panics
    ///
    /// Unless `x` is at least as long as the bound of the words.
    pub(crate) fn new(
        numbers: &'a [u32],
        [lanes, width]: [usize; 2],
        words: Words<'a>,
        vals: &'a [T::Val],
        x: &'a [T::Vector],
    ) -> Self {
        let Words { words, bound } = words;
        assert!(bound <= x.len(), "columns below {bound} of an x of {}", x.len());
        Self { numbers, lanes, width, words, vals, x, streams: stream(words, vals) }
    }

    #[inline(always)]
    pub(super) fn numbers(&self, at: usize) -> [u32; 4] {
        self.numbers[4 * at..][..4].try_into().expect("four numbers")
    }

    /// What a slice says of itself.
    #[inline(always)]
    pub(crate) fn header(&self, at: usize) -> Header {
        Header::of(self.numbers(at))
    }

    /// Slots before those of a slice, of which there may be one more.
    pub(crate) fn first_slot(&self, at: usize) -> usize {
        self.numbers.get(4 * at).map_or(self.vals.len(), |slot| *slot as usize)
    }

    /// How many words and values a slice has.
    #[inline(always)]
    pub(super) fn extent(&self, of: &Header) -> Extent {
        let n_words_of_part = of.words_of_part(self.lanes);
        let n_words = of.words_of_lengths(self.lanes) + of.words_of_columns(self.lanes);
        Extent { n_words_of_part, n_words, n_vals: of.n_steps * self.width * self.lanes }
    }

    /// Words of lengths and columns of a slice, and its values. Panics unless they are there.
    #[inline(always)]
    pub(super) fn entries(&self, [slot, word, ..]: [u32; 4], of: &Extent) -> (&'a [u32], &'a [T::Val]) {
        // Counts have 32 bits.
        let (word, slot) = (word as usize + of.n_words_of_part, slot as usize);
        (&self.words[word..word + of.n_words], &self.vals[slot..slot + of.n_vals])
    }

    /// Panics unless it has its words and values.
    pub(super) fn slice(&self, at: usize) -> Slice<'a, T> {
        let numbers = self.numbers(at);
        let header = Header::of(numbers);
        let (words, vals) = self.entries(numbers, &self.extent(&header));
        let (lengths, cols) = words.split_at(header.words_of_lengths(self.lanes));
        let lengths = header.is_ragged.then_some(lengths);
        Slice { header, width: self.width, lengths, cols, vals, x: self.x }
    }
}

/// Rows of runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunRows<'a, T: Numbers> {
    /// The first run of each row, and the end.
    pub(crate) run_ptr: &'a [u32],
    /// The entry that the first of these runs begins with. Entries of a run follow those of the run before.
    pub(crate) first_entry: usize,
    /// The words of runs, as the kernel's declaration has them.
    pub(crate) runs: &'a [u32],
    pub(crate) vals: &'a [T::Val],
    pub(crate) x: &'a [T::Vector],
}

/// Where the sums of a range of rows stand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowRange {
    /// The column that is mirrored to the first of them.
    pub(crate) first_col: usize,
    /// Sums of rows before those of the range.
    pub(crate) n_before: usize,
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

/// What products are added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Onto {
    /// Nothing, and the sums that are there are not read.
    Zero,
    Sums,
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

    /// Adds to the sums of some rows, or to zero, the products of their slots on diagonals, one after another; of a slot that is zero none.
    ///
    /// Panics unless the pieces have as many slots as there are sums, and are at most [`DIAGONALS`](super::DIAGONALS). An `isa` this CPU lacks
    /// counts as `Scalar`.
    fn diagonals(isa: Isa, pieces: &[Piece<'_, Self>], sums: &mut [Self::Accum], onto: Onto);

    /// Sums of the lanes of slices of eight, all of one [`Way`]. An `isa` this CPU lacks counts as `Scalar`.
    ///
    /// # Safety
    ///
    /// There are words and values of each step, and runs of all lanes end in x. To be loaded, runs have one entry, columns have 32 bits, and x
    /// is no longer than signed 32 bits count. There are as many slices as sums.
    unsafe fn eights(
        isa: Isa,
        a: &Slices<'_, Self>,
        way: Way,
        slices: &[Entries<Self>],
        sums: &mut [[Self::Accum; LANES]],
    );

    /// Sums of the lanes of wide slices by gathers, where the CPU has them for such a matrix; whether it does.
    fn gathered(isa: Isa, a: &Slices<'_, Self>, range: Range<usize>, sums: &mut [Self::Accum]) -> bool;

    /// Rows of runs: `y[i] = alpha * sum + beta * y[i]`. A zero `beta` leaves the old `y` unread.
    ///
    /// Panics unless there is a row for each `y`, whose runs are there, and end before the ends of the values and of x. An `isa` this CPU
    /// lacks counts as `Scalar`.
    fn runs(isa: Isa, a: &RunRows<'_, Self>, alpha: Self::Accum, beta: Self::Accum, y: &mut [Self::Accum]);

    /// Sums of rows of runs, which end in words of one bit more than those of [`runs`](Self::runs): whether each entry stands for the one that
    /// mirrors it too, and is added to the sum of its column's row. A row's sum is stored when its runs have been added, so that nothing on
    /// the diagonal is added twice.
    ///
    /// Panics unless `sums` are those of the range, and runs end before the ends of the values and of x, mirrored ones before that of the
    /// sums. An `isa` this CPU lacks counts as `Scalar`.
    fn mirrored(isa: Isa, a: &RunRows<'_, Self>, range: RowRange, sums: &mut [Self::Accum]);

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
