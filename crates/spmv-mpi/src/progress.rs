//! Who asks MPI for progress while a part multiplies.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::thread;

use spmv::parts::Halo;

use crate::error::Result;
use crate::ffi::Comm;

/// When a product exchanges ghosts. MPI need not make progress by itself, so somebody has to ask it.
///
/// ```no_run
/// use spmv_mpi::Progress;
/// # let session = spmv_mpi::init()?;
/// let peers = session.peers()?.progress(Progress::Meanwhile);
/// # Ok::<(), spmv_mpi::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Progress {
    /// [`Before`](Self::Before) in a process whose threads, with those of others on the same cores, leave no core idle, if all that it
    /// exchanges with are on its machine; [`Meanwhile`](Self::Meanwhile) in others.
    ///
    /// Within a machine it is cores that copy messages. Where all of them multiply, nothing is gained by doing both at a time, and a
    /// thread that asks waits for its turn.
    #[default]
    Auto,
    /// The thread of MPI asks while others multiply.
    Meanwhile,
    /// The exchange ends before the multiplication begins.
    Before,
}

/// Where processes run, and on how many cores.
#[derive(Debug)]
pub(crate) struct Machines {
    rank: usize,
    /// Of each process.
    machines: Vec<u64>,
    has_idle_core: bool,
}

/// Of a process: its machine and the cores that it may run on, as hashes, and its threads.
type Seat = [u64; 3];

impl Machines {
    /// Collective.
    pub(crate) fn of(comm: &Comm) -> Result<Self> {
        let threads = rayon::current_num_threads() as u64;
        let seats = comm.all_gather(&[machine(), cores(), threads])?;
        let seats: Vec<Seat> = seats.chunks_exact(3).map(|of| [of[0], of[1], of[2]]).collect();
        let available = thread::available_parallelism().map_or(1, usize::from) as u64;
        let has_idle_core = has_idle_core(&seats, comm.rank(), available);
        Ok(Self { rank: comm.rank(), machines: seats.iter().map(|of| of[0]).collect(), has_idle_core })
    }

    /// Whether an exchange is to end before the multiplication begins.
    pub(crate) fn goes_before(&self, progress: Progress, halo: &Halo) -> bool {
        let others = halo.sends.iter().map(|send| send.to).chain(halo.receives.iter().map(|r| r.from));
        match progress {
            Progress::Auto => {
                let mut machines = others.map(|rank| self.machines[rank]);
                !self.has_idle_core && machines.all(|of| of == self.machines[self.rank])
            }
            Progress::Meanwhile => false,
            Progress::Before => true,
        }
    }
}

/// Whether the cores of a process are more than the threads of all that run on the same ones.
fn has_idle_core(seats: &[Seat], rank: usize, available: u64) -> bool {
    let own = seats[rank];
    let sharing = seats.iter().filter(|of| of[..2] == own[..2]);
    sharing.map(|of| of[2]).sum::<u64>() < available
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// What no other machine has; where Linux does not say it, all processes are taken for those of one.
fn machine() -> u64 {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").map_or(0, |id| hash(&id))
}

/// The cores that the system lets this process run on; where Linux does not say it, all processes are taken to share theirs.
fn cores() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).map_or(0, hash)
}

#[cfg(test)]
mod tests {
    use spmv::parts::{Receive, Send};

    use super::*;

    #[test]
    fn a_core_is_idle_beyond_the_threads_of_all_that_share_it() {
        let unbound = [[1, 7, 2], [1, 7, 2], [2, 7, 2]];
        assert!(has_idle_core(&unbound, 0, 5) && !has_idle_core(&unbound, 0, 4));
        assert!(has_idle_core(&unbound, 2, 3));
        let bound = [[1, 7, 1], [1, 8, 1]];
        assert!(has_idle_core(&bound, 0, 2) && !has_idle_core(&bound, 1, 1));
    }

    #[test]
    fn exchanges_within_a_machine_without_an_idle_core_go_before() {
        let halo = |other: usize| Halo {
            sends: vec![Send { to: other, values: vec![0] }],
            receives: vec![Receive { from: other, ghosts: 0..1 }],
        };
        let machines = |has_idle_core| Machines { rank: 0, machines: vec![1, 1, 2], has_idle_core };
        let goes = |idle, progress, other| machines(idle).goes_before(progress, &halo(other));
        assert!(goes(false, Progress::Auto, 1) && !goes(true, Progress::Auto, 1));
        assert!(!goes(false, Progress::Auto, 2), "a network may make progress by itself");
        assert!(goes(true, Progress::Before, 2) && !goes(false, Progress::Meanwhile, 1));
    }
}
