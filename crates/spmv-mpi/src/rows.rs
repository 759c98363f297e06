//! Rows of a matrix that its processes have together, and how each gets its own.

use std::path::Path;

use bytemuck::Pod;
use spmv::parts::{Peers, Ranges};
use spmv_core::{Csr, CsrView, Offset, Value};
use spmv_io::matrix_market::{self, Entries, Header, Reader, Summary};
use spmv_partition::{LocalRows, Part};

use crate::collective;
use crate::error::{Error, Result};
use crate::peers::MpiPeers;

/// The rows that this process owns, and which rows every process owns.
///
/// ```no_run
/// # let session = spmv_mpi::init()?;
/// use spmv_io::matrix_market::Reader;
/// let own = spmv_mpi::read::<f64>(&session.peers()?, "matrix.mtx", &Reader::new(), None)?;
/// println!("{} of {} rows", own.rows.n_rows(), own.ranges.len());
/// # Ok::<(), spmv_mpi::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct OwnRows<T> {
    /// The rows of each process. The same in all of them.
    pub ranges: Ranges,
    /// Those of this one, in the columns of the whole matrix.
    pub rows: LocalRows<T>,
}

/// Reads a Matrix Market file: each process as many of its bytes, and each entry goes to the process that owns its row. Collective.
///
/// `ranges` are the same in all processes; without, each process owns as many rows. Entries of the same row and column are summed in
/// the order of the file, so that the matrix has the bits that one process reads. The path must name the same file everywhere, and no
/// pipe. A gzipped file can be inflated from its beginning alone: rank 0 reads it, has memory for all its entries, and sends them.
///
/// O(bytes / processes) time; memory of as many bytes of the file's entries, and of the process' own, 16 bytes and two values each.
///
/// ```no_run
/// # let session = spmv_mpi::init()?;
/// use spmv_io::matrix_market::Reader;
/// let own = spmv_mpi::read::<f32>(&session.peers()?, "matrix.mtx", &Reader::new(), None)?;
/// # Ok::<(), spmv_mpi::Error>(())
/// ```
///
/// # Errors
/// The same in all processes. [`Error::File`] with the line; [`Error::Disagree`] where the file is not the same everywhere;
/// [`Error::Rank`] where ranges are not those of its rows.
pub fn read<T: Value>(
    peers: &MpiPeers,
    path: impl AsRef<Path>,
    reader: &Reader,
    ranges: Option<Ranges>,
) -> Result<OwnRows<T>> {
    let (rank, size) = (peers.rank(), peers.size());
    let part = agree_on_file(peers, path.as_ref(), reader.read_part::<T>(&path, rank, size))?;
    let Header { rows, cols, entries, .. } = *part.header();
    for (what, n) in
        [("rows", rows), ("columns", cols), ("entries", entries), ("bytes of the file", part.file_bytes())]
    {
        peers.agree_on(what, n)?;
    }
    let ranges = agreed_ranges(peers, ranges.unwrap_or_else(|| Ranges::even(rows, size)), rows)?;
    let Summary { stored, lines } = part.summary();
    let all = peers.comm().all_gather(&[stored, lines])?;
    let all: Vec<Summary> = all.chunks(2).map(|of| Summary { stored: of[0], lines: of[1] }).collect();
    agree_on_file(peers, path.as_ref(), part.check(rank, &all))?;
    let entries = to_owners(peers, part.into_entries(rank, &all), &ranges)?;
    let own = peers.agree(assemble(&entries, ranges.range(rank).start, ranges_len(&ranges, rank), cols))?;
    Ok(OwnRows { ranges, rows: own })
}

