//! Arithmetic on scalars that the host never sees.

use std::marker::PhantomData;
use std::ops::{Add, Div, Mul, Sub};

use spmv_backend::arguments::VecScalars;
use spmv_backend::{Backend, Error as DeviceError, Memory, codes};
use spmv_core::Accum;

use crate::device::bytes_of;
use crate::error::{Error, Result};
use crate::factor::DeviceScalar;
use crate::launch::launch;
use crate::queue::Queue;

/// Steps of a program at most: one lane takes them, and some devices end long loops.
const MAX_STEPS: usize = 1 << 14;
/// Numbers of a step, as `vec_scalars` reads them.
const NUMBERS: usize = 4;

/// An operation on one or two scalars of a queue: what `+`, `-`, `*`, `/` and the methods of [`DeviceScalar`] make. A quotient with a
/// zero is zero, as in [`DeviceScalar::over`].
///
/// ```
/// # fn with<B: spmv_backend::Backend>(queue: &mut spmv_exec::Queue<B>) -> Result<(), spmv_exec::Error> {
/// use spmv_exec::Operation;
/// let (a, b) = (queue.scalar::<f64>()?, queue.scalar()?);
/// let (product, root): (Operation<f64>, Operation<f64>) = (a * b, a.sqrt());
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Operation<A> {
    /// Of [`codes`](spmv_backend::codes).
    op: u32,
    a: DeviceScalar<A>,
    b: DeviceScalar<A>,
}

/// An operation, and the scalar that it sets: a step of a [`Program`].
///
/// ```
/// # fn with<B: spmv_backend::Backend>(queue: &mut spmv_exec::Queue<B>) -> Result<(), spmv_exec::Error> {
/// use spmv_exec::Assignment;
/// let (a, b) = (queue.scalar::<f64>()?, queue.scalar()?);
/// let step: Assignment<f64> = a.set(a + b);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Assignment<A> {
    operation: Operation<A>,
    to: DeviceScalar<A>,
}

/// Steps that a queue holds on the device, which [`Queue::compute`] takes in order. They last as long as the queue.
///
/// ```
/// # fn with<B: spmv_backend::Backend>(device: spmv_exec::Device<B>) -> Result<(), spmv_exec::Error> {
/// let mut queue = device.queue()?;
/// let (x, xx, norm) = (device.upload(&[3.0f64, 4.0])?, queue.scalar()?, queue.scalar()?);
/// let root = queue.program(&[norm.set(xx.sqrt())])?;
/// queue.dot(&x, &x, xx)?;
/// queue.compute(root)?;
/// assert_eq!(queue.read_scalar(norm)?, 5.0);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Program<A> {
    at: usize,
    n_steps: u32,
    queue: u64,
    of: PhantomData<A>,
}

// Not derived: `A` need not be `Copy`.
macro_rules! copies {
    ($($name:ident)*) => {$(
        impl<A> Clone for $name<A> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<A> Copy for $name<A> {}
    )*};
}

copies!(Operation Assignment Program);

macro_rules! operators {
    ($($name:ident $method:ident $op:ident)*) => {$(
        impl<A> $name for DeviceScalar<A> {
            type Output = Operation<A>;

            fn $method(self, other: Self) -> Operation<A> {
                Operation { op: codes::$op, a: self, b: other }
            }
        }
    )*};
}

operators!(Add add OP_ADD Sub sub OP_SUBTRACT Mul mul OP_MULTIPLY Div div OP_DIVIDE);

/// A copy.
impl<A> From<DeviceScalar<A>> for Operation<A> {
    fn from(scalar: DeviceScalar<A>) -> Self {
        Self { op: codes::OP_COPY, a: scalar, b: scalar }
    }
}

impl<A> DeviceScalar<A> {
    /// The square root; of a negative number NaN, where the device knows NaN.
    pub fn sqrt(self) -> Operation<A> {
        Operation { op: codes::OP_SQRT, a: self, b: self }
    }

    /// The absolute value.
    pub fn abs(self) -> Operation<A> {
        Operation { op: codes::OP_ABS, a: self, b: self }
    }

