//! Memory of the host that is written once and copied to a device.

use std::ops::{Deref, DerefMut};

use bytemuck::Pod;
use memmap2::MmapMut;
use spmv_backend::Error as DeviceError;
use spmv_core::parts;

use crate::error::Result;

/// Bytes of a large page, as Linux gives them to who asks.
const LARGE: usize = 2 << 20;

/// Elements of a thread that copies them, at least.
const OF_A_THREAD: usize = 1 << 18;

/// Elements in pages that are new to the process, and zero. Pages of 4 KiB take longer to be given than to be written, so it asks for large ones.
/// Fewer bytes than one of these has are allocated as ever.
#[derive(Debug)]
pub(crate) struct Pages<E>(Memory<E>);

#[derive(Debug)]
enum Memory<E> {
    Few(Vec<E>),
    Mapped { memory: MmapMut, start: usize, bytes: usize },
}

impl<E: Pod + Send + Sync> Pages<E> {
    pub(crate) fn new(n: usize) -> Result<Self> {
        let full =
            |bytes: usize| DeviceError::OutOfMemory { device: "the host".to_owned(), bytes: bytes as u64 };
        let bytes = n.checked_mul(size_of::<E>()).ok_or_else(|| full(usize::MAX))?;
        if bytes < LARGE {
            return Ok(Self(Memory::Few(vec![E::zeroed(); n])));
        }
        let held = bytes.checked_add(LARGE).ok_or_else(|| full(bytes))?;
        let memory = MmapMut::map_anon(held).map_err(|_| full(bytes))?;
        // A system that cannot follow it leaves pages as they are.
        #[cfg(target_os = "linux")]
        let _ = memory.advise(memmap2::Advice::HugePage);
        let start = memory.as_ptr().align_offset(LARGE).min(LARGE);
        Ok(Self(Memory::Mapped { memory, start, bytes }))
    }

    /// By several threads where there are many.
    pub(crate) fn copied(elements: &[E]) -> Result<Self> {
        let mut pages = Self::new(elements.len())?;
        let of_threads: Vec<_> =
            parts::cut(elements.len(), parts::threads(elements.len(), OF_A_THREAD)).collect();
        let to = parts::split(&mut pages, of_threads.iter().map(ExactSizeIterator::len));
        parts::map(of_threads.into_iter().zip(to), |(range, to)| to.copy_from_slice(&elements[range]));
        Ok(pages)
    }
}

impl<E: Pod> Deref for Pages<E> {
    type Target = [E];

    fn deref(&self) -> &[E] {
        match &self.0 {
            Memory::Few(elements) => elements,
            Memory::Mapped { memory, start, bytes } => bytemuck::cast_slice(&memory[*start..][..*bytes]),
        }
    }
}

impl<E: Pod> DerefMut for Pages<E> {
    fn deref_mut(&mut self) -> &mut [E] {
        match &mut self.0 {
            Memory::Few(elements) => elements,
            Memory::Mapped { memory, start, bytes } => {
                bytemuck::cast_slice_mut(&mut memory[*start..][..*bytes])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_zero_and_many_begin_with_a_page() {
        let many: Vec<u32> = (0..3 * OF_A_THREAD as u32).collect();
        assert_eq!(*Pages::copied(&many).unwrap(), *many);
        for n in [0, 1, 1 << 21] {
            let mut pages = Pages::<u16>::new(n).unwrap();
            assert_eq!(pages.len(), n);
            assert!(pages.iter().all(|element| *element == 0));
            assert!(n < LARGE || pages.as_ptr().align_offset(4096) == 0);
            pages.fill(7);
            assert!(pages.iter().all(|element| *element == 7));
        }
    }

    #[test]
    fn more_than_there_is_is_refused() {
        let error = Pages::<u64>::new(usize::MAX / 16).unwrap_err().to_string();
        assert!(error.contains("the host"), "{error}");
        assert!(Pages::<u64>::new(usize::MAX / 4).is_err());
    }
}
