//! Queues of all backends.

use std::any::Any;
use std::fmt::Debug;
use std::ops::Range;

use spmv_backend::Backend;
use spmv_core::{Accum, Value, c32, c64};
use spmv_exec::{
    Assignment, BlockShape, DeviceScalar, DeviceVec, Error, Factor, Indices, Lane, Mark, Program, Queue,
    Result,
};

use crate::erased_matrix::{AnyEpilogue, AnyIndices, AnyMatrix, AnyVector, Mismatch, own, own_mut};

/// A queue of any backend, for every type.
pub trait AnyQueue:
    ProductsOfEach + VectorsOf<f32> + VectorsOf<f64> + VectorsOf<c32> + VectorsOf<c64> + Any + Debug + Send
{
    fn id(&self) -> u64;
    fn mark(&mut self, _: Lane) -> Result<Box<dyn AnyMark>> {
        Err(of_parts())
    }
    fn after(&mut self, _: Lane, _mark: &dyn AnyMark) -> Result<(), Mismatch> {
        Err(of_parts().into())
    }
    fn hold(&mut self) -> bool;
    fn release(&mut self) -> Result<()>;
    fn submit(&mut self) -> Result<()>;
    fn wait(&mut self) -> Result<()>;
}

/// What only queues of one device are asked for.
fn of_parts() -> Error {
    spmv_backend::Error::unsupported("a queue of parts", "parts", "use queues of one device").into()
}

/// A point in the order of a queue of any backend.
pub trait AnyMark: Any + Debug {}

impl<B: Backend> AnyMark for Mark<B> {}

macro_rules! each {
    ($($variant:ident $t:ty, $capitals:literal;)*) => {
        /// Products of every value type.
        pub trait ProductsOfEach: $(ProductsOf<$t> +)* {}
        impl<Q: $(ProductsOf<$t> +)*> ProductsOfEach for Q {}
    };
}

spmv_core::for_each_value!(each);

/// Products of one value type, and vectors of it.
pub trait ProductsOf<T: Value> {
    fn apply(
        &mut self,
        a: &dyn AnyMatrix<T>,
        alpha: T::Accum,
        x: &dyn AnyVector<T>,
        beta: T::Accum,
        y: &mut dyn AnyVector<T::Accum>,
        epilogue: AnyEpilogue<'_, T::Accum>,
    ) -> Result<(), Mismatch>;
    /// With several right-hand sides.
    fn apply_block(
        &mut self,
        _a: &dyn AnyMatrix<T>,
        _alpha: T::Accum,
        _x: (&dyn AnyVector<T>, BlockShape),
        _beta: T::Accum,
        _y: (&mut dyn AnyVector<T::Accum>, BlockShape),
    ) -> Result<(), Mismatch> {
        let what = "products with several right-hand sides";
        let with_cores = "a queue with the cores of the host";
        Err(Error::from(spmv_backend::Error::unsupported(with_cores, what, "use one device")).into())
    }
    /// `to[i] <- from[at[i]]`.
    fn gather(
        &mut self,
        _from: &dyn AnyVector<T>,
        _at: &dyn AnyIndices,
        _to: &mut dyn AnyVector<T>,
    ) -> Result<(), Mismatch> {
        Err(of_parts().into())
    }
    /// `to[to_at..] <- from[range]`, among the copies.
    fn copy_to_peer(
        &mut self,
        _from: &dyn AnyVector<T>,
        _range: Range<usize>,
        _peer: &mut dyn AnyQueue,
        _to: &mut dyn AnyVector<T>,
        _to_at: usize,
    ) -> Result<(), Mismatch> {
        Err(of_parts().into())
    }
}

/// A vector, or the product of two, number by number.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a, A> {
    One(&'a dyn AnyVector<A>),
    Product(&'a dyn AnyVector<A>, &'a dyn AnyVector<A>),
}

/// What the new `y` is multiplied by, and where the sum goes.
#[derive(Clone, Copy, Debug)]
pub struct DotInto<'a, A> {
    pub with: Option<&'a dyn AnyVector<A>>,
    pub to: DeviceScalar<A>,
}

