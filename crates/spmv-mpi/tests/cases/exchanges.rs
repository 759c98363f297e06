//! Ghosts, and work meanwhile.

use std::time::{Duration, Instant};

use spmv::parts::{Halo, Peers, Receive, Reduction, Send};
use spmv_mpi::MpiPeers;

/// Each process sends `n` values to the next and receives as many of the one before.
pub(crate) fn ring(peers: &MpiPeers, n: usize) -> Halo {
    let (rank, size) = (peers.rank(), peers.size());
    if size == 1 {
        return Halo::default();
    }
    Halo {
        sends: vec![Send { to: (rank + 1) % size, values: (0..n as u32).collect() }],
        receives: vec![Receive { from: (rank + size - 1) % size, ghosts: 0..n }],
    }
}

/// The same numbers in all processes.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// Who wants which values of whom: `wanted[to][from]`, the same in all processes. Some own nothing, some want nothing.
fn random_wants(seed: u64, size: usize) -> Vec<Vec<Vec<u32>>> {
    let mut numbers = Numbers(seed);
    let owned: Vec<u64> = (0..size).map(|_| numbers.below(3) * numbers.below(2000)).collect();
    let mut list = |to: usize, from: usize| -> Vec<u32> {
        let density = numbers.below(4);
        let wanted = (0..owned[from]).filter(|_| numbers.below(4) < density);
        let wanted: Vec<u32> = wanted.map(|value| value as u32).collect();
        if to == from { vec![] } else { wanted }
    };
    (0..size).map(|to| (0..size).map(|from| list(to, from)).collect()).collect()
}

fn halo_of(rank: usize, wants: &[Vec<Vec<u32>>]) -> Halo {
    let sends = (0..wants.len()).map(|to| Send { to, values: wants[to][rank].clone() });
    let mut next = 0;
    let receives = (0..wants.len()).map(|from| {
        let first = next;
        next += wants[rank][from].len();
        Receive { from, ghosts: first..next }
    });
    Halo {
        sends: sends.filter(|send| !send.values.is_empty()).collect(),
        receives: receives.filter(|receive| !receive.ghosts.is_empty()).collect(),
    }
}

/// The bytes of a value: they depend on its owner, its index and the run.
fn bytes(owner: usize, value: u32, run: usize, n: usize) -> Vec<u8> {
    let number = (owner as u64) << 48 | (run as u64) << 32 | u64::from(value);
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes().iter().cycle().take(n).copied().collect()
}

pub(crate) fn random_halos(peers: &MpiPeers) {
    let rank = peers.rank();
    for (seed, value_bytes) in [(1, 2), (2, 4), (3, 8), (4, 8), (5, 1), (6, 4)] {
        let wants = random_wants(seed, peers.size());
        let halo = halo_of(rank, &wants);
        let mut exchange = peers.exchange(&halo, value_bytes).expect("a halo");
        for run in 0..3 {
            let of = |owner, value: &u32| bytes(owner, *value, run, value_bytes);
            let sent: Vec<u8> =
                halo.sends.iter().flat_map(|send| &send.values).flat_map(|value| of(rank, value)).collect();
            exchange.sent().copy_from_slice(&sent);
            exchange.run(&mut || ()).expect("an exchange");
            let expected = wants[rank].iter().enumerate();
            let expected: Vec<u8> =
                expected.flat_map(|(from, values)| values.iter().flat_map(move |v| of(from, v))).collect();
            assert!(exchange.ghosts() == expected, "seed {seed}, run {run}");
            for address in [exchange.sent().as_ptr().addr(), exchange.ghosts().as_ptr().addr()] {
                assert!(address.is_multiple_of(8), "{address:x}");
            }
        }
    }
}

pub(crate) fn work_is_done_once(peers: &MpiPeers) {
    // Nothing, little, and more than a library sends before the receiver asks for it.
    for n in [0, 1, 1 << 20] {
        let mut exchange = peers.exchange(&ring(peers, n), 8).expect("a halo");
        for _ in 0..3 {
            let mut times = 0;
            exchange.run(&mut || times += 1).expect("an exchange");
            assert_eq!(times, 1, "{n} values");
        }
    }
}