    /// The greater of two; a NaN counts as such where the device knows NaN. Complex numbers compare as their real parts.
    pub fn greater(self, other: Self) -> Operation<A> {
        Operation { op: codes::OP_GREATER, a: self, b: other }
    }

    /// The lesser of two; a NaN counts as such where the device knows NaN. Complex numbers compare as their real parts.
    pub fn lesser(self, other: Self) -> Operation<A> {
        Operation { op: codes::OP_LESSER, a: self, b: other }
    }

    /// The step that sets this scalar, or copies another one to it.
    pub fn set(self, operation: impl Into<Operation<A>>) -> Assignment<A> {
        Assignment { operation: operation.into(), to: self }
    }
}

impl<A> Assignment<A> {
    /// The same step on the scalars of another queue. Scalars of a third one stay.
    #[doc(hidden)]
    #[must_use]
    pub fn in_queue(&self, from: u64, to: u64) -> Self {
        let Operation { op, a, b } = self.operation;
        let operation = Operation { op, a: a.in_queue(from, to), b: b.in_queue(from, to) };
        Self { operation, to: self.to.in_queue(from, to) }
    }
}

/// Programs are numbered as scalars are, in the order in which a queue copies them.
impl<A> Program<A> {
    /// The program of the same number in another queue; one of a third queue stays.
    #[doc(hidden)]
    #[must_use]
    pub fn in_queue(self, from: u64, to: u64) -> Self {
        Self { queue: if self.queue == from { to } else { self.queue }, ..self }
    }
}

impl<B: Backend> Queue<B> {
    /// Copies the steps of a program to the device, with the queue's other memory: once, before an iteration. The first program of each
    /// type compiles a kernel.
    ///
    /// # Errors
    /// [`Error::Foreign`] for scalars of another queue, `Unsupported` above 16,384 steps, out of memory.
    pub fn program<A: Accum>(&mut self, steps: &[Assignment<A>]) -> Result<Program<A>> {
        if steps.len() > MAX_STEPS {
            let what = format!("a program of {} steps", steps.len());
            let name = &*self.device().caps().name;
            return Err(DeviceError::unsupported(name, what, "make several programs").into());
        }
        let mut numbers = Vec::with_capacity(NUMBERS * steps.len());
        for Assignment { operation: Operation { op, a, b }, to } in steps {
            numbers.push(*op);
            for scalar in [a, b, to] {
                numbers.push(self.index_of(Some(*scalar))?);
            }
        }
        let at = self.keep_program::<A>(&numbers)?;
        Ok(Program { at, n_steps: steps.len() as u32, queue: self.id(), of: PhantomData })
    }

    fn keep_program<A: Accum>(&mut self, steps: &[u32]) -> Result<usize> {
        self.release()?;
        let device = self.device().clone();
        self.numbers::<A>()?.with_programs::<A>(&device)?;
        let mut buffer = device.backend().alloc(bytes_of::<u32>(steps.len()))?;
        let (device, stream, numbers) = self.parts_mut::<A>();
        device.backend().write(stream, &mut buffer, 0, bytemuck::cast_slice(steps))?;
        numbers.programs.push(buffer);
        Ok(numbers.programs.len() - 1)
    }

    /// Takes the steps of a program in order. Allocates nothing and does not wait.
    ///
    /// # Errors
    /// [`Error::Foreign`] for a program of another queue, and failures of the device.
    pub fn compute<A: Accum>(&mut self, program: Program<A>) -> Result<()> {
        if program.queue != self.id() {
            return Err(Error::Foreign { what: "the program", to: "queue" });
        }
        if program.n_steps == 0 {
            return Ok(());
        }
        self.begin();
        let (device, stream, numbers) = self.parts::<A>();
        let kernel = numbers.compute.as_ref().expect("compiled with the first program");
        let (steps, scalars) =
            (Memory::Device(&numbers.programs[program.at]), Memory::Device(&numbers.scalars));
        launch(device, stream, kernel, 1, VecScalars { n_steps: program.n_steps, program: steps, scalars })
    }
}
