//! The generalised minimal residual method.

use num_traits::{Float, Zero};
use spmv::{Context, DeviceScalar, Number, Program, Queue, Vector};

use crate::error::{Breakdown, Error, Result};
use crate::hessenberg::Hessenberg;
use crate::method::{Method, System, solve_methods};
use crate::operator::LinearOperator;
use crate::options::{Found, Options, Report};
use crate::precondition::Preconditioner;

/// Scalars for products of directions at most: the queue has a few more.
const PRODUCTS: usize = 4000;

/// Solves `A*x = b` for a matrix that need not be symmetric, by GMRES with a restart after `restart` iterations (Saad & Schultz 1986),
/// from what `x` holds on. As [`Gmres::solve`], with vectors of its own.
///
/// ```
/// use spmv::{Context, Csr};
/// use spmv_solvers::{Options, gmres};
/// let context = Context::auto()?;
/// let a = context.prepare(&Csr::from_coo(2, 2, &[(0, 1, -1.0f64), (1, 0, 1.0)])?)?;
/// let (b, mut x) = (context.upload(&[1.0, 2.0])?, a.zeros_x()?);
/// assert!(gmres(&a, 30, &b, &mut x, &mut Options::default())?.has_converged());
/// # Ok::<(), spmv_solvers::Error>(())
/// ```
///
/// # Errors
/// As [`Gmres::new`] and [`Gmres::solve`].
pub fn gmres<A: Number>(
    a: &impl LinearOperator<A>,
    restart: usize,
    b: &Vector<A>,
    x: &mut Vector<A>,
    options: &mut Options<'_, A::Part>,
) -> Result<Report<A::Part>> {
    Gmres::new(a, restart)?.solve(a, b, x, options)
}

/// Queue and vectors of GMRES, for several systems of one size.
///
/// The iteration after j others of a cycle is a product, j + 3 passes over vectors and a program of scalars: each direction is made
/// orthogonal to those before by the modified Gram-Schmidt process, on the device. A restart is a product and three
/// passes more than the cycle had iterations. There are `restart` + 1 vectors, one more with a preconditioner, which is applied on the right: residuals are those of
/// the system itself.
///
/// The host waits at each check and at each restart. Where `restart` is above 62 it also waits once the queue has no scalars left for
/// a column: each time after `4000 / (restart + 1)` iterations.
///
/// A residual that seems small enough is computed anew before it counts, so that rounding errors do not pass for convergence.
///
/// ```
/// use spmv::{Context, Csr};
/// use spmv_solvers::{Gmres, Jacobi, Options};
/// let a = Csr::from_coo(2, 2, &[(0, 0, 4.0f64), (0, 1, 1.0), (1, 1, 2.0)])?;
/// let context = Context::auto()?;
/// let (m, a) = (Jacobi::new(&context, &a)?, context.prepare(&a)?);
/// let (b, mut x) = (context.upload(&[5.0, 2.0])?, a.zeros_x()?);
/// assert!(Gmres::new(&a, 20)?.solve_with(&a, &m, &b, &mut x, &mut Options::default())?.has_converged());
/// # Ok::<(), spmv_solvers::Error>(())
/// ```
#[derive(Debug)]
pub struct Gmres<A: Number> {
    queue: Queue,
    /// Directions of the cycle: `restart` + 1.
    basis: Vec<Vector<A>>,
    /// Where there is a preconditioner: what it makes of a direction.
    preconditioned: Option<Vector<A>>,
    /// Columns that the device holds, in turn: products with each direction, then the norm of what is left.
    columns: Vec<Vec<DeviceScalar<A>>>,
    /// One for each of those columns and each length: makes a norm of `squared`.
    norms: Vec<Program<A>>,
    scalars: Scalars<A>,
    start: Program<A>,
    /// Iterations of this cycle so far.
    n: usize,
    /// Of the columns that the host has read.
    hessenberg: Option<Hessenberg<A>>,
    n_read: usize,
}

#[derive(Clone, Copy, Debug)]
struct Scalars<A> {
    /// Of the residual at the start of the cycle: the sum of squares, and the norm.
    rr: DeviceScalar<A>,
    bb: DeviceScalar<A>,
    norm: DeviceScalar<A>,
    squared: DeviceScalar<A>,
    unit: DeviceScalar<A>,
    /// What preconditioners sum up, which is not needed.
    unused: DeviceScalar<A>,
}

