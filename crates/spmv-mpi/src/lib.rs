#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

#[cfg(feature = "mpi")]
mod collective;
#[cfg(feature = "mpi")]
mod error;
#[cfg(feature = "mpi")]
mod exchange;
#[cfg(feature = "mpi")]
mod ffi;
#[cfg(feature = "mpi")]
mod matrix;
#[cfg(feature = "mpi")]
mod peers;
#[cfg(feature = "mpi")]
mod progress;
#[cfg(feature = "mpi")]
mod rows;
#[cfg(feature = "mpi")]
mod session;
#[cfg(feature = "mpi")]
mod transpose;

#[cfg(feature = "mpi")]
pub use error::{Error, Result};
#[cfg(feature = "mpi")]
pub use matrix::DistMatrix;
#[cfg(feature = "mpi")]
pub use peers::MpiPeers;
#[cfg(feature = "mpi")]
pub use progress::Progress;
#[cfg(feature = "mpi")]
pub use rows::{OwnRows, exchange_requests, read, scatter};
#[cfg(feature = "mpi")]
pub use session::{Session, end_all_on_error, init, run};
#[cfg(feature = "mpi")]
pub use transpose::transpose;
