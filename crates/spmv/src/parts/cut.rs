//! Which values of a vector each part has.

use std::ops::Range;
use std::sync::Arc;

use spmv_exec::{BlockOrder, BlockShape};
use spmv_partition::Ranges;

/// How a vector is cut, or a block.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// In ranges.
    Ranges(Arc<Ranges>),
    /// A block in column-major order, by rows: a part has a range of each column. Who has the last row also has what is between columns, and
    /// behind the last.
    Columns { rows: Arc<Ranges>, shape: BlockShape, len: usize },
}

/// The rows of a part.
fn rows_of(rows: &Ranges, part: usize) -> Range<usize> {
    let rows = rows.range(part);
    rows.start as usize..rows.end as usize
}

/// Values from the last row of a part to the next column, if it has the last row of a block.
fn between(own: &Range<usize>, shape: BlockShape) -> Option<usize> {
    (own.end == shape.n_rows() && !own.is_empty()).then(|| shape.leading() - shape.n_rows())
}

impl Cut {
    /// A block whose rows are cut, of `len` values, at least those of the shape. In row-major order what is behind the last row is with the last
    /// part.
    pub(super) fn of_block(rows: &Arc<Ranges>, shape: BlockShape, len: usize) -> Self {
        if shape.order() == BlockOrder::ColumnMajor && rows.n_parts() > 1 && !shape.is_empty() {
            return Self::Columns { rows: Arc::clone(rows), shape, len };
        }
        let (len, leading) = (len as u64, shape.leading() as u64);
        let starts = rows.offsets()[..rows.n_parts()].iter().map(|row| row.saturating_mul(leading).min(len));
        let offsets = starts.chain([len]).collect();
        Self::Ranges(Arc::new(Ranges::new(offsets).expect("they ascend from 0")))
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Ranges(ranges) => ranges.len() as usize,
            Self::Columns { len, .. } => *len,
        }
    }

    /// The ranges of the vector that a part has, one after the other.
    pub(super) fn pieces(&self, part: usize) -> Vec<Range<usize>> {
        match self {
            Self::Ranges(ranges) => vec![rows_of(ranges, part)],
            Self::Columns { rows, shape, len } => {
                let own = rows_of(rows, part);
                let between = between(&own, *shape);
                let of_column = |column: usize| {
                    let at = column * shape.leading();
                    let end = match between {
                        Some(_) if column + 1 == shape.columns() => *len,
                        between => at + own.end + between.unwrap_or(0),
                    };
                    at + own.start..end
                };
                (0..shape.columns()).map(of_column).collect()
            }
        }
    }
}

/// What a part has of a block whose rows are cut.
pub(super) fn shape_of(rows: &Ranges, shape: BlockShape, part: usize) -> BlockShape {
    let (own, columns) = (rows_of(rows, part), shape.columns());
    let of_part = match shape.order() {
        BlockOrder::RowMajor => BlockShape::row_major(own.len(), columns).with_leading(shape.leading()),
        BlockOrder::ColumnMajor => BlockShape::column_major(own.len(), columns)
            .with_leading(own.len() + between(&own, shape).unwrap_or(0)),
    };
    of_part.expect("as long as its rows or columns")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Arc<Ranges> {
        Arc::new(Ranges::new(vec![0, 2, 2, 5, 5]).unwrap())
    }

    /// Each value is in one part, where the shape of the part has it.
    fn check(shape: BlockShape, len: usize) {
        let (rows, cut) = (rows(), Cut::of_block(&rows(), shape, len));
        assert_eq!(cut.len(), len);
        let mut found = vec![0; len];
        for part in 0..rows.n_parts() {
            let own: Vec<usize> = cut.pieces(part).into_iter().flatten().collect();
            own.iter().for_each(|at| found[*at] += 1);
            let (of_part, range) = (shape_of(&rows, shape, part), rows_of(&rows, part));
            assert!(of_part.n_rows() == range.len() && of_part.len() <= own.len(), "{of_part:?}");
            for (row, column) in (0..range.len()).flat_map(|row| (0..shape.columns()).map(move |c| (row, c)))
            {
                assert_eq!(own[of_part.index(row, column)], shape.index(range.start + row, column));
            }
        }
        assert_eq!(found, vec![1; len], "{shape:?}");
    }

    #[test]
    fn every_value_of_a_block_is_in_the_part_that_has_its_row() {
        for shape in
            [BlockShape::row_major(5, 3), BlockShape::column_major(5, 3), BlockShape::row_major(5, 1)]
        {
            for shape in [shape, shape.with_leading(shape.leading() + 2).unwrap()] {
                check(shape, shape.len());
                check(shape, shape.len() + 4);
            }
        }
        check(BlockShape::column_major(5, 0), 2);
    }

    /// So that any vector of a context with one device and peers is a block.
    #[test]
    fn a_block_of_one_part_is_cut_as_a_vector() {
        let one = Arc::new(Ranges::even(5, 1));
        for shape in [BlockShape::row_major(5, 3), BlockShape::column_major(5, 3)] {
            assert_eq!(Cut::of_block(&one, shape, 15), Cut::Ranges(Arc::new(Ranges::even(15, 1))));
            assert_eq!(shape_of(&one, shape, 0), shape);
        }
    }
}
