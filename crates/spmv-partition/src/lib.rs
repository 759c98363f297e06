#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod cut;
mod error;
mod halo;
mod part;
mod ranges;
mod rows;

pub use cut::cut;
pub use error::{PartitionError, Result};
pub use halo::{Halo, Receive, Send};
pub use part::{Part, Pieces};
pub use ranges::Ranges;
pub use rows::LocalRows;
