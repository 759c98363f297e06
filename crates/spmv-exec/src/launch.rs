//! A run's launches, and the one unsafe call.

use std::sync::Arc;

use spmv_backend::arguments::{Arguments, Finish, GatherValues};
use spmv_backend::codes::{EPILOGUE_CLAMP, EPILOGUE_Z};
use spmv_backend::{Backend, KernelSpec, Memory, Scalar};
use spmv_core::{Accum, Value};

use crate::device::Device;
use crate::error::Result;

/// A kernel of a device.
#[derive(Debug)]
pub(crate) struct Compiled<B: Backend> {
    kernel: Arc<B::Kernel>,
    pub(crate) spec: KernelSpec,
}

impl<B: Backend> Device<B> {
    /// The kernel of a spec.
    pub(crate) fn compiled(&self, spec: &KernelSpec) -> Result<Compiled<B>> {
        Ok(Compiled { kernel: self.kernel(spec)?, spec: *spec })
    }
}

/// A run on one stream: lengths of `x` and `y` were checked against the matrix, and until the run is over `y` is borrowed mutably,
/// or marked as written by the queue (`Uses`).
pub(crate) struct Run<'a, B: Backend, T: Value> {
    pub(crate) device: &'a Device<B>,
    pub(crate) stream: &'a B::Stream,
    pub(crate) x: Memory<'a, B>,
    pub(crate) y: Memory<'a, B>,
    /// What `beta` scales, if not `y`: as long, and not written.
    pub(crate) z: Option<Memory<'a, B>>,
    pub(crate) scaling: Scaling<T::Accum>,
    /// Which dirty counter to use.
    pub(crate) turn: u32,
}

/// The factors of a run, and what its result is clamped to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scaling<A> {
    pub(crate) alpha: A,
    pub(crate) beta: A,
    pub(crate) bounds: Option<[A; 2]>,
}

impl<A> Scaling<A> {
    pub(crate) fn new(alpha: A, beta: A) -> Self {
        Self { alpha, beta, bounds: None }
    }
}

/// What becomes of a row's sum, as kernels take it. `z` is not read unless it is there, and neither is it where a factor is zero.
pub(crate) fn finish<'a, B: Backend, A: Accum>(
    device: &'a Device<B>,
    Scaling { alpha, beta, bounds }: Scaling<A>,
    z: Option<Memory<'a, B>>,
) -> Finish<'a, B> {
    let z = z.filter(|_| !beta.is_zero());
    let [lo, hi] = bounds.unwrap_or([A::zero(); 2]).map(Scalar::of);
    Finish {
        epilogue: z.map_or(0, |_| EPILOGUE_Z) + bounds.map_or(0, |_| EPILOGUE_CLAMP),
        alpha: Scalar::of(alpha),
        beta: Scalar::of(beta),
        lo,
        hi,
        z: z.unwrap_or(Memory::Device(device.nothing())),
    }
}

/// Starts a kernel, unless there is nothing for it to do.
///
/// # Panics
/// If the arguments are those of another kernel.
pub(crate) fn launch<'s, B: Backend, K: Arguments<'s, B>>(
    device: &Device<B>,
    stream: &B::Stream,
    compiled: &Compiled<B>,
    groups: u32,
    args: K,
) -> Result<()> {
    assert_eq!(K::KERNEL, compiled.spec.id, "arguments of another kernel");
    if groups == 0 {
        return Ok(());
    }
    let args = args.list();
    // SAFETY: `args` are those of the kernel (above), each by its name. Of a run: `Prepare` copied the arrays of a validated
    // matrix, or an algorithm laid them out from one, and sized its scratch memory from the same counts;
    // `Prepared::check_lengths` saw x and y. Columns are below the length of x by `CsrView::new`, or a layout's
    // padding; `perm` is a list of all rows (or parts of rows, each with a sum), where it is read. Written buffers are the workspace's or `y`, which is borrowed
    // mutably; one run at a time borrows the workspace. Host memory is borrowed until `finish` has waited. Of a queue:
    // `Queue` compared the lengths of all vectors, and it alone has scalars, programs of its own scalars, and partial sums, one for
    // each group; `Uses` makes whoever touches a vector later wait; `Device::indices` saw that indices are below the length that the
    // queue compares, `scatter_add` that all differ. Of new values: `Values` listed entries of the part that they are
    // given for, one for each slot of a buffer that it has locked, and `copies` waits before the host's slice is given back. Of
    // several right-hand sides: `checked` compared shapes with the matrix and with the lengths of vectors, and `grow` made scratch memory
    // for a panel of each, and for the sums of each block. Of slices that the device makes: `CsrArrays` has the arrays of a validated matrix, all else
    // is sized by the `Slices` of the same, and what is written was just allocated.
    unsafe { device.backend().launch(stream, &compiled.kernel, groups, &args)? };
    Ok(())
}

/// Brings the value of each slot's entry to it, by `gather_values`.
pub(crate) fn to_slots<B: Backend>(
    device: &Device<B>,
    stream: &B::Stream,
    kernel: &Compiled<B>,
    n_slots: u32,
    entries: &B::Buffer,
    vals: Memory<'_, B>,
    slots: &B::Buffer,
) -> Result<()> {
    let groups = n_slots.div_ceil(kernel.spec.tiling.group_lanes());
    let (entries, slots) = (Memory::Device(entries), Memory::Device(slots));
    launch(device, stream, kernel, groups, GatherValues { n_slots, entries, vals, slots })
}

impl<B: Backend, T: Value> Run<'_, B, T> {
    /// Starts a kernel, unless there is nothing for it to do.
    ///
    /// # Panics
    /// If the arguments are those of another kernel.
    pub(crate) fn start<'s, K: Arguments<'s, B>>(
        &'s self,
        compiled: &Compiled<B>,
        groups: u32,
        args: K,
    ) -> Result<()> {
        launch(self.device, self.stream, compiled, groups, args)
    }

    /// Starts again what was captured of runs like this one: of the same matrix, vectors and workspace.
    pub(crate) fn replay(&self, graph: &B::Graph) -> Result<()> {
        // SAFETY: every captured launch went through `start` with buffers of the same `Graph`, which borrows
        // matrix, vectors and workspace (the latter and `y` mutably) as long as it lives.
        unsafe { self.device.backend().replay(self.stream, graph)? };
        Ok(())
    }
}
