//! The functions and codes of `cust_raw`, as data.
//!
//! Every file but this one is written by `SPMV_BLESS=1 cargo test -p spmv-cuda-driver --test generated` from the
//! source of the `cust_raw` that Cargo.lock names; without the variable the same command compares. Another
//! signature than that of `cust_raw` does not even compile.

mod calls;
mod codes;
mod graphs;
mod memory;

pub(crate) use codes::code;
