//! Sums of slices of `sell`: eight lanes side by side, or 32, each with a run of entries a step.
//!
//! x is read in one of three ways:
//!
//! - as it stands, where each lane's column is one more than that of the lane before.
//! - element by element, where runs have one entry and there are eight lanes. Steps in which all lanes have an entry need no masks; others
//!   come last.
//! - by gathers or loads of runs, where there are 32 lanes and they are not stepped (`wide.rs`).

// Loops over vectors index several arrays at once.
#![allow(clippy::needless_range_loop)]

use std::ops::Range;

use spmv_core::Tiling;
use spmv_core::format::SliceHeader as Header;

use super::isa::Isa;
use super::loops::{INTO_L2, Sources, prefetch_lines};
use super::operand::{
    Entries, Extent, LANES, LENGTHS, NARROW_COLS, NARROW_NONE, NONE, SimdValue, Slice, Slices, Way,
};

/// Lanes of wide slices, for gathers.
pub(super) const WIDE: usize = Tiling::MOST_SLICE_LANES as usize;
/// Lanes whose sums are found together.
pub(crate) const BLOCK_LANES: usize = 256;
/// Slices of as many.
const BLOCK: usize = BLOCK_LANES / LANES;
/// Entries that come later are asked for.
const AHEAD: usize = 1024;

/// Sums of the lanes of some slices, of at most [`BLOCK_LANES`]. Wide slices are gathered.
///
/// Panics if there are fewer sums, or if words or values are not there. An `isa` this CPU lacks counts as `Scalar`.
pub(crate) fn slices<T: SimdValue>(isa: Isa, a: &Slices<'_, T>, range: Range<usize>, sums: &mut [T::Accum]) {
    let sums = &mut sums[..range.len() * a.lanes];
    if a.lanes > LANES {
        if !T::gathered(isa, a, range.clone(), sums) {
            scalars(a, range, sums);
        }
        return;
    }
    // What slices say of themselves is read first, so that the loops over entries have the registers for themselves.
    let loads = a.width == 1 && i32::try_from(a.x.len()).is_ok();
    let mut entries =
        [const { Entries { n_steps: 0, cols: std::ptr::null(), vals: std::ptr::null() } }; BLOCK];
    let mut sums = sums.as_chunks_mut().0;
    let (mut before, mut first) = (None::<Alike>, range.start);
    for slice in range.clone() {
        let numbers = a.numbers(slice);
        let alike = match before {
            Some(alike) if alike.flags == numbers[3] => alike,
            _ => Alike::of(a, numbers, loads),
        };
        if let Some(before) = before.replace(alike)
            && before.way != alike.way
        {
            let (of_way, others) = std::mem::take(&mut sums).split_at_mut(slice - first);
            // SAFETY: `entries` has what these slices have.
            unsafe { one_way(isa, a, before.way, first..slice, &entries, of_way) };
            (sums, first) = (others, slice);
        }
        let (cols, vals) = a.entries(numbers, &alike.extent);
        entries[slice - first] = Entries { n_steps: alike.n_steps, cols: cols.as_ptr(), vals: vals.as_ptr() };
    }
    if let Some(last) = before {
        // SAFETY: as before.
        unsafe { one_way(isa, a, last.way, first..range.end, &entries, sums) };
    }
}

/// What slices have in common whose last numbers are equal: most slices and those before them.
#[derive(Clone, Copy)]
struct Alike {
    flags: u32,
    /// How x is read, by vectors.
    way: Option<Way>,
    n_steps: usize,
    extent: Extent,
}

impl Alike {
    #[inline(always)]
    fn of<T: SimdValue>(a: &Slices<'_, T>, numbers: [u32; 4], loads: bool) -> Self {
        let header = Header::of(numbers);
        let way = match (header.is_stepped, loads && !header.is_narrow) {
            (true, _) => Some(Way::Stepped),
            (false, true) => Some(Way::Loaded),
            (false, false) => None,
        };
        Self { flags: numbers[3], way, n_steps: header.n_steps, extent: a.extent(&header) }
    }
}

