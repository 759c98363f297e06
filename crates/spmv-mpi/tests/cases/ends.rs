//! Worlds in which one process fails: the others end too, soon, and its rank is named.

use std::time::Duration;

use libtest_mimic::Trial;
use spmv::parts::{Peers, Reduction};
use spmv_mpi::{Error, MpiPeers};

use crate::Case;
use crate::exchanges::ring;
use crate::launch::{passes, world};

/// Each waits for ever unless the failure of one ends all.
pub(crate) const CASES: [(&str, Case); 5] = [
    ("a_panic_ends_all", panics),
    ("a_panic_of_the_work_ends_all", work_panics),
    ("an_error_of_one_ends_all", fails),
    ("a_process_that_is_killed_ends_all", dies),
    ("processes_that_return_early_end_all", panics_at_end),
];

/// The process that fails, of four.
const FAILING: usize = 2;
const WITHIN: Duration = Duration::from_secs(10);

/// A case that initializes MPI itself.
pub(crate) const AFTER_THE_END: &str = "what_outlives_mpi_is_an_error_to_use_and_none_to_drop";

pub(crate) fn trials() -> impl Iterator<Item = Trial> {
    let after = Trial::test(format!("2/{AFTER_THE_END}"), || Ok(passes(&[AFTER_THE_END], 2)?));
    let ends = |(name, _): &(&'static str, Case)| {
        let name = *name;
        Trial::test(format!("4/{name}"), move || Ok(ends(name)?))
    };
    CASES.iter().map(ends).chain([after])
}

pub(crate) fn after_the_end() {
    let session = spmv_mpi::init().expect("MPI");
    assert_eq!(spmv_mpi::init().err(), Some(Error::Initialized));
    let peers = session.peers().expect("the world");
    assert_eq!(peers.size(), 2, "is mpiexec that of the library?");
    let mut exchange = peers.exchange(&ring(&peers, 3), 8).expect("a halo");
    exchange.run(&mut || ()).expect("an exchange");
    drop(session);
    assert_eq!(peers.agree(Ok::<(), Error>(())), Err(Error::NotRunning));
    let mut times = 0;
    let refused = exchange.run(&mut || times += 1).expect_err("MPI has ended");
    assert_eq!((refused.to_string(), times), (Error::NotRunning.to_string(), 1));
}

fn ends(case: &str) -> Result<(), String> {
    let end = world(&[case], 4)?;
    if end.succeeded {
        return Err(format!("all processes ended well\n{}", end.output));
    }
    if end.took > WITHIN {
        return Err(format!("took {:?}\n{}", end.took, end.output));
    }
    // Of a process that is killed only the launcher can say it, and each does in its own words.
    let named = end.output.contains(&format!("rank {FAILING}")) || end.output.contains("BAD TERMINATION");
    if named { Ok(()) } else { Err(format!("rank {FAILING} is not named\n{}", end.output)) }
}

/// Waits for all, so for ever if one does not come.
fn wait(peers: &MpiPeers) {
    peers.reduce(Reduction::Sum, &mut [0.0]).expect("nothing fails but a process");
}

fn panics(peers: &MpiPeers) {
    assert_ne!(peers.rank(), FAILING, "the case wants it");
    wait(peers);
}

fn panics_at_end(peers: &MpiPeers) {
    wait(peers);
    assert_ne!(peers.rank(), FAILING, "the case wants it");
    wait(peers);
}

fn work_panics(peers: &MpiPeers) {
    let mut exchange = peers.exchange(&ring(peers, 1), 8).expect("a halo");
    exchange.run(&mut || assert_ne!(peers.rank(), FAILING, "the case wants it")).expect("an exchange");
    wait(peers);
}

fn fails(peers: &MpiPeers) {
    let result = if peers.rank() == FAILING { Err(Error::NotRunning) } else { Ok(()) };
    spmv_mpi::end_all_on_error(result);
    wait(peers);
}

fn dies(peers: &MpiPeers) {
    if peers.rank() == FAILING {
        std::process::abort();
    }
    wait(peers);
}
