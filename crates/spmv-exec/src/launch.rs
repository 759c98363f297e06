//! Arguments of every kernel, and the one unsafe call.

use std::ops::RangeInclusive;

use spmv_backend::{Arg, Backend, HostSlice, KernelId, KernelSpec, ParamKind, Scalar};
use spmv_core::{Accum, Dtype, Value};

use crate::error::Result;
use crate::prepared::{Part, Prepared, Structure};
use crate::workspace::{Blocks, Scratch, Speculative};

/// `x` or `y` of a run: on the device, or host memory lent to it.
pub(crate) enum Vector<'a, B: Backend> {
    Device(&'a B::Buffer),
    Host(HostSlice<'a>),
}

impl<B: Backend> Clone for Vector<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B: Backend> Copy for Vector<'_, B> {}

impl<'a, B: Backend> From<Vector<'a, B>> for Arg<'a, B> {
    fn from(vector: Vector<'a, B>) -> Self {
        match vector {
            Vector::Device(buffer) => Arg::Buffer(buffer),
            Vector::Host(slice) => Arg::Host(slice),
        }
    }
}

/// A run on one stream: lengths of `x` and `y` were checked against `prepared`, and `y` is borrowed
/// mutably until the run is over.
pub(crate) struct Run<'a, B: Backend, T: Value> {
    pub(crate) prepared: &'a Prepared<B, T>,
    pub(crate) stream: &'a B::Stream,
    pub(crate) x: Vector<'a, B>,
    pub(crate) y: Vector<'a, B>,
    pub(crate) alpha: T::Accum,
    /// Which dirty counter to use.
    pub(crate) turn: u32,
}

fn scalar<B: Backend, A: Accum>(value: A) -> Arg<'static, B> {
    Arg::Accum(match A::DTYPE {
        Dtype::F64 => Scalar::F64(value.as_f64()),
        _ => Scalar::F32(value.as_f64() as f32),
    })
}

