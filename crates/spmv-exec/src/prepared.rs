//! A matrix on a device, laid out by a plan.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use spmv_backend::{Addressed, Backend, KernelId, KernelSpec};
use spmv_core::tiling::{Piece, RowBlocks, merge_path, split_rows, tile_rows};
use spmv_core::{CsrView, Offset, RowStats, Tiling, Value};

use crate::device::{Device, DeviceVec};
use crate::error::{Error, Result};
use crate::layout;
use crate::options::Options;
use crate::plan::{Plan, Repair, carry_kernel};

/// A matrix copied to a device, ready to multiply; never changes, and may be shared between threads.
///
/// It owns its arrays: the matrix it came from may be dropped or changed without any effect.
///
/// ```
/// # fn with<B: spmv_backend::Backend>(device: spmv_exec::Device<B>) -> Result<(), spmv_exec::Error> {
/// use spmv_core::Csr;
/// let a = Csr::from_coo(2, 2, &[(0, 1, 2.0f32)])?;
/// let prepared = device.prepare(a.view(), &Default::default())?;
/// drop(a);
/// println!("{}", prepared.plan().explain());
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Prepared<B: Backend, T: Value> {
    pub(crate) device: Device<B>,
    pub(crate) plan: Plan,
    pub(crate) parts: Vec<Part<B>>,
    pub(crate) kernels: Kernels<B>,
    /// Unlike any other of the process, so that a workspace of another matrix is recognised.
    pub(crate) id: u64,
    prepare_s: f64,
    values: std::marker::PhantomData<T>,
}

static NEXT_ID: AtomicU64 = AtomicU64::new(0);

/// The kernels that a run may start.
#[derive(Debug)]
pub(crate) struct Kernels<B: Backend> {
    pub(crate) main: Arc<B::Kernel>,
    /// For sums that go through the workspace: speculative ones with beta != 0, and empty parts.
    pub(crate) axpby: Option<Arc<B::Kernel>>,
    pub(crate) fixup_apply: Option<Arc<B::Kernel>>,
    /// And how many bunches its groups hold.
    pub(crate) carry_apply: Option<(Arc<B::Kernel>, u32)>,
    pub(crate) products: Option<Arc<B::Kernel>>,
}

/// Rows of the matrix that one launch multiplies, with offsets of their own.
#[derive(Debug)]
pub(crate) struct Part<B: Backend> {
    pub(crate) row_base: u32,
    pub(crate) n_rows: u32,
    pub(crate) nnz: u32,
    /// Adds to a row that an earlier part began.
    pub(crate) continues: bool,
    /// Offsets of rows; of jagged diagonals in `jad`, from rows to columns in `dia`, none in `ell`.
    pub(crate) row_ptr: B::Buffer,
    /// None in `dia`.
    pub(crate) cols: B::Buffer,
    pub(crate) vals: B::Buffer,
    pub(crate) structure: Structure<B>,
}

/// What depends on the structure alone and is therefore found once.
#[derive(Debug)]
pub(crate) enum Structure<B: Backend> {
    None,
    /// `merge_path`: rows finished before each bunch, and before the end.
    BunchRows(B::Buffer),
    /// `ipcsr`: the first row and entry of each block.
    RowBlocks {
        rows: B::Buffer,
        entries: B::Buffer,
        n_blocks: u32,
        cuts_rows: bool,
    },
    /// `ell`: places of each row.
    Ell {
        width: u32,
    },
    /// `jad`: the row at each place.
    Jad {
        perm: B::Buffer,
        n_jags: u32,
    },
    Dia {
        n_diags: u32,
    },
    /// `spec_segsum`: the row at each tile boundary.
    TileRows {
        tile_rows: B::Buffer,
        /// The same and the row offsets on the host, if it is to repair.
        host: Option<HostStructure>,
    },
}

/// What repair on the host looks at.
#[derive(Debug)]
pub(crate) struct HostStructure {
    pub(crate) row_ptr: Vec<u32>,
    pub(crate) tile_rows: Vec<u32>,
}

