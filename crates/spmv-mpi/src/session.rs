//! The beginning and the end of MPI in a process.

use std::fmt::Display;
use std::panic;
use std::thread;
use std::time::Duration;

use mpi::environment::{self, Threading, Universe};
use mpi::topology::{Communicator, SimpleCommunicator};

use crate::error::{Error, Result};
use crate::ffi;
use crate::peers::MpiPeers;

/// Code with which a process ends all others, that of a Rust program that panics.
const FAILED: i32 = 101;
/// What launchers may take to forward what a process printed. MPICH's drops what it has not forwarded when all are to end.
const FORWARDED: Duration = Duration::from_millis(100);

/// MPI, until it is dropped: then it is finalized. Drop it last, on the thread that made it.
///
/// ```no_run
/// let session = spmv_mpi::init()?;
/// let peers = session.peers()?;
/// println!("{peers:?}");
/// # Ok::<(), spmv_mpi::Error>(())
/// ```
pub struct Session {
    universe: Universe,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("size", &self.universe.world().size()).finish()
    }
}

/// Initializes MPI for programs with several threads of which this one alone calls MPI, and sees to it that a panic of any thread ends
/// all processes: without, the others would wait for ever.
///
/// Panics that are caught end them too, since the hook runs before anybody catches them.
///
/// ```no_run
/// let session = spmv_mpi::init()?;
/// # drop(session);
/// # Ok::<(), spmv_mpi::Error>(())
/// ```
///
/// # Errors
/// [`Error::Initialized`], [`Error::Threading`].
pub fn init() -> Result<Session> {
    let (universe, given) =
        environment::initialize_with_threading(Threading::Funneled).ok_or(Error::Initialized)?;
    if given < Threading::Funneled {
        let text = |level| format!("{level:?}");
        return Err(Error::Threading { given: text(given), needed: text(Threading::Funneled) });
    }
    end_all_on_panic();
    Ok(Session { universe })
}

/// Initializes MPI, gives `program` the processes of the world, and finalizes. An error of one process ends all others, after it was
/// printed with the rank: they might wait for this one for ever. Errors that all processes have alike end them all the same.
///
/// ```no_run
/// spmv_mpi::run(|peers| {
///     println!("{peers:?}");
///     Ok::<(), spmv_mpi::Error>(())
/// });
/// ```
///
/// Ends the process where MPI cannot be initialized, too.
pub fn run<E: Display>(program: impl FnOnce(&MpiPeers) -> Result<(), E>) {
    let session = init().unwrap_or_else(|e| {
        eprintln!("{e}");
        // What else MPI initialized is ended by whoever started this process.
        std::process::abort()
    });
    let peers = end_all_on_error(session.peers());
    end_all_on_error(program(&peers));
}

/// A value, or the end of all processes after the error was printed with the rank of this one.
///
/// ```no_run
/// let session = spmv_mpi::init()?;
/// let text = spmv_mpi::end_all_on_error(std::fs::read_to_string("settings.toml"));
/// # Ok::<(), spmv_mpi::Error>(())
/// ```
pub fn end_all_on_error<T, E: Display>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|e| {
        eprintln!("{}: {e}", name());
        end_all()
    })
}

impl Session {
    /// The processes of the world. Collective.
    ///
    /// # Errors
    /// What MPI reports.
    pub fn peers(&self) -> Result<MpiPeers> {
        MpiPeers::new(&self.universe.world())
    }
}

/// The rank of this process in the world.
fn name() -> String {
    let world = SimpleCommunicator::world();
    format!("rank {} of {}", world.rank(), world.size())
}

fn end_all_on_panic() {
    let name = name();
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        // Without MPI there is nobody to end: it was finalized already.
        if environment::is_finalized() {
            return before(info);
        }
        eprintln!("{name} panicked; all processes end");
        before(info);
        end_all();
    }));
}

/// Ends all processes.
fn end_all() -> ! {
    thread::sleep(FORWARDED);
    match ffi::check() {
        Ok(()) => SimpleCommunicator::world().abort(FAILED),
        // This thread may not call MPI. A process that ends without MPI_Finalize ends the others too: whoever started them sees to
        // it.
        Err(_) => std::process::abort(),
    }
}
