//! When rotations mean nothing any more.

use num_traits::Float;
use spmv::{Assignment, DeviceScalar, Number, Queue};

use crate::error::Result;

/// Sets a norm to the root of its square, which is real but for rounding errors of complex products.
pub(crate) fn norm_of<A>(norm: DeviceScalar<A>, squared: DeviceScalar<A>) -> [Assignment<A>; 2] {
    [squared.set(squared.abs()), norm.set(squared.sqrt())]
}

/// Keeps an iteration from following rounding errors, on the device.
///
/// MINRES and LSMR go on until the host checks. Meanwhile a pivot of the triangular factor may be a rounding error, and a step that is
/// divided by it destroys `x`. From then on, and once the residual is a rounding error of the first one, steps are zero and the residual
/// stays as it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Freeze<A> {
    /// 1, or 0 once a pivot was a rounding error.
    pub(crate) is_regular: DeviceScalar<A>,
    /// 1, or 0 where a step is none; and the other way round.
    pub(crate) is_live: DeviceScalar<A>,
    pub(crate) is_frozen: DeviceScalar<A>,
    pub(crate) zero: DeviceScalar<A>,
    pub(crate) one: DeviceScalar<A>,
    epsilon: DeviceScalar<A>,
    /// A pivot is a rounding error if it is at most this times the greatest.
    tolerance: DeviceScalar<A>,
    greatest: DeviceScalar<A>,
    /// Of the residual.
    floor: DeviceScalar<A>,
    scratch: [DeviceScalar<A>; 2],
}

impl<A: Number> Freeze<A> {
    pub(crate) fn new(queue: &mut Queue) -> Result<Self> {
        let mut scalar = || queue.scalar();
        Ok(Self {
            is_regular: scalar()?,
            is_live: scalar()?,
            is_frozen: scalar()?,
            zero: scalar()?,
            one: scalar()?,
            epsilon: scalar()?,
            tolerance: scalar()?,
            greatest: scalar()?,
            floor: scalar()?,
            scratch: [scalar()?, scalar()?],
        })
    }

    /// Queues what comes before [`start`](Self::start). The tolerance is that of SciPy's MINRES.
    pub(crate) fn begin(&self, queue: &mut Queue) -> Result<()> {
        let (one, epsilon) = (A::one(), A::from_re(A::Part::epsilon()));
        queue.write_scalar(one, self.one)?;
        queue.write_scalar(one, self.is_regular)?;
        queue.write_scalar(epsilon, self.epsilon)?;
        queue.write_scalar(A::from_f64(10.0) * epsilon, self.tolerance)?;
        queue.write_scalar(A::zero(), self.greatest)?;
        Ok(())
    }

    /// For a first residual of this norm.
    pub(crate) fn start(&self, residual: DeviceScalar<A>) -> [Assignment<A>; 2] {
        let Self { floor, epsilon, .. } = *self;
        [floor.set(residual.abs()), floor.set(floor * epsilon)]
    }

    /// After a rotation whose pivots are between these: what `step` and the residual become, which would be `next`.
    pub(crate) fn rotated(
        &self,
        pivots: [DeviceScalar<A>; 2],
        step: DeviceScalar<A>,
        [residual, next]: [DeviceScalar<A>; 2],
    ) -> [Assignment<A>; 18] {
        let Self { is_regular, is_live, is_frozen, zero, one, .. } = *self;
        let Self { tolerance, greatest, floor, scratch: [s, t], .. } = *self;
        [
            greatest.set(greatest.greater(pivots[1])),
            s.set(tolerance * greatest),
            s.set(pivots[0] - s),
            s.set(s.greater(zero)),
            // A scalar over itself is 1, or 0 if it is zero.
            t.set(s),
            s.set(s / t),
            is_regular.set(is_regular * s),
            s.set(residual.abs()),
            s.set(s - floor),
            s.set(s.greater(zero)),
            t.set(s),
            s.set(s / t),
            is_live.set(is_regular * s),
            is_frozen.set(one - is_live),
            step.set(step * is_live),
            s.set(residual * is_frozen),
            t.set(next * is_live),
            residual.set(s + t),
        ]
    }
}
