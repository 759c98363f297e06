//! Matrices in the layouts of `spmv_core::format`, as kernels take them.

use spmv_backend::{Backend, KernelId};
use spmv_core::format::{Cost, Dia, Ell, Jad};
use spmv_core::{CsrView, Offset, Value};

use crate::device::Device;
use crate::error::Result;
use crate::plan::Plan;
use crate::prepared::Structure;

/// The arrays of a layout on the device.
pub(crate) struct Arrays<B: Backend> {
    /// Of jagged diagonals, or from rows to columns.
    pub(crate) offsets: B::Buffer,
    pub(crate) cols: B::Buffer,
    pub(crate) vals: B::Buffer,
    pub(crate) structure: Structure<B>,
}

/// Refuses a matrix whose layout takes more than `max_blow_up` times the bytes of CSR; returns how many rows a launch
/// may take. O(1), for `dia` as [`Dia::cost`].
pub(crate) fn check<T: Value, O: Offset>(
    a: CsrView<'_, T, O>,
    plan: &Plan,
    max_blow_up: f64,
) -> Result<usize> {
    let id = plan.kernel.id;
    let cost = match id {
        KernelId::Ell => Cost::ell(&plan.rows, T::DTYPE),
        KernelId::Jad => Cost::jad(&plan.rows, T::DTYPE),
        KernelId::Dia => Dia::<T>::cost(a),
        _ => return Ok(plan.max_rows),
    };
    cost.check(id.stem(), max_blow_up)?;
    if id != KernelId::Dia {
        return Ok(plan.max_rows);
    }
    // No piece has more diagonals than the whole.
    let n_diags = cost.slots.div_ceil(a.n_rows().max(1) as u64).max(1);
    // A row number plus an offset in 32 bits then stands for one column alone.
    let most = plan.max_rows.min(((1u64 << 32) - a.n_cols() as u64) as usize);
    Ok((plan.max_entries as u64 / n_diags).clamp(1, most as u64) as usize)
}

impl<B: Backend> Device<B> {
    /// A piece of a matrix in the layout of a kernel, which [`check`] has let pass.
    pub(crate) fn laid_out<T: Value>(&self, id: KernelId, a: CsrView<'_, T, u32>) -> Result<Arrays<B>> {
        // A piece may take more than its share of the whole.
        const ANY: f64 = f64::INFINITY;
        let none: [u32; 0] = [];
        Ok(match id {
            KernelId::Ell => {
                let ell = Ell::from_csr(a, ANY)?;
                let structure = Structure::Ell { width: ell.width() as u32 };
                let [offsets, cols] = [self.copy(&none)?, self.copy(ell.cols())?];
                Arrays { offsets, cols, vals: self.copy(ell.vals())?, structure }
            }
            KernelId::Jad => {
                let jad = Jad::from_csr(a, ANY)?;
                let jag_ptr: Vec<u32> = jad.jag_ptr().iter().map(|entry| *entry as u32).collect();
                let n_jags = jag_ptr.len() as u32 - 1;
                let structure = Structure::Jad { perm: self.copy(jad.perm())?, n_jags };
                let [offsets, cols] = [self.copy(&jag_ptr)?, self.copy(jad.cols())?];
                Arrays { offsets, cols, vals: self.copy(jad.vals())?, structure }
            }
            KernelId::Dia => {
                let dia = Dia::from_csr(a, ANY)?;
                // A sum of 32 bits finds the column again.
                let from_rows: Vec<u32> = dia.offsets().iter().map(|offset| *offset as u32).collect();
                let structure = Structure::Dia { n_diags: from_rows.len() as u32 };
                let [offsets, cols] = [self.copy(&from_rows)?, self.copy(&none)?];
                Arrays { offsets, cols, vals: self.copy(dia.vals())?, structure }
            }
            other => unreachable!("{other} takes CSR"),
        })
    }
}
