//! What the papers compare with on CPUs: a loop over the rows, on one thread or on all.

use std::cell::RefCell;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use spmv::oracle::Reference;
use spmv::{Scalar, Value};

use crate::bench::entrant::Problem;
use crate::bench::measure::{Run, timed};

/// A loop over rows in CSR form: "OpenMP-accelerated basic row block method" and "single-threaded naive implementation" of Liu
/// & Vinter 2015, section 4.3. Each thread gets as many rows, whatever their lengths.
pub(crate) struct Loop<T: Scalar> {
    pool: Option<ThreadPool>,
    y: RefCell<Vec<T::Accum>>,
}

impl<T: Scalar> Loop<T>
where
    T::Accum: Scalar,
{
    /// On so many threads; 0 are all.
    ///
    /// # Errors
    /// If no threads start.
    pub(crate) fn new(threads: usize, problem: &Problem<T>) -> anyhow::Result<Self> {
        let pool =
            (threads != 1).then(|| ThreadPoolBuilder::new().num_threads(threads).build()).transpose()?;
        let y = RefCell::new(vec![T::Accum::from_f64(f64::NAN); problem.factor.a.n_rows()]);
        Ok(Self { pool, y })
    }

    /// One multiplication at a time.
    pub(crate) fn run<'a>(&'a self, problem: &'a Problem<T>) -> Run<'a> {
        timed(move |_| {
            let y = &mut *self.y.borrow_mut();
            match &self.pool {
                None => rows(problem, 0, y),
                Some(pool) => {
                    let each = y.len().div_ceil(pool.current_num_threads()).max(1);
                    pool.install(|| {
                        y.par_chunks_mut(each).enumerate().for_each(|(at, y)| rows(problem, at * each, y));
                    });
                }
            }
            Ok(())
        })
    }

    /// Of the last result.
    pub(crate) fn error_over_bound(&self, reference: &Reference<T::Wide>) -> f64 {
        reference.error_over_bound(&self.y.borrow())
    }
}

/// The rows from `first` on, as many as `y` has.
fn rows<T: Scalar>(problem: &Problem<T>, first: usize, y: &mut [T::Accum]) {
    let (a, x) = (problem.factor.a.view(), &problem.x[..]);
    for (at, y) in y.iter_mut().enumerate() {
        let entries = a.row_range(first + at);
        let (cols, vals) = (&a.cols()[entries.clone()], &a.vals()[entries]);
        let mut sum = T::Accum::default();
        for (col, val) in cols.iter().zip(vals) {
            sum += val.to_accum() * x[*col as usize].to_accum();
        }
        *y = sum;
    }
}
