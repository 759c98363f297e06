//! Matrices whose rows the processes own.

use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

use spmv::parts::{Part, Peers, Ranges};
use spmv::{Context, CsrView, Matrix, Offset, Options, Scalar};
use spmv_core::Value;
use spmv_io::matrix_market::Reader;

use crate::error::{Error, Result};
use crate::peers::MpiPeers;
use crate::rows::{OwnRows, exchange_requests, read, scatter};

/// A matrix that the processes have together, as one of them sees it: its own rows, prepared on its device, and the exchange of the
/// values of `x` that they need of others.
///
/// It is a [`Matrix`] of its own rows and columns. Vectors, products, scalar products, norms and solvers are those of `spmv` and
/// `spmv-solvers`; lengths are those of this process, and what needs all processes is collective. A row's sum has the same bits in each run
/// with as many processes.
///
/// ```no_run
/// use spmv::{BackendKind, Context};
/// use spmv_io::matrix_market::Reader;
/// use spmv_mpi::DistMatrix;
/// let session = spmv_mpi::init()?;
/// let peers = session.peers()?;
/// let context = peers.context(&Context::with(BackendKind::Cpu)?)?;
/// let a = DistMatrix::<f64>::read(&context, &peers, "square.mtx", &Reader::new())?;
/// let (mut x, mut y) = (a.zeros_x()?, a.zeros_y()?);
/// x.fill(1.0)?;
/// a.apply(1.0, &x, 0.0, &mut y)?;
/// println!("rows {:?} of {}: {}", a.own_rows(), a.rows().len(), y.norm2()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DistMatrix<T: Scalar> {
    matrix: Matrix<T>,
    rows: Ranges,
    cols: Ranges,
    rank: usize,
}

impl<T: Scalar> DistMatrix<T> {
    /// Of rows that each process has. Columns, which are values of `x`, are owned as rows are where there are as many, else evenly.
    /// Collective. O(entries) time besides what preparing takes.
    ///
    /// `context` is one that [`MpiPeers::context`] made of these processes.
    ///
    /// # Errors
    /// The same in all processes: [`Error::Rank`], [`Error::Disagree`]. [`Error::Spmv`] where the device of this process cannot hold or
    /// compute its part; others then wait, so end all ([`run`](crate::run), [`end_all_on_error`](crate::end_all_on_error)).
    pub fn from_local_rows(
        context: &Context,
        peers: &MpiPeers,
        own: OwnRows<T>,
        options: &Options,
    ) -> Result<Self> {
        let OwnRows { ranges: rows, rows: own } = own;
        let n_cols = own.n_cols();
        peers.agree_on("columns:", n_cols)?;
        let cols = if n_cols == rows.len() { rows.clone() } else { Ranges::even(n_cols, peers.size()) };
        let rank = peers.rank();
        let part = peers.agree(Part::new(rank, &rows, &cols, own))?;
        let part = exchange_requests(peers, part)?;
        let matrix = context.prepare_part(part, options)?;
        Ok(Self { matrix, rows, cols, rank })
    }

    /// Of a Matrix Market file, as [`read`](crate::read): each process reads as many of its bytes and owns as many rows. Collective.
    ///
    /// # Errors
    /// As [`read`](crate::read) and [`from_local_rows`](Self::from_local_rows).
    pub fn read(
        context: &Context,
        peers: &MpiPeers,
        path: impl AsRef<Path>,
        reader: &Reader,
    ) -> Result<Self> {
        Self::from_local_rows(context, peers, read(peers, path, reader, None)?, &Options::default())
    }

    /// Of a matrix that one process has, as [`scatter`](crate::scatter). Collective.
    ///
    /// # Errors
    /// As [`scatter`](crate::scatter) and [`from_local_rows`](Self::from_local_rows).
    pub fn scatter<O: Offset>(
        context: &Context,
        peers: &MpiPeers,
        root: usize,
        matrix: Option<(CsrView<'_, T, O>, Ranges)>,
    ) -> Result<Self> {
        Self::from_local_rows(context, peers, scatter(peers, root, matrix)?, &Options::default())
    }

    /// The rows of every process.
    pub fn rows(&self) -> &Ranges {
        &self.rows
    }

    /// The columns of every process: who owns which values of `x`.
    pub fn cols(&self) -> &Ranges {
        &self.cols
    }

    /// The rows of this process, as the whole matrix counts them.
    pub fn own_rows(&self) -> Range<u64> {
        self.rows.range(self.rank)
    }

    /// The columns of this process, as the whole matrix counts them.
    pub fn own_cols(&self) -> Range<u64> {
        self.cols.range(self.rank)
    }

    /// The part of this process by itself, for what takes a matrix that is given away.
    pub fn into_matrix(self) -> Matrix<T> {
        self.matrix
    }
}

impl<T: Scalar> Deref for DistMatrix<T> {
    type Target = Matrix<T>;

    fn deref(&self) -> &Matrix<T> {
        &self.matrix
    }
}

impl MpiPeers {
    /// The device of a context as that of this process, among these processes.
    ///
    /// ```no_run
    /// # let session = spmv_mpi::init()?;
    /// let context = session.peers()?.context(&spmv::Context::auto()?)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Spmv`] for a context that is no single device's.
    pub fn context(&self, of: &Context) -> Result<Context> {
        Ok(of.with_peers(Arc::new(self.clone()))?)
    }

    /// The values of all processes, in the order of ranks, at `root`. Collective; the root needs memory for all of them.
    ///
    /// ```no_run
    /// # let session = spmv_mpi::init()?;
    /// let peers = session.peers()?;
    /// if let Some(all) = peers.gather(0, &[1.0, 2.0])? {
    ///     println!("{all:?}");
    /// }
    /// # Ok::<(), spmv_mpi::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NoSuchRank`], [`Error::Disagree`], [`Error::Transport`].
    pub fn gather<T: Value>(&self, root: usize, own: &[T]) -> Result<Option<Vec<T>>> {
        self.agree_on("root", root as u64)?;
        let size = self.size();
        if root >= size {
            return Err(Error::NoSuchRank { rank: root, size });
        }
        let mut counts = vec![0; size];
        counts[root] = own.len();
        let (all, _) = self.all_to_all(own, &counts)?;
        Ok((self.rank() == root).then_some(all))
    }
}
