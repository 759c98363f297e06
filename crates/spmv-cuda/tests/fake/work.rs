//! A device that accepts all and does nothing, and writes down which functions were called.

use std::cell::RefCell;
use std::env;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{SUCCESS, write};

/// The context of the device.
const CONTEXT: usize = 1;

thread_local! {
    static CONTEXTS: RefCell<Vec<usize>> = RefCell::new(match env::var_os("SPMV_FAKE_CURRENT") {
        Some(_) => vec![CONTEXT],
        None => vec![],
    });
}

/// Adds a call to the file that `SPMV_FAKE_CALLS` names.
fn called(name: &str) {
    static CALLS: OnceLock<Option<File>> = OnceLock::new();
    let open = || OpenOptions::new().create(true).append(true).open(env::var_os("SPMV_FAKE_CALLS")?).ok();
    if let Some(mut calls) = CALLS.get_or_init(open).as_ref() {
        let _ = calls.write_all(format!("{name}\n").as_bytes());
    }
}

macro_rules! accepted {
    ($($name:ident($($type:ty),*);)*) => {$(
        #[no_mangle]
        pub extern "system" fn $name($(_: $type),*) -> c_int {
            called(stringify!($name));
            SUCCESS
        }
    )*};
}

accepted! {
    cuDevicePrimaryCtxRelease_v2(c_int);
    cuCtxSynchronize();
    cuMemFree_v2(u64);
    cuMemFreeHost(*mut c_void);
    cuStreamDestroy_v2(*mut c_void);
    cuStreamSynchronize(*mut c_void);
    cuStreamWaitEvent(*mut c_void, *mut c_void, c_uint);
    cuEventDestroy_v2(*mut c_void);
    cuEventRecord(*mut c_void, *mut c_void);
    cuEventSynchronize(*mut c_void);
    cuModuleUnload(*mut c_void);
    cuLaunchKernel(
        *mut c_void, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, *mut c_void, *mut *mut c_void,
        *mut *mut c_void
    );
    cuLaunchKernelEx(*const c_void, *mut c_void, *mut *mut c_void, *mut *mut c_void);
    cuMemsetD8Async(u64, u8, usize, *mut c_void);
    cuMemcpyHtoDAsync_v2(u64, *const c_void, usize, *mut c_void);
    cuMemcpyDtoHAsync_v2(*mut c_void, u64, usize, *mut c_void);
    cuMemcpyPeerAsync(u64, *mut c_void, u64, *mut c_void, usize, *mut c_void);
}

#[no_mangle]
pub extern "system" fn cuCtxGetCurrent(context: Option<&mut usize>) -> c_int {
    called("cuCtxGetCurrent");
    write(context, CONTEXTS.with_borrow(|contexts| contexts.last().copied().unwrap_or(0)))
}

#[no_mangle]
pub extern "system" fn cuCtxPushCurrent_v2(context: usize) -> c_int {
    called("cuCtxPushCurrent_v2");
    CONTEXTS.with_borrow_mut(|contexts| contexts.push(context));
    SUCCESS
}

#[no_mangle]
pub extern "system" fn cuCtxPopCurrent_v2(context: Option<&mut usize>) -> c_int {
    called("cuCtxPopCurrent_v2");
    write(context, CONTEXTS.with_borrow_mut(Vec::pop).unwrap_or(0))
}

#[no_mangle]
pub extern "system" fn cuEventCreate(event: Option<&mut usize>, _flags: c_uint) -> c_int {
    called("cuEventCreate");
    write(event, 3)
}

#[no_mangle]
pub extern "system" fn cuModuleLoadDataEx(
    module: Option<&mut usize>,
    _image: *const c_void,
    _n_options: c_uint,
    _options: *mut c_int,
    _values: *mut *mut c_void,
) -> c_int {
    called("cuModuleLoadDataEx");
    write(module, 4)
}

#[no_mangle]
pub extern "system" fn cuModuleGetFunction(
    function: Option<&mut usize>,
    _module: *mut c_void,
    _name: *const c_char,
) -> c_int {
    called("cuModuleGetFunction");
    write(function, 5)
}

#[no_mangle]
pub extern "system" fn cuFuncGetAttribute(
    value: Option<&mut c_int>,
    _attribute: c_int,
    _function: *mut c_void,
) -> c_int {
    called("cuFuncGetAttribute");
    write(value, 1024)
}

/// Addresses at which nobody may look: copies to and from them are counted, not done.
#[no_mangle]
pub extern "system" fn cuMemAlloc_v2(start: Option<&mut u64>, bytes: usize) -> c_int {
    static NEXT: AtomicU64 = AtomicU64::new(1 << 40);
    called("cuMemAlloc_v2");
    let padded = bytes.next_multiple_of(256) as u64;
    write(start, NEXT.fetch_add(padded, Ordering::Relaxed))
}

/// Memory that is never freed: the process is a short one.
#[no_mangle]
pub extern "system" fn cuMemHostAlloc(start: Option<&mut *mut u64>, bytes: usize, _flags: c_uint) -> c_int {
    called("cuMemHostAlloc");
    write(start, vec![0; bytes.div_ceil(8)].leak().as_mut_ptr())
}
