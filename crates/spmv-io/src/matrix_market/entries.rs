//! Entries with their rows and columns.

use spmv_core::Value;

use super::header::{Format, Header, Symmetry};

/// Entries of both triangles, rows and columns from 0 on: what a matrix is assembled of.
///
/// ```
/// use spmv_io::matrix_market::Entries;
/// let one = Entries { rows: vec![0], cols: vec![2], vals: vec![1.0f32] };
/// assert_eq!(one.rows.len(), 1);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Entries<T> {
    /// The row of each.
    pub rows: Vec<u32>,
    /// The column of each.
    pub cols: Vec<u32>,
    /// The value of each.
    pub vals: Vec<T>,
}

impl<T: Value> Entries<T> {
    pub(super) fn new() -> Self {
        Self { rows: Vec::new(), cols: Vec::new(), vals: Vec::new() }
    }

    /// Appends entries, or values of an array, as they are.
    pub(super) fn append(&mut self, other: Self) {
        self.rows.extend(other.rows);
        self.cols.extend(other.cols);
        self.vals.extend(other.vals);
    }

    pub(super) fn push(&mut self, symmetry: Symmetry, row: u32, col: u32, value: T) {
        self.rows.push(row);
        self.cols.push(col);
        self.vals.push(value);
        if symmetry != Symmetry::General && row != col {
            self.rows.push(col);
            self.cols.push(row);
            self.vals.push(match symmetry {
                Symmetry::SkewSymmetric => T::from_wide(-value.widen()),
                Symmetry::Hermitian => value.conj(),
                Symmetry::General | Symmetry::Symmetric => value,
            });
        }
    }

    /// Appends a chunk; `before` values of an array came before it.
    pub(super) fn extend(&mut self, header: &Header, chunk: Self, before: u64) {
        if header.format == Format::Coordinate {
            return self.append(chunk);
        }
        let mut position = Position::after(header, before);
        for value in chunk.vals {
            let (row, col) = position.next(header);
            if value != T::default() {
                self.push(header.symmetry, row, col, value);
            }
        }
    }

    /// Gives back what the arrays did not grow into.
    pub(super) fn shrink(&mut self) {
        self.rows.shrink_to_fit();
        self.cols.shrink_to_fit();
        self.vals.shrink_to_fit();
    }
}

/// The row and column of an array's next value: down the columns, of the lower triangle where that alone is stored.
struct Position {
    row: u64,
    col: u64,
}

impl Position {
    fn after(header: &Header, values: u64) -> Self {
        if header.symmetry == Symmetry::General {
            let rows = header.rows.max(1);
            return Self { row: values % rows, col: values / rows };
        }
        let mut position = Self { row: Self::top(header, 0), col: 0 };
        let mut left = values;
        while left > 0 {
            let step = left.min(header.rows - position.row);
            position.row += step;
            left -= step;
            position.wrap(header);
        }
        position
    }

    fn next(&mut self, header: &Header) -> (u32, u32) {
        let here = (self.row as u32, self.col as u32);
        self.row += 1;
        self.wrap(header);
        here
    }

    fn wrap(&mut self, header: &Header) {
        if self.row >= header.rows {
            self.col += 1;
            self.row = Self::top(header, self.col);
        }
    }

    fn top(header: &Header, col: u64) -> u64 {
        match header.symmetry {
            Symmetry::General => 0,
            Symmetry::SkewSymmetric => col + 1,
            Symmetry::Symmetric | Symmetry::Hermitian => col,
        }
    }
}
