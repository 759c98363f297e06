//! Products with several right-hand sides by cuSPARSE.

use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::rc::Rc;
use std::time::Instant;

use spmv::{BlockOrder, BlockShape};
use spmv_backend::{Addressed as _, Backend as _};
use spmv_cuda::Buffer;
use spmv_exec::{Algorithm, DeviceVec, Options, Prepared};

use super::arrays::{Arrays, GpuValue, OnGpu, on_device};
use super::cusparse::{Cusparse, NON_TRANSPOSE};
use super::library::{Destroy, Object, Raw, check, of_library};
use crate::bench::block_product::{Contestant, ON_GPU, Problem};

/// `CUSPARSE_ORDER_COL` and `CUSPARSE_ORDER_ROW`.
const ORDER_COL: c_int = 1;
const ORDER_ROW: c_int = 2;
/// Of `cusparseSpMMAlg_t`: those for CSR.
const ALGORITHMS: [(c_int, &str); 4] = [(0, "default"), (4, "csr_alg1"), (6, "csr_alg2"), (12, "csr_alg3")];

/// `cusparseCreateDnMat`: rows, columns, leading dimension, values, type, order.
type CreateDnMat = unsafe extern "C" fn(*mut Raw, i64, i64, i64, *mut c_void, c_int, c_int) -> c_int;
/// `cusparseSpMM` and `cusparseSpMM_preprocess`: operations, alpha, A, X, beta, Y, type, algorithm, and last the buffer; with a pointer for
/// its size instead `cusparseSpMM_bufferSize`.
type SpMm<Last> = unsafe extern "C" fn(
    Raw,
    c_int,
    c_int,
    *const c_void,
    Raw,
    Raw,
    *const c_void,
    Raw,
    c_int,
    c_int,
    *mut Last,
) -> c_int;

/// The functions, the matrix, X and Y, which the algorithms share.
struct Shared<T: GpuValue> {
    // Dropped in this order: descriptors before what they name.
    x: Object,
    y: Object,
    matrix: Object,
    _on_x: DeviceVec<OnGpu, T>,
    on_y: RefCell<DeviceVec<OnGpu, T>>,
    _prepared: Prepared<OnGpu, T>,
    multiply: SpMm<c_void>,
    buffer_size: SpMm<usize>,
    preprocess: SpMm<c_void>,
    scalars: [T; 2],
    cusparse: Cusparse,
}

/// One algorithm, with its buffer.
struct Product<T: GpuValue> {
    shared: Rc<Shared<T>>,
    buffer: Buffer,
    algorithm: c_int,
}

/// Every algorithm that takes the problem.
///
/// # Errors
/// Why there is none.
pub(super) fn blocks<'a, T: GpuValue>(
    cusparse: Cusparse,
    problem: &Problem<'a, T>,
) -> anyhow::Result<Vec<Contestant<'a, T>>> {
    let shared = Rc::new(Shared::new(cusparse, problem)?);
    let mut contestants = Vec::new();
    for (algorithm, name) in ALGORITHMS {
        let name = format!("cusparse {} {name}", shared.cusparse.version());
        match Product::new(&shared, algorithm) {
            Err(e) => eprintln!("{name}: {e:#}"),
            Ok(product) => {
                let of = Rc::clone(&shared);
                contestants.push(Contestant {
                    name,
                    run: Box::new(move |batch, _| product.run(batch)),
                    result: Box::new(move || Ok(of.on_y.borrow().to_vec()?)),
                });
            }
        }
    }
    Ok(contestants)
}

