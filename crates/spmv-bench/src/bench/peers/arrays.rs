//! Arrays for peers, laid out as our backend lays out its own: else its memory would be faster, and not its code.

use std::ops::{Deref, DerefMut};

use ::spmv::{CsrView, Value};
use rayon::prelude::*;

use super::factor::Factor;

/// Arrays begin at a multiple of this, as buffers of the cpu backend do: a cache line, and the widest vector.
const ALIGN: usize = 64;

/// A matrix and a vector that peers borrow.
pub(crate) struct Arrays<T> {
    n_rows: usize,
    n_cols: usize,
    /// Whether the vector is multiplied by the transpose.
    transposed: bool,
    row_ptr: Aligned<u32>,
    cols: Aligned<u32>,
    vals: Aligned<T>,
    x: Aligned<T>,
}

/// Values that begin at a multiple of [`ALIGN`] bytes, each page first touched by whichever thread filled its part.
pub(crate) struct Aligned<T> {
    values: Vec<T>,
    /// The first aligned one.
    start: usize,
    len: usize,
}

impl<T: Value> Arrays<T> {
    /// Copies both.
    pub(crate) fn of(a: CsrView<'_, T>, x: &[T], transposed: bool) -> Self {
        Self {
            n_rows: a.n_rows(),
            n_cols: a.n_cols(),
            transposed,
            row_ptr: Aligned::of(a.row_ptr()),
            cols: Aligned::of(a.cols()),
            vals: Aligned::of(a.vals()),
            x: Aligned::of(x),
        }
    }

    pub(crate) fn factor(&self) -> Factor<'_, T> {
        let a = CsrView::new(self.n_rows, self.n_cols, &self.row_ptr, &self.cols, &self.vals);
        Factor { a: a.expect("a copy of a valid matrix"), transposed: self.transposed }
    }

    pub(crate) fn x(&self) -> &[T] {
        &self.x
    }

    /// A vector for the product, all of one value.
    pub(crate) fn y(&self, value: T) -> Aligned<T> {
        Aligned::filled(if self.transposed { self.n_cols } else { self.n_rows }, |_| value)
    }
}

impl<T: Copy + Default + Send + Sync> Aligned<T> {
    fn of(values: &[T]) -> Self {
        Self::filled(values.len(), |at| values[at])
    }

    /// Values by their index.
    fn filled(len: usize, value: impl Fn(usize) -> T + Sync) -> Self {
        // Zeroed by the allocator, which maps fresh pages lazily: the first to write owns the page.
        let mut values = vec![T::default(); len + ALIGN / size_of::<T>()];
        let start = values.as_ptr().align_offset(ALIGN);
        values[start..start + len].par_iter_mut().enumerate().for_each(|(at, slot)| *slot = value(at));
        Self { values, start, len }
    }
}

impl<T> Deref for Aligned<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.values[self.start..self.start + self.len]
    }
}

impl<T> DerefMut for Aligned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.values[self.start..self.start + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::spmv::Csr;

    fn is_aligned<T>(values: &[T]) -> bool {
        values.as_ptr().addr().is_multiple_of(ALIGN)
    }

    #[test]
    fn every_array_of_a_peer_is_aligned_as_ours_are() {
        // Lengths that leave every remainder.
        for n in 1..40u32 {
            let entries: Vec<(u32, u32, f32)> = (0..n).map(|i| (i, (i * 7) % n, i as f32)).collect();
            let (a, x) = (Csr::from_coo(n as usize, n as usize, &entries).unwrap(), vec![0.5; n as usize]);
            let arrays = Arrays::of(a.view(), &x, false);
            let (view, y) = (arrays.factor().a, arrays.y(2.0));
            assert!(is_aligned(view.row_ptr()) && is_aligned(view.cols()) && is_aligned(view.vals()), "{n}");
            assert!(is_aligned(arrays.x()) && is_aligned(&y), "{n}");
            assert_eq!((view.row_ptr(), view.cols(), view.vals()), (a.row_ptr(), a.cols(), a.vals()));
            assert_eq!((arrays.x(), &y[..]), (&x[..], &vec![2.0; n as usize][..]));
        }
    }

    #[test]
    fn several_threads_touch_a_large_array_first() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let fillers = std::sync::Mutex::new(std::collections::BTreeSet::new());
        // The first to come waits until the other has come too, for as long as a busy machine may need.
        let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
        let n_fillers = || fillers.lock().unwrap().len();
        pool.install(|| {
            Aligned::filled(1 << 16, |_| {
                fillers.lock().unwrap().insert(rayon::current_thread_index());
                while n_fillers() < 2 && std::time::Instant::now() < end {
                    std::thread::yield_now();
                }
                1u8
            })
        });
        assert_eq!(n_fillers(), 2);
    }
}
