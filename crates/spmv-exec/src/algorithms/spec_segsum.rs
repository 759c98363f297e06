//! Speculative segmented sum: the device speculates (stage 1), the host or the device repairs (stage 2).

use std::ops::Range;
use std::sync::Arc;

use num_traits::Zero;
use spmv_backend::arguments::{Axpby, FixupApply, SpecSegsum as Arguments};
use spmv_backend::{Backend, DeviceCaps, Error, KernelId, KernelSpec, Lanes, Memory, MemoryModel, Types};
use spmv_core::tiling::tile_rows;
use spmv_core::{Accum, CsrView, MatrixStats, Tiling, Value};
use spmv_fixup::{FixupError, carry, dirty};

use crate::device::{Device, bytes_of};
use crate::error::Result;
use crate::launch::{Compiled, Run, Scaling};
use crate::method::{Effort, Facts, Launch, Method, Repair, Sums, bits, entries_of_a_group, rows_of_bunch_steps};
use crate::part::{Build, CsrArrays, Layout, Prepare, Repaired, Runner, Span, Target};
use crate::measured::BY_CLASS;
use crate::tilings::{B, Of, On, Row, S, T, W, splits_subgroups, tiled};

pub(crate) struct SpeculativeSegmentedSum;

impl Method for SpeculativeSegmentedSum {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                sums: Sums::Repaired,
                row_a_lane: false,
                by_heuristic: true,
                ..Facts::of(KernelId::SpecSegsum, "Liu & Vinter 2015, section 3")
            }
        }
    }

    /// The paper's Table 1 is the start, with T as wide as the device's lanes run together; S is less than there as long
    /// as that leaves too few bunches to fill the device.
    fn tilings(&self) -> &'static [Row] {
        const ROWS: [Row; 4] = tiled(
            Of::Entries,
            Row {
                on: On::PartsOfSubgroups,
                t: T::Subgroup,
                w: W::Is(8),
                s: S::Bunches(Of::Entries, 24),
                b: B::LanesIfBarriers(128),
                by: BY_CLASS,
            },
        );
        &ROWS
    }

    /// On integrated devices as the paper measured (figures 4 and 5, section 4.4): row blocks are as good where rows are
    /// even, which `csr_vector` says of a matrix first; everywhere else speculation is faster, by far where a few rows are long.
    fn suits(&self, _: &MatrixStats, _: Types, caps: &DeviceCaps) -> Option<&'static str> {
        Some(if caps.is_integrated() {
            "cuts entries evenly over lanes, whatever the row lengths; the host repairs in the memory that it shares"
        } else {
            "cuts entries evenly over lanes, whatever the row lengths, and needs no preprocessing"
        })
    }

    fn check(&self, kernel: &KernelSpec, caps: &DeviceCaps) -> Result<()> {
        if kernel.tiling.bunches() == 1 {
            return Ok(());
        }
        let what = match kernel.lanes {
            Lanes::Workgroup => {
                format!("shuffles over {} lanes, so a group holds one bunch", kernel.tiling.lanes())
            }
            // Bunches of one subgroup take different numbers of steps, so its lanes do not meet.
            Lanes::Subgroup if caps.bunch_barriers && is_part_of_subgroup(kernel, caps) => {
                "barriers of less than a subgroup".to_owned()
            }
            Lanes::Subgroup if caps.bunch_barriers => return Ok(()),
            Lanes::Subgroup => "barriers of less than a group".to_owned(),
        };
        Err(Error::unsupported(&*caps.name, what, "use a tiling with B=1").into())
    }

    fn helpers(&self, kernel: &KernelSpec, _: &DeviceCaps, repair: Repair) -> Vec<KernelSpec> {
        let fixup_apply = (repair == Repair::Device).then_some(KernelId::FixupApply);
        let ids = fixup_apply.into_iter().chain([KernelId::Axpby]);
        ids.map(|id| KernelSpec { id, ..*kernel }).collect()
    }

    fn limits(&self, launch: &Launch<'_>) -> (u64, u64) {
        let tiling = launch.tiling();
        let [tile, bunch, bunches] =
            [tiling.tile_entries(), tiling.bunch_entries(), tiling.bunches()].map(u64::from);
        let entries = (launch.groups() * bunches).saturating_mul(bunch);
        (entries.min(launch.marks().saturating_mul(tile)), u64::MAX)
    }

    fn loop_rows(&self, tiling: &Tiling, steps: u64) -> u64 {
        rows_of_bunch_steps(tiling, steps)
    }

    /// Before each entry there may be a run of empty rows that is skipped by a search.
    fn loop_steps(&self, tiling: &Tiling, search: u64) -> u64 {
        let [entries, lanes, width] = [tiling.tile_entries(), tiling.lanes(), tiling.width()].map(u64::from);
        entries * (3 + search) + 2 * width + 4 * bits(lanes)
    }

    fn effort(&self, launch: &Launch<'_>, _: &MatrixStats) -> Effort {
        let nnz = launch.rows.nnz as f64;
        Effort { slots: nnz, longest: 0.0, groups: nnz / entries_of_a_group(launch.tiling()) }
    }
}

