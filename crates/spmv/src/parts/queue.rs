//! A queue on each device, as one.

use spmv_exec::{Assignment, DeviceScalar, Error, Factor, Lane, Program, Result};

use crate::erased::{Number, Partial};
use crate::erased_matrix::{AnyVector, Mismatch, own, own_mut};
use crate::erased_queue::{AnyMark, AnyQueue, DotInto, Source, VectorsOf};
use crate::parts::group::Parts;
use crate::parts::peers::Reduction;
use crate::parts::vector::PartsVec;

/// A queue for each part. Scalars and programs have the same numbers in all of them: a handle names those of the first queue.
///
/// What a reduction leaves in a scalar is the sum of each part until something needs the scalar: sums that are needed at the same time
/// travel together.
#[derive(Debug)]
pub(super) struct PartsQueue {
    pub(super) home: Parts,
    pub(super) queues: Vec<Box<dyn AnyQueue>>,
    pub(super) partial: Partial,
    /// Why one queue could not make a scalar or program that those before it have made: later ones would have other numbers there.
    out_of_step: Option<Error>,
}

impl PartsQueue {
    pub(super) fn open(parts: &Parts) -> Result<Self> {
        let queues = parts.devices.iter().map(|device| device.queue()).collect::<Result<_>>()?;
        Ok(Self { home: parts.clone(), queues, partial: Partial::default(), out_of_step: None })
    }

    /// Does on each queue what `work` does on the first, whose handles `own` makes those of another queue.
    pub(super) fn each<A: Number, E: From<spmv_exec::Error>>(
        &mut self,
        mut work: impl FnMut(usize, &mut dyn VectorsOf<A>, Own) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let from = self.queues[0].id();
        self.queues.iter_mut().enumerate().try_for_each(|(part, queue)| {
            let to = queue.id();
            work(part, A::vectors(&mut **queue), Own { from, to })
        })
    }

    /// Notes that a scalar holds the result of each part by itself.
    fn leave<A: Number>(&mut self, op: Reduction, to: DeviceScalar<A>) {
        let open = &mut A::partial(&mut self.partial).open;
        open.retain(|(_, of)| *of != to);
        open.push((op, to));
    }

    /// Makes a scalar or a program in each queue, of which the first one's is the handle.
    pub(super) fn make<A: Number, H>(
        &mut self,
        mut work: impl FnMut(&mut dyn VectorsOf<A>, Own) -> Result<H>,
    ) -> Result<H> {
        if let Some(e) = &self.out_of_step {
            return Err(e.clone());
        }
        let (mut first, mut is_out_of_step) = (None, false);
        let made = self.each::<A, Error>(|part, queue, own| {
            let made = work(queue, own);
            is_out_of_step = part > 0 && made.is_err();
            first.get_or_insert(made?);
            Ok(())
        });
        self.out_of_step = made.clone().err().filter(|_| is_out_of_step);
        made?;
        Ok(first.expect("there is a part"))
    }

    /// A vector of these devices, whose values are read.
    pub(super) fn reads<'v, A: Number>(
        &self,
        what: &'static str,
        vector: &'v dyn AnyVector<A>,
    ) -> Result<&'v PartsVec<A>, Mismatch> {
        let vector = own::<PartsVec<A>>(vector, what)?;
        vector.check(what, &self.home, true)?;
        Ok(vector)
    }

    /// A vector of these devices that is written, and perhaps read before.
    fn writes<'v, A: Number>(
        &self,
        what: &'static str,
        vector: &'v mut dyn AnyVector<A>,
        is_read: bool,
    ) -> Result<&'v mut PartsVec<A>, Mismatch> {
        let vector = own_mut::<PartsVec<A>>(vector, what)?;
        vector.check(what, &self.home, is_read)?;
        Ok(vector)
    }
}

pub(super) fn marks(queues: &mut [Box<dyn AnyQueue>], lane: Lane) -> Result<Vec<Box<dyn AnyMark>>> {
    queues.iter_mut().map(|queue| queue.mark(lane)).collect()
}

/// The queues of two parts.
pub(super) fn pair(
    queues: &mut [Box<dyn AnyQueue>],
    one: usize,
    other: usize,
) -> (&mut dyn AnyQueue, &mut dyn AnyQueue) {
    let [one, other] = queues.get_disjoint_mut([one, other]).expect("two parts");
    (&mut **one, &mut **other)
}

/// Names what one queue has by what the first one calls it.
#[derive(Clone, Copy)]
pub(super) struct Own {
    pub(super) from: u64,
    pub(super) to: u64,
}

impl Own {
    pub(super) fn scalar<A: Number>(self, scalar: DeviceScalar<A>) -> DeviceScalar<A> {
        scalar.in_queue(self.from, self.to)
    }

    fn factor<A: Number>(self, factor: Factor<A>) -> Factor<A> {
        factor.in_queue(self.from, self.to)
    }
}

impl AnyQueue for PartsQueue {
    fn id(&self) -> u64 {
        self.queues[0].id()
    }

    /// As within another recording: devices wait for each other in it, so nothing is held back.
    fn hold(&mut self) -> bool {
        true
    }

    fn release(&mut self) -> Result<()> {
        Ok(())
    }

    fn submit(&mut self) -> Result<()> {
        self.queues.iter_mut().try_for_each(|queue| queue.submit())
    }

    fn wait(&mut self) -> Result<()> {
        self.queues.iter_mut().try_for_each(|queue| queue.wait())
    }
}

