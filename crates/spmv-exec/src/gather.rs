//! New values of a part, brought to their slots by the device.

use spmv_backend::{Backend, HostSlice, Memory};
use spmv_core::Value;

use crate::device::Device;
use crate::error::Result;
use crate::launch::Compiled;
use crate::numbers::gather_values;
use crate::part::Layout;
use crate::values::Values;

/// What layouts with an order of their own need to be given values.
#[derive(Debug)]
pub(crate) struct Gather<B: Backend> {
    kernel: Compiled<B>,
    /// For the values of a part in the order of its entries; `None` where kernels read them on the host.
    staging: Option<B::Buffer>,
}

impl<B: Backend> Gather<B> {
    /// For parts of at most so many entries.
    pub(crate) fn new<T: Value>(device: &Device<B>, most_entries: usize) -> Result<Self> {
        let caps = device.caps();
        let kernel = device.compiled(&gather_values(T::DTYPE, caps))?;
        let staging = (!caps.host_pointers).then(|| device.scratch::<T>(most_entries)).transpose()?;
        Ok(Self { kernel, staging })
    }
}

/// Sets the values of a part whose buffers were listed, and waits. There is a `gather` if any of them has slots.
pub(crate) fn set_values<B: Backend, T: Value, V: Value>(
    device: &Device<B>,
    gather: Option<&mut Gather<B>>,
    part: &dyn Layout<B, T>,
    vals: &[V],
) -> Result<()> {
    let of_part = || part.values().into_iter();
    let gather = gather.filter(|_| of_part().any(Values::has_slots));
    device.copies(|stream| {
        of_part().try_for_each(|values| values.write(device, stream, vals))?;
        let Some(Gather { kernel, staging }) = gather else { return Ok(()) };
        let bytes = bytemuck::cast_slice(vals);
        if let Some(staging) = staging {
            device.backend().write(stream, staging, 0, bytes)?;
        }
        let vals = staging.as_ref().map_or(Memory::Host(HostSlice::of(bytes)), Memory::Device);
        of_part().try_for_each(|values| values.gather(device, stream, kernel, vals))
    })
}
