//! The two functions that answer for every code, whatever the driver knows of it.

use std::ffi::{CStr, CString, c_char, c_uint};
use std::ptr;
use std::sync::OnceLock;

use cust_raw::CUresult;

use crate::forward::Entry;
use crate::{Function, generated, library};

/// How both are called. The code is a number here: a value that the enum lacks is then no fault.
type Ask = unsafe extern "C" fn(c_uint, *mut *const c_char) -> c_uint;

/// Writes the name of a code: the driver's, else that of `cust_raw`, else `CUDA_ERROR_UNKNOWN`.
///
/// # Safety
/// `name` is null or can be written.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
unsafe extern "C" fn cuGetErrorName(error: c_uint, name: *mut *const c_char) -> CUresult {
    static ENTRY: Entry = Entry::new("cuGetErrorName\0");
    // SAFETY: the caller's promise.
    unsafe { answer(name, asked(&ENTRY, error).unwrap_or_else(|| own_name(error))) }
}

/// Writes what a code means: in the driver's words, else its name, and without a driver why there is none.
///
/// # Safety
/// `text` is null or can be written.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
unsafe extern "C" fn cuGetErrorString(error: c_uint, text: *mut *const c_char) -> CUresult {
    static ENTRY: Entry = Entry::new("cuGetErrorString\0");
    // SAFETY: the caller's promise.
    unsafe { answer(text, asked(&ENTRY, error).unwrap_or_else(|| own_text(error))) }
}

/// # Safety
/// `to` is null or can be written.
unsafe fn answer(to: *mut *const c_char, text: &'static CStr) -> CUresult {
    if to.is_null() {
        return CUresult::CUDA_ERROR_INVALID_VALUE;
    }
    // SAFETY: not null, so the caller's promise holds.
    unsafe { to.write(text.as_ptr()) };
    CUresult::CUDA_SUCCESS
}

/// The driver's answer, if there is a driver and it has one.
fn asked(entry: &Entry, error: c_uint) -> Option<&'static CStr> {
    let function = entry.get().ok()?;
    let mut text = ptr::null();
    // SAFETY: the CUDA headers declare `Ask` for both functions, and `text` can be written.
    let code = unsafe { std::mem::transmute::<Function, Ask>(function)(error, &mut text) };
    if code != 0 || text.is_null() {
        return None;
    }
    // SAFETY: on success the driver points to a text of its own, which stays as long as the library: for good.
    Some(unsafe { CStr::from_ptr(text) })
}

fn own_name(error: c_uint) -> &'static CStr {
    known(error).unwrap_or(c"CUDA_ERROR_UNKNOWN")
}

fn own_text(error: c_uint) -> &'static CStr {
    static NO_DRIVER: OnceLock<CString> = OnceLock::new();
    match library::get() {
        Err(e) if error == CUresult::CUDA_ERROR_NO_DEVICE as c_uint => {
            NO_DRIVER.get_or_init(|| CString::new(e.to_string().replace('\0', " ")).unwrap_or_default())
        }
        _ => known(error).unwrap_or(c"unknown CUDA error"),
    }
}

fn known(error: c_uint) -> Option<&'static CStr> {
    generated::code(i32::try_from(error).ok()?).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_name_and_a_text() {
        let name = |code| own_name(code).to_str().expect("a name in ASCII");
        let cases = [
            (2, "CUDA_ERROR_OUT_OF_MEMORY"),
            (70_000, "CUDA_ERROR_UNKNOWN"),
            (u32::MAX, "CUDA_ERROR_UNKNOWN"),
        ];
        for (code, expected) in cases {
            assert_eq!(name(code), expected);
            assert!(!own_text(code).is_empty());
        }
    }

    #[test]
    fn nowhere_to_write_is_an_invalid_value() {
        // SAFETY: null is allowed.
        let code = unsafe { cuGetErrorName(2, ptr::null_mut()) };
        assert_eq!(code, CUresult::CUDA_ERROR_INVALID_VALUE);
    }
}
