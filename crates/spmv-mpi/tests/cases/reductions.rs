//! Numbers of all processes, and what they agree on.

use spmv::parts::{Peers, Reduction};
use spmv_mpi::{Error, MpiPeers};

/// Numbers whose sum depends on the order of summands.
fn number(rank: usize, i: usize) -> f64 {
    (0.1 + rank as f64).powi(3 * (i as i32 % 7 - 3)) * if (rank + i).is_multiple_of(3) { -1.0 } else { 1.0 }
}

pub(crate) fn sums(peers: &MpiPeers) {
    for n in [0, 1, 3, 1000] {
        let mut values: Vec<f64> = (0..n).map(|i| number(peers.rank(), i)).collect();
        peers.reduce(Reduction::Sum, &mut values).expect("a sum");
        for (i, value) in values.iter().enumerate() {
            let expected = (1..peers.size()).fold(number(0, i), |sum, rank| sum + number(rank, i));
            assert_eq!(value.to_bits(), expected.to_bits(), "number {i} of {n}");
            peers.agree_on("bits", value.to_bits()).expect("the same bits");
        }
    }
}

pub(crate) fn greatest(peers: &MpiPeers) {
    let (rank, last) = (peers.rank(), peers.size() - 1);
    let nan_of = |which: usize| if rank == which { f64::NAN } else { f64::INFINITY };
    let mut values = [rank as f64, -(rank as f64), nan_of(0), nan_of(last), f64::NEG_INFINITY];
    peers.reduce(Reduction::Greatest, &mut values).expect("a reduction");
    assert_eq!(values[..2], [last as f64, 0.0]);
    assert!(values[2].is_nan() && values[3].is_nan());
    assert_eq!(values[4], f64::NEG_INFINITY);
}

pub(crate) fn agreement(peers: &MpiPeers) {
    let rank = peers.rank();
    assert_eq!(peers.agree(Ok::<_, Error>(7 * rank)), Ok(7 * rank));
    for first in 0..peers.size() {
        let result = if rank < first { Ok(()) } else { Err(format!("no file on rank {rank}")) };
        let expected = Error::Rank { rank: first, message: format!("no file on rank {first}") };
        assert_eq!(peers.agree(result), Err(expected));
    }
    // Cut where others need not hear more, and still text.
    let result: Result<(), String> = Err("é".repeat(100_000));
    let Err(Error::Rank { rank: 0, message }) = peers.agree(result) else { panic!("rank 0 failed") };
    assert!(message.len() <= 1 << 16 && message.starts_with("éé"));
}

pub(crate) fn disagreement(peers: &MpiPeers) {
    let last = peers.size() - 1;
    peers.agree_on("n_rows", 5).expect("the same everywhere");
    let mine = if peers.rank() == last { 6 } else { 5 };
    let expected = match last {
        0 => Ok(()),
        _ => Err(Error::Disagree { what: "n_rows", rank: last, theirs: 6, first: 5 }),
    };
    assert_eq!(peers.agree_on("n_rows", mine), expected);
}
