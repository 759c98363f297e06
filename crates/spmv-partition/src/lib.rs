#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod error;
mod halo;
mod ranges;

pub use error::{PartitionError, Result};
pub use halo::{Halo, Receive, Send};
pub use ranges::Ranges;