impl<A: Number> Gmres<A> {
    /// For systems as large as this one, with a restart after so many iterations: at least 1.
    ///
    /// # Errors
    /// [`Error::Option`] for a `restart` of 0 or above 3999, out of memory, and contexts without queues.
    pub fn new(a: &impl LinearOperator<A>, restart: usize) -> Result<Self> {
        if restart == 0 || restart >= PRODUCTS {
            let (what, found) = ("the restart", restart as f64);
            return Err(Error::Option { what, found, need: "it must be from 1 to 3999" });
        }
        let (context, n) = (a.context(), a.n_rows());
        let mut queue = context.queue()?;
        let mut scalar = || queue.scalar();
        let scalars = Scalars {
            unit: scalar()?,
            unused: scalar()?,
            squared: scalar()?,
            norm: scalar()?,
            // What the host reads stands next to the columns.
            rr: scalar()?,
            bb: scalar()?,
        };
        let n_columns = (PRODUCTS / (restart + 1)).min(restart);
        let column = |_| (0..=restart).map(|_| scalar()).collect::<spmv::Result<Vec<_>>>();
        let columns = (0..n_columns).map(column).collect::<spmv::Result<Vec<_>>>()?;
        queue.write_scalar(A::one(), scalars.unit)?;
        let start = queue.program(&[scalars.norm.set(scalars.rr.sqrt())])?;
        let norm = |j: usize| queue.program(&[columns[j % n_columns][j + 1].set(scalars.squared.sqrt())]);
        let norms = (0..restart).map(norm).collect::<spmv::Result<Vec<_>>>()?;
        let basis = (0..=restart).map(|_| context.zeros(n)).collect::<spmv::Result<Vec<_>>>()?;
        Ok(Self {
            queue,
            basis,
            preconditioned: None,
            columns,
            norms,
            scalars,
            start,
            n: 0,
            hessenberg: None,
            n_read: 0,
        })
    }

    /// Begins a cycle: the first direction is the residual, over its norm.
    fn begin_cycle(&mut self, system: &System<'_, A>, x: &Vector<A>) -> Result<()> {
        let Self { queue, basis, scalars: Scalars { rr, norm, unit, .. }, start, .. } = self;
        let first = &mut basis[0];
        system.a.residual(queue, x, system.b, first)?;
        queue.dot(first, first, *rr)?;
        queue.compute(*start)?;
        queue.scale(unit.over(*norm), first)?;
        (self.n, self.n_read, self.hessenberg) = (0, 0, None);
        Ok(())
    }

    /// Reads the columns that the host has not seen, with one wait. The norm of b.
    fn read(&mut self) -> Result<A::Part> {
        let Self { queue, columns, scalars, n, n_read, hessenberg, .. } = self;
        let mut from = vec![scalars.rr, scalars.bb];
        for j in *n_read..*n {
            from.extend_from_slice(&columns[j % columns.len()][..j + 2]);
        }
        let mut values = vec![A::zero(); from.len()];
        queue.read_scalars_to(&from, &mut values)?;
        let (rr, bb) = (values[0].re(), values[1].re());
        let hessenberg = hessenberg.get_or_insert_with(|| Hessenberg::new(rr.sqrt()));
        let mut rest = &values[2..];
        for j in *n_read..*n {
            let (column, others) = rest.split_at(j + 2);
            hessenberg.push(column);
            rest = others;
        }
        *n_read = *n;
        Ok(bb.sqrt())
    }

