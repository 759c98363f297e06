//! What the methods for square systems share.

use spmv::{Context, Number, Vector};

use crate::error::Result;
use crate::operator::{LinearOperator, check_system};
use crate::options::{Found, Options, Report};
use crate::precondition::Preconditioner;

/// `A*x = b`, the preconditioner, and which residuals are small enough.
pub(crate) struct System<'s, A: Number> {
    pub(crate) a: &'s dyn LinearOperator<A>,
    pub(crate) m: Option<&'s dyn Preconditioner<A>>,
    pub(crate) b: &'s Vector<A>,
    pub(crate) relative: A::Part,
    pub(crate) absolute: A::Part,
}

/// `solve` and `solve_with` of a method, each with what it says of itself.
macro_rules! solve_methods {
    ($method:ident: $(#[$of_solve:meta])* solve; $(#[$of_solve_with:meta])* solve_with;) => {
        impl<A: Number> $method<A> {
            $(#[$of_solve])*
            pub fn solve(
                &mut self,
                a: &impl LinearOperator<A>,
                b: &Vector<A>,
                x: &mut Vector<A>,
                options: &mut Options<'_, A::Part>,
            ) -> Result<Report<A::Part>> {
                let Options { relative, absolute, .. } = *options;
                self.run(&System { a, m: None, b, relative, absolute }, x, options)
            }

            $(#[$of_solve_with])*
            pub fn solve_with(
                &mut self,
                a: &impl LinearOperator<A>,
                m: &impl Preconditioner<A>,
                b: &Vector<A>,
                x: &mut Vector<A>,
                options: &mut Options<'_, A::Part>,
            ) -> Result<Report<A::Part>> {
                let Options { relative, absolute, .. } = *options;
                self.make_workspace(a.context())?;
                self.run(&System { a, m: Some(m), b, relative, absolute }, x, options)
            }
        }
    };
}

pub(crate) use solve_methods;

/// A method, with the vectors that it needs for systems of one size. Where a system has a preconditioner, so have they.
pub(crate) trait Method<A: Number> {
    /// Rows of the systems.
    fn n_rows(&self) -> usize;

    /// Makes the vectors that a preconditioner takes, unless they are there.
    fn make_workspace(&mut self, context: &Context) -> Result<()>;

    /// Queues what comes before the first iteration.
    fn begin(&mut self, system: &System<'_, A>, x: &mut Vector<A>) -> Result<()>;

    /// Queues an iteration, the first of which is 0.
    fn iterate(&mut self, system: &System<'_, A>, x: &mut Vector<A>, iteration: usize) -> Result<()>;

    /// Reads what the iterations so far have found.
    fn check(
        &mut self,
        system: &System<'_, A>,
        x: &mut Vector<A>,
        iteration: usize,
    ) -> Result<Found<A::Part>>;

    /// Queues what is left to do once it has stopped.
    fn finish(&mut self, _: &System<'_, A>, _: &mut Vector<A>) -> Result<()> {
        Ok(())
    }

    /// Solves a system from what `x` holds on.
    fn run(
        &mut self,
        system: &System<'_, A>,
        x: &mut Vector<A>,
        options: &mut Options<'_, A::Part>,
    ) -> Result<Report<A::Part>> {
        options.validate()?;
        check_system(system.a, self.n_rows(), system.b, x)?;
        self.begin(system, x)?;
        let mut state = (&mut *self, &mut *x);
        let report = options.drive(
            &mut state,
            |(method, x), iteration| method.iterate(system, x, iteration),
            |(method, x), iteration| method.check(system, x, iteration),
        )?;
        self.finish(system, x)?;
        Ok(report)
    }
}