/// Sums of slices whose x is read in the same way.
///
/// # Safety
///
/// Entries are those of the slices from the first on, and `way` is what [`Alike::of`] found for each.
unsafe fn one_way<T: SimdValue>(
    isa: Isa,
    a: &Slices<'_, T>,
    way: Option<Way>,
    slices: Range<usize>,
    entries: &[Entries<T>],
    sums: &mut [[T::Accum; LANES]],
) {
    match way {
        // SAFETY: by contract there are words and values of each step; runs of all lanes end in x, as `Words` promise, and `Alike::of` found
        // that what is loaded is such.
        Some(way) => unsafe { T::eights(isa, a, way, &entries[..slices.len()], sums) },
        None => scalars(a, slices, sums.as_flattened_mut()),
    }
}

/// Body of [`SimdValue::eights`].
///
/// # Safety
///
/// As for that, and the CPU has the features of `L`.
#[inline(always)]
pub(super) unsafe fn eights<T: SimdValue, L: Sources<T>>(
    a: &Slices<'_, T>,
    way: Way,
    slices: &[Entries<T>],
    sums: &mut [[T::Accum; LANES]],
) {
    // SAFETY: by contract.
    unsafe {
        match (way, a.streams) {
            (Way::Stepped, true) if a.width == 1 => stepped::<T, L, 1, true>(a, slices, sums),
            (Way::Stepped, false) if a.width == 1 => stepped::<T, L, 1, false>(a, slices, sums),
            (Way::Stepped, true) => stepped::<T, L, ANY, true>(a, slices, sums),
            (Way::Stepped, false) => stepped::<T, L, ANY, false>(a, slices, sums),
            (Way::Loaded, true) => loaded::<T, L, true>(a.x.as_ptr(), slices, sums),
            (Way::Loaded, false) => loaded::<T, L, false>(a.x.as_ptr(), slices, sums),
        }
    }
}

/// Any width of runs.
const ANY: usize = 0;

/// The sums of stepped slices whose runs have `W` entries, from memory or from a cache.
///
/// # Safety
///
/// As for [`eights`].
#[inline(always)]
unsafe fn stepped<T: SimdValue, L: Sources<T>, const W: usize, const STREAMS: bool>(
    a: &Slices<'_, T>,
    slices: &[Entries<T>],
    sums: &mut [[T::Accum; LANES]],
) {
    let (x, width) = (a.x.as_ptr(), if W == ANY { a.width } else { W });
    for (of, to) in slices.iter().zip(sums) {
        let mut vals = of.vals;
        // SAFETY: by contract.
        unsafe {
            let mut sums = L::splat(T::Accum::default());
            for step in 0..of.n_steps {
                let x = x.add(*of.cols.add(step) as usize);
                for j in 0..width {
                    if STREAMS {
                        prefetch_lines::<INTO_L2, _>(vals.wrapping_add(AHEAD), LANES * size_of::<T::Val>());
                    }
                    sums = L::mul_add(L::load(vals), L::load(x.add(j)), sums);
                    vals = vals.add(LANES);
                }
            }
            L::write(to.as_mut_ptr(), sums);
        }
    }
}

/// The sums of slices whose elements of x are loaded, with entries from memory or from a cache.
///
/// # Safety
///
/// As for [`eights`].
#[inline(always)]
unsafe fn loaded<T: SimdValue, L: Sources<T>, const STREAMS: bool>(
    x: *const T::Vector,
    slices: &[Entries<T>],
    sums: &mut [[T::Accum; LANES]],
) {
    for (of, to) in slices.iter().zip(sums) {
        // SAFETY: by contract.
        unsafe {
            let mut sums = L::splat(T::Accum::default());
            // Lanes come to their ends in the last steps.
            let mut n_full = of.n_steps;
            while n_full > 0 {
                let cols = &*of.cols.add((n_full - 1) * LANES).cast::<[u32; LANES]>();
                // All eight comparisons at once.
                if cols.iter().fold(true, |are_there, col| are_there & (*col != NONE)) {
                    break;
                }
                n_full -= 1;
                sums = L::add_some(of.vals.add(n_full * LANES), x, cols, sums);
            }
            for step in 0..n_full {
                let (cols, vals) = (of.cols.add(step * LANES), of.vals.add(step * LANES));
                if STREAMS {
                    prefetch_lines::<INTO_L2, _>(cols.wrapping_add(AHEAD), LANES * size_of::<u32>());
                    prefetch_lines::<INTO_L2, _>(vals.wrapping_add(AHEAD), LANES * size_of::<T::Val>());
                }
                sums = L::mul_add(L::load(vals), L::gather(x, cols), sums);
            }
            L::write(to.as_mut_ptr(), sums);
        }
    }
}

