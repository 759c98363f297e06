//! A part of a matrix on a device: what an algorithm keeps from prepare, and what it writes in a run.
//!
//! A [`Layout`] is made by an algorithm's `build`; its [`Runner`] owns the scratch memory of one workspace together with
//! the layout, so that neither meets one of another algorithm.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use spmv_backend::arguments::Finish;
use spmv_backend::{Backend, HostArray, HostSlice, KernelId, KernelSpec, Memory, MemoryModel};
use spmv_core::format::{BySlot, Cost};
use spmv_core::{Accum, CsrView, Offset, Tiling, Value, parts};

use crate::device::{Device, bytes_of};
use crate::error::Result;
use crate::launch::{self, Compiled, Run, Scaling};
use crate::method::{Limits, Repair};
use crate::pages::Pages;
use crate::values::{Order, Values};

/// Rows of the matrix that one launch multiplies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) row_base: u32,
    pub(crate) n_rows: u32,
    pub(crate) nnz: u32,
    /// Adds to a row that an earlier part began.
    pub(crate) continues: bool,
}

impl Span {
    /// Groups of a launch whose lanes take S rows each.
    pub(crate) fn row_groups(&self, tiling: &Tiling) -> u32 {
        Tiling::n_row_groups(&tiling.scalar_rows(0, self.n_rows), self.n_rows)
    }

    /// What becomes of the sums of its rows. One that continues adds to what stands in `y`.
    pub(crate) fn finish<'r, B: Backend, T: Value>(&self, run: &Run<'r, B, T>) -> Finish<'r, B> {
        let Run { device, z, scaling, .. } = *run;
        match self.continues {
            true => launch::finish(device, Scaling { beta: num_traits::one(), ..scaling }, None),
            false => launch::finish(device, scaling, z),
        }
    }
}

/// What an algorithm is given to lay out a part.
pub(crate) struct Prepare<'a, B: Backend> {
    pub(crate) device: &'a Device<B>,
    /// The main kernel.
    pub(crate) kernel: KernelSpec,
    /// The kernels that it starts besides.
    pub(crate) helpers: Vec<KernelSpec>,
    pub(crate) repair: Repair,
    pub(crate) span: Span,
    /// How wide the matrix's regular part is, where the algorithm has one.
    pub(crate) regular_width: usize,
    /// Arrays of the matrix that the device may keep.
    pub(crate) given: &'a [Arc<dyn HostArray>],
}

