//! The functions of cuBLAS, found at run time, on vectors of ours.

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;

use anyhow::ensure;
use libloading::Library;
use spmv_exec::DeviceVec;

use super::arrays::{OnGpu, on_device};
use super::cusparse::Cusparse;
use super::library::{Create, Destroy, Object, Opened, Raw, SetStream, opened, symbol};
use super::variant;

type Dot = unsafe extern "C" fn(Raw, c_int, *const c_void, c_int, *const c_void, c_int, *mut f64) -> c_int;
type Axpy = unsafe extern "C" fn(Raw, c_int, *const f64, *const c_void, c_int, *mut c_void, c_int) -> c_int;
type Scal = unsafe extern "C" fn(Raw, c_int, *const f64, *mut c_void, c_int) -> c_int;

type Vector = DeviceVec<OnGpu, f64>;

/// The library on the stream of cuSPARSE. Scalars are the host's, so a dot product waits, as it does in NVIDIA's own sample of
/// conjugate gradients.
pub(super) struct Cublas<'a> {
    handle: Object,
    dot: Dot,
    axpy: Axpy,
    scal: Scal,
    /// Has the stream.
    cusparse: PhantomData<&'a Cusparse>,
}

impl<'a> Cublas<'a> {
    pub(super) fn open(cusparse: &'a Cusparse) -> anyhow::Result<Self> {
        let library = library()?;
        let create: Create = symbol(library, "cublasCreate_v2")?;
        let destroy: Destroy = symbol(library, "cublasDestroy_v2")?;
        let set_stream: SetStream = symbol(library, "cublasSetStream_v2")?;
        let mut raw: Raw = std::ptr::null_mut();
        // SAFETY: writes a new handle to `raw`; the context of cuSPARSE's device is the library's too.
        check("cublasCreate", unsafe { create(&mut raw) })?;
        let handle = Object::new(raw, destroy);
        // SAFETY: the handle was just made, and `cusparse`, which has the stream, is borrowed as long.
        check("cublasSetStream", unsafe { set_stream(raw, cusparse.stream().raw()) })?;
        let (dot, axpy) = (symbol(library, "cublasDdot_v2")?, symbol(library, "cublasDaxpy_v2")?);
        Ok(Self { handle, dot, axpy, scal: symbol(library, "cublasDscal_v2")?, cusparse: PhantomData })
    }

    /// Waits.
    pub(super) fn dot(&self, x: &Vector, y: &Vector) -> anyhow::Result<f64> {
        let (n, [x, y], mut sum) = (length(x, y)?, [x, y].map(|v| on_device(v.address())), 0.0);
        // SAFETY: the handle lives; both vectors have n values; the library writes the sum before it returns.
        check("cublasDdot", unsafe { (self.dot)(self.handle.raw(), n, x, 1, y, 1, &mut sum) })?;
        Ok(sum)
    }

    /// `y <- alpha*x + y`, in the order of the stream's work, as all that is done to these vectors.
    pub(super) fn axpy(&self, alpha: f64, x: &Vector, y: &Vector) -> anyhow::Result<()> {
        let (n, [x, y]) = (length(x, y)?, [x.address(), y.address()].map(on_device));
        // SAFETY: the handle lives; both vectors have n values, and who reads y on another stream waits for this one first.
        check("cublasDaxpy", unsafe { (self.axpy)(self.handle.raw(), n, &alpha, x, 1, y, 1) })
    }

    /// `x <- alpha*x`.
    pub(super) fn scal(&self, alpha: f64, x: &Vector) -> anyhow::Result<()> {
        let n = length(x, x)?;
        // SAFETY: as above.
        check("cublasDscal", unsafe { (self.scal)(self.handle.raw(), n, &alpha, on_device(x.address()), 1) })
    }
}

fn length(x: &Vector, y: &Vector) -> anyhow::Result<c_int> {
    ensure!(x.len() == y.len(), "lengths of x and y");
    Ok(c_int::try_from(x.len())?)
}

fn check(call: &str, status: c_int) -> anyhow::Result<()> {
    ensure!(status == 0, "{call}: status {status}");
    Ok(())
}

fn library() -> anyhow::Result<&'static Library> {
    static LIBRARY: Opened = Opened::new();
    opened(&LIBRARY, &variant::CUBLAS, "libcublas", "SPMV_CUBLAS")
}