/// Vectors of one type of sums.
pub trait VectorsOf<A: Accum> {
    fn scalar(&mut self) -> Result<DeviceScalar<A>>;
    fn read_scalars(&mut self, from: &[DeviceScalar<A>], values: &mut [A]) -> Result<()>;
    fn write_scalar(&mut self, value: A, to: DeviceScalar<A>) -> Result<()>;
    fn program(&mut self, steps: &[Assignment<A>]) -> Result<Program<A>>;
    fn compute(&mut self, program: Program<A>) -> Result<()>;
    fn update(
        &mut self,
        alpha: Factor<A>,
        u: Source<'_, A>,
        beta: Factor<A>,
        y: &mut dyn AnyVector<A>,
        dot: Option<DotInto<'_, A>>,
    ) -> Result<(), Mismatch>;
    fn axpy_aypx(
        &mut self,
        alpha: Factor<A>,
        x: &mut dyn AnyVector<A>,
        z: &dyn AnyVector<A>,
        beta: Factor<A>,
        d: &mut dyn AnyVector<A>,
    ) -> Result<(), Mismatch>;
    /// `y[at[i]] <- y[at[i]] + x[i]`.
    fn scatter_add(
        &mut self,
        _x: &dyn AnyVector<A>,
        _at: &dyn AnyIndices,
        _y: &mut dyn AnyVector<A>,
    ) -> Result<(), Mismatch> {
        Err(of_parts().into())
    }
    fn scale(&mut self, beta: Factor<A>, y: &mut dyn AnyVector<A>) -> Result<(), Mismatch>;
    fn fill(&mut self, value: Factor<A>, y: &mut dyn AnyVector<A>) -> Result<(), Mismatch>;
    fn clamp(&mut self, bounds: [A; 2], y: &mut dyn AnyVector<A>) -> Result<(), Mismatch>;
    fn dot(
        &mut self,
        x: &dyn AnyVector<A>,
        z: &dyn AnyVector<A>,
        to: DeviceScalar<A>,
    ) -> Result<(), Mismatch>;
    fn norm_inf(&mut self, x: &dyn AnyVector<A>, to: DeviceScalar<A>) -> Result<(), Mismatch>;
    /// `to <- from`, among the operations.
    fn copy_scalar_to_peer(
        &mut self,
        _from: DeviceScalar<A>,
        _peer: &mut dyn AnyQueue,
        _to: DeviceScalar<A>,
    ) -> Result<(), Mismatch> {
        Err(of_parts().into())
    }
}

impl<B: Backend> AnyQueue for Queue<B> {
    fn id(&self) -> u64 {
        Queue::id(self)
    }

    fn mark(&mut self, lane: Lane) -> Result<Box<dyn AnyMark>> {
        Ok(Box::new(Queue::mark(self, lane)?))
    }

    fn after(&mut self, lane: Lane, mark: &dyn AnyMark) -> Result<(), Mismatch> {
        Ok(Queue::after(self, lane, own(mark, "the mark")?)?)
    }

    fn hold(&mut self) -> bool {
        Queue::hold(self)
    }

    fn release(&mut self) -> Result<()> {
        Queue::release(self)
    }

    fn submit(&mut self) -> Result<()> {
        Queue::submit(self)
    }

    fn wait(&mut self) -> Result<()> {
        Queue::wait(self)
    }
}

impl<B: Backend, T: Value> ProductsOf<T> for Queue<B> {
    fn apply(
        &mut self,
        a: &dyn AnyMatrix<T>,
        alpha: T::Accum,
        x: &dyn AnyVector<T>,
        beta: T::Accum,
        y: &mut dyn AnyVector<T::Accum>,
        epilogue: AnyEpilogue<'_, T::Accum>,
    ) -> Result<(), Mismatch> {
        a.apply_in(self, alpha, x, beta, y, epilogue)
    }