impl<B: Backend> Device<B> {
    /// Copies a matrix to the device, laid out by [`plan()`](crate::plan()). O(rows + entries); `Ell` O(rows *
    /// longest row), `Dia` O(rows * diagonals).
    ///
    /// # Errors
    /// What [`plan()`](crate::plan()) refuses, a matrix that the algorithm's layout refuses ([`Error::Format`]), what does
    /// not compile, and out of memory.
    pub fn prepare<T: Value, O: Offset>(
        &self,
        a: CsrView<'_, T, O>,
        options: &Options,
    ) -> Result<Prepared<B, T>> {
        let start = Instant::now();
        let mut plan = self.plan(a, options)?;
        plan.max_rows = layout::check(a, &plan, options.max_blow_up)?;
        let kernels = self.kernels(&plan)?;
        let pieces = split_rows(a.row_ptr(), plan.max_entries, plan.max_rows);
        let parts = pieces.iter().map(|piece| self.part(a, piece, &plan)).collect::<Result<_>>()?;
        let prepare_s = start.elapsed().as_secs_f64();
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let values = std::marker::PhantomData;
        Ok(Prepared { device: self.clone(), plan, parts, kernels, id, prepare_s, values })
    }

    fn kernels(&self, plan: &Plan) -> Result<Kernels<B>> {
        let variant = |id| KernelSpec { id, ..plan.kernel };
        let through_workspace = plan.kernel.id == KernelId::SpecSegsum;
        let on_device = plan.repair == Repair::Device;
        let carries = match plan.kernel.id {
            KernelId::MergePath => true,
            KernelId::Ipcsr => !self.caps().joins,
            _ => false,
        };
        let products = plan.kernel.id == KernelId::PcsrSums;
        Ok(Kernels {
            products: products.then(|| self.kernel(&variant(KernelId::PcsrProducts))).transpose()?,
            main: self.kernel(&plan.kernel)?,
            axpby: through_workspace.then(|| self.kernel(&variant(KernelId::Axpby))).transpose()?,
            fixup_apply: on_device.then(|| self.kernel(&variant(KernelId::FixupApply))).transpose()?,
            carry_apply: match carries {
                true => {
                    let spec = carry_kernel(&plan.kernel, self.caps());
                    Some((self.kernel(&spec)?, spec.tiling.bunches()))
                }
                false => None,
            },
        })
    }

    fn part<T: Value, O: Offset>(&self, a: CsrView<'_, T, O>, piece: &Piece, plan: &Plan) -> Result<Part<B>> {
        let Piece { rows, entries, continues } = piece.clone();
        let row_ptr = rebased(a.row_ptr(), &rows, &entries);
        let (row_base, n_rows, nnz) = (rows.start as u32, rows.len() as u32, entries.len() as u32);
        let (cols, vals) = (&a.cols()[entries.clone()], &a.vals()[entries]);
        if plan.algorithm.has_own_layout() {
            let piece = CsrView::new(rows.len(), a.n_cols(), &row_ptr, cols, vals)?;
            let layout::Arrays { offsets, cols, vals, structure } =
                self.laid_out(plan.kernel.id, piece).map_err(|e| e.in_rows_from(rows.start))?;
            return Ok(Part { row_base, n_rows, nnz, continues, row_ptr: offsets, cols, vals, structure });
        }
        let structure = match plan.kernel.id {
            KernelId::MergePath => {
                Structure::BunchRows(self.copy(&bunch_rows(&plan.kernel.tiling, &row_ptr))?)
            }
            KernelId::Ipcsr => {
                let blocks = RowBlocks::of(&plan.kernel.tiling, &row_ptr);
                let n_blocks = blocks.n_blocks() as u32;
                let RowBlocks { rows, entries, cuts_rows } = blocks;
                let (rows, entries) = (self.copy(&rows)?, self.copy(&entries)?);
                Structure::RowBlocks { rows, entries, n_blocks, cuts_rows }
            }
            KernelId::SpecSegsum => {
                let rows = tile_rows(&plan.kernel.tiling, &row_ptr);
                let on_host = plan.repair == Repair::Host;
                Structure::TileRows {
                    tile_rows: self.copy(&rows)?,
                    host: on_host.then(|| HostStructure { row_ptr: row_ptr.to_vec(), tile_rows: rows }),
                }
            }
            _ => Structure::None,
        };
        Ok(Part {
            row_base,
            n_rows,
            nnz,
            continues,
            row_ptr: self.copy(&row_ptr)?,
            cols: self.copy(cols)?,
            vals: self.copy(vals)?,
            structure,
        })
    }

