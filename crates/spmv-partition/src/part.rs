//! One part of a matrix: what it owns, what it needs of others, what others need of it.

use std::ops::Range;

use spmv_core::{Csr, Value};

use crate::error::{PartitionError, Result};
use crate::halo::{self, Halo, Receive};
use crate::numbering::Numbering;
use crate::ranges::Ranges;
use crate::rows::LocalRows;

/// The rows of one part, split by who owns the value of `x` that an entry is multiplied with.
///
/// - The *local* matrix has every row and the columns of the part itself, counted from the first of them.
/// - The *remote* matrix has the *boundary rows* alone, those with an entry in a column of another part. Its columns are the *ghosts*:
///   columns of others that are needed, in ascending order.
///
/// So `y = local*x`, and then `y[boundary_rows[i]] += (remote*ghosts)[i]`. Entries of a row keep their order within both. Columns need
/// not be partitioned as rows are, nor the matrix be square. Everything has the size of the part's own rows, entries and ghosts.
///
/// ```
/// use spmv_partition::{LocalRows, Part, Ranges};
/// // Rows 2 and 3 of a ring of four: 2 on the diagonal, -1 left and right of it.
/// let ranges = Ranges::even(4, 2);
/// let rows = LocalRows::new(4, vec![0, 3, 6], vec![1, 2, 3, 2, 3, 0], vec![-1.0f32, 2.0, -1.0, -1.0, 2.0, -1.0])?;
/// let part = Part::new(1, &ranges, &ranges, rows)?;
/// assert_eq!((part.local().nnz(), part.remote().nnz()), (4, 2));
/// assert_eq!((part.ghosts(), part.boundary_rows()), (&[0, 1][..], &[0, 1][..]));
/// // Part 0 needs both values of this part too.
/// let part = part.with_sends([(0, vec![2, 3])])?;
/// assert_eq!(part.halo().sends[0].values, [0, 1]);
/// # Ok::<(), spmv_partition::PartitionError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Part<T> {
    index: usize,
    n_parts: usize,
    pieces: Pieces<T>,
}

/// What a [`Part`] is made of, to be moved elsewhere.
///
/// ```
/// use spmv_core::Csr;
/// use spmv_partition::{Pieces, Ranges, cut};
/// let a = Csr::from_coo(2, 2, &[(0, 0, 1.0f32), (0, 1, 2.0)])?;
/// let ranges = Ranges::even(2, 2);
/// for part in cut(a.view(), &ranges, &ranges)? {
///     let Pieces { local, remote, boundary_rows, .. } = part.into_pieces();
///     assert_eq!((local.n_rows(), remote.n_rows()), (1, boundary_rows.len()));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Pieces<T> {
    /// Rows of the whole matrix that the part owns.
    pub rows: Range<u64>,
    /// Columns of the whole matrix, thus values of `x`, that it owns.
    pub cols: Range<u64>,
    /// Every row; own columns, counted from the first.
    pub local: Csr<T, u64>,
    /// A row for each boundary row, a column for each ghost.
    pub remote: Csr<T, u64>,
    /// The boundary rows, counted from the part's first row, ascending.
    pub boundary_rows: Vec<u32>,
    /// Columns of the whole matrix that others own and the part needs, ascending.
    pub ghosts: Vec<u64>,
    /// Which entries of the part, in the order in which its rows were given, are those of `remote`, ascending: how new values are split.
    pub remote_entries: Vec<u64>,
    /// What is sent and received in every product.
    pub halo: Halo,
}

impl<T: Value> Part<T> {
    /// Splits the rows of part `index`. What others need of it is added by [`with_sends`](Self::with_sends).
    ///
    /// Values of the local matrix stay in the array given. O(entries log ghosts) time; scratch memory of 8 bytes for each entry in
    /// a column of others, and 8 that stay.
    ///
    /// # Errors
    /// [`PartitionError::Partitions`], [`PartitionError::NoSuchPart`], [`PartitionError::Shape`] and [`PartitionError::Rows`] where
    /// ranges and rows do not belong together, [`PartitionError::TooMany`] rows, columns or ghosts.
    pub fn new(index: usize, rows: &Ranges, cols: &Ranges, own: LocalRows<T>) -> Result<Self> {
        check(index, rows, cols, &own)?;
        let (own_rows, own_cols) = (rows.range(index), cols.range(index));
        let n_local_cols = narrow(index, "columns", own_cols.end - own_cols.start)?;
        let split = Split::of(&own_cols, own);
        let ghosts = distinct(&split.remote_cols);
        let n_ghosts = narrow(index, "ghosts", ghosts.len() as u64)?;
        let local = Csr::new(
            split.local_ptr.len() - 1,
            n_local_cols as usize,
            split.local_ptr,
            split.local_cols,
            split.local_vals,
        )?;
        let numbering = Numbering::of(&ghosts);
        let numbered = split.remote_cols.iter().map(|col| numbering.number(*col));
        let remote = Csr::new(
            split.boundary_rows.len(),
            n_ghosts as usize,
            split.remote_ptr,
            numbered.collect(),
            split.remote_vals,
        )?;
        let halo = Halo { sends: vec![], receives: receives(&ghosts, cols) };
        let Split { boundary_rows, remote_entries, .. } = split;
        let pieces = Pieces {
            rows: own_rows,
            cols: own_cols,
            local,
            remote,
            boundary_rows,
            ghosts,
            remote_entries,
            halo,
        };
        Ok(Self { index, n_parts: rows.n_parts(), pieces })
    }

