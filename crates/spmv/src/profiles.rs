//! Devices with the times that plans for them follow.

use std::path::Path;

use spmv_backend::Backend;
use spmv_cpu::Cpu;
use spmv_exec::{Device, Profile};
use spmv_model::ProfileError;

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
    let (kept, problem) = match kept {
        Ok(kept) => (kept, None),
        Err(e) => (None, Some(problem(&e, "with Context::fit (feature fit)"))),
    };
    Ok((Device::with_profiles(backend, all::<B>(kept))?, problem))
}

/// What a device's plans follow: a profile of its own, and on the CPU for other types the one that is built in.
pub(crate) fn all<B: Backend>(own: Option<Profile>) -> Vec<Profile> {
    let built_in = (B::NAME == BackendKind::Cpu.name()).then(|| Profile::cpu().clone());
    own.into_iter().chain(built_in).collect()
}

/// Why what was kept is not used, and how a user makes it anew.
pub(crate) fn problem(e: &ProfileError, how: &str) -> String {
    match e {
        ProfileError::Damaged { .. } | ProfileError::Stale { .. } => format!("{e} {how}"),
        _ => e.to_string(),
    }
}

/// The cores of the CPU with the threads of the pool that it is called in.
pub(crate) fn cores() -> spmv_exec::Result<Device<Cpu>> {
    Ok(with_profiles(Cpu::open(Default::default())?, None)?.0)
}
