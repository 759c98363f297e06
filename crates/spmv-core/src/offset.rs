//! Types of row offsets, ours and those of other libraries.

use std::fmt::{Debug, Display};

use bytemuck::Pod;

use crate::value::sealed;

/// A type that row offsets may have: `u32` or `u64`.
///
/// ```
/// use spmv_core::Offset;
/// assert_eq!(7u64.to_usize(), 7);
/// assert_eq!(u32::try_from_usize(1 << 40), None);
/// ```
pub trait Offset: sealed::Sealed + Pod + Ord + Debug + Display + Default + Send + Sync {
    /// The offset as an index; exact, because offsets are validated against slice lengths first.
    fn to_usize(self) -> usize;
    /// The offset as `u64`.
    fn to_u64(self) -> u64;
    /// The offset, or `None` where this type cannot hold it.
    fn try_from_usize(offset: usize) -> Option<Self>;
}

macro_rules! offset {
    ($t:ty) => {
        impl sealed::Sealed for $t {}
        impl Offset for $t {
            #[inline(always)]
            fn to_usize(self) -> usize {
                self as usize
            }

            #[inline(always)]
            fn to_u64(self) -> u64 {
                u64::from(self)
            }

            fn try_from_usize(offset: usize) -> Option<Self> {
                offset.try_into().ok()
            }
        }
    };
}

offset!(u32);
offset!(u64);

/// An integer type that other libraries keep row offsets or columns in: `u32`, `u64`, `usize`, `i32` or `i64`.
///
/// ```
/// use spmv_core::Index;
/// assert_eq!((-1i64).to_i128(), -1);
/// assert_eq!(i32::as_offsets(&[0, 7]), [0u32, 7]);
/// ```
pub trait Index: sealed::Sealed + Pod + Ord + Debug + Display + Send + Sync {
    /// The type of row offsets that is as wide as this.
    type Offset: Offset;
    /// The index, exact.
    fn to_i128(self) -> i128;
    /// The same bits as row offsets, not copied. Of `n` bits, what is negative becomes at least 2^(`n` - 1).
    fn as_offsets(indices: &[Self]) -> &[Self::Offset];
}

macro_rules! index {
    ($($t:ty as $offset:ty;)*) => {$(
        impl Index for $t {
            type Offset = $offset;

            #[inline(always)]
            fn to_i128(self) -> i128 {
                self as i128
            }

            fn as_offsets(indices: &[Self]) -> &[$offset] {
                bytemuck::cast_slice(indices)
            }
        }
    )*};
}

index! {
    u32 as u32;
    u64 as u64;
    i32 as u32;
    i64 as u64;
}

#[cfg(target_pointer_width = "64")]
index!(usize as u64;);
#[cfg(target_pointer_width = "32")]
index!(usize as u32;);

impl sealed::Sealed for usize {}
impl sealed::Sealed for i32 {}
impl sealed::Sealed for i64 {}