    /// Adds what others need: for each other part that needs anything, its index and the global columns that it
    /// [requests](Self::requests), in the order in which it wants them. An empty list is the same as none. O(values sent).
    ///
    /// # Errors
    /// [`PartitionError::NotOwned`], [`PartitionError::Receiver`], [`PartitionError::RequestedTwice`].
    pub fn with_sends<R: AsRef<[u64]>>(
        mut self,
        requests: impl IntoIterator<Item = (usize, R)>,
    ) -> Result<Self> {
        let sends = self.sends(requests)?;
        self.set_sends(sends);
        Ok(self)
    }

    /// What is sent where others request these columns.
    pub(crate) fn sends<R: AsRef<[u64]>>(
        &self,
        requests: impl IntoIterator<Item = (usize, R)>,
    ) -> Result<Vec<halo::Send>> {
        let (part, parts, cols) = (self.index, self.n_parts, &self.pieces.cols);
        let mut sends = Vec::new();
        for (to, columns) in requests {
            if to == part || to >= parts {
                return Err(PartitionError::Receiver { part, to, parts });
            }
            let own = |column: &u64| {
                let not_owned = PartitionError::NotOwned { part, to, column: *column, cols: cols.clone() };
                if cols.contains(column) { Ok((column - cols.start) as u32) } else { Err(not_owned) }
            };
            let values = columns.as_ref().iter().map(own).collect::<Result<Vec<u32>>>()?;
            if !values.is_empty() {
                sends.push(halo::Send { to, values });
            }
        }
        sends.sort_by_key(|send| send.to);
        match sends.windows(2).find(|pair| pair[0].to == pair[1].to) {
            Some(pair) => Err(PartitionError::RequestedTwice { part, to: pair[0].to }),
            None => Ok(sends),
        }
    }

    pub(crate) fn set_sends(&mut self, sends: Vec<halo::Send>) {
        self.pieces.halo.sends = sends;
    }

    /// Index of the part.
    pub fn index(&self) -> usize {
        self.index
    }

    /// How many parts the matrix has.
    pub fn n_parts(&self) -> usize {
        self.n_parts
    }

    /// The rows of the whole matrix that it owns.
    pub fn rows(&self) -> Range<u64> {
        self.pieces.rows.clone()
    }

    /// The columns of the whole matrix that it owns.
    pub fn cols(&self) -> Range<u64> {
        self.pieces.cols.clone()
    }

    /// Every row, in the columns that it owns, counted from the first.
    pub fn local(&self) -> &Csr<T, u64> {
        &self.pieces.local
    }

    /// The boundary rows, in the columns that others own: one column for each ghost.
    pub fn remote(&self) -> &Csr<T, u64> {
        &self.pieces.remote
    }

    /// The rows with an entry in a column of others, counted from the part's first row, ascending.
    pub fn boundary_rows(&self) -> &[u32] {
        &self.pieces.boundary_rows
    }

    /// The entries of the remote matrix, as the rows that were given count them, ascending.
    pub fn remote_entries(&self) -> &[u64] {
        &self.pieces.remote_entries
    }

    /// The columns of others that it needs, as the whole matrix counts them, ascending.
    pub fn ghosts(&self) -> &[u64] {
        &self.pieces.ghosts
    }

    /// Which ghosts which other part owns, in ascending order of owners.
    pub fn needs(&self) -> &[Receive] {
        &self.pieces.halo.receives
    }

    /// The columns that it needs of another part, ascending; none of itself. O(log neighbours).
    pub fn requests(&self, owner: usize) -> &[u64] {
        match self.needs().binary_search_by_key(&owner, |receive| receive.from) {
            Ok(at) => &self.pieces.ghosts[self.needs()[at].ghosts.clone()],
            Err(_) => &[],
        }
    }

