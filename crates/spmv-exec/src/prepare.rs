//! From a matrix to one on a device.

use std::sync::Arc;
use std::time::Instant;

use spmv_backend::{Backend, HostArray};
use spmv_core::{Csr, CsrView, Offset, SharedCsr, Value};

use crate::device::Device;
use crate::error::Result;
use crate::narrow::{WithValues, with_values_in};
use crate::options::Options;
use crate::plan::{Given, Plan};
use crate::prepared::Prepared;
use crate::tune::tuned;

impl<B: Backend> Device<B> {
    /// What [`prepare`](Self::prepare) would run without trials, and how long it is predicted to take; nothing is copied. The cost of
    /// [`of_diagonals`](spmv_core::MatrixStats::of_diagonals), with a profile that of
    /// [`MatrixStats::of`](spmv_core::MatrixStats::of), and O(rows) for an algorithm that was asked for.
    ///
    /// # Errors
    /// As [`plan()`](crate::plan()). Whether a layout that was asked for takes the matrix is seen when it is made.
    pub fn plan<T: Value, O: Offset>(&self, a: CsrView<'_, T, O>, options: &Options) -> Result<Plan> {
        self.planned(a, T::DTYPE, options, Given::Borrowed)
    }

    /// Copies a matrix to the device, laid out by [`plan()`](crate::plan()), or by the fastest of the candidates that
    /// [`Options::tune`] asks to be timed. O(rows + entries); for algorithms with a layout of their own, what that takes; with trials so
    /// much for each candidate, and its products.
    ///
    /// # Errors
    /// What [`plan()`](crate::plan()) refuses, a matrix that the algorithm's layout refuses ([`Error::Format`](crate::Error::Format)), what does
    /// not compile, out of memory, and, with trials, failures of the device.
    pub fn prepare<T: Value, O: Offset>(
        &self,
        a: CsrView<'_, T, O>,
        options: &Options,
    ) -> Result<Prepared<B, T>> {
        self.prepare_given(a, &[], options)
    }

    /// As [`prepare`](Self::prepare), of a matrix that is given away: where kernels can use host memory, its columns and values are
    /// not copied, nor are its row offsets of 32 bits, unless the matrix is split or the algorithm that was asked for has a layout of its
    /// own. `Auto` takes none that has. What is not kept is freed.
    ///
    /// ```
    /// # fn with<B: spmv_backend::Backend>(device: spmv_exec::Device<B>) -> Result<(), spmv_exec::Error> {
    /// let a = spmv_core::Csr::from_coo(2, 2, &[(0, 1, 2.0f32)])?;
    /// let prepared = device.prepare_owned(a, &Default::default())?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare); the matrix is lost then.
    pub fn prepare_owned<T: Value, O: Offset>(
        &self,
        a: Csr<T, O>,
        options: &Options,
    ) -> Result<Prepared<B, T>> {
        let a = SharedCsr::from(a);
        let given: [Arc<dyn HostArray>; 3] = [a.row_ptr(), a.cols(), a.vals()];
        self.prepare_given(a.view(), &given, options)
    }

    fn prepare_given<T: Value, O: Offset>(
        &self,
        a: CsrView<'_, T, O>,
        given: &[Arc<dyn HostArray>],
        options: &Options,
    ) -> Result<Prepared<B, T>> {
        let start = Instant::now();
        let mut prepared =
            with_values_in(options.values, a.vals(), Preparing { device: self, a, given, options })?;
        prepared.prepare_s = start.elapsed().as_secs_f64();
        Ok(prepared)
    }
}

/// A matrix on its way to a device, but for its values.
struct Preparing<'a, B: Backend, T, O> {
    device: &'a Device<B>,
    a: CsrView<'a, T, O>,
    given: &'a [Arc<dyn HostArray>],
    options: &'a Options,
}

impl<B: Backend, T: Value, O: Offset> WithValues for Preparing<'_, B, T, O> {
    type Output = Prepared<B, T>;

    fn run<V: Value>(self, vals: &[V]) -> Result<Self::Output> {
        let Self { device, a, given, options } = self;
        let a = a.with_vals(vals)?;
        let planned = device.lay_out(a, given, options)?;
        let mut prepared = tuned(planned, a, given, options)?;
        if options.blocks {
            prepared.keep_for_blocks(a, given)?;
        }
        Ok(prepared)
    }
}
