//! A queue on each device, as one.

use std::sync::PoisonError;

use num_traits::Zero;
use spmv_exec::{Assignment, DeviceScalar, Error, Factor, Program, Result};

use crate::erased::{Partial, Real, Scalar};
use crate::erased_matrix::{AnyIndices, AnyMatrix, AnyVector, Mismatch, own, own_mut};
use crate::erased_queue::{AnyQueue, DotInto, ProductsOf, Source, VectorsOf};
use crate::parts::group::{Parts, unsupported};
use crate::parts::link::{Link, failed};
use crate::parts::peers::{PeersError, Reduction};
use crate::parts::shares::{Edge, Edges, PartsMatrix};
use crate::parts::vector::PartsVec;

/// A queue for each part. Scalars and programs have the same numbers in all of them: a handle names those of the first queue.
///
/// What a reduction leaves in a scalar is the sum of each part until something needs the scalar: sums that are needed at the same time
/// travel together.
#[derive(Debug)]
pub(super) struct PartsQueue {
    home: Parts,
    queues: Vec<Box<dyn AnyQueue>>,
    partial: Partial,
    /// Why one queue could not make a scalar or program that those before it have made: later ones would have other numbers there.
    out_of_step: Option<Error>,
}

impl PartsQueue {
    pub(super) fn open(parts: &Parts) -> Result<Self> {
        let queues = parts.devices.iter().map(|device| device.queue()).collect::<Result<_>>()?;
        Ok(Self { home: parts.clone(), queues, partial: Partial::default(), out_of_step: None })
    }

    /// `y <- alpha*A*x + beta*y`. Packs what others need, multiplies what is here while it is on its way, and then with the ghosts.
    pub(super) fn product<T: Scalar>(
        &mut self,
        a: &PartsMatrix<T>,
        alpha: T::Accum,
        x: &PartsVec<T>,
        beta: T::Accum,
        y: &mut PartsVec<T::Accum>,
    ) -> Result<(), Mismatch> {
        if !a.parts.is(&self.home) {
            return Err(Error::Foreign { what: "the matrix", to: "device" }.into());
        }
        x.check("x", &self.home, true)?;
        y.check("y", &self.home, !beta.is_zero())?;
        x.is_cut_as("x", &a.cols)?;
        y.is_cut_as("y", &a.rows)?;
        let mut edges = a.edges.lock().unwrap_or_else(PoisonError::into_inner);
        let Edges { of, link } = &mut *edges;
        self.pack(x, of, link)?;
        let Self { queues, .. } = self;
        let PartsVec { parts: of_y, unrepaired, .. } = y;
        let mut multiplied: Option<Result<(), Mismatch>> = None;
        link.run(&mut || {
            let parts = queues.iter_mut().zip(&a.locals).zip(x.parts.iter().zip(&mut *of_y));
            multiplied.get_or_insert_with(|| {
                for ((queue, local), (x, y)) in parts {
                    T::products(&mut **queue).apply(&**local, alpha, &**x, beta, &mut **y)?;
                    *unrepaired = true;
                    queue.submit()?;
                }
                Ok(())
            });
        })?;
        multiplied.unwrap_or_else(|| Err(failed(PeersError("it did no work meanwhile".into())).into()))?;
        for (part, ((queue, edge), y)) in queues.iter_mut().zip(of).zip(of_y).enumerate() {
            if let Some(ghosts) = &mut edge.ghosts {
                ghosts.values.write(values(link.ghosts(part))?)?;
                let (zero, sums) = (T::Accum::zero(), &mut *ghosts.sums);
                T::products(&mut **queue).apply(&*ghosts.matrix, alpha, &*ghosts.values, zero, sums)?;
                T::Accum::vectors(&mut **queue).scatter_add(sums, &*ghosts.rows, &mut **y)?;
                queue.submit()?;
            }
        }
        *unrepaired = false;
        Ok(())
    }

    /// Brings what others need to the host.
    fn pack<T: Scalar>(
        &mut self,
        x: &PartsVec<T>,
        edges: &mut [Edge<T>],
        link: &mut Link,
    ) -> Result<(), Mismatch> {
        for ((queue, edge), x) in self.queues.iter_mut().zip(&mut *edges).zip(&x.parts) {
            if let Some(sent) = &mut edge.sent {
                T::products(&mut **queue).gather(&**x, &*sent.at, &mut *sent.values)?;
                queue.submit()?;
            }
        }
        for (part, (queue, edge)) in self.queues.iter_mut().zip(&*edges).enumerate() {
            // The last product has read its ghosts then, so that the next ones are copied while the local product runs.
            if edge.sent.is_some() || edge.ghosts.is_some() {
                queue.wait()?;
            }
            if let Some(sent) = &edge.sent {
                let bytes = bytemuck::try_cast_slice_mut(link.sent(part)).map_err(not_values)?;
                sent.values.read(bytes)?;
            }
        }
        Ok(())
    }

