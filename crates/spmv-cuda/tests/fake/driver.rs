//! A driver library for tests: one device that answers and one that does not, a code that no driver has, and no graphs. With the
//! option `working` the device seems to work.
#![allow(non_snake_case)]

#[cfg(not(working))]
use std::ffi::c_void;
use std::ffi::{c_char, c_int, c_uint};

#[cfg(working)]
mod work;

const SUCCESS: c_int = 0;
const INVALID_VALUE: c_int = 1;
#[cfg(not(working))]
const OUT_OF_MEMORY: c_int = 2;
/// No driver has it yet.
const LATER: c_int = 70_000;

#[cfg(not(without_init))]
#[no_mangle]
pub extern "system" fn cuInit(flags: c_uint) -> c_int {
    if flags == 0 { SUCCESS } else { INVALID_VALUE }
}

#[no_mangle]
pub extern "system" fn cuDriverGetVersion(version: Option<&mut c_int>) -> c_int {
    write(version, 12_345)
}

/// Knows one code alone.
#[no_mangle]
pub extern "system" fn cuGetErrorName(code: c_int, name: Option<&mut *const c_char>) -> c_int {
    if code != INVALID_VALUE {
        return INVALID_VALUE;
    }
    write(name, c"words of the fake".as_ptr())
}

#[no_mangle]
pub extern "system" fn cuDeviceGetCount(count: Option<&mut c_int>) -> c_int {
    write(count, 2)
}

#[no_mangle]
pub extern "system" fn cuDeviceGet(device: Option<&mut c_int>, ordinal: c_int) -> c_int {
    write(device, ordinal)
}

#[no_mangle]
pub extern "system" fn cuDeviceGetName(name: Option<&mut [u8; 5]>, len: c_int, device: c_int) -> c_int {
    if device != 0 || len < 5 {
        return LATER;
    }
    write(name, *b"Fake\0")
}

#[no_mangle]
pub extern "system" fn cuDeviceGetAttribute(value: Option<&mut c_int>, attribute: c_int, _device: c_int) -> c_int {
    let known = match attribute {
        1 => 1024,
        8 => 48 << 10,
        16 => 4,
        38 => 4 << 20,
        39 => 2048,
        75 => 9,
        81 => 64 << 10,
        _ => 0,
    };
    write(value, known)
}

#[no_mangle]
pub extern "system" fn cuDeviceTotalMem_v2(bytes: Option<&mut usize>, _device: c_int) -> c_int {
    write(bytes, 1 << 30)
}

#[no_mangle]
pub extern "system" fn cuDevicePrimaryCtxRetain(context: Option<&mut usize>, _device: c_int) -> c_int {
    write(context, 1)
}

#[cfg(not(working))]
#[no_mangle]
pub extern "system" fn cuCtxPushCurrent_v2(_context: *mut c_void) -> c_int {
    SUCCESS
}

#[cfg(not(working))]
#[no_mangle]
pub extern "system" fn cuCtxPopCurrent_v2(context: Option<&mut usize>) -> c_int {
    write(context, 1)
}

#[no_mangle]
pub extern "system" fn cuStreamCreate(stream: Option<&mut usize>, _flags: c_uint) -> c_int {
    write(stream, 2)
}

#[cfg(not(working))]
#[no_mangle]
pub extern "system" fn cuMemAlloc_v2(_start: Option<&mut u64>, bytes: usize) -> c_int {
    match bytes {
        1 => INVALID_VALUE,
        2 => LATER,
        _ => OUT_OF_MEMORY,
    }
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
