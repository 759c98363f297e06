//! Where a matrix is split.

use std::fmt;
use std::ops::Range;

use spmv_core::regular::{SHARE, distance};
use spmv_core::{Csr, CsrView, Offset, Value};
use spmv_exec::{Algorithm, Options};

use crate::pattern::{Pattern, Regularity};

/// What the search tries for the device's rows of a general matrix besides `Auto`: Tan et al. 2019 multiply them by it.
pub(crate) const SPECULATIVE: Algorithm = Algorithm::SpeculativeSegmentedSum;

/// The regular part of a matrix: all of it goes to the device.
///
/// ```
/// use spmv_exec::Algorithm;
/// use spmv_hetero::Regular;
/// let t1 = Regular::Slots { width: 3 };
/// assert_eq!((t1.to_string(), t1.algorithm()), ("the first 3 entries of each row".into(), Some(Algorithm::EllCsr)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Regular {
    /// Nothing.
    None,
    /// Q1: entries at most so many columns from the diagonal.
    Diagonals {
        /// Columns before and after the diagonal.
        half_width: usize,
    },
    /// T1: the first K entries of each row.
    Slots {
        /// K.
        width: usize,
    },
}

impl Regular {
    /// What the paper takes out of a matrix of this pattern, however much padding its layout has: Q1 or T1, with 80% of the entries;
    /// nothing of a general matrix. Section 3.2.
    ///
    /// ```
    /// use spmv_core::Csr;
    /// use spmv_hetero::{Regular, Regularity};
    /// let diagonal: Vec<_> = (0..24u32).map(|r| (r, r, 1.0f32)).collect();
    /// let shape = Regularity::of(Csr::<f32>::from_coo(24, 24, &diagonal)?.view());
    /// assert_eq!(Regular::published(&shape), Regular::Diagonals { half_width: 0 });
    /// # Ok::<(), spmv_core::CsrError>(())
    /// ```
    pub fn published(shape: &Regularity) -> Self {
        match shape.pattern() {
            Pattern::QuasiDiagonal => Regular::Diagonals { half_width: shape.half_width },
            Pattern::Tetris => Regular::Slots { width: shape.k },
            Pattern::General => Regular::None,
        }
    }

    /// The regular part as a matrix of its own, as many rows and columns as `a`. O(rows + entries).
    ///
    /// ```
    /// use spmv_core::Csr;
    /// use spmv_hetero::Regular;
    /// let a = Csr::from_coo(2, 2, &[(0, 0, 1.0f64), (0, 1, 2.0), (1, 0, 3.0)])?;
    /// assert_eq!(Regular::Slots { width: 1 }.part(a.view()).vals(), [1.0, 3.0]);
    /// # Ok::<(), spmv_core::CsrError>(())
    /// ```
    pub fn part<T: Value, O: Offset>(self, a: CsrView<'_, T, O>) -> Csr<T, O> {
        filtered(a, |row, slot, col| self.holds(row, slot, col))
    }

    /// The one whose layout is nearly full, diagonals before slots: padding is read as entries are.
    pub(crate) fn nearly_full(shape: &Regularity) -> Self {
        if shape.has_full_band() {
            Regular::Diagonals { half_width: shape.half_width }
        } else if shape.has_full_slots() {
            Regular::Slots { width: shape.k }
        } else {
            Regular::None
        }
    }

    /// What multiplies it and the device's rows of the rest in one launch: the regular part in DIA or ELL form as in the paper.
    pub fn algorithm(self) -> Option<Algorithm> {
        match self {
            Regular::None => None,
            Regular::Diagonals { .. } => Some(Algorithm::DiaCsr),
            Regular::Slots { .. } => Some(Algorithm::EllCsr),
        }
    }

    /// How wide it is: half the band, or slots.
    pub(crate) fn width(self) -> Option<usize> {
        match self {
            Regular::None => None,
            Regular::Diagonals { half_width: width } | Regular::Slots { width } => Some(width),
        }
    }

