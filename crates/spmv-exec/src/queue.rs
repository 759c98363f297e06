//! Operations on vectors and matrices in order, none of which waits.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Weak;
use std::sync::atomic::{AtomicU64, Ordering};

use spmv_backend::arguments::{VecAxpyAypx, VecDot, VecUpdate};
use spmv_backend::codes::{
    DOTS_NONE, DOTS_Y, DOTS_Z, OP_GREATEST, OP_SUM, SOURCE_ONE, SOURCE_WEIGHTED, SOURCE_X,
};
use spmv_backend::{Backend, Memory, Scalar};
use spmv_core::{Accum, Dtype, Value};

use crate::blocks::PanelScratch;
use crate::device::{Device, DeviceVec, Use};
use crate::error::{Error, Result};
use crate::factor::{DeviceScalar, Factor};
use crate::launch::launch;
use crate::numbers::{ByIndices, Cut, Numbers};

/// No two queues, and no two stretches of one between waits, have the same number.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

pub(crate) fn next_id() -> u64 {
    NEXT_ID.fetch_add(1, Ordering::Relaxed)
}

/// Operations in the order given, none of which waits for the device: [`wait`](Self::wait), [`read_scalar`](Self::read_scalar)
/// and whoever reads a vector do.
///
/// A vector may be used elsewhere at any time. Where a queue still writes it, that use waits; so does a write of what a queue still
/// reads. Products whose sums the host repairs ([`Repair::Host`](crate::Repair::Host)) wait too.
///
/// The first product of each matrix allocates its workspace, the first operation of each type scalars and partial sums; kernels are
/// compiled then too. Later ones allocate no memory of the device. A queue that is dropped waits.
///
/// ```
/// # fn with<B: spmv_backend::Backend>(device: spmv_exec::Device<B>) -> Result<(), spmv_exec::Error> {
/// let mut queue = device.queue()?;
/// let (x, mut y) = (device.upload(&[1.0f64, 2.0])?, device.upload(&[10.0, 20.0])?);
/// let s = queue.scalar()?;
/// queue.dot(&x, &x, s)?;
/// queue.axpby(s, &x, 1.0, &mut y)?; // scaled by what the device found
/// assert_eq!(y.to_vec()?, [15.0, 30.0]);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Queue<B: Backend> {
    pub(crate) device: Device<B>,
    pub(crate) stream: B::Stream,
    /// For copies to queues of other devices, at the same time as other operations; opened when first asked for.
    pub(crate) copies: Option<B::Stream>,
    /// By type of sums; made when first asked for.
    numbers: [Option<Numbers<B>>; Dtype::ALL.len()],
    pub(crate) by_indices: ByIndices<B>,
    pub(crate) panels: PanelScratch<B>,
    /// One for each matrix that was multiplied, and whether that is still there: a workspace keeps the matrix's arrays.
    pub(crate) workspaces: HashMap<u64, (Weak<()>, Box<dyn Any + Send>)>,
    id: u64,
    /// The number of what is on its way since the last wait, and whether there is something.
    pub(crate) stretch: u64,
    is_busy: bool,
    /// That which operations are held back for; 0 for none.
    pub(crate) recording: u64,
}

impl<B: Backend> Device<B> {
    /// Opens a queue.
    ///
    /// # Errors
    /// Whatever the driver says about a new stream.
    pub fn queue(&self) -> Result<Queue<B>> {
        let stream = self.backend().open_stream(false)?;
        Ok(Queue {
            device: self.clone(),
            stream,
            copies: None,
            numbers: [const { None }; Dtype::ALL.len()],
            by_indices: ByIndices::default(),
            panels: PanelScratch::default(),
            workspaces: HashMap::new(),
            id: next_id(),
            stretch: next_id(),
            is_busy: false,
            recording: 0,
        })
    }
}

impl<B: Backend> Queue<B> {
    /// The device it is of.
    pub fn device(&self) -> &Device<B> {
        &self.device
    }

    pub(crate) fn numbers<A: Accum>(&mut self) -> Result<&mut Numbers<B>> {
        let Self { device, numbers, .. } = self;
        match &mut numbers[A::DTYPE as usize] {
            Some(numbers) => Ok(numbers),
            none => Ok(none.insert(Numbers::new::<A>(device)?)),
        }
    }

