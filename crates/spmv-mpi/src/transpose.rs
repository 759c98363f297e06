//! The transpose of a matrix that the processes have together.

use spmv::parts::{Peers, Ranges};
use spmv_core::Value;
use spmv_partition::LocalRows;

use crate::collective;
use crate::error::Result;
use crate::peers::MpiPeers;
use crate::rows::OwnRows;

/// The transpose: each entry goes to the process that owns its column. Collective. Rows of the result are in ascending order of columns, equal ones in the order in which they stood.
///
/// `ranges` are those of the columns, thus of the rows of the result; the same in all processes. O(entries sent and received) time and
/// memory.
///
/// ```no_run
/// # let session = spmv_mpi::init()?;
/// use spmv::parts::{Peers, Ranges};
/// use spmv_io::matrix_market::Reader;
/// let peers = session.peers()?;
/// let own = spmv_mpi::read::<f64>(&peers, "tall.mtx", &Reader::new(), None)?;
/// let columns = Ranges::even(own.rows.n_cols(), peers.size());
/// let transposed = spmv_mpi::transpose(&peers, &own, columns)?;
/// # Ok::<(), spmv_mpi::Error>(())
/// ```
///
/// # Errors
/// The same in all processes: [`Error::Rank`](crate::Error::Rank) where ranges are not those of the columns.
pub fn transpose<T: Value>(peers: &MpiPeers, own: &OwnRows<T>, ranges: Ranges) -> Result<OwnRows<T>> {
    let OwnRows { ranges: rows, rows: entries } = own;
    let (rank, size) = (peers.rank(), peers.size());
    peers.agree(match (ranges.n_parts(), ranges.len()) {
        found if found == (size, entries.n_cols()) => Ok(()),
        (parts, len) => Err(format!(
            "ranges of {len} columns in {parts} parts do not fit {} columns of {size} processes",
            entries.n_cols()
        )),
    })?;
    let owners: Vec<usize> = entries.cols().iter().map(|col| ranges.owner(*col)).collect();
    let mut counts = vec![0; size];
    owners.iter().for_each(|owner| counts[*owner] += 1);
    let mut next = collective::offsets(&counts);
    // To rows of the transpose, as their owner counts them, and columns.
    let (mut to, mut from) = (vec![0u32; owners.len()], vec![0u64; owners.len()]);
    let mut vals = vec![T::default(); owners.len()];
    let first = rows.range(rank).start;
    let all_rows = entries.row_ptr().windows(2).zip(first..);
    for (entry, row) in
        all_rows.flat_map(|(ends, row)| (ends[0] as usize..ends[1] as usize).map(move |e| (e, row)))
    {
        let owner = owners[entry];
        let at = &mut next[owner];
        to[*at] = (entries.cols()[entry] - ranges.range(owner).start) as u32;
        from[*at] = row;
        vals[*at] = entries.vals()[entry];
        *at += 1;
    }
    drop(owners);
    let to = peers.all_to_all(&to, &counts)?.0;
    let from = peers.all_to_all(&from, &counts)?.0;
    let vals = peers.all_to_all(&vals, &counts)?.0;
    let n_rows = (ranges.range(rank).end - ranges.range(rank).start) as usize;
    let own = peers.agree(by_row(n_rows, rows.len(), &to, &from, &vals))?;
    Ok(OwnRows { ranges, rows: own })
}

/// Entries in the order of their rows, those of a row in their own.
fn by_row<T: Value>(
    n_rows: usize,
    n_cols: u64,
    rows: &[u32],
    cols: &[u64],
    vals: &[T],
) -> spmv_partition::Result<LocalRows<T>> {
    let mut row_ptr = vec![0u64; n_rows + 1];
    rows.iter().for_each(|row| row_ptr[*row as usize + 1] += 1);
    (0..n_rows).for_each(|row| row_ptr[row + 1] += row_ptr[row]);
    let mut next = row_ptr.clone();
    let (mut sorted_cols, mut sorted_vals) = (vec![0; cols.len()], vec![T::default(); cols.len()]);
    for ((row, col), val) in rows.iter().zip(cols).zip(vals) {
        let at = &mut next[*row as usize];
        sorted_cols[*at as usize] = *col;
        sorted_vals[*at as usize] = *val;
        *at += 1;
    }
    LocalRows::new(n_cols, row_ptr, sorted_cols, sorted_vals)
}
