//! Matrices and vectors in parts, on several devices or in several processes.

mod peers;

pub use peers::{Exchange, Peers, PeersError, Reduction};
pub use spmv_partition::{Halo, PartitionError, Ranges, Receive, Send};
