//! Matrix Market files, matrix generators and the benchmark suite.
#![forbid(unsafe_code)]

pub mod generate;
pub mod matrix_market;
pub mod suite;