    /// `y <- alpha*x + beta*y`. As in BLAS, a factor of zero does not read what it scales.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Foreign`], [`Error::Unrepaired`], and failures of the device.
    pub fn axpby<A: Accum>(
        &mut self,
        alpha: impl Into<Factor<A>>,
        x: &DeviceVec<B, A>,
        beta: impl Into<Factor<A>>,
        y: &mut DeviceVec<B, A>,
    ) -> Result<()> {
        self.update(alpha.into(), U::Vector(x), beta.into(), y, None)
    }

    /// As [`axpby`](Self::axpby), and the sum of squares of the new `y`, of its absolute values, in one pass.
    ///
    /// # Errors
    /// As [`axpby`](Self::axpby).
    pub fn axpby_dot<A: Accum>(
        &mut self,
        alpha: impl Into<Factor<A>>,
        x: &DeviceVec<B, A>,
        beta: impl Into<Factor<A>>,
        y: &mut DeviceVec<B, A>,
        yy: DeviceScalar<A>,
    ) -> Result<()> {
        self.update(alpha.into(), U::Vector(x), beta.into(), y, Some(Dots { z: None, to: yy }))
    }

    /// As [`axpby`](Self::axpby), and the sum of products of the new `y`, conjugate if it is complex, and `z`, in one pass.
    ///
    /// # Errors
    /// As [`axpby`](Self::axpby).
    #[allow(clippy::too_many_arguments)] // Those of `axpby`, `z` and where the sum goes.
    pub fn axpby_dot_with<A: Accum>(
        &mut self,
        alpha: impl Into<Factor<A>>,
        x: &DeviceVec<B, A>,
        beta: impl Into<Factor<A>>,
        y: &mut DeviceVec<B, A>,
        z: &DeviceVec<B, A>,
        yz: DeviceScalar<A>,
    ) -> Result<()> {
        self.update(alpha.into(), U::Vector(x), beta.into(), y, Some(Dots { z: Some(z), to: yz }))
    }

    /// `x <- alpha*d + x`, then `d <- z + beta*d`, in one pass: how conjugate gradients take a step and a new direction. A factor of zero
    /// does not read what it scales.
    ///
    /// # Errors
    /// As [`axpby`](Self::axpby).
    pub fn axpy_aypx<A: Accum>(
        &mut self,
        alpha: impl Into<Factor<A>>,
        x: &mut DeviceVec<B, A>,
        z: &DeviceVec<B, A>,
        beta: impl Into<Factor<A>>,
        d: &mut DeviceVec<B, A>,
    ) -> Result<()> {
        let (alpha, beta) = (alpha.into(), beta.into());
        same_length(d.len(), [("x", x.len()), ("z", z.len())])?;
        self.reads("z", z)?;
        let [[alpha_num, alpha_den], [beta_num, beta_den]] = self.indices_of([alpha, beta])?;
        let Cut { n, groups, chunk } = self.cut::<A>(d.len())?;
        // Nothing is refused from here on, so that vectors count as written only if they are.
        for (what, vec) in [("x", &*x), ("d", &*d)] {
            vec.is_on(what, &self.device)?;
            vec.check_repaired()?;
        }
        self.writes("x", x, true)?;
        self.writes("d", d, true)?;
        let (device, stream, numbers) = self.parts::<A>();
        let args = VecAxpyAypx {
            n,
            chunk,
            alpha: Scalar::of(alpha.by),
            alpha_num,
            alpha_den,
            beta: Scalar::of(beta.by),
            beta_num,
            beta_den,
            scalars: Memory::Device(&numbers.scalars),
            z: Memory::Device(&z.buffer),
            x: Memory::Device(&x.buffer),
            d: Memory::Device(&d.buffer),
        };
        let done = launch(device, stream, &numbers.step, groups, args);
        (x.unrepaired, d.unrepaired) = (done.is_err(), done.is_err());
        done
    }

    /// `y <- alpha*(d.*x) + beta*y`, number by number.
    ///
    /// # Errors
    /// As [`axpby`](Self::axpby).
    pub fn hadamard<A: Accum>(
        &mut self,
        alpha: impl Into<Factor<A>>,
        d: &DeviceVec<B, A>,
        x: &DeviceVec<B, A>,
        beta: impl Into<Factor<A>>,
        y: &mut DeviceVec<B, A>,
    ) -> Result<()> {
        self.update(alpha.into(), U::Product(d, x), beta.into(), y, None)
    }

