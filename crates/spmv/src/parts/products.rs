//! Products in parts.

use std::sync::{Arc, PoisonError};

use num_traits::Zero;
use spmv_backend::DeviceKind;
use spmv_exec::{BlockShape, Error, Lane, Repair, Result, check_bounds, check_shapes, without_blocks};

use crate::erased::{Number, Scalar};
use crate::erased_matrix::{AnyEpilogue, AnyMatrix, AnyVector, Mismatch, own, own_mut};
use crate::erased_queue::{AnyQueue, ProductsOf};
use crate::parts::cut::{Cut, shape_of};
use crate::parts::link::{Copy, Link, Staged, failed};
use crate::parts::peers::PeersError;
use crate::parts::queue::{PartsQueue, marks, pair};
use crate::parts::shares::{Blocks, Edges, Ghosts, PartsMatrix, Sent};
use crate::parts::vector::PartsVec;

impl PartsQueue {
    /// `y <- alpha*A*x + beta*y`.
    pub(super) fn product<T: Scalar>(
        &mut self,
        a: &PartsMatrix<T>,
        alpha: T::Accum,
        x: &PartsVec<T>,
        beta: T::Accum,
        y: &mut PartsVec<T::Accum>,
        epilogue: AnyEpilogue<'_, T::Accum>,
    ) -> Result<(), Mismatch> {
        let AnyEpilogue { z, bounds } = epilogue;
        let z = z.map(|z| self.reads("z", z)).transpose()?;
        let [rows, cols] = [&a.rows, &a.cols].map(|ranges| Cut::Ranges(Arc::clone(ranges)));
        self.check(a, (x, &cols), (y, &rows), z.is_none() && !beta.is_zero())?;
        z.map_or(Ok(()), |z| z.is_cut_as("z", &rows))?;
        check_bounds(bounds)?;
        let mut edges = a.edges.lock().unwrap_or_else(PoisonError::into_inner);
        // Where parts have ghosts, rows are whole later.
        let (of_local, of_whole) =
            if edges.ghosts.iter().all(Option::is_none) { (bounds, None) } else { (None, bounds) };
        self.multiply(a, &mut edges, x, y, |queue, part, a, x, y| match part {
            Some(part) => {
                let epilogue = AnyEpilogue { z: z.map(|z| &*z.parts[part]), bounds: of_local };
                queue.apply(a, alpha, x, beta, y, epilogue)
            }
            None => queue.apply(a, alpha, x, T::Accum::zero(), y, AnyEpilogue::NONE),
        })?;
        let Some(bounds) = of_whole else { return Ok(()) };
        T::Accum::vectors(self).clamp(bounds, y)?;
        self.submit()?;
        Ok(())
    }

    /// `Y <- alpha*A*X + beta*Y` for several right-hand sides.
    fn block_product<T: Scalar>(
        &mut self,
        a: &PartsMatrix<T>,
        alpha: T::Accum,
        (x, of_x): (&PartsVec<T>, BlockShape),
        beta: T::Accum,
        (y, of_y): (&mut PartsVec<T::Accum>, BlockShape),
    ) -> Result<(), Mismatch> {
        let Some(edges) = &a.blocks else { return Err(without_blocks("a context of parts").into()) };
        let columns = of_x.columns();
        check_shapes([&a.rows, &a.cols].map(|ranges| ranges.len() as usize), of_x, of_y)?;
        let blocks = Blocks { x: (of_x, x.len()), y: (of_y, y.len()) };
        let cols = Cut::of_block(&a.cols, of_x, x.len());
        let rows = Cut::of_block(&a.rows, of_y, y.len());
        self.check(a, (x, &cols), (y, &rows), !beta.is_zero())?;
        if columns == 0 {
            return Ok(());
        }
        let mut edges = edges.lock().unwrap_or_else(PoisonError::into_inner);
        self.multiply(a, edges.of(a, blocks)?, x, y, |queue, part, matrix, x, y| {
            let (beta, of_x, of_y) = match part {
                Some(part) => (beta, shape_of(&a.cols, of_x, part), shape_of(&a.rows, of_y, part)),
                // Packed: values of a row next to each other.
                None => {
                    let [of_x, of_y] = [matrix.row_stats().n_cols, matrix.row_stats().n_rows]
                        .map(|n| BlockShape::row_major(n, columns));
                    (T::Accum::zero(), of_x, of_y)
                }
            };
            queue.apply_block(matrix, alpha, (x, of_x), beta, (y, of_y))
        })
    }

