//! A queue on each device, as one.

use std::sync::{Arc, PoisonError};

use spmv_exec::{Assignment, DeviceScalar, Factor, Program, Result};

use crate::erased::{Partial, Real, Scalar};
use crate::erased_matrix::{AnyIndices, AnyMatrix, AnyVector, Mismatch, own, own_mut};
use crate::erased_queue::{AnyQueue, DotInto, ProductsOf, Source, VectorsOf};
use crate::parts::group::{Parts, unsupported};
use crate::parts::link::failed;
use crate::parts::peers::{Peers, Reduction};
use crate::parts::shares::{Edges, PartsMatrix};
use crate::parts::vector::PartsVec;

/// A queue for each part. Scalars and programs have the same numbers in all of them: a handle names those of the first queue.
///
/// What a reduction leaves in a scalar is the sum of each part until something needs the scalar: sums that are needed at the same time
/// travel together.
#[derive(Debug)]
pub(super) struct PartsQueue {
    queues: Vec<Box<dyn AnyQueue>>,
    peers: Option<Arc<dyn Peers>>,
    partial: Partial,
}

impl PartsQueue {
    pub(super) fn open(parts: &Parts) -> Result<Self> {
        let queues = parts.devices.iter().map(|device| device.queue()).collect::<Result<_>>()?;
        Ok(Self { queues, peers: parts.peers.clone(), partial: Partial::default() })
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
        x.check("x", &a.cols)?;
        y.check("y", &a.rows)?;
        let Self { queues, .. } = self;
        let mut edges = a.edges.lock().unwrap_or_else(PoisonError::into_inner);
        let Edges { of, link } = &mut *edges;
        for ((queue, edge), x) in queues.iter_mut().zip(&mut *of).zip(&x.parts) {
            if let Some(sent) = &mut edge.sent {
                T::products(&mut **queue).gather(&**x, &*sent.at, &mut *sent.values)?;
                queue.submit()?;
            }
        }
        for (part, edge) in of.iter().enumerate() {
            if let Some(sent) = &edge.sent {
                sent.values.read(bytemuck::cast_slice_mut(link.sent(part)))?;
            }
        }
        let mut multiplied: Result<(), Mismatch> = Ok(());
        link.run(&mut || {
            multiplied = queues.iter_mut().zip(&a.locals).zip(x.parts.iter().zip(&mut y.parts)).try_for_each(
                |((queue, local), (x, y))| {
                    T::products(&mut **queue).apply(&**local, alpha, &**x, beta, &mut **y)?;
                    Ok(queue.submit()?)
                },
            );
        })?;
        multiplied?;
        for (part, ((queue, edge), y)) in queues.iter_mut().zip(of).zip(&mut y.parts).enumerate() {
            if let Some(ghosts) = &mut edge.ghosts {
                ghosts.values.write(bytemuck::cast_slice(link.ghosts(part)))?;
                let (zero, sums) = (num_traits::Zero::zero(), &mut *ghosts.sums);
                T::products(&mut **queue).apply(&*ghosts.matrix, alpha, &*ghosts.values, zero, sums)?;
                T::Accum::vectors(&mut **queue).scatter_add(sums, &*ghosts.rows, &mut **y)?;
                queue.submit()?;
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

    /// Makes one result of those of all parts, in their order, wherever that is still to be done.
    fn reduce<A: Real>(&mut self) -> Result<()> {
        for op in [Reduction::Sum, Reduction::Greatest] {
            let of_op = A::partial(&mut self.partial).extract_if(.., |(of, _)| *of == op);
            let scalars: Vec<DeviceScalar<A>> = of_op.map(|(_, scalar)| scalar).collect();
            if scalars.is_empty() {
                continue;
            }
            let mut all = vec![0.0; scalars.len()];
            let mut own = vec![A::zero(); scalars.len()];
            self.each::<A, spmv_exec::Error>(|part, queue, names| {
                let scalars: Vec<_> = scalars.iter().map(|scalar| names.scalar(*scalar)).collect();
                queue.read_scalars(&scalars, &mut own)?;
                for (all, own) in all.iter_mut().zip(&own) {
                    *all = if part == 0 { own.as_f64() } else { op.of(*all, own.as_f64()) };
                }
                Ok(())
            })?;
            if let Some(peers) = &self.peers {
                peers.reduce(op, &mut all).map_err(failed)?;
            }
            self.each::<A, spmv_exec::Error>(|_, queue, names| {
                let mut of_all = scalars.iter().zip(&all);
                of_all.try_for_each(|(scalar, value)| {
                    queue.write_scalar(A::from_f64(*value), names.scalar(*scalar))
                })
            })?;
        }
        Ok(())
    }
}

/// Names what one queue has by what the first one calls it.
#[derive(Clone, Copy)]
struct Own {
    from: u64,
    to: u64,
}

impl Own {
    fn scalar<A>(self, scalar: DeviceScalar<A>) -> DeviceScalar<A> {
        if scalar.queue() == self.from { scalar.in_queue(self.to) } else { scalar }
    }

    fn factor<A: Real>(self, factor: Factor<A>) -> Factor<A> {
        factor.in_queue(self.from, self.to)
    }
}

fn part<'v, A: Real>(vector: &'v dyn AnyVector<A>, what: &'static str) -> Result<&'v PartsVec<A>, Mismatch> {
    own::<PartsVec<A>>(vector, what)
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
        let mut first = None;
        self.each::<A, spmv_exec::Error>(|_, queue, _| {
            let scalar = queue.scalar()?;
            first.get_or_insert(scalar);
            Ok(())
        })?;
        Ok(first.expect("there is a part"))
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
        let mut first = None;
        self.each::<A, spmv_exec::Error>(|_, queue, own| {
            let steps: Vec<_> = steps.iter().map(|step| step.in_queue(own.from, own.to)).collect();
            let program = queue.program(&steps)?;
            first.get_or_insert(program);
            Ok(())
        })?;
        Ok(first.expect("there is a part"))
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
        let y = own_mut::<PartsVec<A>>(y, "y")?;
        let with = dot.and_then(|dot| dot.with).map(|z| part(z, "z")).transpose()?;
        let [d, x] = match u {
            Source::One(x) => [None, Some(part(x, "x")?)],
            Source::Product(d, x) => [Some(part(d, "d")?), Some(part(x, "x")?)],
        };
        for (what, vector) in [("x", x), ("d", d), ("z", with)] {
            vector.map_or(Ok(()), |vector| vector.check(what, &y.ranges))?;
        }
        self.reduce::<A>()?;
        self.each(|i, queue, own| {
            let u = match (d, x) {
                (Some(d), Some(x)) => Source::Product(&*d.parts[i], &*x.parts[i]),
                (_, x) => Source::One(&*x.expect("of either source").parts[i]),
            };
            let dot = dot.map(|dot| DotInto { with: with.map(|z| &*z.parts[i]), to: own.scalar(dot.to) });
            queue.update(own.factor(alpha), u, own.factor(beta), &mut *y.parts[i], dot)
        })?;
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
        let (x, d) = (own_mut::<PartsVec<A>>(x, "x")?, own_mut::<PartsVec<A>>(d, "d")?);
        let z = part(z, "z")?;
        x.check("x", &d.ranges)?;
        z.check("z", &d.ranges)?;
        self.reduce::<A>()?;
        self.each(|i, queue, own| {
            let (x, z, d) = (&mut *x.parts[i], &*z.parts[i], &mut *d.parts[i]);
            queue.axpy_aypx(own.factor(alpha), x, z, own.factor(beta), d)
        })
    }

    fn scale(&mut self, beta: Factor<A>, y: &mut dyn AnyVector<A>) -> Result<(), Mismatch> {
        let y = own_mut::<PartsVec<A>>(y, "y")?;
        self.reduce::<A>()?;
        self.each(|i, queue, own| queue.scale(own.factor(beta), &mut *y.parts[i]))
    }

    fn fill(&mut self, value: Factor<A>, y: &mut dyn AnyVector<A>) -> Result<(), Mismatch> {
        let y = own_mut::<PartsVec<A>>(y, "y")?;
        self.reduce::<A>()?;
        self.each(|i, queue, own| queue.fill(own.factor(value), &mut *y.parts[i]))
    }

    fn dot(
        &mut self,
        x: &dyn AnyVector<A>,
        z: &dyn AnyVector<A>,
        to: DeviceScalar<A>,
    ) -> Result<(), Mismatch> {
        let (x, z) = (part(x, "x")?, part(z, "z")?);
        z.check("z", &x.ranges)?;
        self.each(|i, queue, own| queue.dot(&*x.parts[i], &*z.parts[i], own.scalar(to)))?;
        self.leave(Reduction::Sum, to);
        Ok(())
    }

    fn norm_inf(&mut self, x: &dyn AnyVector<A>, to: DeviceScalar<A>) -> Result<(), Mismatch> {
        let x = part(x, "x")?;
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