/// Whether several bunches share a subgroup.
fn is_part_of_subgroup(kernel: &KernelSpec, caps: &DeviceCaps) -> bool {
    let is_less = |most: u16| kernel.tiling.lanes() < u32::from(most);
    splits_subgroups(caps) && caps.subgroup.is_some_and(|(_, most)| is_less(most))
}

#[derive(Debug)]
pub(crate) struct State<B: Backend> {
    span: Span,
    kernel: Compiled<B>,
    /// For sums that go through the workspace: those that are scaled, and empty parts.
    axpby: Compiled<B>,
    stage2: Stage2<B>,
    a: CsrArrays<B>,
    /// The row of each tile's first entry, and `n_rows` at the end.
    tile_rows: B::Buffer,
}

/// Who repairs, and what it needs for that.
#[derive(Debug)]
enum Stage2<B: Backend> {
    Device(Compiled<B>),
    Host(HostStructure),
}

#[derive(Debug)]
struct HostStructure {
    row_ptr: Vec<u32>,
    tile_rows: Vec<u32>,
}

/// With what runs write besides `y`.
#[derive(Debug)]
struct Speculative<B: Backend, A> {
    state: Arc<State<B>>,
    /// Sums of the part's rows on their way to `y`, where that takes more than storing them: a sum is scaled when it is whole,
    /// and with beta != 0 what stands in `y` must not be lost.
    sums: B::Buffer,
    sync_rows: B::Buffer,
    sync_sums: B::Buffer,
    /// Two counters of dirty tiles, which alternate where the device repairs.
    dirty_count: B::Buffer,
    speculator: B::Buffer,
    /// For repair on the host where memory is discrete.
    copies: Option<HostCopies<A>>,
}

#[derive(Debug)]
struct HostCopies<A> {
    y: Vec<A>,
    sync_rows: Vec<u32>,
    sync_sums: Vec<A>,
    speculator: Vec<u32>,
}

/// Bytes of [`Speculative::dirty_count`].
const DIRTY_COUNT_BYTES: u64 = 8;

impl Build for SpeculativeSegmentedSum {
    type Made<B: Backend> = Arc<State<B>>;

    fn build<B: Backend, V: Value>(to: &Prepare<'_, B>, a: CsrView<'_, V, u32>) -> Result<Self::Made<B>> {
        let rows = tile_rows(&to.kernel.tiling, a.row_ptr());
        let (kernel, axpby, tile_rows) = (to.main()?, to.helper(KernelId::Axpby)?, to.copy(&rows)?);
        let stage2 = match to.repair {
            Repair::Device => Stage2::Device(to.helper(KernelId::FixupApply)?),
            _ => Stage2::Host(HostStructure { row_ptr: a.row_ptr().to_vec(), tile_rows: rows }),
        };
        let a = to.csr(a)?;
        Ok(Arc::new(State { span: to.span, kernel, axpby, stage2, a, tile_rows }))
    }
}

impl<B: Backend> State<B> {
    fn tiling(&self) -> &Tiling {
        &self.kernel.spec.tiling
    }

    fn n_tiles(&self) -> u32 {
        self.tiling().n_tiles(self.span.nnz)
    }

    fn n_bunches(&self) -> u32 {
        self.tiling().n_bunches(self.span.nnz)
    }
}

