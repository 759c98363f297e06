//! Lanes for CPUs without vectors of their own here, and for compilers that find them.

use spmv_core::{Accum, Value};

use super::loops::{Lanes, Source, Sources, Sums};
use crate::numbers::Numbers;

/// Lanes in an array. `FUSED` where multiplying and adding is one instruction of the target, as on aarch64,
/// whose vectors the compiler then uses; NEON has no gather that this would miss.
pub(super) struct Arrays<const FUSED: bool>;

impl<const FUSED: bool, A: Accum> Lanes<A> for Arrays<FUSED> {
    type V = [A; 8];

    #[inline(always)]
    unsafe fn splat(a: A) -> [A; 8] {
        [a; 8]
    }
    #[inline(always)]
    unsafe fn read(from: *const A) -> [A; 8] {
        // SAFETY: by contract.
        unsafe { from.cast::<[A; 8]>().read() }
    }
    #[inline(always)]
    unsafe fn read_first(from: *const A, n: usize) -> [A; 8] {
        // SAFETY: by contract.
        let v = unsafe { Self::read(from) };
        std::array::from_fn(|i| if i < n { v[i] } else { A::default() })
    }
    #[inline(always)]
    unsafe fn write(to: *mut A, v: [A; 8]) {
        // SAFETY: by contract.
        unsafe { to.cast::<[A; 8]>().write(v) }
    }
    #[inline(always)]
    unsafe fn write_first(to: *mut A, n: usize, v: [A; 8]) {
        // SAFETY: by contract, there are the first `n`.
        unsafe { to.copy_from_nonoverlapping(v[..n].as_ptr(), n) }
    }
    #[inline(always)]
    unsafe fn add(a: [A; 8], b: [A; 8]) -> [A; 8] {
        std::array::from_fn(|i| a[i] + b[i])
    }
    #[inline(always)]
    unsafe fn mul(a: [A; 8], b: [A; 8]) -> [A; 8] {
        std::array::from_fn(|i| a[i] * b[i])
    }
    #[inline(always)]
    unsafe fn mul_add(a: [A; 8], b: [A; 8], c: [A; 8]) -> [A; 8] {
        std::array::from_fn(|i| if FUSED { a[i].times_plus(b[i], c[i]) } else { a[i] * b[i] + c[i] })
    }
    #[inline(always)]
    unsafe fn mul_add_nonzero(a: [A; 8], b: [A; 8], c: [A; 8]) -> [A; 8] {
        // SAFETY: arrays need no features.
        let all = unsafe { Self::mul_add(a, b, c) };
        std::array::from_fn(|i| if a[i] == A::default() { c[i] } else { all[i] })
    }
    #[inline(always)]
    unsafe fn last(v: [A; 8], n: usize) -> [A; 8] {
        std::array::from_fn(|i| if i + n >= 8 { v[i] } else { A::default() })
    }
    #[inline(always)]
    unsafe fn sum(v: [A; 8]) -> A {
        ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]))
    }
    #[inline(always)]
    unsafe fn sum_each(v: [[A; 8]; 8]) -> [A; 8] {
        // SAFETY: arrays need no features.
        v.map(|v| unsafe { Self::sum(v) })
    }
    #[inline(always)]
    unsafe fn transpose(v: [[A; 8]; 4]) -> [[A; 8]; 4] {
        std::array::from_fn(|k| std::array::from_fn(|i| v[i % 4][i / 4 * 4 + k]))
    }
    #[inline(always)]
    unsafe fn long(ptr: *const u32) -> u32 {
        // SAFETY: by contract.
        let ptr = unsafe { ptr.cast::<[u32; 9]>().read() };
        (0..8).fold(0, |bits, i| bits | u32::from(ptr[i + 1] - ptr[i] > 8) << i)
    }
}

impl<const FUSED: bool, A: Accum> Sums<A> for Arrays<FUSED> {
    type Four = [A; 4];

    #[inline(always)]
    unsafe fn either(is: bool, new: [A; 8], old: [A; 8]) -> [A; 8] {
        if is { new } else { old }
    }
    #[inline(always)]
    unsafe fn splat_four(a: A) -> [A; 4] {
        [a; 4]
    }
    #[inline(always)]
    unsafe fn read_four(from: *const A) -> [A; 4] {
        // SAFETY: by contract.
        unsafe { from.cast::<[A; 4]>().read() }
    }
    #[inline(always)]
    unsafe fn write_four(to: *mut A, v: [A; 4]) {
        // SAFETY: by contract.
        unsafe { to.cast::<[A; 4]>().write(v) }
    }
    #[inline(always)]
    unsafe fn add_four(a: [A; 4], b: [A; 4]) -> [A; 4] {
        std::array::from_fn(|i| a[i] + b[i])
    }
    #[inline(always)]
    unsafe fn mul_add_four(a: [A; 4], b: [A; 4], c: [A; 4]) -> [A; 4] {
        std::array::from_fn(|i| if FUSED { a[i].times_plus(b[i], c[i]) } else { a[i] * b[i] + c[i] })
    }
    #[inline(always)]
    unsafe fn either_four(is: bool, new: [A; 4], old: [A; 4]) -> [A; 4] {
        if is { new } else { old }
    }
}

impl<const FUSED: bool, E: Value<Accum: Into<A>>, A: Accum> Source<E, A> for Arrays<FUSED> {
    #[inline(always)]
    unsafe fn load(from: *const E) -> [A; 8] {
        // SAFETY: by contract.
        unsafe { from.cast::<[E; 8]>().read() }.map(|v| v.to_accum().into())
    }
    #[inline(always)]
    unsafe fn load_first(from: *const E, n: usize) -> [A; 8] {
        // SAFETY: by contract, there are the first `n`.
        std::array::from_fn(|i| if i < n { unsafe { *from.add(i) }.to_accum().into() } else { A::default() })
    }
    #[inline(always)]
    unsafe fn load_halves(low: *const E, high: *const E) -> [A; 8] {
        // SAFETY: by contract.
        let (low, high) = unsafe { (low.cast::<[E; 4]>().read(), high.cast::<[E; 4]>().read()) };
        std::array::from_fn(|i| if i < 4 { low[i] } else { high[i - 4] }.to_accum().into())
    }
    #[inline(always)]
    unsafe fn gather(x: *const E, cols: *const u32) -> [A; 8] {
        // SAFETY: by contract.
        unsafe { cols.cast::<[u32; 8]>().read().map(|col| (*x.add(col as usize)).to_accum().into()) }
    }
}

impl<const FUSED: bool, T: Numbers> Sources<T> for Arrays<FUSED> where
    Self: Source<T::Val, T::Accum> + Source<T::Vector, T::Accum> + Source<T::Accum, T::Accum>
{
}
