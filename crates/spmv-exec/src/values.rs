//! Values of a part on the device, which may be set anew, and where each stands.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use spmv_backend::{Backend, Error as DeviceError};
use spmv_core::format::BySlot;
use spmv_core::{CsrView, Value};

use crate::device::Device;
use crate::error::Result;

/// Values that runners of all workspaces share. They are set while no run uses them (`Prepared::set_values`).
#[derive(Debug)]
pub(crate) struct Values<B: Backend> {
    buffer: RwLock<B::Buffer>,
    order: Order,
}

/// Where a buffer has the values of a part's entries.
#[derive(Debug)]
pub(crate) enum Order {
    /// In their order.
    Csr,
    /// By row.
    Rows {
        /// First entry of each row, and the end.
        row_ptr: Arc<Vec<u32>>,
        of: Rows,
    },
    /// In more diagonals than are counted.
    Unknown,
}

/// How rows are laid out.
#[derive(Debug)]
pub(crate) enum Rows {
    /// Entry k of all rows side by side, up to so many of each row.
    Slots { width: usize },
    /// What slots of that width leave, in order.
    AfterSlots { width: usize },
    /// Entry k of all rows that have one side by side.
    Jagged(BySlot),
    /// Entry k of the rows of a chunk side by side: the row at each position, where chunks begin, and their height.
    Chunks { perm: Vec<u32>, chunk_ptr: Vec<u32>, height: usize },
    /// On diagonals of as many slots as there are rows.
    Diagonals { of_entries: Arc<Vec<u16>>, n_diags: usize },
    /// What diagonals leave, in order.
    OffDiagonals { of_entries: Arc<Vec<u16>> },
}

/// The diagonal of an entry that is on none.
const NONE: u16 = u16::MAX;

/// The diagonal of each entry, as `Dia::split` finds them: zeros and repeated entries are on none. `None` where there are more
/// diagonals than numbers.
fn diagonals<T: Value>(a: CsrView<'_, T, u32>, offsets: &[i64]) -> Option<Arc<Vec<u16>>> {
    if offsets.len() >= usize::from(NONE) {
        return None;
    }
    let mut met = vec![u32::MAX; offsets.len()];
    let mut of_entries = Vec::with_capacity(a.nnz());
    for row in 0..a.n_rows() {
        for (col, val) in a.row(row) {
            let diagonal = offsets.binary_search(&(i64::from(col) - row as i64)).ok();
            let first = diagonal.filter(|at| val.as_f64() != 0.0 && met[*at] != row as u32);
            if let Some(at) = first {
                met[at] = row as u32;
            }
            of_entries.push(first.map_or(NONE, |at| at as u16));
        }
    }
    Some(Arc::new(of_entries))
}

impl Order {
    /// By rows of a part.
    pub(crate) fn rows<T: Value>(a: CsrView<'_, T, u32>, of: Rows) -> Self {
        Self::Rows { row_ptr: Arc::new(a.row_ptr().to_vec()), of }
    }

    /// By slots of so many entries of each row, and by what they leave.
    pub(crate) fn by_slots<T: Value>(a: CsrView<'_, T, u32>, width: usize) -> [Self; 2] {
        Self::pair(a, [Rows::Slots { width }, Rows::AfterSlots { width }])
    }

    /// By diagonals, and by what they leave.
    pub(crate) fn by_diagonals<T: Value>(a: CsrView<'_, T, u32>, offsets: &[i64]) -> [Self; 2] {
        let Some(of_entries) = diagonals(a, offsets) else { return [Self::Unknown, Self::Unknown] };
        let rest = Rows::OffDiagonals { of_entries: Arc::clone(&of_entries) };
        Self::pair(a, [Rows::Diagonals { of_entries, n_diags: offsets.len() }, rest])
    }

    /// Two buffers' of one part.
    fn pair<T: Value>(a: CsrView<'_, T, u32>, of: [Rows; 2]) -> [Self; 2] {
        let row_ptr = Arc::new(a.row_ptr().to_vec());
        of.map(|of| Self::Rows { row_ptr: Arc::clone(&row_ptr), of })
    }
}

