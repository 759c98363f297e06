//! Times exchanges of several lengths alone, and of work that is done before or meanwhile.
//!
//! `mpiexec -n 4 target/release/examples/overlap`

use std::time::Instant;

use spmv::parts::{Halo, Peers, PeersError, Receive, Reduction, Send};
use spmv_mpi::{MpiPeers, Progress};

const RUNS: usize = 200;

fn main() {
    spmv_mpi::run(measure);
}

fn measure(peers: &MpiPeers) -> Result<(), PeersError> {
    let peers = &peers.clone().progress(Progress::Meanwhile);
    if peers.rank() == 0 {
        println!(
            "{} processes, each with two neighbours; microseconds, the slowest process' median of {RUNS}",
            peers.size()
        );
        println!("bytes to each | exchange | work | one after the other | overlapped | hidden");
    }
    let per_us = additions_per_us();
    for bytes in [8, 4 << 10, 32 << 10, 256 << 10, 2 << 20] {
        let mut exchange = peers.exchange(&ring(peers, bytes / 8), 8)?;
        let alone = time(peers, || exchange.run(&mut || ()))?;
        // Twice as long as the exchange, and no shorter than a product of some thousand rows.
        let additions = (per_us * (2.0 * alone).max(20.0)) as usize;
        let work = time(peers, || {
            add(additions);
            Ok(())
        })?;
        let serial = time(peers, || {
            exchange.run(&mut || ())?;
            add(additions);
            Ok(())
        })?;
        let overlapped = time(peers, || exchange.run(&mut || add(additions)))?;
        if peers.rank() == 0 {
            let hidden = 100.0 * (serial - overlapped) / alone;
            println!("{bytes} | {alone:.1} | {work:.1} | {serial:.1} | {overlapped:.1} | {hidden:.0}%");
        }
    }
    Ok(())
}

/// Work that no memory bounds.
fn add(additions: usize) {
    let mut sum = 0.0;
    for _ in 0..additions {
        sum = std::hint::black_box(sum + 1.5);
    }
}

fn additions_per_us() -> f64 {
    const ADDITIONS: usize = 1_000_000;
    let begin = Instant::now();
    add(ADDITIONS);
    ADDITIONS as f64 / (begin.elapsed().as_secs_f64() * 1e6)
}

/// Values for both neighbours.
fn ring(peers: &MpiPeers, n: usize) -> Halo {
    let (rank, size) = (peers.rank(), peers.size());
    let mut others = vec![(rank + size - 1) % size, (rank + 1) % size];
    others.sort_unstable();
    others.dedup();
    others.retain(|other| *other != rank);
    let values = || (0..n as u32).collect();
    let receive = |(i, from): (usize, &usize)| Receive { from: *from, ghosts: i * n..(i + 1) * n };
    Halo {
        sends: others.iter().map(|to| Send { to: *to, values: values() }).collect(),
        receives: others.iter().enumerate().map(receive).collect(),
    }
}

/// Microseconds: the median of this process' runs, and of those the greatest.
fn time(peers: &MpiPeers, mut run: impl FnMut() -> Result<(), PeersError>) -> Result<f64, PeersError> {
    let mut times = Vec::new();
    for _ in 0..RUNS {
        // All begin together, as they do after a scalar product.
        peers.reduce(Reduction::Sum, &mut [0.0])?;
        let begin = Instant::now();
        run()?;
        times.push(begin.elapsed().as_secs_f64() * 1e6);
    }
    times.sort_by(f64::total_cmp);
    let mut median = [times[RUNS / 2]];
    peers.reduce(Reduction::Greatest, &mut median)?;
    Ok(median[0])
}
