//! What a stream is given to do, and what it holds back of that.

use std::ffi::c_void;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ptr;
use std::sync::Arc;

use spmv_backend::{KernelId, MAX_PARAMS, ParamKind};

use crate::device_driver::{
    self as sys, Answer, CUdeviceptr, CUfunction, CUstream, LaunchAttribute, LaunchConfig,
};
use crate::device_memory::{Block, Buffer};
use crate::error::During;

/// Scalars of a kernel at most: of complex numbers of 64 bits each takes a second word.
const SECOND_WORDS: usize = {
    let (mut most, mut kernel) = (0, 0);
    while kernel < KernelId::ALL.len() {
        let (params, mut scalars, mut at) = (KernelId::ALL[kernel].params(), 0, 0);
        while at < params.len() {
            scalars += matches!(params[at].kind, ParamKind::Accum) as usize;
            at += 1;
        }
        most = if scalars > most { scalars } else { most };
        kernel += 1;
    }
    most
};

/// Arguments of a launch: each in a word of its own, or in two, of which the driver reads as many bytes as the parameter has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Words {
    words: [u64; MAX_PARAMS + SECOND_WORDS],
    n_words: u8,
    /// The first word of each argument.
    starts: [u8; MAX_PARAMS],
    n: u8,
}

impl Words {
    pub(crate) fn new() -> Self {
        Self { words: [0; MAX_PARAMS + SECOND_WORDS], n_words: 0, starts: [0; MAX_PARAMS], n: 0 }
    }

    /// Adds an argument.
    pub(crate) fn push(&mut self, words: &[u64]) {
        let first = usize::from(self.n_words);
        self.starts[usize::from(self.n)] = self.n_words;
        self.words[first..][..words.len()].copy_from_slice(words);
        self.n_words += words.len() as u8;
        self.n += 1;
    }

    /// Where each argument is.
    fn addresses(&self) -> [*mut c_void; MAX_PARAMS] {
        self.starts.map(|start| ptr::from_ref(&self.words[usize::from(start)]).cast_mut().cast())
    }
}

/// A launch or a zeroing, with all that makes it what it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::large_enum_variant)] // Nearly all are launches, and none allocates.
pub(crate) enum Command {
    Launch {
        function: CUfunction,
        label: &'static str,
        groups: u32,
        group_lanes: u32,
        local_bytes: u32,
        /// Whether it may start while what is before it on the stream still runs.
        is_early: bool,
        args: Words,
    },
    Zero {
        start: CUdeviceptr,
        bytes: usize,
    },
}

impl Command {
    /// What errors say that it was.
    pub(crate) fn label(&self) -> During<'static> {
        During::Kernel(if let Self::Launch { label, .. } = self { label } else { "zero" })
    }

    /// Puts it on a stream.
    ///
    /// # Safety
    /// The stream and all memory that the command uses live. If it is a launch, its arguments are those of the kernel, and what
    /// `Backend::launch` asks for holds.
    pub(crate) unsafe fn start(&self, stream: CUstream) -> Answer {
        match self {
            Self::Launch { function, label: _, groups, group_lanes, local_bytes, is_early, args } => {
                let mut params = args.addresses();
                let (params, extra) = (params.as_mut_ptr(), ptr::null_mut());
                let (groups, group_lanes, local_bytes) = (*groups, *group_lanes, *local_bytes);
                if !is_early {
                    // SAFETY: every parameter of the kernel has 4, 8 or 16 bytes, the lower ones of an argument (devices and their
                    // hosts are little-endian); the driver copies as many as there are and writes none. The group and its local memory are
                    // as large as the kernel was made for.
                    return unsafe {
                        sys::cuLaunchKernel(
                            *function,
                            groups,
                            1,
                            1,
                            group_lanes,
                            1,
                            1,
                            local_bytes,
                            stream,
                            params,
                            extra,
                        )
                    };
                }
                let (attributes, n_attributes) = (ptr::from_ref(&LaunchAttribute::EARLY), 1);
                let (grid, block) = ([groups, 1, 1], [group_lanes, 1, 1]);
                let config = LaunchConfig { grid, block, local_bytes, stream, attributes, n_attributes };
                // SAFETY: as above. The kernel waits for what is before it (`Kernel::is_early`).
                unsafe { sys::cuLaunchKernelEx(&config, *function, params, extra) }
            }
            // SAFETY: the range lies in memory that lives (contract), which freeing keeps until the device's work is done.
            Self::Zero { start, bytes } => unsafe { sys::cuMemsetD8Async(*start, 0, *bytes, stream) },
        }
    }
}

/// What a stream holds back.
#[derive(Debug, Default)]
pub(crate) struct Held {
    pub(crate) commands: Vec<Command>,
    /// What the commands use, which is freed no earlier.
    memory: Vec<Arc<Block>>,
}

impl Held {
    /// The commands, nearly: others may have the same one.
    pub(crate) fn key(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.commands.hash(&mut hasher);
        hasher.finish()
    }

    /// Takes a command, unless it uses memory of the caller, which goes when its owner says so.
    pub(crate) fn take(&mut self, command: &Command, buffers: &[Option<&Buffer>]) -> bool {
        let buffers = || buffers.iter().flatten();
        let keeps = buffers().all(|buffer| !buffer.is_callers());
        if keeps {
            self.memory.extend(buffers().map(|buffer| buffer.memory()));
            self.commands.push(command.clone());
        }
        keeps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_every_kernel_fit() {
        for id in KernelId::ALL {
            let mut words = Words::new();
            for param in id.params() {
                let n = if param.kind == ParamKind::Accum { 2 } else { 1 };
                words.push(&[7; 2][..n]);
            }
            assert_eq!(usize::from(words.n), id.params().len(), "{id}");
        }
    }
}
