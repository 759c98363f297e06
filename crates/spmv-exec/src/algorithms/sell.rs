//! One lane a row of chunks of rows side by side, sorted by length within windows: SELL-C-sigma.

use std::cmp::Reverse;

use spmv_backend::arguments::Sell as Arguments;
use spmv_backend::{Backend, KernelId, Memory};
use spmv_core::format::{Cost, Ell};
use spmv_core::{CsrView, Dtype, MatrixStats, Tiling, Value};

use crate::error::Result;
use crate::launch::{Compiled, Run, scalar};
use crate::method::{Facts, HALF, Launch, Method, Storage};
use crate::part::{Build, Direct, Layout, Prepare, Span, direct};
use crate::tilings::{B, Of, On, Row, S, T, W};
use crate::values::{Order, Rows, Values};

/// Padding of the windows that are taken, over the entries: 1 / 8, or else all rows are sorted.
const PADDING: u64 = 8;
/// How many times larger the next window is that is tried.
const WIDER: usize = 32;

const SUITE: &str = "cargo xtask bench --suite --algorithm sell,ell,csr_vector,auto: docs/results/2026-11-22-h200-cuda-sell.txt";
const UNMEASURED: &str = "groups as large as those of csr_scalar and ell; not measured";

pub(crate) struct Sell;

impl Method for Sell {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                row_a_lane: false,
                own_layout: true,
                refuses: &["an arrow", "one long row"],
                ..Facts::of(KernelId::Sell, "Kreutzer et al. 2014, section 3")
            }
        }
    }

    /// T is C: the height of a chunk.
    fn tilings(&self) -> &'static [Row] {
        &[
            Row {
                on: On::Tasks,
                t: T::Is(32),
                w: W::Is(1),
                s: S::Tasks(Of::LaneRows),
                b: B::One,
                by: UNMEASURED,
            },
            Row {
                on: On::PartsOfSubgroups,
                t: T::Subgroup,
                w: W::Is(1),
                s: S::One,
                b: B::Lanes(128),
                by: SUITE,
            },
            Row {
                on: On::Subgroups,
                t: T::Subgroup,
                w: W::Is(1),
                s: S::One,
                b: B::Lanes(256),
                by: UNMEASURED,
            },
            Row {
                on: On::Workgroups,
                t: T::AtMost(32),
                w: W::Is(1),
                s: S::One,
                b: B::Lanes(128),
                by: UNMEASURED,
            },
        ]
    }

    fn storage(&self, stats: &MatrixStats, value: Dtype, tiling: &Tiling) -> Storage {
        let (rows, entry) = (&stats.rows, 4 + value.bytes() as u64);
        let [n_rows, nnz, longest] = [rows.n_rows, rows.nnz, rows.max].map(|n| n as u64);
        let height = u64::from(tiling.lanes());
        let sorted = (nnz + nnz / PADDING).saturating_add(height.saturating_mul(longest));
        let slots = sorted.min(n_rows.saturating_mul(longest));
        let bytes = slots.saturating_mul(entry).saturating_add((n_rows + n_rows.div_ceil(height) + 1) * 4);
        let csr_bytes = (n_rows + 1) * 4 + nnz * entry;
        Storage::Own(Cost { bytes, csr_bytes, slots, padding: slots.saturating_sub(nnz) })
    }

    /// Sorted rows pad less than a chunk of the longest row besides; a row that is cut stands alone and pads nothing.
    fn limits(&self, launch: &Launch<'_>) -> (u64, u64) {
        let slots = launch.entries().clamp(1, HALF);
        let height = u64::from(launch.tiling().lanes());
        let of_longest = height.saturating_mul(launch.rows.max as u64);
        // Either bound holds: no row of a part is longer than the longest, nor than all of its entries.
        let rest = slots.saturating_sub(of_longest);
        let entries = (rest - rest / PADDING).max(slots / (height + 2));
        (entries.max(1), launch.lane_rows())
    }
}

