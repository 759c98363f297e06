//! Random small matrices, shrunk when one fails.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};
use spmv_backend::Backend;
use spmv_core::Value;
use spmv_exec::{Device, Options};

use crate::Share;
use crate::check::{self};
use crate::corpus::{Case, of_lengths};
use crate::outcome::Check;

/// Checks `cases` random matrices of integers exactly.
pub(crate) fn check<B: Backend, T: Value>(
    device: &Device<B>,
    options: &Options,
    cases: u32,
    share: Share,
) -> Check {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let len = prop_oneof![4 => Just(0usize), 5 => 1usize..5, 1 => 5usize..90];
    let lens = proptest::collection::vec(len, 0..40);
    let result = TestRunner::new(config).run(&(lens, 1usize..50), |(lens, n_cols)| {
        let case = Case::new("random", of_lengths(&lens, n_cols), true);
        // Refused ones, too, are checked: that they are refused rightly.
        // A matrix has the same scaling whenever it is tried, or it would not shrink.
        let scalings = share.scalings(case.matrix.nnz(), usize::MAX);
        check::check::<B, T>(device, options, &case, scalings).map_err(TestCaseError::fail)?;
        Ok(())
    });
    match result {
        Ok(()) => Ok(0),
        Err(TestError::Fail(why, (lens, n_cols))) => {
            Err(format!("{why}; row lengths {lens:?}, {n_cols} columns"))
        }
        Err(e) => Err(e.to_string()),
    }
}