impl<B: Backend, T: Value> Layout<B, T> for Arc<State<B>> {
    fn runner(&self, device: &Device<B>) -> Result<Box<dyn Runner<B, T>>> {
        let [n_rows, n_tiles, n_bunches] =
            [self.span.n_rows, self.n_tiles(), self.n_bunches()].map(|n| n as usize);
        let on_host = matches!(self.stage2, Stage2::Host(_));
        let at_a_distance = on_host && !device.caps().memory.host_can_map();
        let zero = T::Accum::zero();
        let copies = at_a_distance.then(|| HostCopies {
            y: vec![zero; n_rows],
            sync_rows: vec![0; n_bunches],
            sync_sums: vec![zero; n_bunches],
            speculator: vec![0; n_tiles],
        });
        Ok(Box::new(Speculative {
            state: Arc::clone(self),
            sums: device.scratch::<T::Accum>(n_rows)?,
            sync_rows: device.scratch::<u32>(n_bunches)?,
            sync_sums: device.scratch::<T::Accum>(n_bunches)?,
            dirty_count: device.backend().alloc(DIRTY_COUNT_BYTES)?,
            speculator: device.scratch::<u32>(n_tiles)?,
            copies,
        }))
    }

    fn tiles(&self) -> u32 {
        self.n_tiles()
    }

    fn csr(&self) -> Option<&CsrArrays<B>> {
        Some(&self.a)
    }
}

impl<B: Backend, T: Value> Runner<B, T> for Speculative<B, T::Accum> {
    fn reset(&mut self, backend: &B, stream: &B::Stream) -> Result<()> {
        // Repair reads rows of dirty tiles that hold no sum, too. It does not use them, but memory shall have been written.
        backend.zero(stream, &mut self.sums, bytes_of::<T::Accum>(self.state.span.n_rows as usize))?;
        Ok(backend.zero(stream, &mut self.dirty_count, DIRTY_COUNT_BYTES)?)
    }

    fn stage1(&self, run: &Run<'_, B, T>) -> Result<()> {
        let State { span, kernel, a, tile_rows, .. } = &*self.state;
        if span.nnz == 0 {
            return Ok(());
        }
        let (row_base, y) = self.sums_of(run);
        let vals = a.vals.get();
        let args = Arguments {
            n_rows: span.n_rows,
            row_base,
            nnz: span.nnz,
            tiles: kernel.spec.tiling.tiles(),
            turn: run.turn,
            row_ptr: Memory::Device(&a.row_ptr),
            tile_rows: Memory::Device(tile_rows),
            cols: Memory::Device(&a.cols),
            vals: Memory::Device(&*vals),
            x: run.x,
            y,
            sync_rows: Memory::Device(&self.sync_rows),
            sync_sums: Memory::Device(&self.sync_sums),
            dirty_count: Memory::Device(&self.dirty_count),
            speculator: Memory::Device(&self.speculator),
        };
        run.start(kernel, kernel.spec.tiling.n_groups(span.nnz), args)
    }

    fn stage2(&self, run: &Run<'_, B, T>) -> Result<()> {
        let State { span, stage2, a, tile_rows, .. } = &*self.state;
        let Stage2::Device(kernel) = stage2 else { return Ok(()) };
        if span.nnz > 0 {
            let (row_base, y) = self.sums_of(run);
            let args = FixupApply {
                n_rows: span.n_rows,
                row_base,
                nnz: span.nnz,
                tiles: kernel.spec.tiling.tiles(),
                turn: run.turn,
                row_ptr: Memory::Device(&a.row_ptr),
                tile_rows: Memory::Device(tile_rows),
                sync_sums: Memory::Device(&self.sync_sums),
                dirty_count: Memory::Device(&self.dirty_count),
                speculator: Memory::Device(&self.speculator),
                y,
            };
            run.start(kernel, kernel.spec.tiling.n_groups(span.nnz), args)?;
        }
        self.combine(run)?;
        Ok(())
    }

