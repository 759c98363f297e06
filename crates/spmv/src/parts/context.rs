//! Contexts of several devices, and those with peers.

use std::sync::Arc;

use spmv_exec::Options;
use spmv_partition::Part;

use crate::context::Context;
use crate::erased::Scalar;
use crate::error::{Error, Result};
use crate::matrix::Matrix;
use crate::parts::group::{Parts, unsupported};
use crate::parts::peers::Peers;

impl Context {
    /// Several contexts as one, of any backends. A context may be named more than once; [`every`](Self::every) opens all devices of a
    /// backend. [`caps`](Self::caps), [`backend`](Self::backend), [`plan`](Self::plan) and [`Matrix::plan`](crate::Matrix::plan) speak of
    /// the first alone, [`Matrix::explain`](crate::Matrix::explain) of all.
    ///
    /// Matrices are cut by rows, in ranges of about as many nonzeros, and vectors in the same ranges: how the first matrix or vector of
    /// a length is cut decides for all of that length, so prepare the matrix first. Contexts that are all of CUDA, or all of the CPU, exchange ghosts and
    /// sums from device to device, and a queue does not wait for the host. Others do so through memory of the host: there a product
    /// waits for the operations before it, and an operation for the sums that it needs. [`Queue::record`](crate::Queue::record) holds
    /// nothing back. [`Vector::map`](crate::Vector::map), [`Matrix::enqueue`](crate::Matrix::enqueue) and
    /// [`Matrix::capture`](crate::Matrix::capture) are for contexts of one device. Results have the same bits in every run on as many
    /// devices of the same kinds.
    ///
    /// ```
    /// use spmv::{BackendKind, Context, Csr};
    /// let cpu = Context::with(BackendKind::Cpu)?;
    /// let both = Context::devices(&[cpu.clone(), cpu])?;
    /// let a = both.prepare(&Csr::from_coo(2, 2, &[(0, 1, 1.0f32), (1, 0, 2.0)])?)?;
    /// let (x, mut y) = (both.upload(&[3.0, 4.0])?, a.zeros_y()?);
    /// a.apply(1.0, &x, 0.0, &mut y)?;
    /// assert_eq!((y.to_vec()?, y.norm2()?), (vec![4.0, 6.0], 52.0f32.sqrt()));
    /// # Ok::<(), spmv::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Unsupported` for no contexts, and for contexts with the cores of the host, of parts, or with peers.
    ///
    /// Where a product or an operation fails on one device after others changed their part of a vector, reading it is an error
    /// until it is written again.
    pub fn devices(contexts: &[Self]) -> Result<Self> {
        let first = contexts.first().ok_or_else(|| refused("contexts", "name at least one context"))?;
        contexts.iter().try_for_each(Self::check_one)?;
        let devices = contexts.iter().map(|context| Arc::clone(&context.origin.device)).collect();
        Ok(first.on(Arc::new(Parts::new(devices, None))))
    }

    /// This device as the part of one process among several. Lengths, values and matrices are those of this process; products of
    /// matrices that [`prepare_part`](Self::prepare_part) made, scalar products and norms are collective. In a queue, so is whatever
    /// first needs their results. Programs of scalars run on the device of each process: give all of them devices of one kind, or their
    /// results may differ in the last bit.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use spmv::{BackendKind, Context, parts::Peers};
    /// fn join(peers: Arc<dyn Peers>) -> spmv::Result<Context> {
    ///     Context::with(BackendKind::Cpu)?.with_peers(peers)
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`devices`](Self::devices).
    pub fn with_peers(&self, peers: Arc<dyn Peers>) -> Result<Self> {
        self.check_one()?;
        Ok(self.on(Arc::new(Parts::new(vec![Arc::clone(&self.origin.device)], Some(peers)))))
    }

    /// The part that this process holds of a matrix, whose other parts are with its peers. Collective. Rows and columns of the result are
    /// those that the part owns; ghosts are no columns of it.
    ///
    /// ```
    /// use spmv::{Context, Matrix, Options, parts::Part};
    /// fn of_this_process(context: &Context, part: Part<f64>) -> spmv::Result<Matrix<f64>> {
    ///     context.prepare_part(part, &Options::default())
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`prepare_with`](Self::prepare_with), `Unsupported` on a context without peers, and what the transport says.
    pub fn prepare_part<T: Scalar>(&self, part: Part<T>, options: &Options) -> Result<Matrix<T>> {
        self.check_blocks(options)?;
        let erased = T::device(&*self.origin.device).prepare_part(part, options)?;
        Ok(Matrix::new(self.clone(), erased))
    }

    fn check_one(&self) -> Result<()> {
        match self.cores().is_some() || self.origin.device.is_parts() {
            false => Ok(()),
            true => Err(refused("co-execution, and no parts of parts", "use contexts of one device each")),
        }
    }
}

fn refused(what: &str, way_out: &str) -> Error {
    unsupported(what, way_out).into()
}
