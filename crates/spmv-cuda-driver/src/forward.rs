//! What a forwarded call does around the call.

use std::ffi::CStr;
use std::sync::OnceLock;

use cust_raw::CUresult;

use crate::{Function, generated, library};

/// A function of the driver, looked up when it is first called.
pub(crate) struct Entry {
    name: &'static CStr,
    found: OnceLock<Result<Function, CUresult>>,
}

impl Entry {
    /// `name` ends with its only zero byte; anything else does not compile in a `static`.
    pub(crate) const fn new(name: &'static str) -> Self {
        match CStr::from_bytes_with_nul(name.as_bytes()) {
            Ok(name) => Self { name, found: OnceLock::new() },
            Err(_) => panic!("a name without its zero byte"),
        }
    }

    /// The function, or what a call answers without it.
    pub(crate) fn get(&self) -> Result<Function, CUresult> {
        *self.found.get_or_init(|| {
            let library = library::get().map_err(|_| CUresult::CUDA_ERROR_NO_DEVICE)?;
            library::function(library, self.name).ok_or(CUresult::CUDA_ERROR_NOT_SUPPORTED)
        })
    }
}

/// The code as a value of the enum, which has none for codes of later drivers.
pub(crate) fn result(code: i32) -> CUresult {
    generated::code(code).map_or(CUresult::CUDA_ERROR_UNKNOWN, |(result, _)| result)
}

/// Defines the functions that `cust_raw` declares, with its signatures: another one does not compile.
macro_rules! forward {
    ($(fn $name:ident($($arg:ident: $type:ty),* $(,)?);)*) => {$(
        const _: unsafe extern "C" fn($($type),*) -> cust_raw::CUresult = cust_raw::$name;

        #[unsafe(no_mangle)]
        #[allow(non_snake_case, clippy::too_many_arguments)]
        unsafe extern "C" fn $name($($arg: $type),*) -> cust_raw::CUresult {
            static ENTRY: $crate::forward::Entry = $crate::forward::Entry::new(concat!(stringify!($name), "\0"));
            match ENTRY.get() {
                // SAFETY: the library's function of this name has these parameters, checked against `cust_raw`
                // above, and a 32-bit code as its result; the caller keeps its contract.
                Ok(function) => $crate::forward::result(unsafe {
                    std::mem::transmute::<$crate::Function, unsafe extern "C" fn($($type),*) -> i32>(function)(
                        $($arg),*
                    )
                }),
                Err(refusal) => refusal,
            }
        }
    )*};
}
pub(crate) use forward;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_codes_stay_and_later_ones_are_unknown() {
        for (code, expected) in [
            (0, CUresult::CUDA_SUCCESS),
            (100, CUresult::CUDA_ERROR_NO_DEVICE),
            (600, CUresult::CUDA_ERROR_NOT_READY),
            (999, CUresult::CUDA_ERROR_UNKNOWN),
            (70_000, CUresult::CUDA_ERROR_UNKNOWN),
            (-1, CUresult::CUDA_ERROR_UNKNOWN),
        ] {
            assert_eq!(result(code), expected, "{code}");
        }
    }
}
