//! How the values of several vectors stand in one.

use crate::error::{Error, Result};

/// Which values of a block stand next to each other.
///
/// ```
/// use spmv_exec::BlockOrder;
/// assert_ne!(BlockOrder::RowMajor, BlockOrder::ColumnMajor);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockOrder {
    /// Those of a row. Products take the least time so, because an entry of the matrix multiplies a row.
    RowMajor,
    /// Those of a column. A product copies a few columns at a time into the other order, and back.
    ColumnMajor,
}

/// Shape of a block: several vectors as the columns of a dense matrix, in row- or column-major order.
///
/// Rows (columns, in column-major order) begin a *leading dimension* apart, which may be more than they have. Products leave what is between
/// them as it was.
///
/// ```
/// use spmv_exec::BlockShape;
/// let shape = BlockShape::row_major(3, 2).with_leading(4)?;
/// assert_eq!((shape.index(2, 1), shape.len()), (9, 10));
/// assert_eq!(BlockShape::column_major(3, 2).index(2, 1), 5);
/// # Ok::<(), spmv_exec::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockShape {
    n_rows: usize,
    columns: usize,
    leading: usize,
    order: BlockOrder,
}

impl BlockShape {
    /// With rows next to each other.
    pub const fn row_major(n_rows: usize, columns: usize) -> Self {
        Self { n_rows, columns, leading: columns, order: BlockOrder::RowMajor }
    }

    /// With columns next to each other.
    pub const fn column_major(n_rows: usize, columns: usize) -> Self {
        Self { n_rows, columns, leading: n_rows, order: BlockOrder::ColumnMajor }
    }

    /// The same with another leading dimension.
    ///
    /// # Errors
    /// [`Error::Leading`] if it is less than a row, or a column in column-major order, is long.
    pub fn with_leading(self, leading: usize) -> Result<Self> {
        let least = match self.order {
            BlockOrder::RowMajor => self.columns,
            BlockOrder::ColumnMajor => self.n_rows,
        };
        if leading < least {
            return Err(Error::Leading { leading, least });
        }
        Ok(Self { leading, ..self })
    }

    /// Length of each vector.
    pub const fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Number of vectors.
    pub const fn columns(&self) -> usize {
        self.columns
    }

    /// Values from the beginning of a row (a column, in column-major order) to that of the next.
    pub const fn leading(&self) -> usize {
        self.leading
    }

    /// Which values stand next to each other.
    pub const fn order(&self) -> BlockOrder {
        self.order
    }

    /// Position of a value.
    pub const fn index(&self, row: usize, column: usize) -> usize {
        let [of_row, of_column] = self.strides();
        row * of_row + column * of_column
    }

    /// Values that memory must have, up to the last of the block.
    pub fn len(&self) -> usize {
        if self.is_empty() {
            return 0;
        }
        let [of_row, of_column] = self.strides();
        let of_rows = (self.n_rows - 1).saturating_mul(of_row);
        of_rows.saturating_add((self.columns - 1).saturating_mul(of_column)).saturating_add(1)
    }

    /// Whether there are no values.
    pub const fn is_empty(&self) -> bool {
        self.n_rows == 0 || self.columns == 0
    }

    /// Values from a row to the next, and from a column to the next.
    pub(crate) const fn strides(&self) -> [usize; 2] {
        match self.order {
            BlockOrder::RowMajor => [self.leading, 1],
            BlockOrder::ColumnMajor => [1, self.leading],
        }
    }
}