impl<B: Backend> Values<B> {
    pub(crate) fn new(buffer: B::Buffer, order: Order) -> Self {
        Self { buffer: RwLock::new(buffer), order }
    }

    /// For a launch.
    pub(crate) fn get(&self) -> RwLockReadGuard<'_, B::Buffer> {
        self.buffer.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Overwrites them by those of the part's entries, with one copy to the device; where they stand in another order, the host
    /// makes it first.
    pub(crate) fn set<T: Value>(&self, device: &Device<B>, vals: &[T]) -> Result<()> {
        let Order::Rows { row_ptr, of } = &self.order else {
            if matches!(self.order, Order::Unknown) {
                let what = "other values in this layout";
                return Err(
                    DeviceError::unsupported(&*device.caps().name, what, "prepare the matrix anew").into()
                );
            }
            return self.write(device, vals);
        };
        let mut ordered = vec![<T as Value>::from_f64(0.0); of.n_slots(row_ptr)];
        of.fill(row_ptr, vals, &mut ordered);
        self.write(device, &ordered)
    }

    fn write<T: Value>(&self, device: &Device<B>, vals: &[T]) -> Result<()> {
        let mut buffer = self.buffer.write().unwrap_or_else(PoisonError::into_inner);
        Ok(device.copies(|s| device.backend().write(s, &mut buffer, 0, bytemuck::cast_slice(vals)))?)
    }
}

impl Rows {
    fn n_slots(&self, row_ptr: &[u32]) -> usize {
        let n_rows = row_ptr.len() - 1;
        match self {
            Self::Slots { width } => width * n_rows,
            Self::AfterSlots { width } => {
                row_ptr.windows(2).map(|row| ((row[1] - row[0]) as usize).saturating_sub(*width)).sum()
            }
            Self::Jagged(order) => order.ptr()[order.width()],
            Self::Chunks { chunk_ptr, .. } => chunk_ptr[chunk_ptr.len() - 1] as usize,
            Self::Diagonals { n_diags, .. } => n_diags * n_rows,
            Self::OffDiagonals { of_entries } => of_entries.iter().filter(|at| **at == NONE).count(),
        }
    }

    /// Writes every value to its slot.
    fn fill<T: Copy>(&self, row_ptr: &[u32], vals: &[T], slots: &mut [T]) {
        let n_rows = row_ptr.len() - 1;
        let row = |row: usize| &vals[row_ptr[row] as usize..row_ptr[row + 1] as usize];
        match self {
            Self::Slots { width } => {
                for at in 0..n_rows {
                    row(at).iter().take(*width).enumerate().for_each(|(k, v)| slots[k * n_rows + at] = *v);
                }
            }
            Self::AfterSlots { width } => {
                let left = (0..n_rows).flat_map(|at| row(at).iter().skip(*width));
                slots.iter_mut().zip(left).for_each(|(slot, v)| *slot = *v);
            }
            Self::Jagged(order) => {
                for (at, of) in order.perm().iter().enumerate() {
                    let ptr = order.ptr();
                    row(*of as usize).iter().enumerate().for_each(|(k, v)| slots[ptr[k] + at] = *v);
                }
            }
            Self::Chunks { perm, chunk_ptr, height } => {
                for (rows, start) in perm.chunks(*height).zip(chunk_ptr) {
                    for (lane, of) in rows.iter().enumerate() {
                        let slot = |k| *start as usize + k * rows.len() + lane;
                        row(*of as usize).iter().enumerate().for_each(|(k, v)| slots[slot(k)] = *v);
                    }
                }
            }
            Self::Diagonals { of_entries, .. } => {
                for at in 0..n_rows {
                    let diagonals = &of_entries[row_ptr[at] as usize..row_ptr[at + 1] as usize];
                    for (diagonal, v) in diagonals.iter().zip(row(at)).filter(|(at, _)| **at != NONE) {
                        slots[usize::from(*diagonal) * n_rows + at] = *v;
                    }
                }
            }
            Self::OffDiagonals { of_entries } => {
                let left = of_entries.iter().zip(vals).filter(|(at, _)| **at == NONE);
                slots.iter_mut().zip(left).for_each(|(slot, (_, v))| *slot = *v);
            }
        }
    }
}
