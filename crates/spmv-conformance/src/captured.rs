//! Launches that were captured, to be started again on devices that cannot capture.

use std::sync::Arc;

use spmv_backend::{Arg, Args, Backend, KernelId, Memory, Scalar};

use crate::memory::Slot;

/// What was put on a stream while it was captured.
#[derive(Debug)]
pub(crate) enum Command<B: Backend> {
    Launch { kernel: Arc<B::Kernel>, groups: u32, id: KernelId, args: Vec<Owned<B>> },
    Zero { slot: Arc<Slot<B>>, bytes: u64 },
}

/// An argument that is kept.
#[derive(Debug)]
pub(crate) enum Owned<B: Backend> {
    Count(u32),
    Scalar(Scalar),
    /// And whether the kernel writes it.
    Memory(Arc<Slot<B>>, bool),
}

impl<B: Backend> Command<B> {
    /// The buffers that it uses, and whether it writes them.
    pub(crate) fn uses(&self) -> Vec<(&Arc<Slot<B>>, bool)> {
        match self {
            Command::Zero { slot, .. } => vec![(slot, true)],
            Command::Launch { args, .. } => args.iter().filter_map(Owned::memory).collect(),
        }
    }
}

impl<B: Backend> Owned<B> {
    pub(crate) fn memory(&self) -> Option<(&Arc<Slot<B>>, bool)> {
        match self {
            Owned::Memory(slot, writes) => Some((slot, *writes)),
            Owned::Count(_) | Owned::Scalar(_) => None,
        }
    }
}

/// The arguments of a launch, with the buffers that `args` keep: `buffers` are theirs, in the same order.
pub(crate) fn args_of<'a, B: Backend>(
    id: KernelId,
    args: &[Owned<B>],
    buffers: impl IntoIterator<Item = &'a B::Buffer>,
) -> Args<'a, B> {
    let mut buffers = buffers.into_iter();
    let arg = |arg: &Owned<B>| match arg {
        Owned::Count(count) => Arg::U32(*count),
        Owned::Scalar(scalar) => Arg::Accum(*scalar),
        Owned::Memory(..) => {
            Arg::Memory(Memory::Device(buffers.next().expect("as many as memory arguments")))
        }
    };
    Args::again(id, args.iter().map(arg))
}