    /// What is received, and what is sent as far as [`with_sends`](Self::with_sends) was called.
    pub fn halo(&self) -> &Halo {
        &self.pieces.halo
    }

    /// Everything, to be moved elsewhere: no array is copied.
    pub fn into_pieces(self) -> Pieces<T> {
        self.pieces
    }
}

/// Ranges and rows that belong together, and rows that 32-bit indices can name.
fn check<T: Value>(part: usize, rows: &Ranges, cols: &Ranges, own: &LocalRows<T>) -> Result<()> {
    if rows.n_parts() != cols.n_parts() {
        return Err(PartitionError::Partitions { rows: rows.n_parts(), cols: cols.n_parts() });
    }
    if part >= rows.n_parts() {
        return Err(PartitionError::NoSuchPart { part, parts: rows.n_parts() });
    }
    if cols.len() != own.n_cols() {
        let (ranges, matrix) = (cols.len(), own.n_cols());
        return Err(PartitionError::Shape { axis: "columns", ranges, matrix });
    }
    let rows = rows.range(part);
    let n_rows = narrow(part, "rows", rows.end - rows.start)?;
    if own.n_rows() != n_rows as usize {
        return Err(PartitionError::Rows { part, rows, found: own.n_rows() });
    }
    Ok(())
}

fn narrow(part: usize, what: &'static str, n: u64) -> Result<u32> {
    n.try_into().map_err(|_| PartitionError::TooMany { part, what, n })
}

/// Entries by who owns their column.
struct Split<T> {
    local_ptr: Vec<u64>,
    local_cols: Vec<u32>,
    local_vals: Vec<T>,
    boundary_rows: Vec<u32>,
    remote_ptr: Vec<u64>,
    /// Still as the whole matrix counts them.
    remote_cols: Vec<u64>,
    remote_vals: Vec<T>,
    remote_entries: Vec<u64>,
}

impl<T: Value> Split<T> {
    /// Offsets and values of the local matrix take the arrays of the rows. Own columns fit 32 bits. O(rows + entries).
    fn of(own: &Range<u64>, rows: LocalRows<T>) -> Self {
        let LocalRows { mut row_ptr, cols, mut vals, .. } = rows;
        let n_local = cols.iter().filter(|col| own.contains(col)).count();
        let n_remote = cols.len() - n_local;
        let mut local_cols: Vec<u32> = Vec::with_capacity(n_local);
        let mut remote_cols = Vec::with_capacity(n_remote);
        let mut remote_vals = Vec::with_capacity(n_remote);
        let mut remote_entries = Vec::with_capacity(n_remote);
        let (mut boundary_rows, mut remote_ptr) = (Vec::new(), vec![0]);
        let mut first = 0;
        for row in 0..row_ptr.len() - 1 {
            let (stop, n_remote_before) = (row_ptr[row + 1] as usize, remote_cols.len());
            for entry in first..stop {
                let (col, val) = (cols[entry], vals[entry]);
                if own.contains(&col) {
                    // Never after `entry`, so it has been read.
                    vals[local_cols.len()] = val;
                    local_cols.push((col - own.start) as u32);
                } else {
                    remote_cols.push(col);
                    remote_vals.push(val);
                    remote_entries.push(entry as u64);
                }
            }
            if remote_cols.len() > n_remote_before {
                boundary_rows.push(row as u32);
                remote_ptr.push(remote_cols.len() as u64);
            }
            row_ptr[row + 1] = local_cols.len() as u64;
            first = stop;
        }
        vals.truncate(n_local);
        let (local_ptr, local_vals) = (row_ptr, vals);
        Self {
            local_ptr,
            local_cols,
            local_vals,
            boundary_rows,
            remote_ptr,
            remote_cols,
            remote_vals,
            remote_entries,
        }
    }
}

/// Each column once, ascending.
fn distinct(cols: &[u64]) -> Vec<u64> {
    let mut distinct = cols.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    distinct.shrink_to_fit();
    distinct
}

/// Ghosts of one owner stand together, because owners have ranges.
fn receives(ghosts: &[u64], cols: &Ranges) -> Vec<Receive> {
    let (mut receives, mut first) = (Vec::new(), 0);
    while let Some(ghost) = ghosts.get(first) {
        let from = cols.owner(*ghost);
        let end = cols.range(from).end;
        let stop = first + ghosts[first..].partition_point(|ghost| *ghost < end);
        receives.push(Receive { from, ghosts: first..stop });
        first = stop;
    }
    receives
}
