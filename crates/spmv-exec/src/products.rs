//! Products in a queue, with what solvers do with the result in the same pass.

use std::sync::Arc;

use num_traits::Zero;
use spmv_backend::arguments::Axpby;
use spmv_backend::{Backend, KernelId, Memory};
use spmv_core::{Accum, Value};

use crate::device::DeviceVec;
use crate::error::{Error, Result};
use crate::launch::{Scaling, finish, launch};
use crate::method::Repair;
use crate::numbers;
use crate::prepared::Prepared;
use crate::queue::{Queue, same_length};
use crate::workspace::Workspace;

/// What else becomes of a product, for [`Queue::apply_with`].
///
/// ```
/// # fn with<B: spmv_backend::Backend>(b: &spmv_exec::DeviceVec<B, f64>) {
/// use spmv_exec::Epilogue;
/// let residual = Epilogue::new().plus(b);
/// let not_negative = Epilogue::<B, f64>::new().clamp(0.0, f64::INFINITY);
/// # }
/// ```
#[derive(Debug)]
pub struct Epilogue<'a, B: Backend, A: Accum> {
    z: Option<&'a DeviceVec<B, A>>,
    bounds: Option<[A; 2]>,
}

// Not derived: `B` need not be `Copy`.
impl<B: Backend, A: Accum> Clone for Epilogue<'_, B, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B: Backend, A: Accum> Copy for Epilogue<'_, B, A> {}

impl<B: Backend, A: Accum> Default for Epilogue<'_, B, A> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a, B: Backend, A: Accum> Epilogue<'a, B, A> {
    /// None.
    pub fn new() -> Self {
        Self { z: None, bounds: None }
    }

    /// `beta` scales `z`, which is not written, in place of `y`, which is not read.
    #[must_use]
    pub fn plus(self, z: &'a DeviceVec<B, A>) -> Self {
        Self { z: Some(z), ..self }
    }

    /// What is less than `lo` becomes `lo`, and what is more than `hi` becomes `hi`, when all has been added. Either may be infinite. What
    /// is no number stays so.
    #[must_use]
    pub fn clamp(self, lo: A, hi: A) -> Self {
        Self { bounds: Some([lo, hi]), ..self }
    }
}

/// Refuses bounds between which there is nothing.
#[doc(hidden)]
pub fn check_bounds<A: Accum>(bounds: Option<[A; 2]>) -> Result<()> {
    let why = match bounds {
        Some(_) if A::DTYPE.is_complex() => "complex numbers have no order",
        // Neither may be no number.
        Some([lo, hi]) if lo.exceeds(hi) || hi.exceeds(hi) => {
            "the lower one must be less than the upper one, or equal"
        }
        _ => return Ok(()),
    };
    Err(Error::Bounds { why })
}

impl<B: Backend> Queue<B> {
    /// `y <- alpha*A*x + beta*y`, as [`Prepared::apply`].
    ///
    /// # Errors
    /// As [`Prepared::enqueue`].
    pub fn apply<T: Value>(
        &mut self,
        a: &Prepared<B, T>,
        alpha: T::Accum,
        x: &DeviceVec<B, T>,
        beta: T::Accum,
        y: &mut DeviceVec<B, T::Accum>,
    ) -> Result<()> {
        self.apply_with(a, alpha, x, beta, y, Epilogue::new())
    }