/// Rows side by side.
struct Chunks<V> {
    /// The row at each position.
    perm: Vec<u32>,
    /// The first slot of each chunk, and the end.
    chunk_ptr: Vec<u32>,
    cols: Vec<u32>,
    vals: Vec<V>,
}

/// Sorts rows by length within the smallest window whose padding is at most an eighth of the entries, and lays them out in
/// chunks of `height` rows. Sorting all rows pads less than a chunk of the longest row. O(rows log rows + slots).
fn chunks<V: Value>(a: CsrView<'_, V, u32>, height: usize) -> Chunks<V> {
    let (n_rows, nnz) = (a.n_rows(), a.nnz() as u64);
    let len = |row: u32| a.row_range(row as usize).len();
    let mut perm: Vec<u32> = (0..n_rows as u32).collect();
    let mut window = height;
    loop {
        perm.chunks_mut(window).for_each(|rows| rows.sort_by_key(|row| Reverse(len(*row))));
        let slots: u64 = perm.chunks(height).map(|rows| (rows.len() * len(rows[0])) as u64).sum();
        if window >= n_rows || slots <= nnz + nnz / PADDING {
            break;
        }
        window = window.saturating_mul(WIDER);
    }
    let mut chunk_ptr = vec![0u32];
    for rows in perm.chunks(height) {
        chunk_ptr.push(chunk_ptr[chunk_ptr.len() - 1] + (rows.len() * len(rows[0])) as u32);
    }
    let n_slots = chunk_ptr[chunk_ptr.len() - 1] as usize;
    let (mut cols, mut vals) = (vec![Ell::<V>::PADDING; n_slots], vec![V::from_f64(0.0); n_slots]);
    for (rows, start) in perm.chunks(height).zip(&chunk_ptr) {
        for (lane, row) in rows.iter().enumerate() {
            for (k, (col, val)) in a.row(*row as usize).enumerate() {
                let slot = *start as usize + k * rows.len() + lane;
                (cols[slot], vals[slot]) = (col, val);
            }
        }
    }
    Chunks { perm, chunk_ptr, cols, vals }
}

#[derive(Debug)]
struct State<B: Backend> {
    span: Span,
    kernel: Compiled<B>,
    perm: B::Buffer,
    chunk_ptr: B::Buffer,
    cols: B::Buffer,
    vals: Values<B>,
}

impl Build for Sell {
    fn build<B: Backend, V: Value>(
        to: &Prepare<'_, B>,
        a: CsrView<'_, V, u32>,
    ) -> Result<Box<dyn Layout<B, V>>> {
        let height = to.kernel.tiling.lanes() as usize;
        let Chunks { perm, chunk_ptr, cols, vals } = chunks(a, height);
        Ok(direct(State {
            span: to.span,
            kernel: to.main()?,
            perm: to.copy(&perm)?,
            chunk_ptr: to.copy(&chunk_ptr)?,
            cols: to.copy(&cols)?,
            vals: Values::new(to.copy(&vals)?, Order::rows(a, Rows::Chunks { perm, chunk_ptr, height })),
        }))
    }
}

impl<B: Backend, V: Value> Direct<B, V> for State<B> {
    fn launch(&self, run: &Run<'_, B, V>) -> Result<()> {
        let Self { span, kernel, perm, chunk_ptr, cols, vals } = self;
        let tiling = &kernel.spec.tiling;
        let groups = span.row_groups(tiling);
        let vals = vals.get();
        let args = Arguments {
            n_rows: span.n_rows,
            row_base: span.row_base,
            tiles: tiling.tiles(),
            alpha: run.alpha(),
            beta: scalar(span.beta(run)),
            perm: Memory::Device(perm),
            chunk_ptr: Memory::Device(chunk_ptr),
            cols: Memory::Device(cols),
            vals: Memory::Device(&*vals),
            x: run.x,
            y: run.y,
        };
        run.start(kernel, groups, args)
    }

