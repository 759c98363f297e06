//! Sums of slices of 32 lanes, whose elements of x are gathered, or loaded where slices are stepped and where runs are long enough.

// Loops over vectors index several arrays at once.
#![allow(clippy::needless_range_loop)]

use spmv_core::Runs;
use spmv_core::format::SliceHeader as Header;

use super::loops::{INTO_L1, prefetch_lines};
use super::operand::{LENGTHS, NARROW_COLS, NARROW_NONE, NONE, SimdValue, Slice};
use super::slices::{WIDE, scalar};

/// Vectors of sums and of as many columns.
///
/// Every method is unsafe, as those of [`Lanes`](super::loops::Lanes) are.
pub(super) trait Gather<T: SimdValue> {
    /// Lanes of a vector.
    const N: usize;
    /// Whether two elements that follow each other are gathered at once.
    const PAIRS: bool = false;
    type Sums: Copy;
    type Words: Copy;
    type Mask: Copy;

    unsafe fn zero() -> Self::Sums;
    unsafe fn store(to: *mut T::Accum, sums: Self::Sums);
    unsafe fn splat_word(word: u32) -> Self::Words;
    /// Words shifted right, of which the bits in `kept` are left.
    unsafe fn bits(from: *const u32, shift: u32, kept: Self::Words) -> Self::Words;
    unsafe fn add(a: Self::Words, b: Self::Words) -> Self::Words;
    /// All lanes.
    unsafe fn all() -> Self::Mask;
    unsafe fn are_same(a: Self::Mask, b: Self::Mask) -> bool;
    unsafe fn differ(a: Self::Words, b: Self::Words) -> Self::Mask;
    /// Lanes of a mask where `a`, without a sign, is at most `b`.
    unsafe fn at_most(mask: Self::Mask, a: Self::Words, b: Self::Words) -> Self::Mask;
    /// The elements of x that follow each other from there on.
    unsafe fn load(x: *const T::Vector) -> Self::Sums;
    /// The elements of x that columns name, in the lanes of a mask, and reads no others.
    unsafe fn gather(mask: Self::Mask, x: *const T::Vector, cols: Self::Words) -> Self::Sums;
    /// The same, and those that follow them.
    #[inline(always)]
    unsafe fn gather_pairs(mask: Self::Mask, x: *const T::Vector, cols: Self::Words) -> [Self::Sums; 2] {
        // SAFETY: by contract.
        unsafe { [Self::gather(mask, x, cols), Self::gather(mask, x.add(1), cols)] }
    }
    /// How many elements of x [`load_runs`](Self::load_runs) reads of a run, by its entries, where that takes less time than gathers.
    const REACH: [Option<usize>; Runs::MOST + 1] = [None; Runs::MOST + 1];
    /// The elements of x that follow each other from eight addresses on: vector `j` has those that are `j` after.
    #[inline(always)]
    unsafe fn load_runs(_: [*const T::Vector; 8]) -> [Self::Sums; Runs::MOST] {
        unreachable!("runs that are gathered")
    }
    /// Adds products of values with elements of x, in the lanes of a mask.
    unsafe fn mul_add(mask: Self::Mask, vals: *const T::Val, x: Self::Sums, sums: Self::Sums) -> Self::Sums;
}

/// Sums of the lanes of a slice.
///
/// # Safety
///
/// The CPU has the features of `G`; x is no longer than signed 32 bits count, and runs have one to four entries at most.
#[inline(always)]
pub(super) unsafe fn wide<T: SimdValue, G: Gather<T>>(a: &Slice<'_, T>) -> [T::Accum; WIDE] {
    if a.header.is_stepped && a.header.lanes > 1 {
        let mut sums = [T::Accum::default(); WIDE];
        scalar(a, &mut sums);
        return sums;
    }
    // SAFETY: by contract.
    unsafe {
        match (a.width, a.lengths) {
            (1, _) => of_width::<T, G, 1, false>(a, &[]),
            (2, None) => of_width::<T, G, 2, false>(a, &[]),
            (3, None) => of_width::<T, G, 3, false>(a, &[]),
            (_, None) => of_width::<T, G, 4, false>(a, &[]),
            (2, Some(lengths)) => of_width::<T, G, 2, true>(a, lengths),
            (3, Some(lengths)) => of_width::<T, G, 3, true>(a, lengths),
            (_, Some(lengths)) => of_width::<T, G, 4, true>(a, lengths),
        }
    }
}

/// Asks for what comes some steps after `from`: the hardware alone does not keep up, as in the loops over CSR.
#[inline(always)]
fn prefetch<T>(from: *const T, n: usize) {
    const AHEAD_BYTES: usize = 4096;
    prefetch_lines::<INTO_L1, _>(from.wrapping_byte_add(AHEAD_BYTES), n * size_of::<T>());
}

