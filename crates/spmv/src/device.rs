//! A device alone, as a context has it.

use std::path::Path;
use std::sync::Arc;

use spmv_backend::{Backend, DeviceCaps};
use spmv_core::Dtype;
use spmv_exec::{Device, Profile};

use crate::erased::{AnyDevice, Opened};
use crate::erased_matrix::{AnyIndices, own};
use crate::erased_queue::AnyQueue;
use crate::hetero::Hetero;
use crate::profiles::{all, with_profiles};

/// Opens a device with the profile that was fitted on it, which is kept in a folder, and the CPU with the one that is built in for types that were not.
pub(crate) fn open<B: Backend>(backend: spmv_backend::Result<B>, profiles: Option<&Path>) -> Opened {
    let (device, problem) = with_profiles(backend?, profiles)?;
    Ok((Arc::new(device), problem))
}

impl<B: Backend> AnyDevice for Device<B> {
    fn caps(&self) -> &DeviceCaps {
        Device::caps(self)
    }

    fn profile(&self, value: Dtype) -> Option<&Profile> {
        Device::profile(self, value)
    }

    fn queue(&self) -> spmv_exec::Result<Box<dyn AnyQueue>> {
        Ok(Box::new(Device::queue(self)?))
    }

    fn indices(&self, indices: &[u32], len: usize) -> spmv_exec::Result<Box<dyn AnyIndices>> {
        Ok(Box::new(Device::indices(self, indices, len)?))
    }

    fn reaches(&self, peer: &dyn AnyDevice) -> bool {
        own::<Self>(peer, "the device").is_ok_and(|peer| Device::reaches(self, peer))
    }

    fn following(&self, profile: Profile) -> Option<Arc<dyn AnyDevice>> {
        Some(Arc::new(Device::following(self, all::<B>(Some(profile)))))
    }

    fn with_host_cores(&self) -> Opened {
        Hetero::open(self)
    }
}
