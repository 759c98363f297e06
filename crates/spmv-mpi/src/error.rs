//! What goes wrong between processes.

use std::path::PathBuf;

use spmv::parts::{PartitionError, PeersError};
use spmv_core::CsrError;

/// The result of something that processes do together.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A fault between processes, or of one of them that all know of.
///
/// ```
/// use spmv_mpi::Error;
/// let e = Error::Rank { rank: 2, message: "line 7: 'x' is no index".into() };
/// assert_eq!(e.to_string(), "rank 2: line 7: 'x' is no index");
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// MPI can be initialized once in a process.
    #[error("MPI was initialized before; make peers of a communicator with MpiPeers::new")]
    Initialized,
    /// MPI has not been initialized, or was finalized already.
    #[error("MPI is not running; keep what spmv_mpi::init returned until nothing else needs MPI")]
    NotRunning,
    /// The library was initialized for programs of one thread.
    #[error("MPI gives its threading level {given}, {needed} is needed: other threads multiply meanwhile")]
    Threading {
        /// What it gives.
        given: String,
        /// The least level that will do.
        needed: String,
    },
    /// A thread that may not call MPI.
    #[error("only the thread that initialized MPI may call it; this is another")]
    Thread,
    /// MPI reports a fault.
    #[error("{call}: {message} (code {code})")]
    Transport {
        /// The function of MPI.
        call: &'static str,
        /// Its result.
        code: i32,
        /// MPI's own words.
        message: String,
    },
    /// More than a message of this kind can hold.
    #[error("{n} bytes of each process are more than the {max} that a count of MPI can hold", max = i32::MAX)]
    Count {
        /// How many there are.
        n: usize,
    },
    /// A process failed in what all do together: the first one of those that did.
    #[error("rank {rank}: {message}")]
    Rank {
        /// Its rank.
        rank: usize,
        /// Its error.
        message: String,
    },
    /// Processes that were given different values of what must be the same in all.
    #[error("rank {rank} has {what} {theirs}, rank 0 has {first}; it must be the same in all processes")]
    Disagree {
        /// What it is.
        what: &'static str,
        /// The first process that differs from the one of rank 0.
        rank: usize,
        /// Its value.
        theirs: u64,
        /// The value of rank 0.
        first: u64,
    },
    /// Processes that do not expect what others send.
    #[error("rank {from} sends {sent} values to rank {to}, which expects {expected}")]
    Exchange {
        /// Who sends.
        from: usize,
        /// Who receives.
        to: usize,
        /// How many values are sent.
        sent: u64,
        /// How many values are expected.
        expected: u64,
    },
    /// A rank that there is not.
    #[error("rank {rank} of {size} processes")]
    NoSuchRank {
        /// The rank.
        rank: usize,
        /// How many processes there are.
        size: usize,
    },
    /// A Matrix Market file, in the part that a process reads.
    #[error("rank {rank}: {}: {}{message}", path.display(), at(.line))]
    File {
        /// The process: the first of those whose part is at fault.
        rank: usize,
        /// The file.
        path: PathBuf,
        /// The line, counted from 1 in the whole file, if the fault lies in one.
        line: Option<u64>,
        /// What is wrong.
        message: String,
    },
    /// Entries that are no matrix.
    #[error(transparent)]
    Matrix(#[from] CsrError),
    /// Ranges that are no partition.
    #[error(transparent)]
    Partition(#[from] PartitionError),
    /// What this process alone fails with: its device, for example.
    #[error(transparent)]
    Spmv(#[from] spmv::Error),
}

impl From<Error> for PeersError {
    fn from(e: Error) -> Self {
        Self(e.to_string())
    }
}

fn at(line: &Option<u64>) -> String {
    line.map_or(String::new(), |line| format!("line {line}: "))
}