    /// As [`hadamard`](Self::hadamard), and the sum of products of the new `y`, conjugate if it is complex, and `z`, in one pass.
    ///
    /// # Errors
    /// As [`axpby`](Self::axpby).
    #[allow(clippy::too_many_arguments)] // Those of `hadamard`, `z` and where the sum goes.
    pub fn hadamard_dot<A: Accum>(
        &mut self,
        alpha: impl Into<Factor<A>>,
        d: &DeviceVec<B, A>,
        x: &DeviceVec<B, A>,
        beta: impl Into<Factor<A>>,
        y: &mut DeviceVec<B, A>,
        z: &DeviceVec<B, A>,
        yz: DeviceScalar<A>,
    ) -> Result<()> {
        self.update(alpha.into(), U::Product(d, x), beta.into(), y, Some(Dots { z: Some(z), to: yz }))
    }

    /// `y <- x`.
    ///
    /// # Errors
    /// As [`axpby`](Self::axpby).
    pub fn copy<A: Accum>(&mut self, x: &DeviceVec<B, A>, y: &mut DeviceVec<B, A>) -> Result<()> {
        self.axpby(A::one(), x, A::zero(), y)
    }

    /// `y <- beta*y`.
    ///
    /// # Errors
    /// As [`axpby`](Self::axpby).
    pub fn scale<A: Accum>(&mut self, beta: impl Into<Factor<A>>, y: &mut DeviceVec<B, A>) -> Result<()> {
        self.update(A::zero().into(), U::One, beta.into(), y, None)
    }

    /// Sets all of `y` to a number.
    ///
    /// # Errors
    /// As [`axpby`](Self::axpby).
    pub fn fill<A: Accum>(&mut self, value: impl Into<Factor<A>>, y: &mut DeviceVec<B, A>) -> Result<()> {
        self.update(value.into(), U::One, A::zero().into(), y, None)
    }

    /// The sum of products of `x`, conjugate if it is complex, and `z`, with the same bits in every run.
    ///
    /// # Errors
    /// As [`axpby`](Self::axpby).
    pub fn dot<A: Accum>(
        &mut self,
        x: &DeviceVec<B, A>,
        z: &DeviceVec<B, A>,
        xz: DeviceScalar<A>,
    ) -> Result<()> {
        self.reduction(OP_SUM, x, z, xz)
    }

    /// The greatest absolute value of `x`; 0 without any. A NaN counts as the greatest where the device knows NaN.
    ///
    /// # Errors
    /// As [`axpby`](Self::axpby).
    pub fn norm_inf<A: Accum>(&mut self, x: &DeviceVec<B, A>, norm: DeviceScalar<A>) -> Result<()> {
        self.reduction(OP_GREATEST, x, x, norm)
    }

    fn reduction<A: Accum>(
        &mut self,
        op: u32,
        x: &DeviceVec<B, A>,
        z: &DeviceVec<B, A>,
        to: DeviceScalar<A>,
    ) -> Result<()> {
        same_length(x.len(), [("z", z.len())])?;
        self.reads("x", x)?;
        self.reads("z", z)?;
        let to = self.index_of(Some(to))?;
        let Cut { n, groups, chunk } = self.cut::<A>(x.len())?;
        let (device, stream, numbers) = self.parts::<A>();
        let (x, z) = (Memory::Device(&x.buffer), Memory::Device(&z.buffer));
        let partials = Memory::Device(&numbers.partials);
        launch(device, stream, &numbers.dot, groups, VecDot { n, chunk, op, x, z, partials })?;
        numbers.finish_reduction(device, stream, op, groups, to)
    }