    fn values(&self) -> [Option<&Values<B>>; 2] {
        [Some(&self.vals), None]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use spmv_backend::{DeviceCaps, DeviceKind, KernelSpec, Lanes, MemoryModel};
    use spmv_core::{Csr, RowStats};

    use super::*;

    fn of_lengths(lens: &[usize]) -> Csr<f64> {
        let entries = |len: usize| (0..len as u32).map(move |col| (col, f64::from(col) + 1.0));
        Csr::from_rows(100, lens.iter().map(|len| entries(*len))).unwrap()
    }

    #[test]
    fn rows_of_a_chunk_lie_side_by_side_the_longest_first() {
        let a = of_lengths(&[1, 3, 0, 2]);
        let Chunks { perm, chunk_ptr, cols, vals } = chunks(a.view(), 2);
        const NONE: u32 = Ell::<f64>::PADDING;
        // An eighth of six entries is none, so that all rows are sorted.
        assert_eq!((perm, chunk_ptr), (vec![1, 3, 0, 2], vec![0, 6, 8]));
        assert_eq!(cols, [0, 0, 1, 1, 2, NONE, 0, NONE]);
        assert_eq!(vals, [1.0, 1.0, 2.0, 2.0, 3.0, 0.0, 1.0, 0.0]);
    }

    #[test]
    fn a_part_holds_many_entries_however_long_the_longest_row_is() {
        let mut caps = DeviceCaps::new("a GPU", DeviceKind::DiscreteGpu, MemoryModel::Discrete);
        caps.max_buffer_bytes = 4 << 20;
        let tiling = Tiling::new(32, 1, 1, 4).unwrap();
        let kernel = &KernelSpec::new(KernelId::Sell, Dtype::F32, Lanes::Subgroup, tiling);
        for max in [1, 1 << 14, (1 << 15) - 1, 1 << 15, (1 << 15) + 1, 1 << 20] {
            let rows = RowStats { n_rows: 1 << 20, nnz: 1 << 24, max, ..RowStats::default() };
            let (entries, _) = Sell.limits(&Launch { kernel, rows: &rows, caps: &caps });
            let longest = (max as u64).min(entries);
            assert!(entries >= (1 << 20) / 34, "{max}: {entries}");
            assert!(entries + entries / PADDING + 32 * longest <= 1 << 20, "{max}: {entries}");
        }
    }

    #[test]
    fn even_rows_keep_their_order() {
        let a = of_lengths(&[4; 70]);
        let Chunks { perm, chunk_ptr, cols, .. } = chunks(a.view(), 32);
        assert!(perm.iter().copied().eq(0..70));
        assert_eq!((chunk_ptr, cols.len()), (vec![0, 128, 256, 280], 280), "the last chunk has six rows");
    }

    proptest! {
        #[test]
        fn padding_stays_below_what_was_said(
            lens in prop::collection::vec(prop_oneof![8 => 0usize..6, 1 => 0usize..90], 0..300),
            height in 1u32..40,
        ) {
            let a = of_lengths(&lens);
            let chunks = chunks(a.view(), height as usize);
            let tiling = Tiling::new(height, 1, 1, 1).unwrap();
            let Storage::Own(most) = Sell.storage(&MatrixStats::of(a.view()), Dtype::F64, &tiling) else {
                return Err(TestCaseError::fail("a layout of its own"));
            };
            let n_words = chunks.perm.len() + chunks.chunk_ptr.len() + chunks.cols.len();
            prop_assert!(chunks.cols.len() as u64 <= most.slots);
            prop_assert!((4 * n_words + size_of_val(&chunks.vals[..])) as u64 <= most.bytes);
            let mut rows = chunks.perm;
            rows.sort_unstable();
            prop_assert!(rows.into_iter().eq(0..lens.len() as u32));
            let n_entries = chunks.cols.iter().filter(|col| **col != Ell::<f64>::PADDING).count();
            prop_assert_eq!(n_entries, a.nnz());
        }
    }
}