/// Sums of the lanes of some slices, read one after another.
fn scalars<T: SimdValue>(a: &Slices<'_, T>, range: Range<usize>, sums: &mut [T::Accum]) {
    for (slice, sums) in range.zip(sums.chunks_exact_mut(a.lanes)) {
        scalar(&a.slice(slice), sums);
    }
}

/// As [`scalars`] of a slice.
pub(super) fn scalar<T: SimdValue>(a: &Slice<'_, T>, sums: &mut [T::Accum]) {
    let (n_lanes, Header { n_steps, is_narrow, is_stepped, base, lanes, .. }) = (sums.len(), a.header);
    for (lane, sum) in sums.iter_mut().enumerate() {
        *sum = T::Accum::default();
        for step in 0..n_steps {
            let word = |line: usize| a.cols[line * n_lanes + lane];
            let half = |step: usize| word(step / NARROW_COLS) >> (step % NARROW_COLS * 16) & NARROW_NONE;
            let col = match (is_stepped, is_narrow) {
                // Of each step the columns of the first row.
                (true, _) => a.cols[step * lanes + lane % lanes] + (lane / lanes) as u32,
                (_, true) if half(step) == NARROW_NONE => break,
                (_, true) => base + half(step),
                (_, false) if word(step) == NONE => break,
                (_, false) => word(step),
            };
            let last = match a.lengths {
                Some(lengths) => {
                    (lengths[step / LENGTHS * n_lanes + lane] >> (step % LENGTHS * 2) & 3) as usize
                }
                None => a.width - 1,
            };
            for j in 0..=last {
                let val = a.vals[(step * a.width + j) * n_lanes + lane];
                *sum += T::of_val(val) * T::of_x(a.x[col as usize + j]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use spmv_core::Value;

    use super::super::isa::Isa;
    use super::super::operand::Words;
    use super::*;
    use crate::numbers::for_all_numbers;

    /// Of x, all of whose elements some run reads, but for the first, which is NaN.
    const N_COLS: u32 = 120;
    const BASE: u32 = 7;

    #[derive(Clone, Copy, Debug)]
    struct Form {
        n_steps: usize,
        width: usize,
        is_narrow: bool,
        is_ragged: bool,
        is_stepped: bool,
        lanes: usize,
    }

    impl Form {
        fn numbers(self) -> [u32; 4] {
            let Self { n_steps, is_narrow, is_ragged, is_stepped, .. } = self;
            let base = if is_narrow { BASE } else { 0 };
            let header = Header { base, n_steps, is_narrow, is_ragged, is_stepped, ..Header::default() };
            header.numbers().unwrap()
        }

        fn sums<T: SimdValue>(
            self,
            isa: Isa,
            words: &[u32],
            vals: &[T::Val],
            x: &[T::Vector],
        ) -> Vec<T::Accum> {
            let numbers = self.numbers();
            // SAFETY: no case has columns beyond its x.
            let words = unsafe { Words::new_unchecked(words, x.len()) };
            let slices = Slices::<T>::new(&numbers, [self.lanes, self.width], words, vals, x);
            let mut sums = vec![T::Accum::default(); self.lanes];
            super::slices(isa, &slices, 0..1, &mut sums);
            sums
        }
    }

    struct Case<T: SimdValue> {
        form: Form,
        words: Vec<u32>,
        vals: Vec<T::Val>,
        x: Vec<T::Vector>,
        /// Of each lane.
        sums: Vec<f64>,
    }

    impl<T: SimdValue> Case<T> {
        fn new(form: Form) -> Self {
            let mut seed = 1_u32;
            let mut next = |below: u32| {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (seed >> 8) % below
            };
            let Form { n_steps, width, is_narrow, is_ragged, is_stepped, lanes } = form;
            let x: Vec<f64> =
                (0..N_COLS).map(|i| if i < BASE { f64::NAN } else { f64::from(next(64)) / 16.0 }).collect();
            let n_lengths = if is_ragged { n_steps.div_ceil(LENGTHS) * lanes } else { 0 };
            let mut words = vec![NONE; n_lengths + n_steps * lanes];
            // What is read of a slot without an entry shows.
            let mut vals = vec![f64::NAN; n_steps * width * lanes];
            let mut sums = vec![0.0; lanes];
            if is_stepped {
                words =
                    (0..n_steps).map(|_| BASE + next(N_COLS + 2 - BASE - (lanes + width) as u32)).collect();
                for (step, lane, j) in
                    (0..n_steps * lanes * width).map(|i| (i / lanes / width, i % lanes, i / lanes % width))
                {
                    let val = f64::from(next(64)) / 16.0 - 2.0;
                    vals[(step * width + j) * lanes + lane] = val;
                    sums[lane] += val * x[words[step] as usize + lane + j];
                }
            }
            for lane in 0..if is_stepped { 0 } else { lanes } {
                // Of eight lanes all, some or none have an entry in a step.
                let n = n_steps as u32;
                for step in 0..(n - next(1 + n.min(lane as u32 % 16))) as usize {
                    let len = if is_ragged { 1 + next(width as u32) } else { width as u32 };
                    let code = next(N_COLS - BASE - len + 1);
                    let (bits, of_word) = if is_narrow { (16, 2) } else { (32, 1) };
                    let mut put = |word: usize, shift: usize, mask: u32, bits: u32| {
                        words[word] = words[word] & !(mask << shift) | bits << shift;
                    };
                    let mask = u32::MAX >> (32 - bits);
                    let word = if is_narrow { code } else { BASE + code };
                    put(n_lengths + step / of_word * lanes + lane, step % of_word * bits, mask, word);
                    if is_ragged {
                        put(step / LENGTHS * lanes + lane, step % LENGTHS * 2, 3, len - 1);
                    }
                    for j in 0..len {
                        let val = f64::from(next(64)) / 16.0 - 2.0;
                        vals[(step * width + j as usize) * lanes + lane] = val;
                        sums[lane] += val * x[(BASE + code + j) as usize];
                    }
                }
            }
            Self {
                form,
                words,
                vals: vals.into_iter().map(Value::from_f64).collect(),
                x: x.into_iter().map(Value::from_f64).collect(),
                sums,
            }
        }
    }

    fn forms() -> impl Iterator<Item = Form> {
        let flags = (0..16).map(|bits| [0, 1, 2, 3].map(|bit| bits >> bit & 1 != 0));
        let all = (1..=4).flat_map(move |width| {
            flags.clone().flat_map(move |[is_narrow, is_ragged, is_stepped, is_wide]| {
                let of = |n_steps| Form {
                    n_steps,
                    width,
                    is_narrow,
                    is_ragged,
                    is_stepped,
                    lanes: if is_wide { WIDE } else { LANES },
                };
                [0, 1, 2, 15, 16, 17, 40, 97].map(of)
            })
        });
        all.filter(|of| !(of.is_ragged && of.width == 1 || of.is_stepped && (of.is_narrow || of.is_ragged)))
    }

    fn sums_are_right<T: SimdValue>() {
        for form in forms() {
            let Case { form, words, vals, x, sums } = Case::<T>::new(form);
            for isa in Isa::available() {
                // Numbers are so short that no sum is rounded.
                let found = form.sums::<T>(isa, &words, &vals, &x).into_iter().map(|sum| sum.parts()[0]);
                assert_eq!(found.collect::<Vec<_>>(), sums, "{isa:?} {form:?}");
            }
        }
    }

    #[test]
    fn each_lane_sums_its_own_runs() {
        for_all_numbers!(sums_are_right);
    }

    fn nothing_behind_x_is_read<T: SimdValue>() {
        let of = |n: f64| -> T::Vector { Value::from_f64(n) };
        for width in 2..=4 {
            let form =
                Form { n_steps: 1, width, is_narrow: false, is_ragged: true, is_stepped: false, lanes: WIDE };
            // A run of one entry in each lane, at the end of an x that is shorter than runs may be, or longer.
            for len in 1..=5_usize {
                let words = [[0; WIDE], [len as u32 - 1; WIDE]].concat();
                let mut vals = vec![Value::from_f64(f64::NAN); width * WIDE];
                vals[..WIDE].fill(Value::from_f64(2.0));
                let mut x = vec![of(f64::NAN); len];
                x[len - 1] = of(3.0);
                for isa in Isa::available() {
                    let sums = form.sums::<T>(isa, &words, &vals, &x);
                    assert!(sums.iter().all(|sum| sum.parts()[0] == 6.0), "{isa:?} {form:?} {len}");
                }
            }
        }
    }

    #[test]
    fn a_run_ends_where_x_does() {
        for_all_numbers!(nothing_behind_x_is_read);
    }
}