impl<B: Backend> Prepare<'_, B> {
    /// The main kernel.
    pub(crate) fn main(&self) -> Result<Compiled<B>> {
        self.device.compiled(&self.kernel)
    }

    /// One of the kernels that [`Method::helpers`](crate::method::Method::helpers) lists: the plan has checked it.
    pub(crate) fn helper(&self, id: KernelId) -> Result<Compiled<B>> {
        let spec = self.helpers.iter().find(|spec| spec.id == id);
        self.device.compiled(spec.expect("`helpers` lists every kernel that `build` asks for"))
    }

    /// A copy on the device; the very array, where it was given away and the device can use it.
    pub(crate) fn copy<E: bytemuck::Pod>(&self, elements: &[E]) -> Result<B::Buffer> {
        let backend = self.device.backend();
        let is_given = |array: &&Arc<dyn HostArray>| {
            array.bytes().as_ptr_range() == bytemuck::cast_slice::<E, u8>(elements).as_ptr_range()
        };
        let given = self.given.iter().find(is_given).filter(|_| !elements.is_empty());
        if let Some(buffer) = given.and_then(|array| backend.adopt_array(array)) {
            return Ok(buffer);
        }
        let mut buffer = backend.alloc(size_of_val(elements) as u64)?;
        self.device.copies(|s| backend.write(s, &mut buffer, 0, bytemuck::cast_slice(elements)))?;
        Ok(buffer)
    }

    /// Memory of the device for so many elements, written by `fill`, in place where the host reaches it, and what that returns.
    pub(crate) fn filled<E: bytemuck::Pod + Send + Sync, R>(
        &self,
        n: usize,
        fill: impl FnOnce(&mut [E]) -> Result<R>,
    ) -> Result<(B::Buffer, R)> {
        let (device, backend) = (self.device, self.device.backend());
        if n == 0 || device.caps().memory != MemoryModel::UnifiedCoherent {
            let mut elements = Pages::new(n)?;
            let filled = fill(&mut elements)?;
            return Ok((self.copy(&elements)?, filled));
        }
        let (mut buffer, bytes) = (device.scratch::<E>(n)?, bytes_of::<E>(n));
        let fill = |bytes: &mut [u8]| fill(bytemuck::cast_slice_mut(bytes));
        let filled = device.copies(|s| backend.map(s, &mut buffer, bytes, fill)?)?;
        Ok((buffer, filled))
    }

    /// Columns and values in the order of slots. The host makes a few slots at a time, on several threads where they are
    /// long: a layout of many gigabytes would be made by one thread in minutes, and in memory that the host lacks.
    pub(crate) fn slots<T: Value>(&self, order: &BySlot, a: CsrView<'_, T, u32>) -> Result<[B::Buffer; 2]> {
        let backend = self.device.backend();
        let held = order.ptr()[order.width()] as u64;
        let mut cols = backend.alloc(held * size_of::<u32>() as u64)?;
        let mut vals = backend.alloc(held * size_of::<T>() as u64)?;
        let (mut of_cols, mut of_vals) = (Vec::new(), Vec::new());
        for slots in batches(order.ptr()) {
            let (start, end) = (order.ptr()[slots.start], order.ptr()[slots.end]);
            // Grows once: no batch is longer than the first. What an earlier one left is overwritten.
            of_cols.resize(end - start, 0);
            of_vals.resize(end - start, <T as Value>::from_f64(0.0));
            fill(order, a, &slots, &mut of_cols, &mut of_vals);
            self.device.copies(|s| {
                backend.write(s, &mut cols, 4 * start as u64, bytemuck::cast_slice(&of_cols))?;
                let at = start as u64 * size_of::<T>() as u64;
                backend.write(s, &mut vals, at, bytemuck::cast_slice(&of_vals))
            })?;
        }
        Ok([cols, vals])
    }

    /// The matrix as it is.
    pub(crate) fn csr<T: Value>(&self, a: CsrView<'_, T, u32>) -> Result<CsrArrays<B>> {
        self.rest(a, Order::Csr)
    }

    /// What a regular part leaves of the matrix, whose values stand in that order.
    pub(crate) fn rest<T: Value>(&self, a: CsrView<'_, T, u32>, order: Order) -> Result<CsrArrays<B>> {
        let (row_ptr, cols) = (self.copy(a.row_ptr())?, self.copy(a.cols())?);
        Ok(CsrArrays { row_ptr, cols, vals: Values::new(self.copy(a.vals())?, order) })
    }
}

/// Slots that a thread fills: as many as have their columns in a cache line of CSR.
const SLOTS_OF_A_THREAD: usize = 16;
/// Entries of a batch of slots, unless the slots of one thread have more.
const BATCH: usize = 1 << 26;
/// Entries of a thread below which its start would take longer than its work.
const FEW: usize = 1 << 20;

/// Neighbouring slots that are filled at a time, from the first to the last.
fn batches(ptr: &[usize]) -> impl Iterator<Item = Range<usize>> + '_ {
    let width = ptr.len() - 1;
    let longest = ptr.get(1).map_or(1, |end| (*end).max(1));
    let slots = (BATCH / longest / SLOTS_OF_A_THREAD).max(parts::threads(usize::MAX, 1)) * SLOTS_OF_A_THREAD;
    (0..width).step_by(slots).map(move |first| first..width.min(first + slots))
}

