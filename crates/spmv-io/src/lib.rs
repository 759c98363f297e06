//! Matrix Market files, matrix generators and two benchmark suites: twins of published matrices, and classes of generated ones.
#![forbid(unsafe_code)]

pub mod classes;
pub mod generate;
pub mod matrix_market;
pub mod suite;
