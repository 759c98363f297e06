//! A driver library for tests: it has two devices, functions too few, and a code too many.
#![allow(non_snake_case)]

use std::ffi::{c_char, c_int, c_uint};
use std::sync::atomic::{AtomicBool, Ordering};

const SUCCESS: c_int = 0;
const INVALID_VALUE: c_int = 1;
const NOT_INITIALIZED: c_int = 3;
/// No driver has it yet.
const LATER: c_int = 70_000;

static INITIALISED: AtomicBool = AtomicBool::new(false);

#[cfg(not(without_init))]
#[no_mangle]
pub extern "C" fn cuInit(flags: c_uint) -> c_int {
    if flags != 0 {
        return INVALID_VALUE;
    }
    INITIALISED.store(true, Ordering::SeqCst);
    SUCCESS
}

#[no_mangle]
pub extern "C" fn cuDriverGetVersion(version: Option<&mut c_int>) -> c_int {
    write(version, 12_345)
}

#[no_mangle]
pub extern "C" fn cuDeviceGetCount(count: Option<&mut c_int>) -> c_int {
    if !INITIALISED.load(Ordering::SeqCst) {
        return NOT_INITIALIZED;
    }
    write(count, 2)
}

#[no_mangle]
pub extern "C" fn cuDeviceGet(device: Option<&mut c_int>, ordinal: c_int) -> c_int {
    write(device, ordinal)
}

#[no_mangle]
pub extern "C" fn cuDeviceGetName(_name: *mut c_char, _len: c_int, _device: c_int) -> c_int {
    LATER
}

/// Knows one code alone.
#[no_mangle]
pub extern "C" fn cuGetErrorString(error: c_int, text: Option<&mut *const c_char>) -> c_int {
    if error != INVALID_VALUE {
        return INVALID_VALUE;
    }
    write(text, c"words of the fake".as_ptr())
}

/// Not among the functions that `cust_raw` declares.
#[no_mangle]
pub extern "C" fn cuNewerThanTheBindings() -> c_int {
    SUCCESS
}

fn write<T>(to: Option<&mut T>, value: T) -> c_int {
    match to {
        None => INVALID_VALUE,
        Some(to) => {
            *to = value;
            SUCCESS
        }
    }
}
