//! Conjugate gradients on cuSPARSE and cuBLAS, as NVIDIA's own sample has them.

use std::time::Instant;

use anyhow::Context as _;
use spmv::Csr;
use spmv_exec::{Algorithm, Device, DeviceVec, Options, Prepared};

use super::arrays::{Arrays, OnGpu};
use super::cublas::Cublas;
use super::cusparse::{Cusparse, Operation};
use super::variant::Variant;

type Vector = DeviceVec<OnGpu, f64>;

/// A system on the GPU, and the libraries.
pub(crate) struct CudaSolver {
    device: Device<OnGpu>,
    cusparse: Cusparse,
    prepared: Prepared<OnGpu, f64>,
    b: Vec<f64>,
    x: Vector,
    r: Vector,
}

impl CudaSolver {
    /// Makes ready to solve a system.
    ///
    /// # Errors
    /// Why cuBLAS is absent.
    pub(super) fn new(
        device: Device<OnGpu>,
        cusparse: Cusparse,
        a: &Csr<f64>,
        b: &[f64],
    ) -> anyhow::Result<Self> {
        Cublas::open(&cusparse)?;
        // Any that keeps the arrays of the matrix as they are.
        let options = Options { algorithm: Algorithm::CsrVector, ..Options::default() };
        let prepared = device.prepare(a.view(), &options)?;
        let [x, r] = [(); 2].map(|()| device.zeros(b.len()));
        Ok(Self { cusparse, prepared, b: b.to_vec(), x: x?, r: r?, device })
    }

    /// Seconds of an iteration with the variant of cuSPARSE that is fastest, and the result, from zero on.
    ///
    /// # Errors
    /// What the libraries say.
    pub(crate) fn run(&self, n: usize) -> anyhow::Result<(f64, Vec<f64>)> {
        let mut fastest = f64::INFINITY;
        for variant in self.cusparse.variants(false) {
            fastest = fastest.min(self.run_variant(variant, n)?);
        }
        Ok((fastest, self.x.to_vec()?))
    }

    /// An iteration is a product, two dot products that wait, three additions and a scaling.
    fn run_variant(&self, variant: Variant, n: usize) -> anyhow::Result<f64> {
        let Self { device, cusparse, prepared, b, x, r } = self;
        let blas = Cublas::open(cusparse)?;
        let arrays = Arrays::of(prepared).context("the matrix was split")?;
        let (p, ap) = (device.upload(b)?, device.zeros(b.len())?);
        let product = Operation::new(cusparse, variant, &arrays, &p, ap)?;
        let ap = product.y();
        // The first call of each function loads it.
        blas.scal(0.0, x)?;
        blas.scal(0.0, r)?;
        blas.axpy(1.0, &p, r)?;
        blas.dot(r, r)?;
        product.multiply()?;
        cusparse.wait()?;
        let start = Instant::now();
        let mut rr = blas.dot(r, r)?;
        for _ in 0..n {
            product.multiply()?;
            let alpha = rr / blas.dot(&p, ap)?;
            blas.axpy(alpha, &p, x)?;
            blas.axpy(-alpha, ap, r)?;
            let before = std::mem::replace(&mut rr, blas.dot(r, r)?);
            blas.scal(rr / before, &p)?;
            blas.axpy(1.0, r, &p)?;
        }
        cusparse.wait()?;
        Ok(start.elapsed().as_secs_f64() / n as f64)
    }
}
