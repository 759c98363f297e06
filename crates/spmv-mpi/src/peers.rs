//! Processes of a communicator.

use std::fmt::Display;
use std::sync::Arc;

use bytemuck::Pod;
use mpi::ffi::MPI_Comm;
use mpi::topology::Communicator;
use mpi::traits::AsRaw;
use spmv::parts::{Exchange, Halo, Peers, PeersError, Reduction};

use crate::collective;
use crate::error::{Error, Result};
use crate::exchange::MpiExchange;
use crate::ffi::Comm;
use crate::progress::{Machines, Progress};

/// Bytes of an error that other processes hear of.
const HEARD_BYTES: usize = 64 << 10;

/// The processes of an MPI communicator: [`Peers`] of devices of parts.
///
/// Only the thread that initialized MPI may use it; on others every method is an error ([`Error::Thread`]), and what is dropped there
/// is left to `MPI_Finalize`. Clones share a communicator, which all processes drop: MPI frees it together.
///
/// ```no_run
/// use spmv::parts::{Peers, Reduction};
/// let session = spmv_mpi::init()?;
/// let peers = session.peers()?;
/// let mut n = [1.0];
/// peers.reduce(Reduction::Sum, &mut n)?;
/// assert_eq!(n[0], peers.size() as f64);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct MpiPeers {
    comm: Arc<Comm>,
    machines: Arc<Machines>,
    progress: Progress,
    staged_bytes: usize,
}

impl MpiPeers {
    /// The processes of a communicator of rsmpi. It is duplicated, so that no message of others is taken for one of ours. Collective.
    ///
    /// Threads are counted for [`Progress::Auto`], which starts rayon's global pool: size that one first. Those of other pools are not
    /// counted.
    ///
    /// Whoever initialized MPI keeps it until nothing here is needed any more, and sees to it that panics end all processes.
    ///
    /// ```no_run
    /// use mpi::environment::{Threading, initialize_with_threading};
    /// let (universe, _) = initialize_with_threading(Threading::Funneled).expect("the first");
    /// let peers = spmv_mpi::MpiPeers::new(&universe.world())?;
    /// # Ok::<(), spmv_mpi::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Threading`], [`Error::Thread`], [`Error::NotRunning`], [`Error::Transport`].
    pub fn new<C: Communicator + AsRaw<Raw = MPI_Comm>>(communicator: &C) -> Result<Self> {
        let comm = Arc::new(Comm::duplicate(communicator.as_raw())?);
        let machines = Arc::new(Machines::of(&comm)?);
        Ok(Self { comm, machines, progress: Progress::Auto, staged_bytes: collective::STAGED_BYTES })
    }

    /// How many bytes of each process are on their way at a time while rows are sent to their owners: this takes as much memory, twice.
    /// 64 MiB unless set. The least of all processes counts.
    ///
    /// ```no_run
    /// # let session = spmv_mpi::init()?;
    /// let peers = session.peers()?.staged_bytes(1 << 20);
    /// # Ok::<(), spmv_mpi::Error>(())
    /// ```
    #[must_use]
    pub fn staged_bytes(mut self, bytes: usize) -> Self {
        // Counts of MPI have 31 bits.
        self.staged_bytes = bytes.min(1 << 30);
        self
    }

    /// When products of matrices that are prepared from here on exchange ghosts.
    #[must_use]
    pub fn progress(mut self, progress: Progress) -> Self {
        self.progress = progress;
        self
    }

    /// Sends each process the values meant for it, `counts` of them for each in the order of ranks. Returns those for this one, in the
    /// order of ranks, and how many of each. Collective.
    pub(crate) fn all_to_all<T: Pod>(&self, values: &[T], counts: &[usize]) -> Result<(Vec<T>, Vec<usize>)> {
        collective::all_to_all(&self.comm, values, counts, self.staged_bytes)
    }

    /// A value if all processes have one, or else the error of the first that has none: the same error everywhere. Collective.
    ///
    /// An error that one process alone has would leave the others waiting for it in what they do together next.
    ///
    /// ```no_run
    /// # let session = spmv_mpi::init()?;
    /// let peers = session.peers()?;
    /// let text = peers.agree(std::fs::read_to_string("settings.toml"))?;
    /// # Ok::<(), spmv_mpi::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Rank`], [`Error::Transport`].
    pub fn agree<T, E: Display>(&self, result: Result<T, E>) -> Result<T> {
        let heard = result.map_err(|e| (0, e.to_string()));
        self.agree_with(heard, |rank, _, message| Error::Rank { rank, message })
    }

