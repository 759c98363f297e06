//! Devices with the times that plans for them follow.

use spmv_backend::Backend;
use spmv_cpu::Cpu;
use spmv_exec::{Device, Profile};

use crate::backend::BackendKind;

/// A device with the profile that was fitted on it, and why one that was kept is not used.
pub(crate) fn with_profiles<B: Backend>(backend: B) -> spmv_exec::Result<(Device<B>, Option<String>)> {
    let (mut profiles, problem) = match Profile::kept(B::NAME, backend.caps()) {
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
    Ok(with_profiles(Cpu::open(Default::default())?)?.0)
}