/// [`BySlot::fill`] on several threads.
fn fill<T: Value>(
    order: &BySlot,
    a: CsrView<'_, T, u32>,
    slots: &Range<usize>,
    cols: &mut [u32],
    vals: &mut [T],
) {
    let n_slots = slots.len().div_ceil(parts::threads(cols.len(), FEW));
    let n_slots = n_slots.next_multiple_of(SLOTS_OF_A_THREAD.min(slots.len()).max(1)).max(1);
    let of_threads = slots.clone().step_by(n_slots).map(|first| first..slots.end.min(first + n_slots));
    let lens = of_threads.clone().map(|slots| order.ptr()[slots.end] - order.ptr()[slots.start]);
    let (cols, vals) = (parts::split(cols, lens.clone()), parts::split(vals, lens));
    let to = cols.into_iter().zip(vals);
    parts::map(of_threads.zip(to), |(slots, (cols, vals))| order.fill(a, slots, cols, vals));
}

/// A matrix in CSR form on the device.
#[derive(Debug)]
pub(crate) struct CsrArrays<B: Backend> {
    pub(crate) row_ptr: B::Buffer,
    pub(crate) cols: B::Buffer,
    pub(crate) vals: Values<B>,
}

/// A part of a matrix on a device; never changes.
pub(crate) trait Layout<B: Backend, T: Value>: Debug + Send + Sync {
    /// Allocates what runs of one workspace write besides `y`.
    fn runner(&self, device: &Device<B>) -> Result<Box<dyn Runner<B, T>>>;

    /// Tiles that a run walks, where sums of tiles are repaired.
    fn tiles(&self) -> u32 {
        0
    }

    /// Whether what writes a row last knows that, so that it can clamp it.
    fn finishes_rows(&self) -> bool {
        true
    }

    /// The arrays, where they are those of CSR.
    fn csr(&self) -> Option<&CsrArrays<B>> {
        None
    }

    /// The values, in one buffer or several.
    fn values(&self) -> Vec<&Values<B>> {
        self.csr().map(|a| &a.vals).into_iter().collect()
    }

    /// Before values are set for the first time: what holds for the old ones alone is given up.
    fn forget_values(&self, _: &Device<B>) -> Result<()> {
        Ok(())
    }
}

/// A piece of a matrix may take more than its share of the whole, which was checked.
pub(crate) const ANY_BLOW_UP: f64 = f64::INFINITY;

/// What an algorithm makes of a matrix of any type, on any device.
pub(crate) trait Build {
    /// A [`Layout`] for vectors of every type.
    type Made<B: Backend>;

    /// How wide the regular part is that its layout keeps apart from the rest of the rows, where it has one: what was asked for,
    /// or else what suits the matrix.
    fn regular_width<T: Value, O: Offset>(_: CsrView<'_, T, O>, _asked: Option<usize>) -> Option<usize> {
        None
    }

    /// What its layout takes, where it has one of its own and only the matrix itself says, with a regular part of that width.
    fn cost<T: Value, O: Offset>(_: CsrView<'_, T, O>, _regular_width: usize) -> Option<Cost> {
        None
    }

    /// Rows of a part at most, for a layout of that cost.
    fn rows_of_a_part(_: Option<&Cost>, limits: &Limits, _n_rows: usize, _n_cols: usize) -> usize {
        limits.max_rows
    }

    /// Copies a part to the device. The type of vectors is one of `to.kernel`'s types: the same code makes a layout for each.
    fn build<B: Backend, V: Value>(to: &Prepare<'_, B>, a: CsrView<'_, V, u32>) -> Result<Self::Made<B>>;
}

/// `y` as the host may repair it.
pub(crate) enum Target<'a, B: Backend, A> {
    Device(&'a mut B::Buffer),
    Host(&'a mut [A]),
}

impl<B: Backend, A: Accum> Target<'_, B, A> {
    /// The same for a shorter time.
    pub(crate) fn reborrow(&mut self) -> Target<'_, B, A> {
        match self {
            Target::Device(buffer) => Target::Device(&mut **buffer),
            Target::Host(y) => Target::Host(y),
        }
    }

    /// As a launch takes it.
    pub(crate) fn memory(&mut self) -> Memory<'_, B> {
        match self {
            Target::Device(buffer) => Memory::Device(&**buffer),
            Target::Host(y) => Memory::Host(HostSlice::of_mut(bytemuck::cast_slice_mut(y))),
        }
    }
}