    /// A value if all processes have one, or else an error made of the first rank that has none, and of its number and words.
    pub(crate) fn agree_with<T>(
        &self,
        result: Result<T, (u64, String)>,
        error: impl FnOnce(usize, u64, String) -> Error,
    ) -> Result<T> {
        let (mine, mut bytes) = match &result {
            Ok(_) => ([0; 3], vec![]),
            Err((number, message)) => {
                let mut bytes = message.clone().into_bytes();
                bytes.truncate(HEARD_BYTES);
                ([1, *number, bytes.len() as u64], bytes)
            }
        };
        let all = self.comm.all_gather(&mine)?;
        let first = all.chunks(3).enumerate().find(|(_, of)| of[0] != 0);
        let (rank, number, length) = match (first, result) {
            (Some((rank, of)), _) => (rank, of[1], of[2]),
            (None, Ok(value)) => return Ok(value),
            (None, Err(_)) => unreachable!("this process is one of them"),
        };
        bytes.resize(length as usize, 0);
        self.comm.broadcast(rank, &mut bytes)?;
        Err(error(rank, number, String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Checks that a number is the same in all processes. Collective.
    ///
    /// ```no_run
    /// # let session = spmv_mpi::init()?;
    /// # let n_rows = 0;
    /// session.peers()?.agree_on("n_rows", n_rows)?;
    /// # Ok::<(), spmv_mpi::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Disagree`], which is the same everywhere; [`Error::Transport`].
    pub fn agree_on(&self, what: &'static str, value: u64) -> Result<()> {
        let all = self.comm.all_gather(&[value])?;
        let first = all[0];
        match all.iter().position(|theirs| *theirs != first) {
            None => Ok(()),
            Some(rank) => Err(Error::Disagree { what, rank, theirs: all[rank], first }),
        }
    }

    /// The communicator.
    pub(crate) fn comm(&self) -> &Comm {
        &self.comm
    }

    fn prepare(&self, halo: &Halo, value_bytes: usize) -> Result<MpiExchange> {
        self.agree_on("values of so many bytes:", value_bytes as u64)?;
        self.agree(self.check_ranks(halo))?;
        self.agree(self.check_lengths(halo)?)?;
        let goes_before = self.machines.goes_before(self.progress, halo);
        self.agree(MpiExchange::new(&self.comm, halo, value_bytes, goes_before))
    }

    fn check_ranks(&self, halo: &Halo) -> Result<()> {
        let size = self.comm.size();
        let others = halo.sends.iter().map(|send| send.to).chain(halo.receives.iter().map(|r| r.from));
        match others.into_iter().find(|rank| *rank >= size || *rank == self.comm.rank()) {
            None => Ok(()),
            Some(rank) => Err(Error::NoSuchRank { rank, size }),
        }
    }

    /// Whether this process expects what others send. They say how much that is.
    fn check_lengths(&self, halo: &Halo) -> Result<Result<()>> {
        let (mut sent, mut expected) = (vec![0; self.comm.size()], vec![0; self.comm.size()]);
        for send in &halo.sends {
            sent[send.to] += send.values.len() as u64;
        }
        for receive in &halo.receives {
            expected[receive.from] += receive.ghosts.len() as u64;
        }
        let arriving = collective::all_to_all_one(&self.comm, &sent)?;
        let differs = (0..self.comm.size()).find(|from| arriving[*from] != expected[*from]);
        Ok(match differs {
            None => Ok(()),
            Some(from) => Err(Error::Exchange {
                from,
                to: self.comm.rank(),
                sent: arriving[from],
                expected: expected[from],
            }),
        })
    }
}

impl Peers for MpiPeers {
    fn rank(&self) -> usize {
        self.comm.rank()
    }

    fn size(&self) -> usize {
        self.comm.size()
    }

    fn exchange(&self, halo: &Halo, value_bytes: usize) -> Result<Box<dyn Exchange>, PeersError> {
        Ok(Box::new(self.prepare(halo, value_bytes)?))
    }

    fn reduce(&self, op: Reduction, values: &mut [f64]) -> Result<(), PeersError> {
        // Not MPI_Allreduce: it may add in any order, which depends on the library, the length and the network, so that its bits may
        // differ between runs. Of the few numbers of a product that all are gathered costs no more.
        let all = self.comm.all_gather(values)?;
        let n = values.len();
        for (i, value) in values.iter_mut().enumerate() {
            let of_ranks = (0..self.comm.size()).map(|rank| all[rank * n + i]);
            *value = of_ranks.reduce(|all, next| op.of(all, next)).unwrap_or(*value);
        }
        Ok(())
    }
}
