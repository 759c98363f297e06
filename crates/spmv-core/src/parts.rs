//! Work that is cut into as many parts as there are threads: how layouts are made.
//!
//! ```
//! use spmv_core::parts;
//! let numbers: Vec<u64> = (0..1000).collect();
//! let sums = parts::map(parts::cut(1000, parts::threads(1000, 100)), |part| numbers[part].iter().sum::<u64>());
//! assert_eq!(sums.into_iter().sum::<u64>(), 499_500);
//! ```

use std::ops::Range;
use std::sync::Mutex;

use rayon::prelude::*;

/// Threads for so much work: as many as the caller's rayon pool has, each with at least `of_a_thread` of it.
///
/// ```
/// assert_eq!(spmv_core::parts::threads(99, 100), 1);
/// ```
pub fn threads(work: usize, of_a_thread: usize) -> usize {
    match work / of_a_thread {
        // Asked only where there is work for several: the first who asks starts the pool.
        most @ 2.. => rayon::current_num_threads().min(most),
        _ => 1,
    }
}

/// `0..n`, cut into `parts` of the same length, but for the last.
///
/// ```
/// assert!(spmv_core::parts::cut(5, 2).eq([0..3, 3..5]));
/// ```
pub fn cut(n: usize, parts: usize) -> impl Iterator<Item = Range<usize>> {
    let len = n.div_ceil(parts).max(1);
    (0..n).step_by(len).map(move |start| start..(start + len).min(n))
}

/// Parts of a slice, of these lengths, one after another: what threads write.
///
/// ```
/// let mut numbers = [0; 5];
/// let parts = spmv_core::parts::split(&mut numbers, [2, 3]);
/// spmv_core::parts::map(parts, |part| part.fill(part.len()));
/// assert_eq!(numbers, [2, 2, 3, 3, 3]);
/// ```
///
/// # Panics
/// If the lengths exceed that of the slice.
pub fn split<E>(mut all: &mut [E], lens: impl IntoIterator<Item = usize>) -> Vec<&mut [E]> {
    let mut parts = Vec::new();
    for len in lens {
        let part;
        (part, all) = std::mem::take(&mut all).split_at_mut(len);
        parts.push(part);
    }
    parts
}

/// What `f` makes of every part, in order: each is a job of the caller's rayon pool.
///
/// ```
/// use spmv_core::parts;
/// assert_eq!(parts::map([1, 2, 3], |n| n * n), [1, 4, 9]);
/// ```
///
/// # Panics
/// If `f` does.
pub fn map<P: Send, R: Send>(parts: impl IntoIterator<Item = P>, f: impl Fn(P) -> R + Sync) -> Vec<R> {
    mapped(parts.into_iter().collect(), &f)
}

/// What two jobs make that need not wait for each other, in the caller's rayon pool.
///
/// ```
/// assert_eq!(spmv_core::parts::both(|| 1, || "two"), (1, "two"));
/// ```
///
/// # Panics
/// If one of them does.
pub fn both<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    let (mut a, mut b) = (Some(a), Some(b));
    let (mut of_a, mut of_b) = (None, None);
    join(&mut || of_a = a.take().map(|a| a()), &mut || of_b = b.take().map(|b| b()));
    of_a.zip(of_b).expect("both ran")
}

// What calls rayon is compiled once, and what cuts work into jobs once for each type. Generic in the closures, that was a third of what was
// compiled for a backend.

fn mapped<P: Send, R: Send>(mut parts: Vec<P>, f: &(dyn Fn(P) -> R + Sync)) -> Vec<R> {
    if parts.len() < 2 {
        return parts.pop().into_iter().map(f).collect();
    }
    // A lock that nobody waits for: each part is one job's.
    let jobs: Vec<_> = parts.into_iter().map(|part| Mutex::new((Some(part), None))).collect();
    each(jobs.len(), &|i| {
        let mut job = jobs[i].lock().expect("each job is done once");
        job.1 = job.0.take().map(f);
    });
    let made =
        |job: Mutex<(_, Option<R>)>| job.into_inner().expect("no job panicked").1.expect("each was done");
    jobs.into_iter().map(made).collect()
}

fn each(n: usize, f: &(dyn Fn(usize) + Sync)) {
    (0..n).into_par_iter().with_max_len(1).for_each(f);
}

fn join(a: &mut (dyn FnMut() + Send), b: &mut (dyn FnMut() + Send)) {
    rayon::join(a, b);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_in_order_and_leave_nothing_out() {
        let cuts = |n, parts| map(cut(n, parts), |part| (part.start, part.end));
        assert_eq!(cuts(10, 3), [(0, 4), (4, 8), (8, 10)]);
        assert_eq!(cuts(2, 8), [(0, 1), (1, 2)]);
        assert_eq!(cuts(0, 1), []);
        assert_eq!(threads(7, 8), 1);
    }

    #[test]
    fn a_job_that_panics_is_not_left_out() {
        let of_three = || map([1, 2, 3], |n| assert_ne!(n, 2, "of a part"));
        assert!(std::panic::catch_unwind(of_three).is_err());
        assert!(std::panic::catch_unwind(|| both(|| 1, || panic!("of a job"))).is_err());
    }
}