/// As [`wide`] for runs of at most `W` entries.
///
/// # Safety
///
/// As for [`wide`]; there are lengths if runs are `RAGGED`.
#[inline(always)]
unsafe fn of_width<T: SimdValue, G: Gather<T>, const W: usize, const RAGGED: bool>(
    a: &Slice<'_, T>,
    lengths: &[u32],
) -> [T::Accum; WIDE] {
    let Header { n_steps, is_narrow, is_stepped, .. } = a.header;
    assert!(a.vals.len() >= n_steps * W * WIDE, "values of each step");
    // At most eight vectors.
    let (mut to, n_vectors) = ([T::Accum::default(); WIDE], WIDE / G::N);
    // SAFETY: words and values of each step are there, as was and is checked; runs end in x, as `Words` promise; features by contract.
    unsafe {
        let mut sums = [G::zero(); 8];
        if is_stepped {
            assert!(a.cols.len() >= n_steps, "a column of each step");
            for step in 0..n_steps {
                let (x, vals) =
                    (a.x.as_ptr().add(a.cols[step] as usize), a.vals.as_ptr().add(step * W * WIDE));
                prefetch(vals, W * WIDE);
                for v in 0..n_vectors {
                    for j in 0..W {
                        let x = G::load(x.add(v * G::N + j));
                        sums[v] = G::mul_add(G::all(), vals.add(j * WIDE + v * G::N), x, sums[v]);
                    }
                }
            }
        } else {
            let halves = usize::from(is_narrow);
            assert!(a.cols.len() >= ((n_steps + halves) >> halves) * WIDE, "columns of each step");
            assert!(!RAGGED || lengths.len() >= n_steps.div_ceil(LENGTHS) * WIDE, "lengths of each step");
            let steps = Steps::<T, G, W, RAGGED>::new(a, lengths);
            let mut step = 0;
            // Of runs of one entry masks take no longer than it takes to find the steps that need none.
            let n_full = if W > 1 { steps.full(n_steps) } else { 0 };
            if is_narrow {
                while step + NARROW_COLS <= n_full {
                    steps.ask(step, NARROW_COLS);
                    for v in 0..n_vectors {
                        sums[v] = steps.add::<true>(step, v, 0, sums[v]);
                        sums[v] = steps.add::<true>(step + 1, v, 1, sums[v]);
                    }
                    step += NARROW_COLS;
                }
            }
            while step < n_full {
                steps.ask(step, 1);
                for v in 0..n_vectors {
                    sums[v] = steps.add::<true>(step, v, step & halves, sums[v]);
                }
                step += 1;
            }
            while W == 1 && is_narrow && step + NARROW_COLS <= n_steps {
                steps.ask(step, NARROW_COLS);
                for v in 0..n_vectors {
                    sums[v] = steps.add::<false>(step, v, 0, sums[v]);
                    sums[v] = steps.add::<false>(step + 1, v, 1, sums[v]);
                }
                step += NARROW_COLS;
            }
            while step < n_steps {
                steps.ask(step, 1);
                for v in 0..n_vectors {
                    sums[v] = steps.add::<false>(step, v, step & halves, sums[v]);
                }
                step += 1;
            }
        }
        for v in 0..n_vectors {
            G::store(to.as_mut_ptr().add(v * G::N), sums[v]);
        }
    }
    to
}

/// The steps of a slice whose x is gathered.
struct Steps<T: SimdValue, G: Gather<T>, const W: usize, const RAGGED: bool> {
    lengths: *const u32,
    cols: *const u32,
    vals: *const T::Val,
    x: *const T::Vector,
    halves: usize,
    none: G::Words,
    base: G::Words,
    first_col: usize,
    /// Whether x has the columns that are read of a run of full length, and the greatest with which one may begin.
    has_full: bool,
    last_full: G::Words,
}

impl<T: SimdValue, G: Gather<T>, const W: usize, const RAGGED: bool> Steps<T, G, W, RAGGED> {
    /// # Safety
    ///
    /// As for [`wide`], and of every method.
    #[inline(always)]
    unsafe fn new(a: &Slice<'_, T>, lengths: &[u32]) -> Self {
        let Header { is_narrow, base, .. } = a.header;
        let reach = G::REACH[W].unwrap_or(W);
        // SAFETY: features by contract.
        unsafe {
            Self {
                lengths: lengths.as_ptr(),
                cols: a.cols.as_ptr(),
                vals: a.vals.as_ptr(),
                x: a.x.as_ptr(),
                halves: usize::from(is_narrow),
                none: G::splat_word(if is_narrow { NARROW_NONE } else { NONE }),
                base: G::splat_word(base),
                first_col: base as usize,
                has_full: a.x.len() >= reach,
                last_full: G::splat_word(a.x.len().saturating_sub(reach) as u32),
            }
        }
    }

