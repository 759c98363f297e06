//! Blocks of whole rows, as Gao et al. published them: `ipcsr` without what was improved since.

use spmv_backend::arguments::IpcsrPublished as Arguments;
use spmv_backend::{Backend, DeviceCaps, KernelId, KernelSpec, Memory};
use spmv_core::RowBlocks;
use spmv_core::{CsrView, MatrixStats, Tiling, Value};

use super::ipcsr;
use crate::error::Result;
use crate::launch::{Compiled, Run};
use crate::method::{Effort, Facts, Launch, Method, entries_of_a_group, rows_of_bunch_steps};
use crate::part::{Build, CsrArrays, Direct, Prepare, Span, WithoutScratch};
use crate::tilings::{B, On, Row, S, T, W};

const AS_PUBLISHED: &str =
    "W by Gao et al., equation 3, or as of ipcsr; T as of ipcsr: nothing was measured with this kernel";
/// Most lanes of a row of several, as in the kernel.
const MOST_LANES: f64 = 32.0;

pub(crate) struct IpcsrPublished;

impl Method for IpcsrPublished {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                row_a_lane: false,
                by_name_only: true,
                ..Facts::of(KernelId::IpcsrPublished, "Gao et al., algorithms 3 to 9 and equation 3")
            }
        }
    }

    fn tilings(&self) -> &'static [Row] {
        const fn of(on: On, lanes: u32, width: u32) -> Row {
            Row { on, t: T::Block(lanes), w: W::Equation3(width), s: S::One, b: B::One, by: AS_PUBLISHED }
        }
        const ROWS: &[Row] = &[
            of(On::Tasks, 256, 16),
            of(On::PartsOfSubgroups, 128, 8),
            of(On::Subgroups, 128, 8),
            of(On::Workgroups, 128, 8),
        ];
        ROWS
    }

    fn check(&self, kernel: &KernelSpec, caps: &DeviceCaps) -> Result<()> {
        ipcsr::one_bunch(kernel, caps)
    }

    /// Blocks are at most 3 times the entries over what a block holds (two that follow each other exceed it, or one fills
    /// it), and rows over lanes, and two: fewer than `ipcsr` may have.
    fn limits(&self, launch: &Launch<'_>) -> (u64, u64) {
        ipcsr::Ipcsr.limits(launch)
    }

    /// A group strides over a long row.
    fn loop_rows(&self, tiling: &Tiling, steps: u64) -> u64 {
        rows_of_bunch_steps(tiling, steps)
    }

    /// A lane may sum all products of its block but those of empty rows, after it brought W, and before it adds shares.
    fn loop_steps(&self, tiling: &Tiling, _: u64) -> u64 {
        u64::from(tiling.tile_entries()) + u64::from(tiling.width()) + 32
    }

    /// Rows are not cut: the longest counts, in a block of its own or with as many lanes as the rows of a mean block leave.
    fn effort(&self, launch: &Launch<'_>, _: &MatrixStats) -> Effort {
        let (n_rows, nnz) = (launch.rows.n_rows as f64, launch.rows.nnz as f64);
        let (tiling, longest) = (launch.tiling(), launch.rows.max as f64);
        let (held, lanes) = (entries_of_a_group(tiling), f64::from(tiling.group_lanes()));
        let groups = (nnz / held).max(n_rows / lanes);
        if launch.caps.tasks {
            return Effort { slots: nnz, longest, groups };
        }
        let rows_of_a_block = (held / launch.rows.mean.max(1e-9)).clamp(1.0, lanes);
        let alone = longest / lanes;
        let shared = longest.min(held) / lanes_of_a_row(lanes, rows_of_a_block);
        Effort { slots: nnz, longest: alone.max(shared), groups }
    }
}

/// Lanes of each row of a block of so many: Figure 1 of the paper for several, Algorithm 8 for one.
fn lanes_of_a_row(lanes: f64, rows: f64) -> f64 {
    match rows {
        _ if rows < 2.0 => lanes,
        _ if 2.0 * rows >= lanes => 1.0,
        _ => (lanes / rows).log2().floor().exp2().min(MOST_LANES),
    }
}

#[derive(Debug)]
pub(crate) struct State<B: Backend> {
    span: Span,
    kernel: Compiled<B>,
    a: CsrArrays<B>,
    /// [`RowBlocks`].
    block_rows: B::Buffer,
    n_blocks: u32,
}

impl Build for IpcsrPublished {
    type Made<B: Backend> = WithoutScratch<State<B>>;