    fn update<A: Accum>(
        &mut self,
        alpha: Factor<A>,
        u: U<'_, B, A>,
        beta: Factor<A>,
        y: &mut DeviceVec<B, A>,
        dots: Option<Dots<'_, B, A>>,
    ) -> Result<()> {
        let z = dots.as_ref().and_then(|dots| dots.z);
        let (source, d, x) = match u {
            U::Vector(x) => (SOURCE_X, None, Some(x)),
            U::Product(d, x) => (SOURCE_WEIGHTED, Some(d), Some(x)),
            U::One => (SOURCE_ONE, None, None),
        };
        let read = [("x", x), ("d", d), ("z", z)].into_iter().filter_map(|(name, v)| Some((name, v?)));
        for (name, vec) in read {
            same_length(y.len(), [(name, vec.len())])?;
            self.reads(name, vec)?;
        }
        let [[alpha_num, alpha_den], [beta_num, beta_den]] = self.indices_of([alpha, beta])?;
        let to = self.index_of(dots.as_ref().map(|dots| dots.to))?;
        let Cut { n, groups, chunk } = self.cut::<A>(y.len())?;
        // Nothing is refused from here on, so that a vector counts as written only if it is.
        self.writes("y", y, !beta.by.is_zero())?;
        let (device, stream, numbers) = self.parts::<A>();
        // What is not read are the scalars, which this kernel does not write.
        let scalars = Memory::Device(&numbers.scalars);
        let args = VecUpdate {
            n,
            chunk,
            source,
            dots: match dots {
                None => DOTS_NONE,
                Some(Dots { z: None, .. }) => DOTS_Y,
                Some(Dots { z: Some(_), .. }) => DOTS_Z,
            },
            alpha: Scalar::of(alpha.by),
            alpha_num,
            alpha_den,
            beta: Scalar::of(beta.by),
            beta_num,
            beta_den,
            scalars,
            d: Memory::Device(d.map_or(&numbers.scalars, |d| &d.buffer)),
            x: Memory::Device(x.map_or(&numbers.scalars, |x| &x.buffer)),
            z: Memory::Device(z.map_or(&numbers.scalars, |z| &z.buffer)),
            y: Memory::Device(&y.buffer),
            partials: Memory::Device(&numbers.partials),
        };
        let launched = launch(device, stream, &numbers.update, groups, args);
        let done = launched.and_then(|()| match dots {
            Some(_) => numbers.finish_reduction(device, stream, OP_SUM, groups, to),
            None => Ok(()),
        });
        y.unrepaired = done.is_err();
        done
    }

    /// The number of a scalar; of that which is 1, without one.
    pub(crate) fn index_of<A>(&self, scalar: Option<DeviceScalar<A>>) -> Result<u32> {
        match scalar {
            None => Ok(0),
            Some(scalar) if scalar.queue == self.id => Ok(scalar.at),
            Some(_) => Err(Error::Foreign { what: "the scalar", to: "queue" }),
        }
    }

    /// The numbers of numerator and denominator of two factors.
    fn indices_of<A>(&self, [alpha, beta]: [Factor<A>; 2]) -> Result<[[u32; 2]; 2]> {
        let indices = |of: Factor<A>| -> Result<_> { Ok([self.index_of(of.num)?, self.index_of(of.den)?]) };
        Ok([indices(alpha)?, indices(beta)?])
    }

    /// How vectors of a length are cut, by kernels that are there from now on.
    pub(crate) fn cut<A: Accum>(&mut self, len: usize) -> Result<Cut> {
        self.numbers::<A>()?;
        Cut::of(&self.device, len, self.parts::<A>().2)
    }

    /// No other queue has the same.
    #[doc(hidden)]
    pub fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn parts<A: Accum>(&self) -> (&Device<B>, &B::Stream, &Numbers<B>) {
        let numbers = &self.numbers[A::DTYPE as usize];
        (&self.device, &self.stream, numbers.as_ref().expect("made before"))
    }

    pub(crate) fn parts_mut<A: Accum>(&mut self) -> (&Device<B>, &B::Stream, &mut Numbers<B>) {
        let numbers = &mut self.numbers[A::DTYPE as usize];
        (&self.device, &self.stream, numbers.as_mut().expect("made before"))
    }

    pub(crate) fn reads<V: Value>(&mut self, what: &'static str, vec: &DeviceVec<B, V>) -> Result<()> {
        vec.is_on(what, &self.device)?;
        vec.check_repaired()?;
        self.begin();
        vec.read_by(self.use_now())
    }

    pub(crate) fn writes<V: Value>(
        &mut self,
        what: &'static str,
        vec: &mut DeviceVec<B, V>,
        also_reads: bool,
    ) -> Result<()> {
        vec.is_on(what, &self.device)?;
        if also_reads {
            vec.check_repaired()?;
        }
        self.begin();
        vec.written_by(self.use_now())
    }

    pub(crate) fn use_now(&self) -> Use {
        Use { stretch: self.stretch, recording: self.recording }
    }

    pub(crate) fn begin(&mut self) {
        if !std::mem::replace(&mut self.is_busy, true) {
            self.device.stretches().live.push(self.stretch);
        }
    }

