#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod balance;
mod cut;
mod error;
mod graph;
mod halo;
#[cfg(feature = "metis")]
mod metis;
mod numbering;
mod part;
mod permutation;
mod poisson;
mod ranges;
mod rcm;
mod rows;
pub mod scale;
mod traffic;

#[cfg(feature = "metis")]
pub use crate::metis::metis;
pub use cut::cut;
pub use error::{PartitionError, Result};
pub use halo::{Halo, Receive, Send};
pub use part::{Part, Pieces};
pub use permutation::{Permutation, permute};
pub use poisson::{near_cube, poisson_3d};
pub use ranges::Ranges;
pub use rcm::rcm;
pub use rows::LocalRows;
pub use traffic::{PartTraffic, Traffic};
