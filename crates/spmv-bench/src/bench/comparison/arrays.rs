//! Values, vectors and matrices that our kernels and cuSPARSE share.

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;

use spmv::{Accum, Scalar, c32, c64};
use spmv_cuda::Cuda;
use spmv_exec::Prepared;

use super::flush::Flushing;

/// The backend of the comparison.
pub(super) type OnGpu = Flushing<Cuda>;

/// A value type of the comparison.
pub(crate) trait GpuValue: Accum + Scalar {
    /// Its `cudaDataType`.
    const TYPE: c_int;
}

impl GpuValue for f32 {
    const TYPE: c_int = 0; // CUDA_R_32F
}

impl GpuValue for f64 {
    const TYPE: c_int = 1; // CUDA_R_64F
}

impl GpuValue for c32 {
    const TYPE: c_int = 4; // CUDA_C_32F
}

impl GpuValue for c64 {
    const TYPE: c_int = 5; // CUDA_C_64F
}

/// A prepared matrix as other libraries know it: 32-bit offsets and columns, values of type `T`.
pub(super) struct Arrays<'a, T> {
    /// Rows, columns, entries.
    counts: [usize; 3],
    addresses: [u64; 3],
    matrix: PhantomData<&'a ()>,
    values: PhantomData<T>,
}

impl<'a, T: GpuValue> Arrays<'a, T> {
    /// `None` if the matrix was split, or has more than signed 32-bit numbers count.
    pub(super) fn of(prepared: &'a Prepared<OnGpu, T>) -> Option<Self> {
        let rows = prepared.row_stats();
        let counts = [rows.n_rows, rows.n_cols, rows.nnz];
        let fits = counts.into_iter().all(|n| n <= i32::MAX as usize);
        let addresses = prepared.addresses().filter(|_| fits)?;
        Some(Self { counts, addresses, matrix: PhantomData, values: PhantomData })
    }

    /// Rows, columns, entries.
    pub(super) fn counts(&self) -> [usize; 3] {
        self.counts
    }

    /// Addresses of row offsets, columns and values.
    pub(super) fn addresses(&self) -> [*mut c_void; 3] {
        self.addresses.map(on_device)
    }
}

/// A buffer's address on the device, which nobody follows here.
pub(super) fn on_device(address: u64) -> *mut c_void {
    std::ptr::without_provenance_mut(address as usize)
}