/// Gives each process its rows of a matrix that `root` has. Collective. Only `root` passes a matrix, with the rows of each process.
///
/// Time and memory of `root` are those of the matrix; the others need their own rows alone.
///
/// ```no_run
/// # let session = spmv_mpi::init()?;
/// use spmv::{Csr, parts::{Peers, Ranges}};
/// let peers = session.peers()?;
/// let a = Csr::from_coo(2, 2, &[(0, 0, 1.0f32), (1, 0, 2.0)])?;
/// let given = (peers.rank() == 0).then(|| (a.view(), Ranges::even(2, peers.size())));
/// let own = spmv_mpi::scatter(&peers, 0, given)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A matrix whose rows `root` puts in another order first, so that parts exchange less. `spmv_partition::metis` gives an order and ranges.
///
/// ```no_run
/// # let session = spmv_mpi::init()?;
/// # let peers = session.peers()?;
/// # let a = spmv::Csr::from_coo(2, 2, &[(0, 0, 1.0f32), (1, 0, 2.0)])?;
/// use spmv::parts::{Peers, Ranges};
/// use spmv_partition::{permute, rcm};
/// // Values of x and y are in this order too: `order.apply`, and `order.inverse().apply` for the way back.
/// let order = rcm(a.view())?;
/// let a = permute(a.view(), &order)?;
/// let given = (peers.rank() == 0).then(|| (a.view(), Ranges::even(2, peers.size())));
/// let own = spmv_mpi::scatter(&peers, 0, given)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The same in all processes: [`Error::Rank`] where `root` passes no matrix or ranges of other rows, [`Error::NoSuchRank`].
pub fn scatter<T: Value, O: Offset>(
    peers: &MpiPeers,
    root: usize,
    matrix: Option<(CsrView<'_, T, O>, Ranges)>,
) -> Result<OwnRows<T>> {
    let (rank, size) = (peers.rank(), peers.size());
    peers.agree_on("root", root as u64)?;
    if root >= size {
        return Err(Error::NoSuchRank { rank: root, size });
    }
    let matrix = matrix.filter(|_| rank == root);
    peers.agree(match &matrix {
        None if rank == root => Err(format!("passes no matrix, though it is the root of {size} processes")),
        Some((a, ranges)) if !fit(ranges, size, a.n_rows() as u64) => {
            Err(not_of(ranges, size, a.n_rows() as u64))
        }
        _ => Ok(()),
    })?;
    // Columns, and where the rows of each process begin and end.
    let mut shape = vec![0; size + 2];
    if let Some((a, ranges)) = &matrix {
        shape[0] = a.n_cols() as u64;
        shape[1..].copy_from_slice(ranges.offsets());
    }
    peers.comm().broadcast(root, bytemuck::cast_slice_mut(&mut shape))?;
    let (n_cols, ranges) = (shape[0], Ranges::new(shape.split_off(1))?);
    let (lengths, cols, vals) = send_rows(peers, matrix.map(|(a, _)| a), &ranges)?;
    let mut row_ptr = vec![0];
    row_ptr.extend(lengths.iter().scan(0, |end, n| {
        *end += n;
        Some(*end)
    }));
    let cols = cols.into_iter().map(u64::from).collect();
    let own = peers.agree(LocalRows::new(n_cols, row_ptr, cols, vals))?;
    Ok(OwnRows { ranges, rows: own })
}

/// Has the other processes know what this one needs of them, and the part know what they need of it. Collective.
///
/// ```no_run
/// # let session = spmv_mpi::init()?;
/// use spmv_io::matrix_market::Reader;
/// use spmv_partition::Part;
/// let peers = session.peers()?;
/// let own = spmv_mpi::read::<f64>(&peers, "square.mtx", &Reader::new(), None)?;
/// # use spmv::parts::Peers;
/// let part = Part::new(peers.rank(), &own.ranges, &own.ranges, own.rows)?;
/// let part = spmv_mpi::exchange_requests(&peers, part)?;
/// let exchange = peers.exchange(part.halo(), size_of::<f64>())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// O(ghosts + values sent + processes) time and memory.
///
/// # Errors
/// The same in all processes. [`Error::Rank`] where a part is not the one of its process, or a process does not own what another asks
/// for: they were split by different ranges.
pub fn exchange_requests<T: Value>(peers: &MpiPeers, part: Part<T>) -> Result<Part<T>> {
    let (rank, size) = (peers.rank(), peers.size());
    peers.agree(match (part.index(), part.n_parts()) {
        expected if expected == (rank, size) => Ok(()),
        (index, parts) => Err(format!("part {index} of {parts} cannot be that of process {rank} of {size}")),
    })?;
    let counts: Vec<usize> = (0..size).map(|owner| part.requests(owner).len()).collect();
    // Ghosts ascend, and owners have ranges.
    let (wanted, counts) = peers.all_to_all(part.ghosts(), &counts)?;
    let mut rest = &wanted[..];
    let requests = counts.iter().map(|n| {
        let (these, after) = rest.split_at(*n);
        rest = after;
        these
    });
    let requests: Vec<&[u64]> = requests.collect();
    peers.agree(part.with_sends(requests.into_iter().enumerate().filter(|(_, wanted)| !wanted.is_empty())))
}

/// What is read of a file, if no process finds a fault.
fn agree_on_file<V>(peers: &MpiPeers, path: &Path, read: Result<V, matrix_market::Error>) -> Result<V> {
    let heard = read.map_err(|e| (e.line().unwrap_or(0), e.kind().to_string()));
    peers.agree_with(heard, |rank, line, message| {
        let line = (line > 0).then_some(line);
        Error::File { rank, path: path.to_owned(), line, message }
    })
}

/// Ranges that are the same everywhere, of so many rows for each process.
fn agreed_ranges(peers: &MpiPeers, ranges: Ranges, rows: u64) -> Result<Ranges> {
    let size = peers.size();
    let fits = fit(&ranges, size, rows);
    peers.agree(if fits { Ok(()) } else { Err(not_of(&ranges, size, rows)) })?;
    let own = ranges.range(peers.rank());
    // What each takes to be its own must be what the others take to be its own.
    let starts = peers.comm().all_gather(&[own.start])?;
    let strange = (0..size).find(|rank| starts[*rank] != ranges.range(*rank).start);
    peers.agree(match strange {
        None => Ok(()),
        Some(rank) => Err(format!(
            "the rows of rank {rank} begin with {} here and with {} there; ranges must be the same in all processes",
            ranges.range(rank).start,
            starts[rank]
        )),
    })?;
    Ok(ranges)
}

fn fit(ranges: &Ranges, size: usize, rows: u64) -> bool {
    ranges.n_parts() == size && ranges.len() == rows
}

fn not_of(ranges: &Ranges, size: usize, rows: u64) -> String {
    let (found, parts) = (ranges.len(), ranges.n_parts());
    format!("ranges of {found} rows in {parts} parts do not fit {rows} rows of {size} processes")
}

fn ranges_len(ranges: &Ranges, rank: usize) -> usize {
    let own = ranges.range(rank);
    (own.end - own.start) as usize
}

/// Sends entries to the owners of their rows. They arrive in the order of ranks, those of a rank in its own order.
fn to_owners<T: Value>(peers: &MpiPeers, entries: Entries<T>, ranges: &Ranges) -> Result<Entries<T>> {
    let owners: Vec<u32> = entries.rows.iter().map(|row| ranges.owner(u64::from(*row)) as u32).collect();
    let mut counts = vec![0; peers.size()];
    owners.iter().for_each(|owner| counts[*owner as usize] += 1);
    // Of an array at a time, so that one copy of one of them is all that is in memory besides.
    fn send<V: Pod>(peers: &MpiPeers, values: Vec<V>, owners: &[u32], counts: &[usize]) -> Result<Vec<V>> {
        let sorted = by_owner(&values, owners, counts);
        drop(values);
        Ok(peers.all_to_all(&sorted, counts)?.0)
    }
    let Entries { rows, cols, vals } = entries;
    Ok(Entries {
        rows: send(peers, rows, &owners, &counts)?,
        cols: send(peers, cols, &owners, &counts)?,
        vals: send(peers, vals, &owners, &counts)?,
    })
}

/// Values in the order of their owners, those of an owner in their own.
fn by_owner<V: Pod>(values: &[V], owners: &[u32], counts: &[usize]) -> Vec<V> {
    let mut next = collective::offsets(counts);
    let mut sorted = vec![V::zeroed(); values.len()];
    for (value, owner) in values.iter().zip(owners) {
        let at = &mut next[*owner as usize];
        sorted[*at] = *value;
        *at += 1;
    }
    sorted
}

/// Rows of entries that are all of them, from row `first` on.
fn assemble<T: Value>(entries: &Entries<T>, first: u64, n_rows: usize, n_cols: u64) -> Result<LocalRows<T>> {
    let rows: Vec<u32> = entries.rows.iter().map(|row| (u64::from(*row) - first) as u32).collect();
    let own: Csr<T, u64> = Csr::from_triplets(n_rows, n_cols as usize, &rows, &entries.cols, &entries.vals)?;
    let (row_ptr, cols, vals) = own.into_parts();
    Ok(LocalRows::new(n_cols, row_ptr, cols.into_iter().map(u64::from).collect(), vals)?)
}

/// Lengths of rows, columns and values of this process, from the one that passes a matrix.
fn send_rows<T: Value, O: Offset>(
    peers: &MpiPeers,
    matrix: Option<CsrView<'_, T, O>>,
    ranges: &Ranges,
) -> Result<(Vec<u64>, Vec<u32>, Vec<T>)> {
    let size = peers.size();
    let (mut lengths, mut rows, mut entries) = (vec![], vec![0; size], vec![0; size]);
    let (mut cols, mut vals): (&[u32], &[T]) = (&[], &[]);
    if let Some(a) = matrix {
        let offset = |row: u64| a.row_ptr()[row as usize].to_u64();
        lengths = (0..ranges.len()).map(|row| offset(row + 1) - offset(row)).collect();
        rows = (0..size).map(|rank| ranges_len(ranges, rank)).collect();
        let of = |rank: usize| offset(ranges.range(rank).end) - offset(ranges.range(rank).start);
        entries = (0..size).map(|rank| of(rank) as usize).collect();
        (cols, vals) = (a.cols(), a.vals());
    }
    Ok((
        peers.all_to_all(&lengths, &rows)?.0,
        peers.all_to_all(cols, &entries)?.0,
        peers.all_to_all(vals, &entries)?.0,
    ))
}
