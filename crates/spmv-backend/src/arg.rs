//! Scalars and host memory that launches take.

use std::marker::PhantomData;

use spmv_core::{Accum, Dtype, Value, c32, c64};

/// A scalar argument in the type of sums.
///
/// ```
/// use spmv_backend::Scalar;
/// assert_eq!(Scalar::of(1.5_f32), Scalar::F32(1.5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// For 16- and 32-bit values.
    F32(f32),
    /// For 64-bit values.
    F64(f64),
    /// For complex values of 64 bits.
    C32(c32),
    /// For complex values of 128 bits.
    C64(c64),
}

impl Scalar {
    /// A number of a type of sums.
    pub fn of<A: Accum>(value: A) -> Self {
        match A::DTYPE {
            Dtype::F64 => Scalar::F64(f64::from_parts(value.parts())),
            Dtype::C32 => Scalar::C32(c32::from_parts(value.parts())),
            Dtype::C64 => Scalar::C64(c64::from_parts(value.parts())),
            _ => Scalar::F32(f32::from_parts(value.parts())),
        }
    }

    /// The exact real and imaginary part.
    pub fn parts(self) -> [f64; 2] {
        match self {
            Scalar::F32(v) => v.parts(),
            Scalar::F64(v) => v.parts(),
            Scalar::C32(v) => v.parts(),
            Scalar::C64(v) => v.parts(),
        }
    }
}

/// Host memory that a kernel borrows for one launch.
///
/// ```
/// use spmv_backend::HostSlice;
/// let mut y = [0u8; 16];
/// let borrowed = HostSlice::of_mut(&mut y);
/// assert_eq!((borrowed.bytes(), borrowed.is_mut()), (16, true));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct HostSlice<'a> {
    start: *const u8,
    bytes: usize,
    is_mut: bool,
    borrowed: PhantomData<&'a [u8]>,
}

impl<'a> HostSlice<'a> {
    /// Memory to be read.
    pub fn of(slice: &'a [u8]) -> Self {
        Self { start: slice.as_ptr(), bytes: slice.len(), is_mut: false, borrowed: PhantomData }
    }

    /// Memory to be written, and perhaps read.
    pub fn of_mut(slice: &'a mut [u8]) -> Self {
        Self { start: slice.as_mut_ptr(), bytes: slice.len(), is_mut: true, borrowed: PhantomData }
    }

    /// Address of the first byte; writable if [`is_mut`](Self::is_mut).
    pub fn start(&self) -> *mut u8 {
        self.start.cast_mut()
    }

    /// Size in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether it was borrowed for writing.
    pub fn is_mut(&self) -> bool {
        self.is_mut
    }
}