    fn repair(
        &mut self,
        device: &Device<B>,
        stream: &B::Stream,
        scaling: Scaling<T::Accum>,
        y: Target<'_, B, T::Accum>,
    ) -> Result<Repaired> {
        let direct = self.writes_y_directly(scaling);
        let Self { state, sums, sync_rows, sync_sums, dirty_count, speculator, copies } = self;
        let Stage2::Host(host) = &state.stage2 else { return Ok(Repaired::default()) };
        // At a distance, copies back may still be on their way.
        let mut repaired = Repaired { unfinished: copies.is_some(), ..Repaired::default() };
        if state.span.nnz == 0 {
            return Ok(repaired);
        }
        let (row_base, sums) = match direct {
            true => (state.span.row_base as usize, y),
            false => (0, Target::Device(sums)),
        };
        let rows = row_base..row_base + state.span.n_rows as usize;
        let on = OnHost {
            device,
            stream,
            structure: spmv_fixup::Structure::new(*state.tiling(), &host.row_ptr, &host.tile_rows),
        };
        let reports = Reports { sync_rows, sync_sums, dirty_count, speculator };
        match copies {
            None => repaired.dirty_tiles = on.in_place(reports, sums, rows)?,
            Some(copies) => {
                (repaired.dirty_tiles, repaired.y_bytes_copied) =
                    on.at_a_distance(reports, sums, rows, copies)?;
            }
        }
        Ok(repaired)
    }

    fn combine(&self, run: &Run<'_, B, T>) -> Result<bool> {
        let State { span, axpby, .. } = &*self.state;
        if self.writes_y_directly(run.scaling) && span.nnz > 0 {
            return Ok(false);
        }
        let groups = span.n_rows.div_ceil(axpby.spec.tiling.group_lanes());
        let args = Axpby {
            n_rows: span.n_rows,
            row_base: span.row_base,
            finish: span.finish(run),
            // Of a part without entries they are the zeros of `reset`.
            t: Memory::Device(&self.sums),
            y: run.y,
        };
        run.start(axpby, groups, args)?;
        Ok(true)
    }

    fn dirty_tiles(&self, backend: &B, stream: &B::Stream, turn: u32) -> Result<u32> {
        let mut count = [0u32; 2];
        backend.read(stream, &self.dirty_count, 0, bytemuck::cast_slice_mut(&mut count))?;
        Ok(count[turn as usize])
    }

    #[cfg(test)]
    fn scratch(&mut self, name: &str) -> Option<&mut B::Buffer> {
        match name {
            "speculator" => Some(&mut self.speculator),
            "sync_rows" => Some(&mut self.sync_rows),
            "sync_sums" => Some(&mut self.sync_sums),
            "dirty_count" => Some(&mut self.dirty_count),
            _ => None,
        }
    }
}

impl<B: Backend, A: Accum> Speculative<B, A> {
    /// Whether sums go to `y` at once: they are not scaled, and nothing in it must be kept.
    fn writes_y_directly(&self, scaling: Scaling<A>) -> bool {
        scaling.alpha == num_traits::one() && scaling.beta.is_zero() && scaling.bounds.is_none() && !self.state.span.continues
    }

    /// Where sums go, and the part's first row there: rows of `y`, or the workspace.
    fn sums_of<'s, T: Value<Accum = A>>(&'s self, run: &'s Run<'_, B, T>) -> (u32, Memory<'s, B>) {
        match self.writes_y_directly(run.scaling) {
            true => (self.state.span.row_base, run.y),
            false => (0, Memory::Device(&self.sums)),
        }
    }
}

/// What stage 1 left for the host.
struct Reports<'a, B: Backend> {
    sync_rows: &'a mut B::Buffer,
    sync_sums: &'a mut B::Buffer,
    dirty_count: &'a mut B::Buffer,
    speculator: &'a mut B::Buffer,
}

/// Stage 2 of one part on the host.
struct OnHost<'a, B: Backend> {
    device: &'a Device<B>,
    stream: &'a B::Stream,
    structure: spmv_fixup::Structure<'a>,
}

