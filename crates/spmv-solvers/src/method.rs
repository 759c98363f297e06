//! What the methods for square systems share.

use spmv::{Real, Vector};

use crate::error::Result;
use crate::operator::{LinearOperator, check_system};
use crate::options::{Found, Options, Report};
use crate::precondition::Preconditioner;

/// `A*x = b`, and the preconditioner.
pub(crate) struct System<'s, A: Real> {
    pub(crate) a: &'s dyn LinearOperator<A>,
    pub(crate) m: Option<&'s dyn Preconditioner<A>>,
    pub(crate) b: &'s Vector<A>,
}

/// A method, with the vectors that it needs for systems of one size. Where a system has a preconditioner, so have they.
pub(crate) trait Method<A: Real> {
    /// Rows of the systems.
    fn n_rows(&self) -> usize;

    /// Queues what comes before the first iteration.
    fn begin(&mut self, system: &System<'_, A>, x: &mut Vector<A>) -> Result<()>;

    /// Queues an iteration, the first of which is 0.
    fn iterate(&mut self, system: &System<'_, A>, x: &mut Vector<A>, iteration: usize) -> Result<()>;

    /// Reads what the iterations so far have found.
    fn check(&mut self, system: &System<'_, A>, x: &mut Vector<A>, iteration: usize) -> Result<Found<A>>;

    /// Queues what is left to do once it has stopped.
    fn finish(&mut self, _: &System<'_, A>, _: &mut Vector<A>) -> Result<()> {
        Ok(())
    }

    /// Solves a system from what `x` holds on.
    fn run(
        &mut self,
        system: &System<'_, A>,
        x: &mut Vector<A>,
        options: &mut Options<'_, A>,
    ) -> Result<Report<A>> {
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
