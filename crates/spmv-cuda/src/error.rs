//! What the driver's codes mean.

use spmv_backend::Error;

use crate::device_driver::{Code, Refusal};

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

/// Whether nothing works any more in a context that has answered so.
fn is_sticky(code: Code) -> bool {
    matches!(
        code,
        Code::ECC_UNCORRECTABLE
            | Code::ILLEGAL_ADDRESS
            | Code::LAUNCH_TIMEOUT
            | Code::CONTEXT_IS_DESTROYED
            | Code::ASSERT
            | Code::HARDWARE_STACK_ERROR
            | Code::ILLEGAL_INSTRUCTION
            | Code::MISALIGNED_ADDRESS
            | Code::INVALID_ADDRESS_SPACE
            | Code::INVALID_PC
            | Code::LAUNCH_FAILED
            | Code::INVALID_CONTEXT
            | Code::DEINITIALIZED
            | Code::UNKNOWN
    )
}

/// The typed error for a call that the driver refused.
pub(crate) fn of(device: &str, during: During<'_>, refusal: Refusal) -> Error {
    let code = match refusal {
        Refusal::Code(code) => code,
        Refusal::Missing(function) => {
            let what = format!("function {function} in its driver");
            return Error::unsupported(device, what, "install a newer driver");
        }
    };
    let device = device.to_owned();
    if let (Code::OUT_OF_MEMORY, During::Memory { bytes }) = (code, during) {
        return Error::OutOfMemory { device, bytes };
    }
    let during = match during {
        During::Memory { .. } => "memory",
        During::Kernel(name) => name,
        During::Other(what) => what,
    };
    if is_sticky(code) {
        return Error::DeviceLost { device, detail: format!("{during}: {refusal}") };
    }
    Error::Launch { device, kernel: during.to_owned(), detail: refusal.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_device_is_told_from_a_failed_launch_and_from_full_memory() {
        let kernel = During::Kernel("spec_segsum");
        let of = |during, code| of("d", during, Refusal::Code(code));
        let e = of(kernel, Code::ILLEGAL_ADDRESS).to_string();
        let expected = "d was lost: spec_segsum: CUDA_ERROR_ILLEGAL_ADDRESS (700); use another backend, or open it again in a new process";
        assert_eq!(e, expected);
        let e = of(During::Memory { bytes: 7 }, Code::OUT_OF_MEMORY);
        assert_eq!(e, Error::OutOfMemory { device: "d".into(), bytes: 7 });
        let e = of(kernel, Code::LAUNCH_OUT_OF_RESOURCES).to_string();
        assert_eq!(e, "kernel spec_segsum failed on d: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701)");
    }

    #[test]
    fn a_code_that_no_driver_has_yet_is_a_failed_launch_with_its_number() {
        let e = of("d", During::Other("stream"), Refusal::Code(Code(70_000))).to_string();
        assert!(e.starts_with("kernel stream failed on d: ") && e.ends_with("(70000)"), "{e}");
    }

    #[test]
    fn a_function_that_the_driver_lacks_is_unsupported() {
        let e = of("d", During::Other("capture"), Refusal::Missing("cuGraphLaunch")).to_string();
        assert_eq!(e, "d has no function cuGraphLaunch in its driver; install a newer driver");
    }
}