    /// The same kind, of another width.
    #[must_use]
    pub fn with_width(self, width: usize) -> Self {
        match self {
            Regular::None => Regular::None,
            Regular::Diagonals { .. } => Regular::Diagonals { half_width: width },
            Regular::Slots { .. } => Regular::Slots { width },
        }
    }

    /// Whether an entry is in it, by row, position in the row, and column.
    fn holds(self, row: usize, slot: usize, col: u32) -> bool {
        match self {
            Regular::None => false,
            Regular::Diagonals { half_width } => distance(row, col) <= half_width,
            Regular::Slots { width } => slot < width,
        }
    }

    /// Whether an entry is in it or in one of the first rows, by the same.
    fn with_rows(self, rows: usize) -> impl Fn(usize, usize, u32) -> bool + Copy {
        move |row, slot, col| row < rows || self.holds(row, slot, col)
    }
}

/// The entries that are in it, by row, position in the row, and column. O(rows + entries).
fn filtered<T: Value, O: Offset>(
    a: CsrView<'_, T, O>,
    is_in: impl Fn(usize, usize, u32) -> bool + Copy,
) -> Csr<T, O> {
    let rows = (0..a.n_rows()).map(|row| {
        let entries = a.row(row).enumerate();
        entries.filter(move |(slot, (col, _))| is_in(row, *slot, *col)).map(|(_, entry)| entry)
    });
    Csr::from_rows(a.n_cols(), rows).expect("no more entries than the matrix has")
}

impl fmt::Display for Regular {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Regular::None => f.write_str("no regular part"),
            Regular::Diagonals { half_width } => {
                write!(f, "entries within {half_width} columns of the diagonal")
            }
            Regular::Slots { width } => write!(f, "the first {width} entries of each row"),
        }
    }
}

/// Which entries the device multiplies: the regular part, and of the rest (Q2, T2; without a regular part all) the first
/// rows. The cores multiply what is left.
///
/// Of a general matrix that is a split by rows. Of others the rows are what Fig. 7 of the paper hands back to the device, so
/// that device and host can be busy for as long as each other although widths come in steps.
///
/// ```
/// use spmv_core::Csr;
/// use spmv_hetero::{Split, Regular};
/// let a = Csr::from_coo(2, 3, &[(0, 0, 1.0f32), (0, 2, 2.0), (1, 1, 3.0), (1, 2, 4.0)])?;
/// let split = Split::by_rows(1);
/// assert_eq!(split.to_string(), "no regular part, 1 rows of the rest by auto");
/// let diagonal = Split { regular: Regular::Diagonals { half_width: 0 }, ..split };
/// assert_eq!(diagonal.entries(a.view()), [2, 1, 1]);
/// # Ok::<(), spmv_core::CsrError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    /// All of this goes to the device.
    pub regular: Regular,
    /// And so many rows of the rest, from the first.
    pub rows: usize,
    /// How the device multiplies these. With a regular part it multiplies both by the algorithm of that; of these options the
    /// algorithm then counts only where that refuses.
    pub options: Options,
}

impl Split {
    /// The first rows of the matrix by what `Auto` stands for, without a regular part: none for the cores alone, all for the device
    /// alone.
    pub fn by_rows(rows: usize) -> Self {
        Self { regular: Regular::None, rows, options: Options::default() }
    }

    /// The first rows that hold a share of the entries, 0 to 1. O(log rows).
    pub fn by_share<T: Value, O: Offset>(a: CsrView<'_, T, O>, share: f64) -> Self {
        let wanted = share * a.nnz() as f64;
        let rows = a.row_ptr().partition_point(|entry| (entry.to_usize() as f64) < wanted);
        Split::by_rows(rows.min(a.n_rows()))
    }

    /// Where the search begins: with the regular part that holds 80% of the entries in at most 2 slots for each, in DIA or else in
    /// ELL; without such a part the first rows with that share. The paper begins with [`Regular::published`].
    /// O(rows + entries log entries).
    pub fn of<T: Value, O: Offset>(a: CsrView<'_, T, O>) -> Self {
        Self::begin(a, Regular::nearly_full(&Regularity::of(a)))
    }

