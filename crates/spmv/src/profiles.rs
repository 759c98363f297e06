//! Devices with the times that plans for them follow.

use std::path::Path;

use spmv_backend::Backend;
use spmv_cpu::Cpu;
use spmv_exec::{Device, Profile};

use crate::backend::BackendKind;

/// A device with the profile that was fitted on it, and why one that was kept is not used. Without a folder, that of `SPMV_PROFILES`
/// or the user's.
pub(crate) fn with_profiles<B: Backend>(
    backend: B,
    folder: Option<&Path>,
) -> spmv_exec::Result<(Device<B>, Option<String>)> {
    let caps = backend.caps();
    let kept = match folder {
        Some(folder) => Profile::kept_in(folder, B::NAME, caps),
        None => Profile::kept(B::NAME, caps),
    };
    let (mut profiles, problem) = match kept {
        Ok(kept) => (Vec::from_iter(kept), None),
        Err(e) => (vec![], Some(e.to_string())),
    };
    if B::NAME == BackendKind::Cpu.name() {
        profiles.push(Profile::cpu().clone());
    }
    Ok((Device::with_profiles(backend, profiles)?, problem))
}

/// The cores of the CPU with the threads of the pool that it is called in.
pub(crate) fn cores() -> spmv_exec::Result<Device<Cpu>> {
    Ok(with_profiles(Cpu::open(Default::default())?, None)?.0)
}
