//! One result of those of all parts.

use spmv_exec::{Assignment, DeviceScalar, Error, Lane, Program, Result};

use crate::erased::{Open, Real};
use crate::erased_matrix::Mismatch;
use crate::parts::link::failed;
use crate::parts::peers::Reduction;
use crate::parts::queue::{PartsQueue, marks, pair};

impl PartsQueue {
    /// Makes one result of those of all parts, in their order, wherever that is still to be done.
    pub(super) fn reduce<A: Real>(&mut self) -> Result<()> {
        let open = A::partial(&mut self.partial).open.clone();
        if open.is_empty() {
            return Ok(());
        }
        match self.home.peers.is_none() && self.home.reach_each_other {
            true if self.queues.len() == 1 => {}
            true => self.reduce_on_devices(&open)?,
            false => self.reduce_on_host(&open)?,
        }
        // Only now: after an error they are still the results of each part.
        A::partial(&mut self.partial).open.clear();
        Ok(())
    }

    /// The host adds them up, with those of other processes.
    fn reduce_on_host<A: Real>(&mut self, open: &Open<A>) -> Result<()> {
        for op in [Reduction::Sum, Reduction::Greatest] {
            let of_op = open.iter().filter(|(of, _)| *of == op);
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
        }
        Ok(())
    }

    /// Each device gets the results of all others, and none waits for the host.
    fn reduce_on_devices<A: Real>(&mut self, open: &Open<A>) -> Result<()> {
        let program = self.sums_of(open)?;
        let others = A::partial(&mut self.partial).of_parts.clone();
        let (n_parts, first) = (self.queues.len(), self.queues[0].id());
        let not_of_parts = |e: Mismatch| match e {
            Mismatch::Exec(e) => e,
            Mismatch::Other(what) => Error::Foreign { what, to: "device" },
        };
        let ready = marks(&mut self.queues, Lane::Operations)?;
        for (from, others) in others.iter().enumerate() {
            for to in (0..n_parts).filter(|to| *to != from) {
                let (from_queue, to_queue) = pair(&mut self.queues, from, to);
                from_queue.after(Lane::Operations, &*ready[to]).map_err(not_of_parts)?;
                let ids = [from_queue.id(), to_queue.id()];
                for ((_, scalar), other) in open.iter().zip(others) {
                    let [own, other] =
                        [(*scalar, ids[0]), (*other, ids[1])].map(|(s, id)| s.in_queue(first, id));
                    let copies = A::vectors(from_queue);
                    copies.copy_scalar_to_peer(own, to_queue, other).map_err(not_of_parts)?;
                }
            }
        }
        let copied = marks(&mut self.queues, Lane::Operations)?;
        for (part, queue) in self.queues.iter_mut().enumerate() {
            for (_, mark) in copied.iter().enumerate().filter(|(other, _)| *other != part) {
                queue.after(Lane::Operations, &**mark).map_err(not_of_parts)?;
            }
        }
        self.each(|_, queue, own| queue.compute(program.in_queue(own.from, own.to)))
    }

    /// The program that makes one result of each of some scalars; all parts have the same one.
    fn sums_of<A: Real>(&mut self, open: &Open<A>) -> Result<Program<A>> {
        if let Some((_, program)) = A::partial(&mut self.partial).programs.iter().find(|(of, _)| of == open) {
            return Ok(*program);
        }
        let n_parts = self.queues.len();
        for part in 0..n_parts {
            while A::partial(&mut self.partial).of_parts.get(part).map_or(0, Vec::len) < open.len() {
                let scalar = self.make(|queue, _| queue.scalar())?;
                let of_parts = &mut A::partial(&mut self.partial).of_parts;
                of_parts.resize(n_parts, vec![]);
                of_parts[part].push(scalar);
            }
        }
        let of_parts = A::partial(&mut self.partial).of_parts.clone();
        let mut part = 0;
        let program = self.make(|queue, own| {
            let mut steps: Vec<Assignment<A>> = Vec::new();
            for (i, (op, scalar)) in open.iter().enumerate() {
                // Nothing is copied to what stands for this part.
                let result = of_parts[part][i];
                let of_part = |other: usize| if other == part { *scalar } else { of_parts[other][i] };
                steps.push(result.set(of_part(0)));
                for other in 1..n_parts {
                    steps.push(result.set(match op {
                        Reduction::Sum => result + of_part(other),
                        Reduction::Greatest => result.greater(of_part(other)),
                    }));
                }
                steps.push(scalar.set(result));
            }
            part += 1;
            let steps: Vec<_> = steps.iter().map(|step| step.in_queue(own.from, own.to)).collect();
            queue.program(&steps)
        })?;
        A::partial(&mut self.partial).programs.push((open.clone(), program));
        Ok(program)
    }
}