    /// All of a regular part, or without one the first rows with 80% of the entries.
    pub(crate) fn begin<T: Value, O: Offset>(a: CsrView<'_, T, O>, regular: Regular) -> Self {
        match regular {
            Regular::None => Split::by_share(a, SHARE),
            regular => Split { regular, ..Split::by_rows(0) },
        }
    }

    /// Entries of the regular part, of the device's rows, and of the cores. O(entries), without a regular part O(1).
    pub fn entries<T: Value, O: Offset>(&self, a: CsrView<'_, T, O>) -> [usize; 3] {
        let split_at = self.rows.min(a.n_rows());
        let regular = |rows: Range<usize>| -> usize {
            let of_row =
                |row| a.row(row).enumerate().filter(move |(p, (c, _))| self.regular.holds(row, *p, *c));
            if self.regular == Regular::None { 0 } else { rows.map(|row| of_row(row).count()).sum() }
        };
        let (above, below) = (regular(0..split_at), regular(split_at..a.n_rows()));
        let entries = a.row_ptr()[split_at].to_usize();
        [above + below, entries - above, a.nnz() - entries - below]
    }
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let algorithm = self.regular.algorithm().unwrap_or(self.options.algorithm);
        write!(f, "{}, {} rows of the rest by {algorithm}", self.regular, self.rows)
    }
}

/// A matrix without its regular part, and that.
#[derive(Debug)]
pub(crate) struct Parts<'a, T, O> {
    a: CsrView<'a, T, O>,
    kind: Regular,
    /// The regular part and the rest, if the former has entries.
    split: Option<(Csr<T, O>, Csr<T, O>)>,
}

impl<'a, T: Value, O: Offset> Parts<'a, T, O> {
    /// O(rows + entries), O(1) without a regular part.
    pub(crate) fn of(a: CsrView<'a, T, O>, regular: Regular) -> Self {
        if regular == Regular::None {
            return Self { a, kind: regular, split: None };
        }
        let part = regular.part(a);
        let rest = || filtered(a, |row, slot, col| !regular.holds(row, slot, col));
        let split = (part.nnz() > 0).then(|| (part, rest()));
        Self { a, kind: regular, split }
    }

    pub(crate) fn kind(&self) -> Regular {
        self.kind
    }

    /// The regular part and the first rows of the rest: the matrix without the entries of the cores. `None` without a regular
    /// part. O(rows + entries).
    pub(crate) fn with_rows(&self, rows: usize) -> Option<Csr<T, O>> {
        self.split.as_ref().map(|_| filtered(self.a, self.kind.with_rows(rows)))
    }

    /// Which entries that matrix has. O(rows + entries).
    pub(crate) fn marks(&self, rows: usize) -> Option<Marks> {
        self.split.as_ref().map(|_| Marks::of(self.a, self.kind.with_rows(rows)))
    }

    pub(crate) fn regular(&self) -> Option<CsrView<'_, T, O>> {
        self.split.as_ref().map(|(regular, _)| regular.view())
    }

    pub(crate) fn rest(&self) -> CsrView<'_, T, O> {
        self.split.as_ref().map_or(self.a, |(_, rest)| rest.view())
    }
}

/// Which entries of a matrix the device has: a bit for each, in words of 64.
#[derive(Debug)]
pub(crate) struct Marks(Vec<u64>);

impl Marks {
    fn of<T: Value, O: Offset>(
        a: CsrView<'_, T, O>,
        is_in: impl Fn(usize, usize, u32) -> bool + Copy,
    ) -> Self {
        let mut words = vec![0u64; a.nnz().div_ceil(64)];
        let of_row = |row| a.row(row).enumerate().map(move |(slot, (col, _))| is_in(row, slot, col));
        for (at, _) in (0..a.n_rows()).flat_map(of_row).enumerate().filter(|(_, is_in)| *is_in) {
            words[at / 64] |= 1 << (at % 64);
        }
        Self(words)
    }

