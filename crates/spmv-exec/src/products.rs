//! Products in a queue, with what solvers do with the result in the same pass.

use std::sync::Arc;

use num_traits::Zero;
use spmv_backend::arguments::Axpby;
use spmv_backend::{Backend, KernelId, Memory, Scalar};
use spmv_core::{Accum, Value};

use crate::device::DeviceVec;
use crate::error::{Error, Result};
use crate::factor::DeviceScalar;
use crate::launch::{Finish, Scaling, launch};
use crate::method::Repair;
use crate::numbers;
use crate::prepared::Prepared;
use crate::queue::{OP_SUM, Queue, same_length};
use crate::run::Vectors;
use crate::workspace::Workspace;

/// Partial sums at most that one group adds.
const MOST_PARTIALS: u32 = 1 << 20;

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
    dot: Option<(&'a DeviceVec<B, A>, DeviceScalar<A>)>,
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
        Self { z: None, bounds: None, dot: None }
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

    /// The sum of products of `w`, conjugate if it is complex, and the new `y` goes to `to`, with the same bits in every run.
    #[must_use]
    pub fn dot(self, w: &'a DeviceVec<B, A>, to: DeviceScalar<A>) -> Self {
        Self { dot: Some((w, to)), ..self }
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

fn memory<B: Backend, A>(vec: &DeviceVec<B, A>) -> Memory<'_, B> {
    Memory::Device(&vec.buffer)
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

    /// `y <- clamp(alpha*A*x + beta*z)`, and its product with `w`, as `epilogue` says: without a pass of its own over vectors.
    ///
    /// Passes are taken where several launches add to a row (`hyb`, and rows that are too long for one launch), and for the product with `w` also
    /// where sums are repaired, by `coo` and `ipcsr`, and where `sell` cuts rows.
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
        let Epilogue { z, bounds, dot } = epilogue;
        let w = dot.map(|(w, _)| w);
        for (what, vec) in [("z", z), ("w", w)].into_iter().filter_map(|(what, vec)| Some((what, vec?))) {
            same_length(y.len(), [(what, vec.len())])?;
            vec.is_on(what, &self.device)?;
            vec.check_repaired()?;
        }
        let to = self.index_of(dot.map(|(_, to)| to))?;
        if dot.is_some() {
            self.numbers::<T::Accum>()?;
        }
        check_bounds(bounds)?;
        if !self.workspaces.contains_key(&a.id) {
            let own = a.workspace()?;
            // What it zeroes, it zeroes on a stream of its own.
            self.device.backend().finish(&own.stream)?;
            self.workspaces.retain(|_, (matrix, _)| matrix.strong_count() > 0);
            self.workspaces.insert(a.id, (Arc::downgrade(&a.alive), Box::new(own)));
        }
        let in_pass = a.partials.filter(|n| dot.is_some() && *n <= MOST_PARTIALS);
        if let (Some(n), Some((_, own))) = (in_pass, self.workspaces.get_mut(&a.id)) {
            let own = own.downcast_mut::<Workspace<B, T>>().expect("the workspace of a matrix has its type");
            if own.partials.is_none() {
                own.partials = Some(self.device.scratch::<T::Accum>(n as usize)?);
            }
        }
        let on_host = a.plan().repair == Repair::Host;
        if on_host {
            self.release()?;
        }
        self.reads("x", x)?;
        for (what, vec) in [("z", z), ("w", w)] {
            vec.map_or(Ok(()), |vec| self.reads(what, vec))?;
        }
        self.writes("y", y, z.is_none() && !beta.is_zero())?;
        a.read_by(self.use_now());
        let (alive, own) = self.workspaces.remove(&a.id).expect("inserted above");
        let mut own = own.downcast::<Workspace<B, T>>().expect("the workspace of a matrix has its type");
        // Runs of this workspace are on the queue's stream alone.
        std::mem::swap(&mut own.stream, &mut self.stream);
        let w = w.filter(|_| in_pass.is_some()).map(memory);
        let vectors = Vectors { x: memory(x), y: memory(y), z: z.map(memory), w };
        let scaling = Scaling { alpha, beta, bounds: bounds.filter(|_| a.finishes_rows) };
        let mut ran = a.launch_on_queue(&mut own, scaling, vectors);
        if ran.is_ok() && on_host {
            ran = a.repair_on_queue(&mut own, scaling, y, z.map(memory));
        }
        std::mem::swap(&mut own.stream, &mut self.stream);
        if let (Ok(()), Some(n), Some(partials)) = (&ran, in_pass, &own.partials) {
            let (device, stream, numbers) = self.parts::<T::Accum>();
            ran = numbers.finish_reduction(device, stream, OP_SUM, (partials, n), to);
        }
        self.workspaces.insert(a.id, (alive, own));
        if ran.is_err() {
            y.unrepaired = true;
            let _ = self.release();
            self.device.settle(&self.stream);
        }
        ran?;
        if let Some([lo, hi]) = bounds.filter(|_| !a.finishes_rows) {
            self.clamp(lo, hi, y)?;
        }
        match dot {
            Some((w, to)) if in_pass.is_none() => self.dot(w, y, to),
            _ => Ok(()),
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
        let finish = Finish::new(&self.device, A::one(), None, Some([lo, hi]), None);
        let args = Axpby {
            n_rows,
            row_base: 0,
            epilogue: finish.epilogue,
            alpha: Scalar::of(A::zero()),
            beta: finish.beta,
            lo: finish.lo,
            hi: finish.hi,
            t: finish.z,
            z: finish.z,
            y: Memory::Device(&y.buffer),
        };
        let groups = n_rows.div_ceil(kernel.spec.tiling.group_lanes());
        let done = launch(&self.device, &self.stream, &kernel, groups, args);
        y.unrepaired = done.is_err();
        done
    }
}