    /// Refuses what is not of these devices, and vectors of other lengths or that are cut in another way.
    fn check<T: Scalar>(
        &self,
        a: &PartsMatrix<T>,
        (x, cols): (&PartsVec<T>, &Cut),
        (y, rows): (&PartsVec<T::Accum>, &Cut),
        reads_y: bool,
    ) -> Result<(), Mismatch> {
        if !a.parts.is(&self.home) {
            return Err(Error::Foreign { what: "the matrix", to: "device" }.into());
        }
        x.check("x", &self.home, true)?;
        y.check("y", &self.home, reads_y)?;
        x.is_cut_as("x", cols)?;
        y.is_cut_as("y", rows)
    }

    /// A product. Sends what others need, multiplies what is here while it is on its way, and then with the ghosts: `product` multiplies by
    /// what is local to a part, or by a remote matrix if no part is named.
    fn multiply<T: Scalar>(
        &mut self,
        a: &PartsMatrix<T>,
        edges: &mut Edges<T>,
        x: &PartsVec<T>,
        y: &mut PartsVec<T::Accum>,
        product: impl Fn(
            &mut dyn ProductsOf<T>,
            Option<usize>,
            &dyn AnyMatrix<T>,
            &dyn AnyVector<T>,
            &mut dyn AnyVector<T::Accum>,
        ) -> Result<(), Mismatch>
        + Sync,
    ) -> Result<(), Mismatch> {
        let Edges { sent, ghosts, link } = edges;
        for ((queue, sent), x) in self.queues.iter_mut().zip(&mut *sent).zip(&x.parts) {
            if let Some(Sent { at, values }) = sent {
                T::products(&mut **queue).gather(&**x, &**at, &mut **values)?;
                queue.submit()?;
            }
        }
        let queues = &mut self.queues[..];
        let PartsVec { parts: of_y, unrepaired, .. } = y;
        let mut multiply = |queues: &mut [Box<dyn AnyQueue>]| -> Result<(), Mismatch> {
            let parts = x.parts.iter().zip(&mut *of_y).enumerate();
            for ((queue, local), (part, (x, y))) in queues.iter_mut().zip(&a.locals).zip(parts) {
                product(T::products(&mut **queue), Some(part), &**local, &**x, &mut **y)?;
                *unrepaired = true;
                queue.submit()?;
            }
            Ok(())
        };
        let need_no_core = self.home.devices.iter().all(|device| device.caps().kind != DeviceKind::Cpu)
            && a.locals.iter().all(|local| local.plan().repair != Repair::Host);
        match link {
            Link::Devices(copies) => {
                copy_ghosts(queues, copies, &x.parts, sent, ghosts)?;
                let multiplied = multiply(queues);
                // After an error too: x and what was packed may be written next.
                wait_for_copies(queues, copies)?;
                multiplied?;
            }
            Link::Host(host) => stage(queues, host, sent, ghosts, need_no_core, multiply)?,
            Link::Peers(exchange) => stage(queues, exchange, sent, ghosts, need_no_core, multiply)?,
        }
        for (((queue, ghosts), remote), y) in queues.iter_mut().zip(ghosts).zip(&a.remotes).zip(of_y) {
            let (Some(Ghosts { values, sums, rows }), Some(remote)) = (ghosts, remote) else { continue };
            product(T::products(&mut **queue), None, &**remote, &**values, &mut **sums)?;
            T::Accum::vectors(&mut **queue).scatter_add(&**sums, &**rows, &mut **y)?;
            queue.submit()?;
        }
        *unrepaired = false;
        Ok(())
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
        epilogue: AnyEpilogue<'_, T::Accum>,
    ) -> Result<(), Mismatch> {
        let a = own::<PartsMatrix<T>>(a, "the matrix")?;
        let (x, y) = (own::<PartsVec<T>>(x, "x")?, own_mut::<PartsVec<T::Accum>>(y, "y")?);
        self.product(a, alpha, x, beta, y, epilogue)
    }

