//! Entries with a row number each, cut evenly over bunches.

use std::sync::Arc;

use spmv_backend::arguments::{Coo as Arguments, Finish};
use spmv_backend::{Backend, DeviceCaps, KernelId, KernelSpec, Memory};
use spmv_core::format::{Coo as Format, Cost};
use spmv_core::{CsrView, Dtype, MatrixStats, RowStats, Tiling, Value};

use crate::carries;
use crate::device::Device;
use crate::error::Result;
use crate::launch::{Compiled, Run};
use crate::method::{
    Effort, Facts, Launch, Method, Repair, Storage, Sums, bits, entries_of_a_group, rows_of_bunch_steps,
};
use crate::part::{ANY_BLOW_UP, Build, Layout, Prepare, Runner, Span};
use crate::tilings::{B, Of, On, Row, S, T, W, tiled};
use crate::values::{Order, Values};

const UNMEASURED: &str = "as merge_path, whose tiles are as large; not measured";

pub(crate) struct Coo;

impl Method for Coo {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                sums: Sums::Joined,
                row_a_lane: false,
                own_layout: true,
                ..Facts::of(KernelId::Coo, "Bell & Garland 2009, section 4.4")
            }
        }
    }

    fn tilings(&self) -> &'static [Row] {
        const ROWS: [Row; 4] = {
            let parts = Row {
                on: On::PartsOfSubgroups,
                t: T::Subgroup,
                w: W::Is(8),
                s: S::Bunches(Of::Entries, 30),
                b: B::AtMost(8),
                by: UNMEASURED,
            };
            let [tasks, parts, subgroups, workgroups] = tiled(Of::Entries, parts);
            [
                Row { by: UNMEASURED, ..tasks },
                parts,
                Row { by: UNMEASURED, ..subgroups },
                Row { by: UNMEASURED, ..workgroups },
            ]
        };
        &ROWS
    }

    fn helpers(&self, kernel: &KernelSpec, caps: &DeviceCaps, _: Repair) -> Vec<KernelSpec> {
        vec![carries::kernel(kernel, caps)]
    }

    fn storage(&self, stats: &MatrixStats, kernel: &KernelSpec, _: &DeviceCaps) -> Storage {
        let value = kernel.types.value;
        Storage::Own(cost(&stats.rows, value))
    }

    /// Entries and rows without any both take slots, which have four bytes in `rows`.
    fn limits(&self, launch: &Launch<'_>) -> (u64, u64) {
        let tiling = launch.tiling();
        let bunches = (launch.groups() * u64::from(tiling.bunches())).min(launch.marks());
        let slots = bunches.saturating_mul(u64::from(tiling.bunch_entries()));
        let most = slots.min(launch.caps.max_buffer_bytes / 4) / 2;
        (most, most)
    }

    /// A lane of `carry_apply` may step over the bunches of all entries.
    fn loop_rows(&self, tiling: &Tiling, steps: u64) -> u64 {
        rows_of_bunch_steps(tiling, steps)
    }

    fn loop_steps(&self, tiling: &Tiling, _: u64) -> u64 {
        2 * u64::from(tiling.width()) + 2 * bits(u64::from(tiling.lanes())) + 4
    }

    fn effort(&self, launch: &Launch<'_>, _: &MatrixStats) -> Effort {
        let slots = (launch.rows.nnz + launch.rows.empty) as f64;
        Effort { slots, longest: 0.0, groups: slots / entries_of_a_group(launch.tiling()) }
    }
}

/// What the format takes, with the rows without entries.
pub(super) fn cost(rows: &RowStats, value: Dtype) -> Cost {
    let cost = Cost::coo(rows, value);
    Cost { bytes: cost.bytes.saturating_add((rows.empty as u64).saturating_mul(4)), ..cost }
}