/// What the host repaired.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Repaired {
    pub(crate) dirty_tiles: u32,
    pub(crate) y_bytes_copied: u64,
    /// Whether there is work on the stream that must be waited for.
    pub(crate) unfinished: bool,
}

/// A part of a matrix with the scratch memory of one workspace.
pub(crate) trait Runner<B: Backend, T: Value>: Debug + Send {
    /// Starts stage 1: all there is, where sums need no repair.
    fn stage1(&self, run: &Run<'_, B, T>) -> Result<()>;

    /// Zeroes what runs count in and leave at zero, unless they fail.
    fn reset(&mut self, _: &B, _: &B::Stream) -> Result<()> {
        Ok(())
    }

    /// Starts stage 2, where the device repairs.
    fn stage2(&self, _: &Run<'_, B, T>) -> Result<()> {
        Ok(())
    }

    /// Does stage 2 of a run with those factors, where the host repairs; stage 1 is over.
    fn repair(
        &mut self,
        _: &Device<B>,
        _: &B::Stream,
        _scaling: Scaling<T::Accum>,
        _: Target<'_, B, T::Accum>,
    ) -> Result<Repaired> {
        Ok(Repaired::default())
    }

    /// Brings repaired sums to `y`, where they are not there already; whether that takes a launch.
    fn combine(&self, _: &Run<'_, B, T>) -> Result<bool> {
        Ok(false)
    }

    /// Tiles that the device repaired in the last run, by the counter that it used.
    fn dirty_tiles(&self, _: &B, _: &B::Stream, _turn: u32) -> Result<u32> {
        Ok(0)
    }

    /// Scratch memory by name, to be corrupted.
    #[cfg(test)]
    fn scratch(&mut self, _: &str) -> Option<&mut B::Buffer> {
        None
    }
}

/// A part of a matrix whose runs write nothing besides `y`.
pub(crate) trait Direct<B: Backend, T: Value>: Debug + Send + Sync + 'static {
    /// Starts the kernel.
    fn launch(&self, run: &Run<'_, B, T>) -> Result<()>;

    /// The arrays, where they are those of CSR.
    fn csr(&self) -> Option<&CsrArrays<B>> {
        None
    }

    /// The values, in one buffer or several.
    fn values(&self) -> Vec<&Values<B>> {
        self.csr().map(|a| &a.vals).into_iter().collect()
    }

    /// As of a [`Layout`].
    fn forget_values(&self, _: &Device<B>) -> Result<()> {
        Ok(())
    }
}

/// Such a part as a layout, and as its own runner.
#[derive(Debug)]
pub(crate) struct WithoutScratch<L>(Arc<L>);

impl<L> WithoutScratch<L> {
    pub(crate) fn new(part: L) -> Self {
        Self(Arc::new(part))
    }
}

impl<B: Backend, T: Value, L: Direct<B, T>> Layout<B, T> for WithoutScratch<L> {
    fn runner(&self, _: &Device<B>) -> Result<Box<dyn Runner<B, T>>> {
        Ok(Box::new(Self(Arc::clone(&self.0))))
    }

    fn csr(&self) -> Option<&CsrArrays<B>> {
        self.0.csr()
    }

    fn values(&self) -> Vec<&Values<B>> {
        self.0.values()
    }

    fn forget_values(&self, device: &Device<B>) -> Result<()> {
        self.0.forget_values(device)
    }
}

impl<B: Backend, T: Value, L: Direct<B, T>> Runner<B, T> for WithoutScratch<L> {
    fn stage1(&self, run: &Run<'_, B, T>) -> Result<()> {
        self.0.launch(run)
    }
}
