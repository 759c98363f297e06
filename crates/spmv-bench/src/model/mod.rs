//! `cargo xtask fit` and `cargo xtask predict`: performance prediction after Wang, Gu & Li 2017; `cargo xtask train`: after Tan
//! et al. 2019.

mod budget;
pub(crate) mod evaluation;
pub(crate) mod figures;
mod fit;
pub(crate) mod lines;
pub(crate) mod paper;
mod predict;
mod report;
mod scope;
mod timing;
#[cfg(feature = "train")]
mod train;

pub use fit::{FitArgs, fit};
pub(crate) use predict::{PredictArgs, predict};
#[cfg(feature = "train")]
pub(crate) use train::{TrainArgs, train};