/// Rows without entries.
pub(super) fn empty_rows<T: Value>(a: CsrView<'_, T, u32>) -> impl Iterator<Item = u32> + '_ {
    (0..a.n_rows() as u32).filter(move |row| a.row_range(*row as usize).is_empty())
}

/// Entries with their rows, and rows without any, on the device.
#[derive(Debug)]
pub(crate) struct Slots<B: Backend> {
    kernel: Compiled<B>,
    carry_apply: Compiled<B>,
    nnz: u32,
    n_slots: u32,
    rows: B::Buffer,
    cols: B::Buffer,
    pub(super) vals: Values<B>,
    /// The row to which each bunch carries, after one element that is not read, as `carry_apply` takes them. `None` where every
    /// bunch ends with a row.
    carry_rows: Option<B::Buffer>,
}

/// The row that goes on after each bunch, or else `n_rows`; and before all of them an element more. Unlike a carry of zero to
/// the next row, no carry leaves that row alone where a factor is infinite.
fn carry_rows(tiling: &Tiling, n_rows: u32, rows: &[u32]) -> Vec<u32> {
    let n_slots = rows.len() as u32;
    let goes_on = |bunch| {
        let stop = tiling.bunch_range(bunch, n_slots).end as usize;
        let next = rows.get(stop).filter(|row| rows[stop - 1] == **row);
        next.copied().unwrap_or(n_rows)
    };
    std::iter::once(n_rows).chain((0..tiling.n_bunches(n_slots)).map(goes_on)).collect()
}

impl<B: Backend> Slots<B> {
    /// Copies entries. `other_rows` are rows without any that no other kernel stores.
    pub(super) fn copy<T: Value>(
        to: &Prepare<'_, B>,
        coo: &Format<T>,
        order: Order,
        other_rows: impl Iterator<Item = u32>,
    ) -> Result<Self> {
        let rows: Vec<u32> = coo.rows().iter().copied().chain(other_rows).collect();
        let carry_rows = carry_rows(&to.kernel.tiling, to.span.n_rows, &rows);
        let carries = carry_rows.iter().any(|row| *row < to.span.n_rows);
        Ok(Self {
            kernel: to.main()?,
            carry_apply: to.helper(KernelId::CarryApply)?,
            nnz: coo.vals().len() as u32,
            n_slots: rows.len() as u32,
            rows: to.copy(&rows)?,
            cols: to.copy(coo.cols())?,
            vals: Values::new(to.copy(coo.vals())?, order),
            carry_rows: carries.then(|| to.copy(&carry_rows)).transpose()?,
        })
    }

    /// A sum for each bunch.
    pub(super) fn carries<T: Value>(&self, device: &Device<B>) -> Result<B::Buffer> {
        device.scratch::<T::Accum>(self.n_bunches() as usize)
    }

    fn n_bunches(&self) -> u32 {
        self.kernel.spec.tiling.n_bunches(self.n_slots)
    }

    /// Stores the rows that have slots.
    pub(super) fn launch<T: Value>(
        &self,
        run: &Run<'_, B, T>,
        span: &Span,
        finish: Finish<'_, B>,
        carries: &B::Buffer,
    ) -> Result<()> {
        let tiling = &self.kernel.spec.tiling;
        let vals = self.vals.get();
        let args = Arguments {
            n_rows: span.n_rows,
            row_base: span.row_base,
            nnz: self.nnz,
            n_slots: self.n_slots,
            tiles: tiling.tiles(),
            finish,
            rows: Memory::Device(&self.rows),
            cols: Memory::Device(&self.cols),
            vals: Memory::Device(&*vals),
            x: run.x,
            carries: Memory::Device(carries),
            y: run.y,
        };
        run.start(&self.kernel, tiling.n_groups(self.n_slots), args)?;
        match &self.carry_rows {
            Some(rows) => carries::add(run, &self.carry_apply, span, self.n_bunches(), rows, carries),
            None => Ok(()),
        }
    }
}

#[derive(Debug)]
pub(crate) struct State<B: Backend> {
    span: Span,
    slots: Slots<B>,
}

/// With a sum for each bunch.
#[derive(Debug)]
struct Carrying<B: Backend> {
    state: Arc<State<B>>,
    carries: B::Buffer,
}

impl Build for Coo {
    type Made<B: Backend> = Arc<State<B>>;

    fn build<B: Backend, V: Value>(to: &Prepare<'_, B>, a: CsrView<'_, V, u32>) -> Result<Self::Made<B>> {
        let slots = Slots::copy(to, &Format::from_csr(a, ANY_BLOW_UP)?, Order::Csr, empty_rows(a))?;
        Ok(Arc::new(State { span: to.span, slots }))
    }
}

impl<B: Backend, T: Value> Layout<B, T> for Arc<State<B>> {
    fn runner(&self, device: &Device<B>) -> Result<Box<dyn Runner<B, T>>> {
        let carries = self.slots.carries::<T>(device)?;
        Ok(Box::new(Carrying { state: Arc::clone(self), carries }))
    }

    fn values(&self) -> Vec<&Values<B>> {
        vec![&self.slots.vals]
    }
}

impl<B: Backend, T: Value> Runner<B, T> for Carrying<B> {
    fn stage1(&self, run: &Run<'_, B, T>) -> Result<()> {
        let State { span, slots } = &*self.state;
        slots.launch(run, span, span.finish(run), &self.carries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bunch_carries_to_the_row_that_goes_on_after_it() {
        let tiling = Tiling::new(2, 1, 1, 1).unwrap();
        // The second bunch ends with row 1, the third lies in row 3; rows 0 and 2 have no entries.
        let rows = [1, 1, 1, 1, 3, 3, 3, 3, 3, 0, 2];
        assert_eq!(carry_rows(&tiling, 4, &rows), [4, 1, 4, 3, 3, 4, 4]);
        assert_eq!(carry_rows(&tiling, 4, &[]), [4]);
    }
}