    fn build<B: Backend, V: Value>(to: &Prepare<'_, B>, a: CsrView<'_, V, u32>) -> Result<Self::Made<B>> {
        let blocks = RowBlocks::whole(&to.kernel.tiling, a.row_ptr());
        let (n_blocks, block_rows) = (blocks.n_blocks() as u32, to.copy(&blocks.rows)?);
        Ok(WithoutScratch::new(State { span: to.span, kernel: to.main()?, a: to.csr(a)?, block_rows, n_blocks }))
    }
}

impl<B: Backend, T: Value> Direct<B, T> for State<B> {
    fn launch(&self, run: &Run<'_, B, T>) -> Result<()> {
        let Self { span, kernel, a, block_rows, n_blocks } = self;
        let vals = a.vals.get();
        let args = Arguments {
            n_rows: span.n_rows,
            row_base: span.row_base,
            finish: span.finish(run),
            row_ptr: Memory::Device(&a.row_ptr),
            block_rows: Memory::Device(block_rows),
            cols: Memory::Device(&a.cols),
            vals: Memory::Device(&*vals),
            x: run.x,
            y: run.y,
        };
        run.start(kernel, *n_blocks, args)
    }

    fn csr(&self) -> Option<&CsrArrays<B>> {
        Some(&self.a)
    }
}

#[cfg(test)]
mod tests {
    use spmv_backend::{DeviceKind, Lanes, MemoryModel, SmLimits};
    use spmv_core::{Dtype, RowStats};

    use super::*;
    use crate::{Algorithm, Options, plan};

    fn caps() -> DeviceCaps {
        let mut caps = DeviceCaps::new("a GPU", DeviceKind::DiscreteGpu, MemoryModel::Discrete);
        (caps.subgroup, caps.max_local_bytes) = (Some((2, 32)), 48 * 1024);
        caps
    }

    #[test]
    fn rows_share_lanes_by_figure_1() {
        let of = |rows| lanes_of_a_row(128.0, rows);
        assert_eq!([1.0, 2.0, 4.0, 5.0, 31.0, 33.0, 63.0, 64.0, 128.0].map(of), [
            128.0, 32.0, 32.0, 16.0, 4.0, 2.0, 2.0, 1.0, 1.0
        ]);
    }

    #[test]
    fn the_longest_row_of_a_block_takes_the_time() {
        let (caps, tiling) = (caps(), Tiling::new(128, 8, 1, 1).unwrap());
        let kernel = KernelSpec::new(KernelId::IpcsrPublished, Dtype::F32, Lanes::Workgroup, tiling);
        let longest = |mean: f64, max: usize| {
            let rows = &RowStats { mean, max, ..RowStats::default() };
            let launch = Launch { kernel: &kernel, rows, caps: &caps };
            IpcsrPublished.effort(&launch, &MatrixStats::from(rows)).longest
        };
        assert_eq!(longest(4.0, 9), 9.0, "128 rows of a lane each");
        assert_eq!(longest(32.0, 50), 50.0 / 4.0, "32 rows of 4 lanes each");
        assert_eq!(longest(32.0, 1_280_000), 10_000.0, "a group strides over the longest");
    }

    #[test]
    fn blocks_are_as_large_as_equation_3_says() {
        let options = Options { algorithm: Algorithm::IpcsrPublished, ..Options::default() };
        let rows = RowStats { n_rows: 1000, n_cols: 1000, nnz: 9000, mean: 9.0, max: 9, ..RowStats::default() };
        let types = [Dtype::F16, Dtype::F32, Dtype::F64];
        let widths = |caps: &DeviceCaps| {
            types.map(|value| plan(&rows, value, caps, None, &options).unwrap().kernel.tiling.width())
        };
        let mut caps = caps();
        assert_eq!(widths(&caps), [8, 8, 4], "the driver reports no limits");
        // C2050: 8 blocks of 1536 or 768 entries. K20c: 16 of 768 or 384. Hopper: 16 of 3648 or 1824.
        for (kib, lanes, groups, [f32, f64]) in
            [(48, 1536, 8, [8, 4]), (48, 2048, 16, [4, 2]), (228, 2048, 32, [16, 8])]
        {
            caps.sm_limits = Some(SmLimits { local_bytes: kib * 1024, lanes, groups: Some(groups) });
            assert_eq!(widths(&caps), [f32, f32, f64], "{kib} KiB, {lanes} threads, {groups} blocks");
        }
    }
}
