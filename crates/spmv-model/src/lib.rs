//! How long a multiplication will take, predicted from the times of a few generated matrices.
//!
//! Wang, Gu & Li 2017 ("Performance prediction of sparse matrix-vector multiplication"): a device works off a matrix in
//! *waves*, as many rows as it can hold at a time ([`Format::wave_rows`]). Times of generated matrices of I waves
//! ([`Grid`]) are fitted by lines in I and in the row length P ([`Fit`]), and a matrix's time follows from
//! its own I and P ([`Shape`]). A [`Profile`] keeps the fits of a device.
//!
//! ```
//! use spmv_model::{Fit, Format, Sample};
//! // A device that takes 1 us, and 2 ns for each wave and entry of a row.
//! let time = |waves: f64, per_row: f64| 1e-6 + 2e-9 * waves * per_row;
//! let samples: Vec<Sample> = [(1.0, 4.0), (1.0, 8.0), (2.0, 4.0), (2.0, 8.0)]
//!     .map(|(waves, per_row)| Sample { waves, per_row, seconds: time(waves, per_row) })
//!     .to_vec();
//! let fitted = Fit::of(Format::CsrScalar, &samples, None)?.fitted;
//! assert!((fitted.seconds(10.0, 30.0) - time(10.0, 30.0)).abs() < 1e-15);
//! # Ok::<(), spmv_model::FitError>(())
//! ```
#![forbid(unsafe_code)]

mod fit;
mod format;
mod grid;
mod profile;
mod rates;
mod study;

pub use fit::{FitError, Fitted, Line, Piece, Sample};
pub use format::{Format, Shape};
pub use grid::{Extent, Grid, Point, Spread};
pub use profile::{KernelRates, Model, Profile, ProfileError, fingerprint, kept, read_json, write_json};
pub use rates::{Rates, Work};
pub use study::{Break, Fit, FittedLine, FittedSample, PAPER_BREAK, Quantity};