impl<B: Backend, T: Value> Run<'_, B, T> {
    /// Stage 1 of a part with entries. The sums go straight to `y`, or else to the workspace.
    pub(crate) fn spec_segsum(&self, part: &Part<B>, scratch: &Speculative<B>, straight: bool) -> Result<()> {
        let (row_base, sums) = self.sums(part, scratch, straight);
        let groups = self.prepared.plan.kernel.tiling.n_groups(part.nnz);
        let args = [
            Arg::U32(part.n_rows),
            Arg::U32(row_base),
            Arg::U32(part.nnz),
            self.tiles(),
            Arg::U32(self.turn),
            scalar(self.alpha),
            Arg::Buffer(&part.row_ptr),
            tile_rows(part),
            Arg::Buffer(&part.cols),
            Arg::Buffer(&part.vals),
            self.x.into(),
            sums.into(),
            Arg::Buffer(&scratch.sync_rows),
            Arg::Buffer(&scratch.sync_sums),
            Arg::Buffer(&scratch.dirty_count),
            Arg::Buffer(&scratch.speculator),
        ];
        self.start(KernelId::SpecSegsum, &self.prepared.kernels.main, groups, &args)
    }

    /// Stage 2 on the device.
    pub(crate) fn fixup_apply(&self, part: &Part<B>, scratch: &Speculative<B>, straight: bool) -> Result<()> {
        let Some(kernel) = &self.prepared.kernels.fixup_apply else { unreachable!("compiled by `prepare`") };
        let (row_base, sums) = self.sums(part, scratch, straight);
        let groups = self.prepared.plan.kernel.tiling.n_groups(part.nnz);
        let args = [
            Arg::U32(part.n_rows),
            Arg::U32(row_base),
            Arg::U32(part.nnz),
            self.tiles(),
            Arg::U32(self.turn),
            Arg::Buffer(&part.row_ptr),
            tile_rows(part),
            Arg::Buffer(&scratch.sync_sums),
            Arg::Buffer(&scratch.dirty_count),
            Arg::Buffer(&scratch.speculator),
            sums.into(),
        ];
        self.start(KernelId::FixupApply, kernel, groups, &args)
    }

    /// `y <- sums + beta*y` over the part's rows; a part without entries has no sums.
    pub(crate) fn axpby(&self, part: &Part<B>, scratch: &Speculative<B>, beta: T::Accum) -> Result<()> {
        let Some(kernel) = &self.prepared.kernels.axpby else { unreachable!("compiled by `prepare`") };
        let alpha: T::Accum = if part.nnz == 0 { num_traits::zero() } else { num_traits::one() };
        let groups = part.n_rows.div_ceil(self.prepared.plan.kernel.tiling.group_lanes());
        let args = [
            Arg::U32(part.n_rows),
            Arg::U32(part.row_base),
            scalar(alpha),
            scalar(beta),
            Arg::Buffer(&scratch.sums),
            self.y.into(),
        ];
        self.start(KernelId::Axpby, kernel, groups, &args)
    }

    /// Any kernel that leaves nothing to repair.
    pub(crate) fn whole(&self, part: &Part<B>, scratch: &Scratch<B>, beta: T::Accum) -> Result<()> {
        let kernel = &self.prepared.kernels.main;
        let tiling = &self.prepared.plan.kernel.tiling;
        let (n_rows, row_base) = (Arg::U32(part.n_rows), Arg::U32(part.row_base));
        let (alpha, beta) = (scalar(self.alpha), scalar(beta));
        let [row_ptr, cols, vals] = [&part.row_ptr, &part.cols, &part.vals].map(Arg::Buffer);
        let (x, y) = (self.x.into(), self.y.into());
        match (self.prepared.plan.kernel.id, &part.structure, scratch) {
            (id @ KernelId::MergePath, Structure::BunchRows(bunch_rows), Scratch::Carries(carries)) => {
                let steps = part.n_rows + part.nnz;
                let args = [
                    n_rows,
                    row_base,
                    Arg::U32(part.nnz),
                    self.tiles(),
                    alpha,
                    beta,
                    row_ptr,
                    Arg::Buffer(bunch_rows),
                    cols,
                    vals,
                    x,
                    Arg::Buffer(carries),
                    y,
                ];
                self.start(id, kernel, tiling.n_groups(steps), &args)?;
                // A single bunch carries nothing.
                match tiling.n_bunches(steps) {
                    0 | 1 => Ok(()),
                    n => self.carry_apply(part, n, bunch_rows, carries),
                }
            }
            (
                id @ KernelId::Ipcsr,
                Structure::RowBlocks { rows, entries, n_blocks, cuts_rows },
                Scratch::Blocks(Blocks { carries, arrivals, .. }),
            ) => {
                let args = [
                    n_rows,
                    row_base,
                    alpha,
                    beta,
                    row_ptr,
                    Arg::Buffer(rows),
                    Arg::Buffer(entries),
                    cols,
                    vals,
                    x,
                    Arg::Buffer(carries),
                    Arg::Buffer(arrivals),
                    y,
                ];
                self.start(id, kernel, *n_blocks, &args)?;
                // Where groups join there is no such kernel.
                let carries_over = *cuts_rows && self.prepared.kernels.carry_apply.is_some();
                if carries_over { self.carry_apply(part, *n_blocks, rows, carries) } else { Ok(()) }
            }
            (id @ KernelId::PcsrSums, _, Scratch::Products(products)) => {
                let Some(first) = &self.prepared.kernels.products else {
                    unreachable!("compiled by `prepare`")
                };
                let args = [Arg::U32(part.nnz), self.tiles(), cols, vals, x, Arg::Buffer(products)];
                self.start(KernelId::PcsrProducts, first, tiling.n_groups(part.nnz), &args)?;
                let args = [n_rows, row_base, self.tiles(), alpha, beta, row_ptr, Arg::Buffer(products), y];
                self.start(id, kernel, self.row_groups(part), &args)
            }
            (id, Structure::Ell { width }, _) => {
                let args = [n_rows, row_base, Arg::U32(*width), self.tiles(), alpha, beta, cols, vals, x, y];
                self.start(id, kernel, self.row_groups(part), &args)
            }
            (id, Structure::Jad { perm, n_jags }, _) => {
                let (n_jags, perm) = (Arg::U32(*n_jags), Arg::Buffer(perm));
                let args =
                    [n_rows, row_base, n_jags, self.tiles(), alpha, beta, perm, row_ptr, cols, vals, x, y];
                self.start(id, kernel, self.row_groups(part), &args)
            }
            (id, Structure::Dia { n_diags }, _) => {
                let [n_cols, n_diags] = [self.prepared.plan.rows.n_cols as u32, *n_diags].map(Arg::U32);
                let args =
                    [n_rows, row_base, n_cols, n_diags, self.tiles(), alpha, beta, row_ptr, vals, x, y];
                self.start(id, kernel, self.row_groups(part), &args)
            }
            (id, _, _) => {
                let args = [n_rows, row_base, self.tiles(), alpha, beta, row_ptr, cols, vals, x, y];
                self.start(id, kernel, self.row_groups(part), &args)
            }
        }
    }

    /// Groups of a kernel that takes whole rows.
    fn row_groups(&self, part: &Part<B>) -> u32 {
        let KernelSpec { id, tiling, .. } = &self.prepared.plan.kernel;
        let first = match id.takes_a_row_a_lane() {
            true => tiling.scalar_rows(0, part.n_rows),
            false => tiling.vector_rows(0, part.n_rows),
        };
        spmv_core::Tiling::n_row_groups(&first, part.n_rows)
    }

    /// What bunches (or blocks) carried, to where it belongs.
    fn carry_apply(
        &self,
        part: &Part<B>,
        n_bunches: u32,
        bunch_rows: &B::Buffer,
        carries: &B::Buffer,
    ) -> Result<()> {
        let Some((kernel, bunches)) = &self.prepared.kernels.carry_apply else {
            unreachable!("compiled by `prepare`")
        };
        let args = [
            Arg::U32(part.n_rows),
            Arg::U32(part.row_base),
            Arg::U32(n_bunches),
            scalar(self.alpha),
            Arg::Buffer(bunch_rows),
            Arg::Buffer(carries),
            self.y.into(),
        ];
        let groups = n_bunches.div_ceil(*bunches);
        self.start(KernelId::CarryApply, kernel, groups, &args)
    }

    fn tiles<'t>(&self) -> Arg<'t, B> {
        Arg::U32(self.prepared.plan.kernel.tiling.tiles())
    }

    /// Where a part's speculative sums go: rows of `y`, or the workspace.
    fn sums<'s>(
        &'s self,
        part: &Part<B>,
        scratch: &'s Speculative<B>,
        straight: bool,
    ) -> (u32, Vector<'s, B>) {
        if straight { (part.row_base, self.y) } else { (0, Vector::Device(&scratch.sums)) }
    }

    fn start(&self, id: KernelId, kernel: &B::Kernel, groups: u32, args: &[Arg<'_, B>]) -> Result<()> {
        debug_assert!(agrees(id, args), "arguments of {id} do not agree with its parameter table");
        if groups == 0 {
            return Ok(());
        }
        // SAFETY: number and kind of `args` follow the parameter table (the functions above; checked in
        // debug builds). Lengths: `Device::part` copied `row_ptr`, `cols` and `vals` of a validated matrix,
        // or `Device::laid_out` the arrays that a layout of `spmv_core` made of one; `Prepared::scratch` sized the
        // workspace from the same counts, and `Prepared::check_lengths` saw x and y. Columns are below the length of
        // x by `CsrView::new`, or a layout's padding; `perm` is a sorted list of all rows. Written buffers are the
        // workspace's or `y`, which is borrowed mutably; one run at a time borrows the workspace. Lent host memory is
        // borrowed until `finish` has waited.
        unsafe { self.prepared.device.backend().launch(self.stream, kernel, groups, args)? };
        Ok(())
    }

    /// Starts again what was recorded of runs like this one: of the same matrix, vectors and workspace.
    pub(crate) fn replay(&self, recording: &B::Recording) -> Result<()> {
        // SAFETY: every recorded launch went through `start` with buffers of the same `Recorded`, which borrows
        // matrix, vectors and workspace (the latter and `y` mutably) as long as it lives.
        unsafe { self.prepared.device.backend().replay(self.stream, recording)? };
        Ok(())
    }
}

fn tile_rows<B: Backend>(part: &Part<B>) -> Arg<'_, B> {
    match &part.structure {
        Structure::TileRows { tile_rows, .. } => Arg::Buffer(tile_rows),
        _ => unreachable!("made by `prepare` for spec_segsum"),
    }
}

fn agrees<B: Backend>(id: KernelId, args: &[Arg<'_, B>]) -> bool {
    const MEMORY: RangeInclusive<u8> = 2..=3;
    let kind = |arg: &Arg<'_, B>| match arg {
        Arg::U32(_) => 0u8,
        Arg::Accum(_) => 1,
        Arg::Buffer(_) => 2,
        Arg::Host(_) => 3,
    };
    let params = id.params();
    params.len() == args.len()
        && params.iter().zip(args).all(|(param, arg)| match param.kind {
            ParamKind::U32 => kind(arg) == 0,
            ParamKind::Accum => kind(arg) == 1,
            ParamKind::Read(_) | ParamKind::Write(_) => MEMORY.contains(&kind(arg)),
        })
}