    fn apply_block(
        &mut self,
        a: &dyn AnyMatrix<T>,
        alpha: T::Accum,
        (x, of_x): (&dyn AnyVector<T>, BlockShape),
        beta: T::Accum,
        (y, of_y): (&mut dyn AnyVector<T::Accum>, BlockShape),
    ) -> Result<(), Mismatch> {
        let a = own::<PartsMatrix<T>>(a, "the matrix")?;
        let (x, y) = (own::<PartsVec<T>>(x, "x")?, own_mut::<PartsVec<T::Accum>>(y, "y")?);
        self.block_product(a, alpha, (x, of_x), beta, (y, of_y))
    }
}

/// Begins to copy ghosts from device to device, while the queues go on.
fn copy_ghosts<T: Scalar>(
    queues: &mut [Box<dyn AnyQueue>],
    copies: &[Copy],
    x: &[Box<dyn AnyVector<T>>],
    sent: &[Option<Sent<T>>],
    ghosts: &mut [Option<Ghosts<T>>],
) -> Result<(), Mismatch> {
    // After these, x is there and what is sent is packed, and the last product has read its ghosts.
    let marks = marks(queues, Lane::Operations)?;
    let mut last_from = None;
    for Copy { from, sent: range, to, ghosts: to_range } in copies {
        let (from_queue, to_queue) = pair(queues, *from, *to);
        if last_from.replace(*from) != Some(*from) {
            from_queue.after(Lane::Copies, &*marks[*from])?;
        }
        from_queue.after(Lane::Copies, &*marks[*to])?;
        let values = sent[*from].as_ref().map_or(&*x[*from], |sent| &*sent.values);
        let of_peer = ghosts[*to].as_mut().expect("who receives has memory for it");
        let copies = T::products(from_queue);
        copies.copy_to_peer(values, range.clone(), to_queue, &mut *of_peer.values, to_range.start)?;
    }
    Ok(())
}

/// What queues do next comes after the copies to and from them.
fn wait_for_copies(queues: &mut [Box<dyn AnyQueue>], copies: &[Copy]) -> Result<(), Mismatch> {
    if copies.is_empty() {
        return Ok(());
    }
    let marks = marks(queues, Lane::Copies)?;
    let mut last_from = None;
    for Copy { from, to, .. } in copies {
        if last_from.replace(*from) != Some(*from) {
            queues[*from].after(Lane::Operations, &*marks[*from])?;
        }
        queues[*to].after(Lane::Operations, &*marks[*from])?;
    }
    Ok(())
}

/// Moves ghosts through memory of the host, and multiplies meanwhile. Devices that need no core for that begin before.
fn stage<T: Scalar>(
    queues: &mut [Box<dyn AnyQueue>],
    link: &mut impl Staged,
    sent: &[Option<Sent<T>>],
    ghosts: &mut [Option<Ghosts<T>>],
    need_no_core: bool,
    mut multiply: impl FnMut(&mut [Box<dyn AnyQueue>]) -> Result<(), Mismatch> + Send,
) -> Result<(), Mismatch> {
    for (part, queue) in queues.iter_mut().enumerate() {
        // The last product has read its ghosts then, so that the next ones are copied while the local product runs.
        if sent[part].is_some() || ghosts[part].is_some() {
            queue.wait()?;
        }
        if let Some(sent) = &sent[part] {
            let bytes = bytemuck::try_cast_slice_mut(link.sent(part)).map_err(not_values)?;
            sent.values.read(bytes)?;
        }
    }
    let mut multiplied = need_no_core.then(|| multiply(queues));
    link.run(&mut || {
        multiplied.get_or_insert_with(|| multiply(queues));
    })?;
    multiplied.unwrap_or_else(|| Err(failed(PeersError("it did no work meanwhile".into())).into()))?;
    for (part, ghosts) in ghosts.iter_mut().enumerate() {
        if let Some(ghosts) = ghosts {
            ghosts.values.write(values(link.ghosts(part))?)?;
        }
    }
    Ok(())
}

/// Bytes of the transport, as the values that they are.
fn values<T: Scalar>(bytes: &[u8]) -> Result<&[T]> {
    bytemuck::try_cast_slice(bytes).map_err(not_values)
}

fn not_values(e: bytemuck::PodCastError) -> Error {
    failed(PeersError(format!("its memory holds no whole values at an address that is a multiple of 8: {e}")))
}