    pub(crate) fn copy<E: bytemuck::Pod>(&self, elements: &[E]) -> Result<B::Buffer> {
        let buffer = self.backend().alloc(size_of_val(elements) as u64)?;
        self.copies(|s| self.backend().write(s, &buffer, 0, bytemuck::cast_slice(elements)))?;
        Ok(buffer)
    }
}

/// The row offsets of a piece, from 0 on and in 32 bits; borrowed where they are that already.
fn rebased<'a, O: Offset>(
    row_ptr: &'a [O],
    rows: &std::ops::Range<usize>,
    entries: &std::ops::Range<usize>,
) -> Cow<'a, [u32]> {
    let offsets = &row_ptr[rows.start..=rows.end];
    match bytemuck::try_cast_slice::<O, u32>(offsets) {
        Ok(same) if size_of::<O>() == 4 && *entries == (0..same[rows.len()] as usize) => Cow::Borrowed(same),
        _ => {
            let clip = |o: &O| (o.to_usize().clamp(entries.start, entries.end) - entries.start) as u32;
            Cow::Owned(offsets.iter().map(clip).collect())
        }
    }
}

fn bunch_rows(tiling: &Tiling, row_ptr: &[u32]) -> Vec<u32> {
    let steps = row_ptr.len() as u32 - 1 + row_ptr[row_ptr.len() - 1];
    let start = |bunch| merge_path(row_ptr, tiling.bunch_range(bunch, steps).start).0;
    (0..=tiling.n_bunches(steps)).map(start).collect()
}

impl<B: Backend, T: Value> Prepared<B, T> {
    /// What runs, and why.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The matrix's row statistics.
    pub fn row_stats(&self) -> &RowStats {
        &self.plan.rows
    }

    /// The device it lives on.
    pub fn device(&self) -> &Device<B> {
        &self.device
    }

    /// Addresses of row offsets (`u32`, one more than rows), columns (`u32`) and values on the device, for other
    /// libraries' calls on the same memory; `None` if the matrix was split or is not in CSR form.
    pub fn addresses(&self) -> Option<[u64; 3]>
    where
        B::Buffer: Addressed,
    {
        match &self.parts[..] {
            [part] if !self.plan.algorithm.has_own_layout() => {
                Some([&part.row_ptr, &part.cols, &part.vals].map(Addressed::address))
            }
            _ => None,
        }
    }

    /// Launches that a run takes, one for each part that the device's limits cut the matrix into.
    pub fn n_parts(&self) -> usize {
        self.parts.len()
    }

    /// Seconds that preparing took: planning, compiling, copying.
    pub fn prepare_s(&self) -> f64 {
        self.prepare_s
    }

    pub(crate) fn check_lengths(&self, x: usize, y: usize) -> Result<()> {
        for (what, found, expected) in [("x", x, self.plan.rows.n_cols), ("y", y, self.plan.rows.n_rows)] {
            if found != expected {
                return Err(Error::Length { what, found, expected });
            }
        }
        Ok(())
    }

    pub(crate) fn check_device<U: Value>(&self, what: &'static str, vec: &DeviceVec<B, U>) -> Result<()> {
        if vec.device.is(&self.device) { Ok(()) } else { Err(Error::Foreign { what, to: "device" }) }
    }
}
