//! What the driver's codes mean.

use opencl3::error_codes::{
    CL_CONTEXT_TERMINATED_KHR, CL_DEVICE_NOT_AVAILABLE, CL_INVALID_BUFFER_SIZE, CL_INVALID_COMMAND_QUEUE,
    CL_INVALID_CONTEXT, CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_HOST_MEMORY, error_text,
};
use spmv_backend::Error;

/// NVIDIA's code for an illegal access by a kernel; the context is of no use afterwards.
const NV_ILLEGAL_ACCESS: i32 = -9999;

/// What was being done when the driver refused.
#[derive(Clone, Copy, Debug)]
pub(crate) enum During<'a> {
    /// An allocation, or a copy that made the driver allocate.
    Memory { bytes: u64 },
    /// A launch, or waiting for one.
    Kernel(&'a str),
    /// Anything else, in words.
    Other(&'static str),
}

/// The typed error for a code of the driver.
pub(crate) fn of(device: &str, during: During<'_>, code: i32) -> Error {
    let device = device.to_owned();
    let text = format!("{} ({code})", error_text(code));
    match (code, during) {
        (
            CL_DEVICE_NOT_AVAILABLE
            | CL_CONTEXT_TERMINATED_KHR
            | CL_INVALID_CONTEXT
            | CL_INVALID_COMMAND_QUEUE
            | NV_ILLEGAL_ACCESS,
            _,
        ) => Error::DeviceLost { device, detail: text },
        (
            CL_MEM_OBJECT_ALLOCATION_FAILURE | CL_OUT_OF_HOST_MEMORY | CL_INVALID_BUFFER_SIZE,
            During::Memory { bytes },
        ) => Error::OutOfMemory { device, bytes },
        (_, During::Kernel(kernel)) => Error::Launch { device, kernel: kernel.to_owned(), detail: text },
        (_, During::Memory { .. }) => Error::Launch { device, kernel: "copy".into(), detail: text },
        (_, During::Other(what)) => Error::Launch { device, kernel: what.into(), detail: text },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_device_is_told_from_a_failed_launch_and_from_full_memory() {
        let kernel = During::Kernel("spec_segsum");
        for code in [CL_DEVICE_NOT_AVAILABLE, CL_INVALID_COMMAND_QUEUE, NV_ILLEGAL_ACCESS] {
            assert!(matches!(of("d", kernel, code), Error::DeviceLost { .. }), "{code}");
        }
        let e = of("d", During::Memory { bytes: 7 }, CL_MEM_OBJECT_ALLOCATION_FAILURE);
        assert_eq!(e, Error::OutOfMemory { device: "d".into(), bytes: 7 });
        let e = of("d", kernel, -5).to_string();
        assert_eq!(e, "kernel spec_segsum failed on d: CL_OUT_OF_RESOURCES (-5)");
    }
}