    /// Does on each queue what `work` does on the first, whose handles `own` makes those of another queue.
    fn each<A: Real, E: From<spmv_exec::Error>>(
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
    fn leave<A: Real>(&mut self, op: Reduction, to: DeviceScalar<A>) {
        let partial = A::partial(&mut self.partial);
        partial.retain(|(_, of)| *of != to);
        partial.push((op, to));
    }

    /// Makes a scalar or a program in each queue, of which the first one's is the handle.
    fn make<A: Real, H>(
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

    /// Makes one result of those of all parts, in their order, wherever that is still to be done.
    fn reduce<A: Real>(&mut self) -> Result<()> {
        for op in [Reduction::Sum, Reduction::Greatest] {
            let of_op = A::partial(&mut self.partial).iter().filter(|(of, _)| *of == op);
            let scalars: Vec<DeviceScalar<A>> = of_op.map(|(_, scalar)| *scalar).collect();
            if scalars.is_empty() {
                continue;
            }
            let mut all = vec![0.0; scalars.len()];
            let mut own = vec![A::zero(); scalars.len()];
            self.each::<A, Error>(|part, queue, names| {
                let scalars: Vec<_> = scalars.iter().map(|scalar| names.scalar(*scalar)).collect();
                queue.read_scalars(&scalars, &mut own)?;
                for (all, own) in all.iter_mut().zip(&own) {
                    *all = if part == 0 { own.as_f64() } else { op.of(*all, own.as_f64()) };
                }
                Ok(())
            })?;
            if let Some(peers) = &self.home.peers {
                peers.reduce(op, &mut all).map_err(failed)?;
            }
            self.each::<A, Error>(|_, queue, names| {
                let mut of_all = scalars.iter().zip(&all);
                of_all.try_for_each(|(scalar, value)| {
                    queue.write_scalar(A::from_f64(*value), names.scalar(*scalar))
                })
            })?;
            // Only now: after an error they are still the results of each part.
            A::partial(&mut self.partial).retain(|(of, _)| *of != op);
        }
        Ok(())
    }

    /// A vector of these devices, whose values are read.
    fn reads<'v, A: Real>(
        &self,
        what: &'static str,
        vector: &'v dyn AnyVector<A>,
    ) -> Result<&'v PartsVec<A>, Mismatch> {
        let vector = own::<PartsVec<A>>(vector, what)?;
        vector.check(what, &self.home, true)?;
        Ok(vector)
    }

    /// A vector of these devices that is written, and perhaps read before.
    fn writes<'v, A: Real>(
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

/// Bytes of the transport, as the values that they are.
fn values<T: Scalar>(bytes: &[u8]) -> Result<&[T]> {
    bytemuck::try_cast_slice(bytes).map_err(not_values)
}

fn not_values(e: bytemuck::PodCastError) -> Error {
    failed(PeersError(format!("its memory holds no whole values at an address that is a multiple of 8: {e}")))
}

/// Names what one queue has by what the first one calls it.
#[derive(Clone, Copy)]
struct Own {
    from: u64,
    to: u64,
}

impl Own {
    fn scalar<A: Real>(self, scalar: DeviceScalar<A>) -> DeviceScalar<A> {
        scalar.in_queue(self.from, self.to)
    }

    fn factor<A: Real>(self, factor: Factor<A>) -> Factor<A> {
        factor.in_queue(self.from, self.to)
    }
}

impl AnyQueue for PartsQueue {
    fn id(&self) -> u64 {
        self.queues[0].id()
    }

    /// As within another recording: reductions read scalars, so nothing is held back.
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

impl<T: Scalar> ProductsOf<T> for PartsQueue {
    fn apply(
        &mut self,
        a: &dyn AnyMatrix<T>,
        alpha: T::Accum,
        x: &dyn AnyVector<T>,
        beta: T::Accum,
        y: &mut dyn AnyVector<T::Accum>,
    ) -> Result<(), Mismatch> {
        let a = own::<PartsMatrix<T>>(a, "the matrix")?;
        let (x, y) = (own::<PartsVec<T>>(x, "x")?, own_mut::<PartsVec<T::Accum>>(y, "y")?);
        self.product(a, alpha, x, beta, y)
    }

    fn gather(
        &mut self,
        _: &dyn AnyVector<T>,
        _: &dyn AnyIndices,
        _: &mut dyn AnyVector<T>,
    ) -> Result<(), Mismatch> {
        Err(unsupported("parts of parts", "use contexts of one device").into())
    }
}

impl<A: Real> VectorsOf<A> for PartsQueue {
    fn scalar(&mut self) -> Result<DeviceScalar<A>> {
        self.make(|queue, _| queue.scalar())
    }

    fn read_scalars(&mut self, from: &[DeviceScalar<A>], values: &mut [A]) -> Result<()> {
        self.reduce::<A>()?;
        A::vectors(&mut *self.queues[0]).read_scalars(from, values)
    }

    fn write_scalar(&mut self, value: A, to: DeviceScalar<A>) -> Result<()> {
        self.each(|_, queue, own| queue.write_scalar(value, own.scalar(to)))?;
        A::partial(&mut self.partial).retain(|(_, scalar)| *scalar != to);
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
            vector.map_or(Ok(()), |vector| vector.is_cut_as(what, &y.ranges))?;
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
        x.is_cut_as("x", &d.ranges)?;
        z.is_cut_as("z", &d.ranges)?;
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

    fn dot(
        &mut self,
        x: &dyn AnyVector<A>,
        z: &dyn AnyVector<A>,
        to: DeviceScalar<A>,
    ) -> Result<(), Mismatch> {
        let (x, z) = (self.reads("x", x)?, self.reads("z", z)?);
        z.is_cut_as("z", &x.ranges)?;
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

    fn scatter_add(
        &mut self,
        _: &dyn AnyVector<A>,
        _: &dyn AnyIndices,
        _: &mut dyn AnyVector<A>,
    ) -> Result<(), Mismatch> {
        Err(unsupported("parts of parts", "use contexts of one device").into())
    }
}