    /// Adds to x what the cycle has found, of which the host has read all columns.
    fn update(&mut self, system: &System<'_, A>, x: &mut Vector<A>) -> Result<()> {
        let Self { queue, basis, preconditioned, scalars, hessenberg, .. } = self;
        let y = hessenberg.as_ref().map_or(vec![], Hessenberg::solution);
        let one = A::one();
        match (system.m, preconditioned) {
            (Some(m), Some(preconditioned)) if !y.is_empty() => {
                // M*(V*y): the sum is made where the first direction was.
                let (first, others) = basis.split_at_mut(1);
                queue.scale(y[0], &mut first[0])?;
                for (y, direction) in y[1..].iter().zip(others) {
                    queue.axpby(*y, direction, one, &mut first[0])?;
                }
                m.apply(queue, &first[0], preconditioned, scalars.unused)?;
                queue.axpby(one, preconditioned, one, x)?;
            }
            _ => {
                for (y, direction) in y.iter().zip(basis) {
                    queue.axpby(*y, direction, one, x)?;
                }
            }
        }
        Ok(())
    }
}

solve_methods! {
    Gmres:

    /// Solves `A*x = b` from what `x` holds on.
    ///
    /// # Errors
    /// [`Error::Breakdown`] for a matrix that is singular on the directions found, and for NaN and overflow;
    /// [`Error::Dimension`], and failures of the device. `x` is then unspecified.
    solve;

    /// As [`solve`](Self::solve), with a preconditioner.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    solve_with;
}

impl<A: Number> Method<A> for Gmres<A> {
    fn n_rows(&self) -> usize {
        self.basis[0].len()
    }

    fn make_workspace(&mut self, context: &Context) -> Result<()> {
        if self.preconditioned.is_none() {
            self.preconditioned = Some(context.zeros(self.basis[0].len())?);
        }
        Ok(())
    }

    fn begin(&mut self, system: &System<'_, A>, x: &mut Vector<A>) -> Result<()> {
        self.queue.dot(system.b, system.b, self.scalars.bb)?;
        self.begin_cycle(system, x)
    }

    fn iterate(&mut self, system: &System<'_, A>, x: &mut Vector<A>, _: usize) -> Result<()> {
        let restart = self.norms.len();
        if self.n == restart {
            self.read()?;
            self.update(system, x)?;
            self.begin_cycle(system, x)?;
        } else if self.n - self.n_read == self.columns.len() {
            self.read()?;
        }
        let Self { queue, basis, preconditioned, columns, norms, scalars, n, .. } = self;
        let Scalars { squared, unit, unused, .. } = *scalars;
        let (one, zero) = (A::one(), A::zero());
        let column = &columns[*n % columns.len()];
        let (known, new) = basis.split_at_mut(*n + 1);
        let new = &mut new[0];
        queue.record(|queue| {
            match (system.m, preconditioned) {
                (Some(m), Some(preconditioned)) => {
                    m.apply(queue, &known[*n], preconditioned, unused)?;
                    system.a.apply(queue, one, preconditioned, zero, new)?;
                }
                _ => system.a.apply(queue, one, &known[*n], zero, new)?,
            }
            queue.dot(&known[0], new, column[0])?;
            for i in 0..*n {
                queue.axpby_dot_with(
                    -spmv::Factor::from(column[i]),
                    &known[i],
                    one,
                    new,
                    &known[i + 1],
                    column[i + 1],
                )?;
            }
            queue.axpby_dot(-spmv::Factor::from(column[*n]), &known[*n], one, new, squared)?;
            queue.compute(norms[*n])?;
            queue.scale(unit.over(column[*n + 1]), new)?;
            *n += 1;
            Ok(())
        })
    }

    fn check(&mut self, system: &System<'_, A>, x: &mut Vector<A>, _: usize) -> Result<Found<A::Part>> {
        let of_b = self.read()?;
        let state = |hessenberg: &Option<Hessenberg<A>>| {
            hessenberg.as_ref().map_or((A::Part::zero(), false), |h| (h.residual(), h.is_singular()))
        };
        let (mut residual, is_singular) = state(&self.hessenberg);
        let is_small = residual <= system.absolute.max(system.relative * of_b);
        if self.n > 0 && is_small {
            self.update(system, x)?;
            self.begin_cycle(system, x)?;
            self.read()?;
            (residual, _) = state(&self.hessenberg);
        }
        let breakdown = (is_singular && !is_small).then_some(Breakdown::Singular);
        Ok(Found { residual, of_b, breakdown })
    }

    fn finish(&mut self, system: &System<'_, A>, x: &mut Vector<A>) -> Result<()> {
        self.update(system, x)?;
        self.hessenberg = None;
        Ok(())
    }
}