    /// `y <- clamp(alpha*A*x + beta*z)`, as `epilogue` says: without a pass of its own over vectors. Only where several launches add to a row
    /// (`hyb`, and rows that are too long for one launch) a pass over `y` clamps it.
    ///
    /// ```
    /// # fn with<B: spmv_backend::Backend>(device: spmv_exec::Device<B>) -> Result<(), spmv_exec::Error> {
    /// use spmv_exec::Epilogue;
    /// let a = spmv_core::Csr::from_coo(2, 2, &[(0, 0, 2.0f64), (1, 1, 3.0)])?;
    /// let a = device.prepare(a.view(), &Default::default())?;
    /// let (x, b) = (device.upload(&[1.0, 1.0])?, device.upload(&[5.0, 5.0])?);
    /// let (mut queue, mut r) = (device.queue()?, device.zeros(2)?);
    /// queue.apply_with(&a, -1.0, &x, 1.0, &mut r, Epilogue::new().plus(&b))?;
    /// assert_eq!(r.to_vec()?, [3.0, 2.0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`apply`](Self::apply), for `z` as for `y`, and [`Error::Bounds`].
    pub fn apply_with<T: Value>(
        &mut self,
        a: &Prepared<B, T>,
        alpha: T::Accum,
        x: &DeviceVec<B, T>,
        beta: T::Accum,
        y: &mut DeviceVec<B, T::Accum>,
        epilogue: Epilogue<'_, B, T::Accum>,
    ) -> Result<()> {
        if !a.device().is(&self.device) {
            return Err(Error::Foreign { what: "the matrix", to: "device" });
        }
        a.check_lengths(x.len(), y.len())?;
        let Epilogue { z, bounds } = epilogue;
        z.map_or(Ok(()), |z| same_length(y.len(), [("z", z.len())]))?;
        check_bounds(bounds)?;
        let on_host = a.plan().repair == Repair::Host;
        if on_host {
            self.release()?;
        }
        self.reads("x", x)?;
        z.map_or(Ok(()), |z| self.reads("z", z))?;
        if !self.workspaces.contains_key(&a.id) {
            let own = a.workspace()?;
            // What it zeroes, it zeroes on a stream of its own.
            self.device.backend().finish(&own.stream)?;
            self.workspaces.retain(|_, (matrix, _)| matrix.strong_count() > 0);
            self.workspaces.insert(a.id, (Arc::downgrade(&a.alive), Box::new(own)));
        }
        self.writes("y", y, z.is_none() && !beta.is_zero())?;
        a.read_by(self.use_now());
        let (alive, own) = self.workspaces.remove(&a.id).expect("inserted above");
        let mut own = own.downcast::<Workspace<B, T>>().expect("the workspace of a matrix has its type");
        // Runs of this workspace are on the queue's stream alone.
        std::mem::swap(&mut own.stream, &mut self.stream);
        let z = z.map(|z| Memory::Device(&z.buffer));
        let vectors = (Memory::Device(&x.buffer), Memory::Device(&y.buffer), z);
        let scaling = Scaling { alpha, beta, bounds: bounds.filter(|_| a.finishes_rows) };
        let mut ran = a.launch_on_queue(&mut own, scaling, vectors);
        if ran.is_ok() && on_host {
            ran = a.repair_on_queue(&mut own, scaling, y, z);
        }
        std::mem::swap(&mut own.stream, &mut self.stream);
        self.workspaces.insert(a.id, (alive, own));
        if ran.is_err() {
            y.unrepaired = true;
            let _ = self.release();
            self.device.settle(&self.stream);
        }
        match bounds {
            Some([lo, hi]) if ran.is_ok() && !a.finishes_rows => self.clamp(lo, hi, y),
            _ => ran,
        }
    }

    /// Clamps `y` as [`Epilogue::clamp`] does, in a pass of its own.
    ///
    /// # Errors
    /// As [`axpby`](Self::axpby), and [`Error::Bounds`].
    pub fn clamp<A: Accum>(&mut self, lo: A, hi: A, y: &mut DeviceVec<B, A>) -> Result<()> {
        check_bounds(Some([lo, hi]))?;
        self.writes("y", y, true)?;
        let n_rows = numbers::counted(&self.device, y.len())?;
        let kernel = self.device.compiled(&numbers::spec(&self.device, KernelId::Axpby, A::DTYPE)?)?;
        let scaling = Scaling { alpha: A::zero(), beta: A::one(), bounds: Some([lo, hi]) };
        let finish = finish(&self.device, scaling, None);
        let args = Axpby {
            n_rows,
            row_base: 0,
            finish,
            t: Memory::Device(self.device.nothing()),
            y: Memory::Device(&y.buffer),
        };
        let groups = n_rows.div_ceil(kernel.spec.tiling.group_lanes());
        let done = launch(&self.device, &self.stream, &kernel, groups, args);
        y.unrepaired = done.is_err();
        done
    }
}