impl<T: GpuValue> Shared<T> {
    fn new(cusparse: Cusparse, problem: &Problem<'_, T>) -> anyhow::Result<Self> {
        let Problem { a, x, of_x, of_y } = *problem;
        let device = cusparse.device().clone();
        let create: CreateDnMat = of_library("cusparseCreateDnMat")?;
        let destroy: Destroy = of_library("cusparseDestroyDnMat")?;
        // Any that keeps the arrays of the matrix as they are.
        let options = Options { algorithm: Algorithm::CsrVector, ..Options::default() };
        let prepared = device.prepare(a.view(), &options)?;
        let arrays = Arrays::of(&prepared).ok_or_else(|| anyhow::anyhow!("the matrix was split"))?;
        let matrix = cusparse.matrix(&arrays)?;
        let (on_x, on_y) = (device.upload(x)?, device.upload(&vec![T::from_f64(f64::NAN); of_y.len()])?);
        let dense = |vec: &DeviceVec<OnGpu, T>, shape: BlockShape| {
            let order = match shape.order() {
                BlockOrder::RowMajor => ORDER_ROW,
                BlockOrder::ColumnMajor => ORDER_COL,
            };
            let [rows, columns, leading] =
                [shape.n_rows(), shape.columns(), shape.leading()].map(|n| n as i64);
            let mut raw: Raw = std::ptr::null_mut();
            let values = on_device(vec.address());
            // SAFETY: the buffer holds as many values of type `T` as the shape says; the library writes the new descriptor to `raw`.
            let status = unsafe { create(&mut raw, rows, columns, leading, values, T::TYPE, order) };
            check("cusparseCreateDnMat", status)?;
            anyhow::Ok(Object::new(raw, destroy))
        };
        let (of_x, of_y) = (dense(&on_x, of_x)?, dense(&on_y, of_y)?);
        device.backend().wait_all()?;
        Ok(Self {
            x: of_x,
            y: of_y,
            matrix,
            _on_x: on_x,
            on_y: RefCell::new(on_y),
            _prepared: prepared,
            multiply: of_library("cusparseSpMM")?,
            buffer_size: of_library("cusparseSpMM_bufferSize")?,
            preprocess: of_library("cusparseSpMM_preprocess")?,
            scalars: [T::one(), T::zero()],
            cusparse,
        })
    }

    /// Calls one of the functions.
    ///
    /// # Safety
    /// `last` is what `function` takes there.
    unsafe fn call<Last>(&self, function: SpMm<Last>, algorithm: c_int, last: *mut Last) -> c_int {
        let [alpha, beta] = self.scalars.each_ref().map(|scalar| std::ptr::from_ref(scalar).cast());
        let [a, x, y] = [&self.matrix, &self.x, &self.y].map(Object::raw);
        let (handle, none) = (self.cusparse.handle(), NON_TRANSPOSE);
        // SAFETY: handle, descriptors, arrays and scalars live as long as `self`, which waits when it is dropped; the scalars have the type
        // that `T::TYPE` says; the last by contract.
        unsafe { function(handle, none, none, alpha, a, x, beta, y, T::TYPE, algorithm, last) }
    }
}

impl<T: GpuValue> Drop for Shared<T> {
    fn drop(&mut self) {
        // After an error, work may still be on its way; the error was reported.
        let _ = self.cusparse.wait();
    }
}

impl<T: GpuValue> Product<T> {
    /// With the buffer that the library asks for, preprocessed.
    fn new(shared: &Rc<Shared<T>>, algorithm: c_int) -> anyhow::Result<Self> {
        let mut bytes = 0usize;
        // SAFETY: the last is where the size is written.
        let status = unsafe { shared.call(shared.buffer_size, algorithm, &raw mut bytes) };
        check("cusparseSpMM_bufferSize", status)?;
        let buffer = shared.cusparse.device().backend().alloc(bytes as u64)?;
        let product = Self { shared: Rc::clone(shared), buffer, algorithm };
        product.preprocess()?;
        product.run(1)?;
        Ok(product)
    }

    /// What preprocessing finds belongs to the matrix's descriptor, of which it is what the last algorithm found.
    fn preprocess(&self) -> anyhow::Result<()> {
        let (shared, buffer) = (&self.shared, on_device(self.buffer.address()));
        // SAFETY: the last is a buffer of the size that the library asked for.
        let status = unsafe { shared.call(shared.preprocess, self.algorithm, buffer) };
        check("cusparseSpMM_preprocess", status)?;
        shared.cusparse.wait()
    }

    /// So many products; seconds of one.
    fn run(&self, batch: usize) -> anyhow::Result<f64> {
        let (shared, buffer) = (&self.shared, on_device(self.buffer.address()));
        self.preprocess()?;
        let batch = batch * ON_GPU;
        let start = Instant::now();
        for _ in 0..batch {
            // SAFETY: as for preprocessing.
            let status = unsafe { shared.call(shared.multiply, self.algorithm, buffer) };
            check("cusparseSpMM", status)?;
        }
        shared.cusparse.wait()?;
        Ok(start.elapsed().as_secs_f64() / batch as f64)
    }
}