impl<A: Number> VectorsOf<A> for PartsQueue {
    fn scalar(&mut self) -> Result<DeviceScalar<A>> {
        self.make(|queue, _| queue.scalar())
    }

    fn read_scalars(&mut self, from: &[DeviceScalar<A>], values: &mut [A]) -> Result<()> {
        self.reduce::<A>()?;
        A::vectors(&mut *self.queues[0]).read_scalars(from, values)
    }

    fn write_scalar(&mut self, value: A, to: DeviceScalar<A>) -> Result<()> {
        self.each(|_, queue, own| queue.write_scalar(value, own.scalar(to)))?;
        A::partial(&mut self.partial).open.retain(|(_, scalar)| *scalar != to);
        Ok(())
    }

    fn program(&mut self, steps: &[Assignment<A>]) -> Result<Program<A>> {
        self.make(|queue, own| {
            let steps: Vec<_> = steps.iter().map(|step| step.in_queue(own.from, own.to)).collect();
            queue.program(&steps)
        })
    }

    fn compute(&mut self, program: Program<A>) -> Result<()> {
        self.reduce::<A>()?;
        self.each(|_, queue, own| queue.compute(program.in_queue(own.from, own.to)))
    }

    fn update(
        &mut self,
        alpha: Factor<A>,
        u: Source<'_, A>,
        beta: Factor<A>,
        y: &mut dyn AnyVector<A>,
        dot: Option<DotInto<'_, A>>,
    ) -> Result<(), Mismatch> {
        let y = self.writes("y", y, !beta.is_zero())?;
        let with = dot.and_then(|dot| dot.with).map(|z| self.reads("z", z)).transpose()?;
        let [d, x] = match u {
            Source::One(x) => [None, Some(self.reads("x", x)?)],
            Source::Product(d, x) => [Some(self.reads("d", d)?), Some(self.reads("x", x)?)],
        };
        for (what, vector) in [("x", x), ("d", d), ("z", with)] {
            vector.map_or(Ok(()), |vector| vector.is_cut_as(what, &y.cut))?;
        }
        self.reduce::<A>()?;
        self.each(|i, queue, own| {
            let u = match (d, x) {
                (Some(d), Some(x)) => Source::Product(&*d.parts[i], &*x.parts[i]),
                (_, x) => Source::One(&*x.expect("of either source").parts[i]),
            };
            let dot = dot.map(|dot| DotInto { with: with.map(|z| &*z.parts[i]), to: own.scalar(dot.to) });
            y.unrepaired |= i > 0;
            queue.update(own.factor(alpha), u, own.factor(beta), &mut *y.parts[i], dot)
        })?;
        y.unrepaired = false;
        if let Some(dot) = dot {
            self.leave(Reduction::Sum, dot.to);
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
        let (x, d) = (self.writes("x", x, true)?, self.writes("d", d, true)?);
        let z = self.reads("z", z)?;
        x.is_cut_as("x", &d.cut)?;
        z.is_cut_as("z", &d.cut)?;
        self.reduce::<A>()?;
        self.each(|i, queue, own| {
            (x.unrepaired, d.unrepaired) = (i > 0, i > 0);
            let (x, z, d) = (&mut *x.parts[i], &*z.parts[i], &mut *d.parts[i]);
            queue.axpy_aypx(own.factor(alpha), x, z, own.factor(beta), d)
        })?;
        (x.unrepaired, d.unrepaired) = (false, false);
        Ok(())
    }

    fn scale(&mut self, beta: Factor<A>, y: &mut dyn AnyVector<A>) -> Result<(), Mismatch> {
        let y = self.writes("y", y, !beta.is_zero())?;
        self.reduce::<A>()?;
        self.each(|i, queue, own| {
            y.unrepaired |= i > 0;
            queue.scale(own.factor(beta), &mut *y.parts[i])
        })?;
        y.unrepaired = false;
        Ok(())
    }

    fn fill(&mut self, value: Factor<A>, y: &mut dyn AnyVector<A>) -> Result<(), Mismatch> {
        let y = self.writes("y", y, false)?;
        self.reduce::<A>()?;
        self.each(|i, queue, own| {
            y.unrepaired |= i > 0;
            queue.fill(own.factor(value), &mut *y.parts[i])
        })?;
        y.unrepaired = false;
        Ok(())
    }

    fn clamp(&mut self, bounds: [A; 2], y: &mut dyn AnyVector<A>) -> Result<(), Mismatch> {
        let y = self.writes("y", y, true)?;
        self.each(|i, queue, _| {
            y.unrepaired |= i > 0;
            queue.clamp(bounds, &mut *y.parts[i])
        })?;
        y.unrepaired = false;
        Ok(())
    }

    fn dot(
        &mut self,
        x: &dyn AnyVector<A>,
        z: &dyn AnyVector<A>,
        to: DeviceScalar<A>,
    ) -> Result<(), Mismatch> {
        let (x, z) = (self.reads("x", x)?, self.reads("z", z)?);
        z.is_cut_as("z", &x.cut)?;
        self.each(|i, queue, own| queue.dot(&*x.parts[i], &*z.parts[i], own.scalar(to)))?;
        self.leave(Reduction::Sum, to);
        Ok(())
    }

    fn norm_inf(&mut self, x: &dyn AnyVector<A>, to: DeviceScalar<A>) -> Result<(), Mismatch> {
        let x = self.reads("x", x)?;
        self.each(|i, queue, own| queue.norm_inf(&*x.parts[i], own.scalar(to)))?;
        self.leave(Reduction::Greatest, to);
        Ok(())
    }
}