    /// Of the first steps as many as all lanes have runs for: lanes come to their ends in the last ones. None, where those are more than an
    /// eighth: to find them would take longer than masks do.
    #[inline(always)]
    unsafe fn full(&self, n_steps: usize) -> usize {
        let mut n_full = n_steps;
        // SAFETY: by contract.
        unsafe {
            while n_full > n_steps - n_steps / 8 {
                let (step, mut is_full) = (n_full - 1, true);
                // All comparisons at once.
                for v in 0..WIDE / G::N {
                    let codes = G::bits(self.words(step, v), ((step & self.halves) * 16) as u32, self.none);
                    is_full &= G::are_same(G::differ(codes, self.none), G::all());
                }
                if is_full {
                    return n_full;
                }
                n_full = step;
            }
        }
        0
    }

    /// Asks for what comes after some steps.
    #[inline(always)]
    unsafe fn ask(&self, step: usize, n: usize) {
        // SAFETY: by contract.
        let (cols, vals) = unsafe { (self.words(step, 0), self.vals.add(step * W * WIDE)) };
        if step & self.halves == 0 {
            prefetch(cols, WIDE);
        }
        prefetch(vals, n * W * WIDE);
    }

    #[inline(always)]
    unsafe fn words(&self, step: usize, v: usize) -> *const u32 {
        // SAFETY: by contract.
        unsafe { self.cols.add((step >> self.halves) * WIDE + v * G::N) }
    }

    /// Adds the products of a step, whose columns are the first or the second half of their words, in one vector of lanes.
    #[inline(always)]
    unsafe fn add<const FULL: bool>(&self, step: usize, v: usize, half: usize, mut sums: G::Sums) -> G::Sums {
        // SAFETY: by contract.
        unsafe {
            let codes = G::bits(self.words(step, v), (half * 16) as u32, self.none);
            let is_run = if FULL { G::all() } else { G::differ(codes, self.none) };
            let cols = G::add(codes, self.base);
            let vals = self.vals.add(step * W * WIDE + v * G::N);
            let mut masks = [is_run; 4];
            if RAGGED {
                let word = self.lengths.add(step / LENGTHS * WIDE + v * G::N);
                let last = G::bits(word, (step % LENGTHS * 2) as u32, G::splat_word(3));
                for j in 1..W {
                    masks[j] = G::at_most(is_run, G::splat_word(j as u32), last);
                }
            }
            if let Some(reach) = G::REACH[W]
                && (reach == W && !RAGGED && self.has_full || self.are_in_x(is_run, cols))
            {
                let x = G::load_runs(self.first_of_runs::<FULL>(step, v, half));
                for j in 0..W {
                    sums = G::mul_add(masks[j], vals.add(j * WIDE), x[j], sums);
                }
                return sums;
            }
            let mut j = 0;
            // What follows the last entry of a shorter run is read too, if it is in x.
            if G::PAIRS && W > 1 && (!RAGGED || self.are_in_x(is_run, cols)) {
                while j + 1 < W {
                    let [first, second] = G::gather_pairs(is_run, self.x.add(j), cols);
                    sums = G::mul_add(masks[j], vals.add(j * WIDE), first, sums);
                    sums = G::mul_add(masks[j + 1], vals.add((j + 1) * WIDE), second, sums);
                    j += 2;
                }
            }
            while j < W {
                let x = G::gather(masks[j], self.x.wrapping_add(j), cols);
                sums = G::mul_add(masks[j], vals.add(j * WIDE), x, sums);
                j += 1;
            }
            sums
        }
    }

    /// Where the runs of a vector's eight lanes begin in x, and the beginning of x for lanes without one.
    #[inline(always)]
    unsafe fn first_of_runs<const FULL: bool>(
        &self,
        step: usize,
        v: usize,
        half: usize,
    ) -> [*const T::Vector; 8] {
        let mut at = [self.x; 8];
        // Read one by one: out of a vector they would come by the port that shuffles what they name.
        // SAFETY: by contract there are words of all lanes.
        unsafe {
            let words = self.words(step, v);
            if self.halves == 1 {
                let codes = words.cast::<u16>().add(half);
                for lane in 0..8 {
                    let code = *codes.add(lane * NARROW_COLS);
                    let from = self.x.wrapping_add(self.first_col + code as usize);
                    at[lane] = if FULL || code != u16::MAX { from } else { self.x };
                }
            } else {
                for lane in 0..8 {
                    let code = *words.add(lane);
                    let from = self.x.wrapping_add(code as usize);
                    at[lane] = if FULL || code != NONE { from } else { self.x };
                }
            }
        }
        at
    }

    /// Whether x has the columns that are read of a run of full length, from each column of a run on.
    #[inline(always)]
    unsafe fn are_in_x(&self, is_run: G::Mask, cols: G::Words) -> bool {
        // SAFETY: by contract.
        self.has_full && unsafe { G::are_same(G::at_most(is_run, cols, self.last_full), is_run) }
    }
}
