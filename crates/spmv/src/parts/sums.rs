//! One result of those of all parts.

use spmv_exec::{Assignment, DeviceScalar, Error, Lane, Program, Result};

use crate::erased::{Number, Open, OpenScalar};
use crate::erased_matrix::Mismatch;
use crate::parts::link::failed;
use crate::parts::peers::Reduction;
use crate::parts::queue::{PartsQueue, marks, pair};

impl PartsQueue {
    /// Makes one result of those of all parts, in their order, wherever that is still to be done.
    pub(super) fn reduce<A: Number>(&mut self) -> Result<()> {
        let open = A::partial(&mut self.partial).open.clone();
        if open.is_empty() {
            return Ok(());
        }
        let is_here = self.home.peers.is_none();
        if is_here && self.queues.len() == 1 {
            A::partial(&mut self.partial).open.clear();
            return Ok(());
        }
        if is_here && self.home.reach_each_other {
            // Where a queue has no scalars or memory left for that, the host does it.
            if let Ok(programs) = self.programs_of(&open) {
                return self.reduce_on_devices(&open, &programs);
            }
        }
        self.reduce_on_host(&open)
    }

    /// The host adds them up, with those of other processes.
    fn reduce_on_host<A: Number>(&mut self, open: &Open<A>) -> Result<()> {
        for op in [Reduction::Sum, Reduction::Greatest] {
            let of_op = open.iter().filter(|(of, _)| *of == op);
            let scalars: Vec<DeviceScalar<A>> = of_op.map(|(_, scalar)| *scalar).collect();
            if scalars.is_empty() {
                continue;
            }
            // Parts of complex numbers are added by themselves; the greatest have no imaginary one.
            let n_parts = if A::DTYPE.is_complex() { 2 } else { 1 };
            let mut all = vec![0.0; n_parts * scalars.len()];
            let mut own = vec![A::zero(); scalars.len()];
            self.each::<A, Error>(|part, queue, names| {
                let scalars: Vec<_> = scalars.iter().map(|scalar| names.scalar(*scalar)).collect();
                queue.read_scalars(&scalars, &mut own)?;
                let own = own.iter().flat_map(|own| own.parts().into_iter().take(n_parts));
                for (all, own) in all.iter_mut().zip(own) {
                    *all = if part == 0 { own } else { op.of(*all, own) };
                }
                Ok(())
            })?;
            if let Some(peers) = &self.home.peers {
                peers.reduce(op, &mut all).map_err(failed)?;
            }
            self.each::<A, Error>(|_, queue, names| {
                let mut of_all = scalars.iter().zip(all.chunks_exact(n_parts));
                of_all.try_for_each(|(scalar, all)| {
                    let value = A::from_parts([all[0], all.get(1).copied().unwrap_or(0.0)]);
                    queue.write_scalar(value, names.scalar(*scalar))
                })
            })?;
            // Only now: after an error they are still the results of each part.
            A::partial(&mut self.partial).open.retain(|(of, _)| *of != op);
        }
        Ok(())
    }

    /// Each device gets the results of all others, and none waits for the host.
    fn reduce_on_devices<A: Number>(&mut self, open: &Open<A>, programs: &[Program<A>]) -> Result<()> {
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
        // After an error from here on some are the results of all parts already.
        A::partial(&mut self.partial).open.clear();
        self.each(|_, queue, own| {
            programs.iter().try_for_each(|program| queue.compute(program.in_queue(own.from, own.to)))
        })
    }

    /// The programs that make one result of each of some scalars; all parts have the same ones.
    fn programs_of<A: Number>(&mut self, open: &Open<A>) -> Result<Vec<Program<A>>> {
        for part in 0..self.queues.len() {
            while A::partial(&mut self.partial).of_parts.get(part).map_or(0, Vec::len) < open.len() {
                let scalar = self.make(|queue, _| queue.scalar())?;
                let of_parts = &mut A::partial(&mut self.partial).of_parts;
                of_parts.resize(self.queues.len(), vec![]);
                of_parts[part].push(scalar);
            }
        }
        open.iter().enumerate().map(|(at, of)| self.program_of(at, *of)).collect()
    }

    /// That of the scalar at this position among those that are open.
    fn program_of<A: Number>(&mut self, at: usize, of: OpenScalar<A>) -> Result<Program<A>> {
        let programs = &A::partial(&mut self.partial).programs;
        if let Some((.., program)) =
            programs.iter().find(|(position, known, _)| (*position, *known) == (at, of))
        {
            return Ok(*program);
        }
        let (op, scalar) = of;
        let of_parts: Vec<_> = A::partial(&mut self.partial).of_parts.iter().map(|of| of[at]).collect();
        let mut part = 0;
        let program = self.make(|queue, own| {
            // Nothing is copied to what stands for this part.
            let result = of_parts[part];
            let of_part = |other: usize| if other == part { scalar } else { of_parts[other] };
            let mut steps: Vec<Assignment<A>> = vec![result.set(of_part(0))];
            steps.extend((1..of_parts.len()).map(|other| {
                result.set(match op {
                    Reduction::Sum => result + of_part(other),
                    Reduction::Greatest => result.greater(of_part(other)),
                })
            }));
            steps.push(scalar.set(result));
            part += 1;
            let steps: Vec<_> = steps.iter().map(|step| step.in_queue(own.from, own.to)).collect();
            queue.program(&steps)
        })?;
        A::partial(&mut self.partial).programs.push((at, of, program));
        Ok(program)
    }
}
