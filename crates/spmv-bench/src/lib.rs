#![doc = include_str!("../README.md")]
// Not `forbid`: the vendors' libraries that are compared with are called by their C interfaces.
#![deny(unsafe_code)]

mod bench;
mod memory;
mod model;
mod papers;
mod precision;
mod workshop;

pub use bench::inputs::{Loaded, load};
pub use bench::partition::{Args as PartitionArgs, run as partition};
pub use bench::text::aligned;
pub use bench::{Args as BenchArgs, Ending, run as bench};
pub use model::{FitArgs, fit};
pub use precision::parser as precision;
pub use workshop::workshop;