    /// Hands over what has been queued, so that the device begins; waiting does so too.
    ///
    /// # Errors
    /// Failures of the device.
    pub fn submit(&mut self) -> Result<()> {
        self.release()?;
        let submitted = self.device.backend().submit(&self.stream);
        self.passed(submitted)
    }

    /// Waits until all operations are done.
    ///
    /// # Errors
    /// Failures of the device; what vectors then hold is unspecified.
    pub fn wait(&mut self) -> Result<()> {
        self.release()?;
        let waited = self.streams().try_for_each(|stream| self.device.backend().finish(stream));
        self.passed(waited)?;
        self.end();
        Ok(())
    }

    /// After a failure counters of workspaces may not be zero: the next product makes new ones.
    pub(crate) fn passed(&mut self, result: spmv_backend::Result<()>) -> Result<()> {
        if result.is_err() {
            self.workspaces.clear();
        }
        Ok(result?)
    }

    /// Nothing is on its way any more.
    pub(crate) fn end(&mut self) {
        if std::mem::take(&mut self.is_busy) {
            let stretch = self.stretch;
            self.device.stretches().live.retain(|live| *live != stretch);
            self.stretch = next_id();
        }
    }
}

impl<B: Backend> Drop for Queue<B> {
    fn drop(&mut self) {
        let _ = self.release();
        if self.is_busy {
            for stream in self.streams() {
                self.device.settle(stream);
            }
            self.end();
        }
    }
}

/// u of `y <- a*u + b*y`.
enum U<'a, B: Backend, A> {
    Vector(&'a DeviceVec<B, A>),
    Product(&'a DeviceVec<B, A>, &'a DeviceVec<B, A>),
    One,
}

/// What the new y is multiplied by (itself without z), and where the sum goes.
struct Dots<'a, B: Backend, A> {
    z: Option<&'a DeviceVec<B, A>>,
    to: DeviceScalar<A>,
}

pub(crate) fn same_length<const N: usize>(
    expected: usize,
    lengths: [(&'static str, usize); N],
) -> Result<()> {
    match lengths.into_iter().find(|(_, found)| *found != expected) {
        Some((what, found)) => Err(Error::Length { what, found, expected }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use spmv_core::Csr;
    use spmv_cpu::{Cpu, Options as CpuOptions};

    use super::*;
    use crate::Options;

    fn device() -> Device<Cpu> {
        Device::new(Cpu::open(CpuOptions::default()).unwrap()).unwrap()
    }

    #[test]
    fn workspaces_of_matrices_that_are_gone_are_freed() {
        let device = device();
        let mut queue = device.queue().unwrap();
        let (x, mut y) = (device.upload(&[1.0f64]).unwrap(), device.zeros(1).unwrap());
        for i in 1..9 {
            let a = Csr::from_coo(1, 1, &[(0, 0, f64::from(i))]).unwrap();
            let a = device.prepare(a.view(), &Options::default()).unwrap();
            queue.apply(&a, 1.0, &x, 0.0, &mut y).unwrap();
            assert_eq!((y.to_vec().unwrap(), queue.workspaces.len()), (vec![f64::from(i)], 1));
        }
    }

    #[test]
    fn what_is_refused_repairs_nothing() {
        let device = device();
        let (mut queue, mut other) = (device.queue().unwrap(), device.queue().unwrap());
        let a = Csr::from_coo(1, 1, &[(0, 0, 2.0f64)]).unwrap();
        let a = device.prepare(a.view(), &Options::default()).unwrap();
        let (x, mut y) = (device.upload(&[1.0]).unwrap(), device.zeros(1).unwrap());
        let mut workspace = a.workspace().unwrap();
        std::mem::forget(a.enqueue(&mut workspace, 1.0, &x, 0.0, &mut y).unwrap());
        let foreign = other.scalar::<f64>().unwrap();
        assert!(matches!(queue.axpby(foreign, &x, 0.0, &mut y), Err(Error::Foreign { .. })));
        assert_eq!(y.to_vec(), Err(Error::Unrepaired));
        assert_eq!(queue.axpby(1.0, &x, 1.0, &mut y), Err(Error::Unrepaired));
        queue.axpby(3.0, &x, 0.0, &mut y).unwrap();
        assert_eq!(y.to_vec().unwrap(), [3.0]);
    }
}