/// Messages of which MPI is given several pieces.
pub(crate) fn long_messages(peers: &MpiPeers) {
    let (n, before) = (2_500_000, (peers.rank() + peers.size() - 1) % peers.size());
    let number = |rank: usize, i: usize| (1 + rank * n + i) as f64;
    let mut exchange = peers.exchange(&ring(peers, n), 8).expect("a halo");
    for (i, bytes) in exchange.sent().chunks_exact_mut(8).enumerate() {
        bytes.copy_from_slice(&number(peers.rank(), i).to_le_bytes());
    }
    exchange.run(&mut || ()).expect("an exchange");
    let arrived = exchange.ghosts().chunks_exact(8).enumerate();
    let wrong = arrived.filter(|(i, bytes)| **bytes != number(before, *i).to_le_bytes()).count();
    assert_eq!(wrong, 0);
}

/// MPI was initialized for one thread. Others are refused, and what they drop does no harm.
pub(crate) fn other_threads(peers: &MpiPeers) {
    let mut exchange = peers.exchange(&ring(peers, 5000), 8).expect("a halo");
    let dropped = peers.exchange(&ring(peers, 5000), 8).expect("a halo");
    let on_another = std::thread::spawn({
        let peers = peers.clone();
        move || {
            drop(dropped);
            let mut times = 0;
            let refused = [
                peers.reduce(Reduction::Sum, &mut [0.0]).expect_err("another thread"),
                exchange.run(&mut || times += 1).expect_err("another thread"),
                peers.exchange(&Halo::default(), 8).expect_err("another thread"),
            ];
            for e in refused {
                assert!(e.to_string().starts_with("only the thread that initialized MPI"), "{e}");
            }
            assert_eq!(times, 1);
            exchange
        }
    });
    let mut exchange = on_another.join().expect("no panic");
    exchange.run(&mut || ()).expect("back where MPI may be called");
}

/// A process that works for long still takes what others send, though they send it after its work began: a library that makes progress
/// within calls alone would have them wait for the work's end.
pub(crate) fn progress(peers: &MpiPeers) {
    const WORK: Duration = Duration::from_secs(1);
    let mut exchange = peers.exchange(&ring(peers, 1 << 20), 8).expect("a halo");
    peers.agree_on("a start", 0).expect("all together");
    if peers.rank() == 0 {
        return exchange.run(&mut || std::thread::sleep(WORK)).expect("an exchange");
    }
    std::thread::sleep(WORK / 10);
    let begin = Instant::now();
    exchange.run(&mut || ()).expect("an exchange");
    assert!(begin.elapsed() < WORK / 2, "{:?}", begin.elapsed());
}

pub(crate) fn unexpected(peers: &MpiPeers) {
    let (rank, size) = (peers.rank(), peers.size());
    let refused = |halo: &Halo| peers.exchange(halo, 8).err().map(|e| e.to_string());
    // Rank 0 sends a value more than the next expects.
    let halo = ring(peers, if rank == 0 { 4 } else { 3 });
    let halo =
        Halo { receives: halo.receives.into_iter().map(|r| Receive { ghosts: 0..3, ..r }).collect(), ..halo };
    let expected = "rank 1: rank 0 sends 4 values to rank 1, which expects 3";
    assert_eq!(refused(&halo).as_deref(), (size > 1).then_some(expected));
    let strange = Halo { sends: vec![Send { to: size, values: vec![0] }], receives: vec![] };
    let last = if rank == size - 1 { strange } else { Halo::default() };
    assert_eq!(refused(&last), Some(format!("rank {0}: rank {size} of {size} processes", size - 1)));
    // Nothing is left of those: the next exchange is as any other.
    let mut exchange = peers.exchange(&ring(peers, 3), 8).expect("a halo");
    exchange.run(&mut || ()).expect("an exchange");
}