    /// The values of the entries of the device and of the others, each in their order. O(entries).
    pub(crate) fn split<T: Copy>(&self, vals: &[T]) -> [Vec<T>; 2] {
        let of_device = self.0.iter().map(|word| word.count_ones() as usize).sum();
        let mut parts = [Vec::with_capacity(of_device), Vec::with_capacity(vals.len() - of_device)];
        for (vals, word) in vals.chunks(64).zip(&self.0) {
            for (at, val) in vals.iter().enumerate() {
                parts[usize::from(word >> at & 1 == 0)].push(*val);
            }
        }
        parts
    }
}

/// Some rows of a matrix, with offsets of their own.
#[derive(Debug)]
pub(crate) struct Rows<'a, T, O> {
    n_cols: usize,
    row_ptr: Vec<O>,
    cols: &'a [u32],
    vals: &'a [T],
}

impl<'a, T: Value, O: Offset> Rows<'a, T, O> {
    /// O(rows).
    pub(crate) fn of(a: CsrView<'a, T, O>, rows: Range<usize>) -> Self {
        let offsets = &a.row_ptr()[rows.start..=rows.end];
        let entries = offsets[0].to_usize()..offsets[rows.len()].to_usize();
        let from_first =
            |o: &O| O::try_from_usize(o.to_usize() - entries.start).expect("no larger than it was");
        Self {
            n_cols: a.n_cols(),
            row_ptr: offsets.iter().map(from_first).collect(),
            cols: &a.cols()[entries.clone()],
            vals: &a.vals()[entries],
        }
    }

    /// O(rows + entries).
    pub(crate) fn view(&self) -> CsrView<'_, T, O> {
        CsrView::new(self.row_ptr.len() - 1, self.n_cols, &self.row_ptr, self.cols, self.vals)
            .expect("rows of a matrix are one")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_begins_with_its_pattern_and_we_with_what_is_nearly_full() {
        let n = 300u32;
        let row = |r: u32| {
            [0, 1, 2].map(|k| (r, (r + (r * 7 + k * 13) % 41).saturating_sub(20).min(n - 1), 1.0f32))
        };
        let a = Csr::<f32>::from_coo(300, 300, &(0..n).flat_map(row).collect::<Vec<_>>()).unwrap();
        let shape = Regularity::of(a.view());
        let band = Regular::Diagonals { half_width: shape.half_width };
        assert_eq!((Regular::published(&shape), Split::begin(a.view(), band).regular), (band, band));
        assert_eq!(Split::of(a.view()).regular, Regular::Slots { width: shape.k });
    }

    #[test]
    fn parts_and_rows_hold_every_entry_once() {
        let entries: Vec<_> = (0..60u32).map(|e| (e % 7, e * e % 11, f64::from(e))).collect();
        let a = Csr::from_coo(7, 11, &entries).unwrap();
        for regular in [Regular::None, Regular::Diagonals { half_width: 2 }, Regular::Slots { width: 3 }] {
            let parts = Parts::of(a.view(), regular);
            let (first, last) = (Rows::of(parts.rest(), 0..4), Rows::of(parts.rest(), 4..7));
            let (first, last) = (first.view(), last.view());
            let regular_entries = parts.regular().map_or(0, |r| r.nnz());
            let split = Split { regular, ..Split::by_rows(4) };
            assert_eq!(split.entries(a.view()), [regular_entries, first.nnz(), last.nnz()], "{regular}");
            assert_eq!(regular_entries + first.nnz() + last.nnz(), a.nnz());
            assert_eq!(last.row(1).collect::<Vec<_>>(), parts.rest().row(5).collect::<Vec<_>>());
            let of_device = parts.with_rows(4);
            if let (Some(of_device), Some(marks)) = (&of_device, parts.marks(4)) {
                assert_eq!(marks.split(a.vals()), [of_device.vals(), last.vals()], "{regular}");
            }
            assert_eq!(
                of_device.map_or(0, |r| r.nnz()),
                regular_entries
                    + match regular {
                        Regular::None => 0,
                        _ => first.nnz(),
                    }
            );
        }
        assert!(Parts::of(a.view(), Regular::Slots { width: 0 }).regular().is_none());
    }
}