impl<B: Backend> OnHost<'_, B> {
    /// A number of dirty tiles, if there can be so many.
    fn check_count(&self, count: u32) -> Result<usize> {
        let n_tiles = self.structure.n_tiles();
        if count as usize <= n_tiles {
            return Ok(count as usize);
        }
        Err(FixupError::TooManyTiles { count, n_tiles }.into())
    }

    /// Repairs rows of `y` where the host can map it; returns how many tiles were dirty.
    fn in_place<A: Accum>(
        &self,
        reports: Reports<'_, B>,
        y: Target<'_, B, A>,
        rows: Range<usize>,
    ) -> Result<u32> {
        let Reports { sync_rows, sync_sums, dirty_count, speculator } = reports;
        let count = self.map(dirty_count, 2, |count: &mut [u32]| std::mem::take(&mut count[0]))?;
        let (n_dirty, n_bunches) = (self.check_count(count)?, self.structure.n_bunches());
        self.map(sync_rows, n_bunches, |sync_rows: &mut [u32]| {
            self.map(sync_sums, n_bunches, |sync_sums: &mut [A]| {
                self.map(speculator, n_dirty, |speculator: &mut [u32]| {
                    let mut repair = |y: &mut [A]| self.repair(speculator, sync_rows, sync_sums, y);
                    match y {
                        Target::Host(y) => repair(&mut y[rows]),
                        Target::Device(y) => self.map(y, rows.end, |y| repair(&mut y[rows]))?,
                    }
                })?
            })?
        })??;
        Ok(count)
    }

    /// Repairs copies of the rows and writes them back; returns how many tiles were dirty, and the bytes of `y` copied.
    fn at_a_distance<A: Accum>(
        &self,
        reports: Reports<'_, B>,
        y: Target<'_, B, A>,
        rows: Range<usize>,
        copies: &mut HostCopies<A>,
    ) -> Result<(u32, u64)> {
        let backend = self.device.backend();
        let mut count = [0u32; 2];
        self.read(reports.dirty_count, 0, &mut count)?;
        backend.zero(self.stream, reports.dirty_count, DIRTY_COUNT_BYTES)?;
        let n_dirty = self.check_count(count[0])?;
        let speculator = &mut copies.speculator[..n_dirty];
        let (sync_rows, sync_sums) = (&mut copies.sync_rows[..], &mut copies.sync_sums[..]);
        self.read(reports.speculator, 0, speculator)?;
        self.read(reports.sync_rows, 0, sync_rows)?;
        self.read(reports.sync_sums, 0, sync_sums)?;
        let mut bytes = 0;
        match y {
            Target::Host(y) => self.repair(speculator, sync_rows, sync_sums, &mut y[rows])?,
            Target::Device(y) => {
                let offset = (rows.start * size_of::<A>()) as u64;
                self.read(y, rows.start, &mut copies.y)?;
                self.repair(speculator, sync_rows, sync_sums, &mut copies.y)?;
                backend.write(self.stream, y, offset, bytemuck::cast_slice(&copies.y))?;
                bytes = 2 * size_of_val(&copies.y[..]) as u64;
            }
        }
        Ok((count[0], bytes))
    }

    fn repair<A: Accum>(
        &self,
        speculator: &mut [u32],
        sync_rows: &[u32],
        sync_sums: &[A],
        y: &mut [A],
    ) -> Result<()> {
        // Where memory is mapped, other threads' runs may wait for this map to end: tasks of theirs must not be
        // taken up in the middle of it.
        let exclusive = self.device.caps().memory == MemoryModel::UnifiedMapped;
        let parallel_rows = if exclusive { usize::MAX } else { dirty::PARALLEL_ROWS };
        dirty::repair_from(&self.structure, speculator, y, parallel_rows)?;
        Ok(carry::add(&self.structure, sync_rows, sync_sums, y)?)
    }

    fn map<E: bytemuck::Pod, R>(
        &self,
        buffer: &mut B::Buffer,
        n: usize,
        f: impl FnOnce(&mut [E]) -> R,
    ) -> Result<R> {
        let f = |bytes: &mut [u8]| f(bytemuck::cast_slice_mut(bytes));
        Ok(self.device.backend().map(self.stream, buffer, (n * size_of::<E>()) as u64, f)?)
    }

    fn read<E: bytemuck::Pod>(&self, buffer: &B::Buffer, first: usize, into: &mut [E]) -> Result<()> {
        let offset = (first * size_of::<E>()) as u64;
        Ok(self.device.backend().read(self.stream, buffer, offset, bytemuck::cast_slice_mut(into))?)
    }
}
