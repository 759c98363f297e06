//! What the driver's codes mean.

use cust::sys::CUresult::{self, *};
use spmv_backend::Error;

/// What was being done when the driver refused.
#[derive(Clone, Copy, Debug)]
pub(crate) enum During<'a> {
    /// An allocation.
    Memory { bytes: u64 },
    /// A launch, or waiting for one.
    Kernel(&'a str),
    /// Anything else, in words.
    Other(&'static str),
}

pub(crate) fn unavailable(reason: impl Into<String>) -> Error {
    Error::Unavailable { backend: "cuda".into(), reason: reason.into() }
}

/// The name of a code, without its prefix, and the code.
pub(crate) fn text(code: CUresult) -> String {
    format!("{code:?} ({})", code as u32)
}

/// Whether nothing works any more in a context that has answered so.
fn is_sticky(code: CUresult) -> bool {
    matches!(
        code,
        CUDA_ERROR_ECC_UNCORRECTABLE
            | CUDA_ERROR_ILLEGAL_ADDRESS
            | CUDA_ERROR_LAUNCH_TIMEOUT
            | CUDA_ERROR_CONTEXT_IS_DESTROYED
            | CUDA_ERROR_ASSERT
            | CUDA_ERROR_HARDWARE_STACK_ERROR
            | CUDA_ERROR_ILLEGAL_INSTRUCTION
            | CUDA_ERROR_MISALIGNED_ADDRESS
            | CUDA_ERROR_INVALID_ADDRESS_SPACE
            | CUDA_ERROR_INVALID_PC
            | CUDA_ERROR_LAUNCH_FAILED
            | CUDA_ERROR_INVALID_CONTEXT
            | CUDA_ERROR_DEINITIALIZED
            | CUDA_ERROR_UNKNOWN
    )
}

/// The typed error for a code of the driver.
pub(crate) fn of(device: &str, during: During<'_>, code: CUresult) -> Error {
    let device = device.to_owned();
    match (code, during) {
        (CUDA_ERROR_OUT_OF_MEMORY, During::Memory { bytes }) => Error::OutOfMemory { device, bytes },
        (code, during) if is_sticky(code) => {
            let during = match during {
                During::Memory { .. } => "memory",
                During::Kernel(name) => name,
                During::Other(what) => what,
            };
            Error::DeviceLost { device, detail: format!("{during}: {}", text(code)) }
        }
        (code, During::Kernel(kernel)) => {
            Error::Launch { device, kernel: kernel.to_owned(), detail: text(code) }
        }
        (code, During::Memory { .. }) => {
            Error::Launch { device, kernel: "memory".into(), detail: text(code) }
        }
        (code, During::Other(what)) => Error::Launch { device, kernel: what.into(), detail: text(code) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_device_is_told_from_a_failed_launch_and_from_full_memory() {
        let kernel = During::Kernel("spec_segsum");
        let e = of("d", kernel, CUDA_ERROR_ILLEGAL_ADDRESS).to_string();
        let expected = "d was lost: spec_segsum: CUDA_ERROR_ILLEGAL_ADDRESS (700); use another backend, or open it again in a new process";
        assert_eq!(e, expected);
        let e = of("d", During::Memory { bytes: 7 }, CUDA_ERROR_OUT_OF_MEMORY);
        assert_eq!(e, Error::OutOfMemory { device: "d".into(), bytes: 7 });
        let e = of("d", kernel, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES).to_string();
        assert_eq!(e, "kernel spec_segsum failed on d: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701)");
    }
}