    fn apply_block(
        &mut self,
        a: &dyn AnyMatrix<T>,
        alpha: T::Accum,
        x: (&dyn AnyVector<T>, BlockShape),
        beta: T::Accum,
        y: (&mut dyn AnyVector<T::Accum>, BlockShape),
    ) -> Result<(), Mismatch> {
        a.apply_block_in(self, alpha, x, beta, y)
    }

    fn gather(
        &mut self,
        from: &dyn AnyVector<T>,
        at: &dyn AnyIndices,
        to: &mut dyn AnyVector<T>,
    ) -> Result<(), Mismatch> {
        let at = own::<Indices<B>>(at, "the indices")?;
        let (from, to) = (own::<DeviceVec<B, T>>(from, "from")?, own_mut(to, "to")?);
        Ok(Queue::gather(self, from, at, to)?)
    }

    fn copy_to_peer(
        &mut self,
        from: &dyn AnyVector<T>,
        range: Range<usize>,
        peer: &mut dyn AnyQueue,
        to: &mut dyn AnyVector<T>,
        to_at: usize,
    ) -> Result<(), Mismatch> {
        let peer = own_mut::<Self>(peer, "the queue")?;
        let (from, to) = (own::<DeviceVec<B, T>>(from, "from")?, own_mut(to, "to")?);
        Ok(Queue::copy_to_peer(self, from, range, peer, to, to_at)?)
    }
}

impl<B: Backend, A: Accum> VectorsOf<A> for Queue<B> {
    fn scalar(&mut self) -> Result<DeviceScalar<A>> {
        Queue::scalar(self)
    }

    fn read_scalars(&mut self, from: &[DeviceScalar<A>], values: &mut [A]) -> Result<()> {
        Queue::read_scalars(self, from, values)
    }

    fn write_scalar(&mut self, value: A, to: DeviceScalar<A>) -> Result<()> {
        Queue::write_scalar(self, value, to)
    }

    fn program(&mut self, steps: &[Assignment<A>]) -> Result<Program<A>> {
        Queue::program(self, steps)
    }

    fn compute(&mut self, program: Program<A>) -> Result<()> {
        Queue::compute(self, program)
    }

    fn update(
        &mut self,
        alpha: Factor<A>,
        u: Source<'_, A>,
        beta: Factor<A>,
        y: &mut dyn AnyVector<A>,
        dot: Option<DotInto<'_, A>>,
    ) -> Result<(), Mismatch> {
        type Vector<B, A> = DeviceVec<B, A>;
        let y = own_mut::<Vector<B, A>>(y, "y")?;
        let z = dot.and_then(|dot| dot.with).map(|z| own::<Vector<B, A>>(z, "z")).transpose()?;
        let to = dot.map(|dot| dot.to);
        match u {
            Source::One(x) => {
                let x = own::<Vector<B, A>>(x, "x")?;
                match (to, z) {
                    (None, _) => Queue::axpby(self, alpha, x, beta, y)?,
                    (Some(to), None) => Queue::axpby_dot(self, alpha, x, beta, y, to)?,
                    (Some(to), Some(z)) => Queue::axpby_dot_with(self, alpha, x, beta, y, z, to)?,
                }
            }
            Source::Product(d, x) => {
                let (d, x) = (own::<Vector<B, A>>(d, "d")?, own::<Vector<B, A>>(x, "x")?);
                match (to, z) {
                    (Some(to), Some(z)) => Queue::hadamard_dot(self, alpha, d, x, beta, y, z, to)?,
                    _ => Queue::hadamard(self, alpha, d, x, beta, y)?,
                }
            }
        }
        Ok(())
    }

    fn axpy_aypx(
        &mut self,
        alpha: Factor<A>,
        x: &mut dyn AnyVector<A>,
        z: &dyn AnyVector<A>,
        beta: Factor<A>,
        d: &mut dyn AnyVector<A>,
    ) -> Result<(), Mismatch> {
        type Vector<B, A> = DeviceVec<B, A>;
        let (x, d) = (own_mut::<Vector<B, A>>(x, "x")?, own_mut::<Vector<B, A>>(d, "d")?);
        Ok(Queue::axpy_aypx(self, alpha, x, own::<Vector<B, A>>(z, "z")?, beta, d)?)
    }

