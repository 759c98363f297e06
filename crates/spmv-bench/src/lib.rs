//! How products are measured: the commands of `cargo xtask bench` and its siblings, and what `spmv time` runs.
//!
//! Arguments are read by `clap`, and results are printed as they are found; `docs/bench-schema.md` describes the report as JSON.
//!
//! ```
//! use clap::Parser;
//! #[derive(Parser)]
//! struct Cli {
//!     #[command(flatten)]
//!     bench: spmv_bench::BenchArgs,
//! }
//! let mut args = Cli::parse_from(["a", "--backend", "cpu", "--precision", "f64"]).bench;
//! assert!(!args.has_matrices());
//! args.add_matrices(["matrix.mtx".into()]);
//! assert!(args.has_matrices()); // spmv_bench::bench(&args) multiplies them
//! ```
// Not `forbid`: the vendors' libraries that are compared with are called by their C interfaces.
#![deny(unsafe_code)]

mod bench;
mod lists;
mod memory;
mod model;
mod papers;
mod precision;
mod workshop;

pub use bench::inputs::{Loaded, load};
pub use bench::partition::{Args as PartitionArgs, run as partition};
pub use bench::text::aligned;
pub use bench::{Args as BenchArgs, Ending, run as bench};
pub use lists::join_lists;
pub use model::{FitArgs, fit};
pub use precision::parser as precision;
pub use workshop::workshop;
