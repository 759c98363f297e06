//! What the driver says of its version and its devices, in safe functions.

use std::ffi::{CStr, c_char, c_int};

use crate::device_driver::{self as sys, CUdevice, Refusal};

/// `CUdevice_attribute`, those that are asked for.
#[derive(Clone, Copy, Debug)]
#[repr(i32)]
pub(crate) enum Attribute {
    MaxThreadsPerBlock = 1,
    MaxSharedMemoryPerBlock = 8,
    MultiprocessorCount = 16,
    Integrated = 18,
    L2CacheSize = 38,
    MaxThreadsPerMultiprocessor = 39,
    ComputeCapabilityMajor = 75,
    ComputeCapabilityMinor = 76,
    MaxSharedMemoryPerMultiprocessor = 81,
    ManagedMemory = 83,
    ConcurrentManagedAccess = 89,
    MaxBlocksPerMultiprocessor = 106,
    MemoryPoolsSupported = 115,
}

/// Starts the driver; again and again does no harm.
pub(crate) fn init() -> Result<(), Refusal> {
    // SAFETY: takes no address; the flags must be zero.
    unsafe { sys::cuInit(0) }
}

/// The version of CUDA that the driver speaks.
pub(crate) fn version() -> Result<(i32, i32), Refusal> {
    let mut version = 0;
    // SAFETY: writes to `version`.
    unsafe { sys::cuDriverGetVersion(&mut version) }?;
    Ok((version / 1000, version % 1000 / 10))
}

/// How many devices there are.
pub(crate) fn n_devices() -> Result<i32, Refusal> {
    let mut count = 0;
    // SAFETY: writes to `count`.
    unsafe { sys::cuDeviceGetCount(&mut count) }?;
    Ok(count)
}

/// A device by its index in the driver's list.
pub(crate) fn device(ordinal: i32) -> Result<CUdevice, Refusal> {
    let mut device: CUdevice = 0;
    // SAFETY: writes to `device`; any index may be asked for.
    unsafe { sys::cuDeviceGet(&mut device, ordinal) }?;
    Ok(device)
}

pub(crate) fn name(device: CUdevice) -> Result<String, Refusal> {
    let mut text: [c_char; 256] = [0; 256];
    // The last byte stays zero.
    let bytes = text.len() as c_int - 1;
    // SAFETY: writes at most `bytes` bytes to `text`; the driver checks the device.
    unsafe { sys::cuDeviceGetName(text.as_mut_ptr(), bytes, device) }?;
    // SAFETY: there is a zero within `text`, its last byte if no other.
    let name = unsafe { CStr::from_ptr(text.as_ptr()) };
    Ok(name.to_string_lossy().trim().to_owned())
}

pub(crate) fn attribute(device: CUdevice, attribute: Attribute) -> Result<i32, Refusal> {
    let mut value = 0;
    // SAFETY: writes to `value`; the driver checks device and attribute.
    unsafe { sys::cuDeviceGetAttribute(&mut value, attribute as c_int, device) }?;
    Ok(value)
}

/// Bytes of memory, of which the driver takes some itself.
pub(crate) fn total_bytes(device: CUdevice) -> Result<u64, Refusal> {
    let mut bytes = 0;
    // SAFETY: writes to `bytes`; the driver checks the device.
    unsafe { sys::cuDeviceTotalMem_v2(&mut bytes, device) }?;
    Ok(bytes as u64)
}