    fn scatter_add(
        &mut self,
        x: &dyn AnyVector<A>,
        at: &dyn AnyIndices,
        y: &mut dyn AnyVector<A>,
    ) -> Result<(), Mismatch> {
        let at = own::<Indices<B>>(at, "the indices")?;
        let (x, y) = (own::<DeviceVec<B, A>>(x, "x")?, own_mut(y, "y")?);
        Ok(Queue::scatter_add(self, x, at, y)?)
    }

    fn scale(&mut self, beta: Factor<A>, y: &mut dyn AnyVector<A>) -> Result<(), Mismatch> {
        Ok(Queue::scale(self, beta, own_mut::<DeviceVec<B, A>>(y, "y")?)?)
    }

    fn fill(&mut self, value: Factor<A>, y: &mut dyn AnyVector<A>) -> Result<(), Mismatch> {
        Ok(Queue::fill(self, value, own_mut::<DeviceVec<B, A>>(y, "y")?)?)
    }

    fn clamp(&mut self, [lo, hi]: [A; 2], y: &mut dyn AnyVector<A>) -> Result<(), Mismatch> {
        Ok(Queue::clamp(self, lo, hi, own_mut(y, "y")?)?)
    }

    fn dot(
        &mut self,
        x: &dyn AnyVector<A>,
        z: &dyn AnyVector<A>,
        to: DeviceScalar<A>,
    ) -> Result<(), Mismatch> {
        let (x, z) = (own::<DeviceVec<B, A>>(x, "x")?, own::<DeviceVec<B, A>>(z, "z")?);
        Ok(Queue::dot(self, x, z, to)?)
    }

    fn norm_inf(&mut self, x: &dyn AnyVector<A>, to: DeviceScalar<A>) -> Result<(), Mismatch> {
        Ok(Queue::norm_inf(self, own::<DeviceVec<B, A>>(x, "x")?, to)?)
    }

    fn copy_scalar_to_peer(
        &mut self,
        from: DeviceScalar<A>,
        peer: &mut dyn AnyQueue,
        to: DeviceScalar<A>,
    ) -> Result<(), Mismatch> {
        Ok(Queue::copy_scalar_to_peer(self, from, own_mut(peer, "the queue")?, to)?)
    }
}

#[cfg(test)]
mod tests {
    use spmv_cpu::{Cpu, Options};
    use spmv_exec::{Device, Error};

    use super::*;
    use crate::erased::{AnyDevice, DeviceOf};

    fn device() -> Device<Cpu> {
        Device::new(Cpu::open(Options::default()).unwrap()).unwrap()
    }

    fn vector(device: &dyn AnyDevice, values: &[f64]) -> Box<dyn AnyVector<f64>> {
        let mut vector = DeviceOf::<f64>::zeros(device, values.len()).unwrap();
        vector.write(values).unwrap();
        vector
    }

    #[test]
    fn vectors_of_any_backend_go_by_indices() {
        let device: &dyn AnyDevice = &device();
        let mut queue = device.queue().unwrap();
        let at = device.indices(&[2, 0], 3).unwrap();
        let (mut x, mut packed) = (vector(device, &[1.0, 2.0, 3.0]), vector(device, &[0.0; 2]));
        ProductsOf::<f64>::gather(&mut *queue, &*x, &*at, &mut *packed).unwrap();
        VectorsOf::<f64>::scatter_add(&mut *queue, &*packed, &*at, &mut *x).unwrap();
        let mut values = [0.0; 3];
        x.read(&mut values).unwrap();
        assert_eq!((values, at.len()), ([2.0, 2.0, 6.0], 2));
    }

    #[test]
    fn co_execution_has_no_indices() {
        let (of_both, _) = AnyDevice::with_host_cores(&device()).unwrap();
        let refused = of_both.indices(&[0], 1).unwrap_err();
        assert!(matches!(refused, Error::Device(spmv_backend::Error::Unsupported { .. })), "{refused}");
    }
}
