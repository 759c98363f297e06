//! Arrays of the host that a device may keep.

use std::fmt::Debug;

use bytemuck::Pod;

/// An array that somebody gives away.
///
/// ```
/// use spmv_backend::HostArray;
/// let array: Box<dyn HostArray> = Box::new(vec![1u32, 2]);
/// assert_eq!(array.bytes().len(), 8);
/// ```
pub trait HostArray: Debug + Send + Sync + 'static {
    /// What it holds, at an address that does not change.
    fn bytes(&self) -> &[u8];

    /// The same, to be changed.
    fn bytes_mut(&mut self) -> &mut [u8];
}

impl<E: Pod + Debug + Send + Sync> HostArray for Vec<E> {
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self)
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(self)
    }
}
