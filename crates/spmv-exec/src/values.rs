//! Values of a part on the device, which may be set anew, and where each stands.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use spmv_backend::{Backend, Error as DeviceError, Memory};
use spmv_core::format::{BySlot, Dia, PADDING};
use spmv_core::{CsrView, Value, parts};

use crate::device::Device;
use crate::error::Result;
use crate::launch::{Compiled, to_slots};
use crate::pages::Pages;
use crate::slices::Slices;

/// Values that runners of all workspaces share. They are set while no run uses them (`Prepared::set_values`).
#[derive(Debug)]
pub(crate) struct Values<B: Backend> {
    buffer: RwLock<B::Buffer>,
    order: Mutex<Known<B>>,
}

/// Who knows where values stand.
#[derive(Debug)]
enum Known<B: Backend> {
    /// The host.
    Described(Order),
    /// The device, by the entry of each slot.
    Listed { entries: B::Buffer, n_slots: u32 },
}

/// Where a buffer has the values of a part's entries.
#[derive(Debug)]
pub(crate) enum Order {
    /// In their order.
    Csr,
    /// By row.
    Rows {
        /// First entry of each row, and the end.
        row_ptr: Arc<Pages<u32>>,
        /// The entry that each row begins with, where they are some of the part's entries.
        firsts: Option<Vec<u32>>,
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
    /// As lanes read them.
    Slices(Slices),
    /// On diagonals of so many slots, those of the rows first.
    Diagonals { of_entries: Arc<Pages<u16>>, n_diags: usize, stride: usize },
    /// What diagonals leave, in order.
    OffDiagonals { of_entries: Arc<Pages<u16>> },
}

/// The diagonal of an entry that is on none.
const NONE: u16 = Dia::<f32>::NO_DIAGONAL;

/// Memory for the diagonal of each entry, unless there are more of them than numbers.
pub(crate) fn diagonals_of_entries<T: Value>(
    a: CsrView<'_, T, u32>,
    n_diags: usize,
) -> Result<Option<Pages<u16>>> {
    (n_diags <= usize::from(NONE)).then(|| Pages::new(a.nnz())).transpose()
}

/// Slots of a thread that lists their entries, at least.
const OF_A_THREAD: usize = 1 << 16;

impl Order {
    /// By rows of a part.
    pub(crate) fn rows<T: Value>(a: CsrView<'_, T, u32>, of: Rows) -> Result<Self> {
        Ok(Self::Rows { row_ptr: Arc::new(Pages::copied(a.row_ptr())?), firsts: None, of })
    }

    /// By slots of so many entries of each row, and by what they leave.
    pub(crate) fn by_slots<T: Value>(a: CsrView<'_, T, u32>, width: usize) -> Result<[Self; 2]> {
        if width == 0 {
            return Ok([Self::rows(a, Rows::Slots { width })?, Self::Csr]);
        }
        Self::pair(a, [Rows::Slots { width }, Rows::AfterSlots { width }])
    }

    /// By diagonals, and by what they leave.
    pub(crate) fn by_diagonals<T: Value>(a: CsrView<'_, T, u32>, offsets: &[i64]) -> Result<[Self; 2]> {
        let Some(mut of_entries) = diagonals_of_entries(a, offsets.len())? else {
            return Ok([Self::Unknown, Self::Unknown]);
        };
        Dia::diagonals_of_entries(a, offsets, &mut of_entries);
        let of_entries = Arc::new(of_entries);
        let rest = Rows::OffDiagonals { of_entries: Arc::clone(&of_entries) };
        let (n_diags, stride) = (offsets.len(), a.n_rows());
        Self::pair(a, [Rows::Diagonals { of_entries, n_diags, stride }, rest])
    }

    /// By diagonals that hold all entries, each of which says which it is on.
    pub(crate) fn on_diagonals<T: Value>(
        a: CsrView<'_, T, u32>,
        of_entries: Option<Pages<u16>>,
        (n_diags, stride): (usize, usize),
    ) -> Result<Self> {
        let rows = |of_entries| Rows::Diagonals { of_entries: Arc::new(of_entries), n_diags, stride };
        of_entries.map_or(Ok(Self::Unknown), |of_entries| Self::rows(a, rows(of_entries)))
    }

    /// Two buffers' of one part.
    fn pair<T: Value>(a: CsrView<'_, T, u32>, of: [Rows; 2]) -> Result<[Self; 2]> {
        let row_ptr = Arc::new(Pages::copied(a.row_ptr())?);
        Ok(of.map(|of| Self::Rows { row_ptr: Arc::clone(&row_ptr), firsts: None, of }))
    }
}

impl<B: Backend> Values<B> {
    pub(crate) fn new(buffer: B::Buffer, order: Order) -> Self {
        Self { buffer: RwLock::new(buffer), order: Mutex::new(Known::Described(order)) }
    }

    /// The same where rows have some of the part's entries, one after another from these on.
    pub(crate) fn of_entries(mut self, of_rows: Vec<u32>) -> Self {
        let order = self.order.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Known::Described(Order::Rows { firsts, .. }) = order {
            *firsts = Some(of_rows);
        }
        self
    }

    /// For a launch.
    pub(crate) fn get(&self) -> RwLockReadGuard<'_, B::Buffer> {
        self.buffer.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// To lay them out anew.
    pub(crate) fn get_mut(&self) -> RwLockWriteGuard<'_, B::Buffer> {
        self.buffer.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn order(&self) -> MutexGuard<'_, Known<B>> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies the entry of each slot to the device, where they stand in another order than the entries, and drops the host's
    /// description. Later calls do nothing.
    pub(crate) fn list(&self, device: &Device<B>) -> Result<()> {
        let mut order = self.order();
        let (row_ptr, firsts, of) = match &*order {
            Known::Listed { .. } | Known::Described(Order::Csr) => return Ok(()),
            Known::Described(Order::Rows { row_ptr, firsts, of }) => (row_ptr, firsts, of),
            Known::Described(Order::Unknown) => {
                let what = "other values in this layout";
                return Err(
                    DeviceError::unsupported(&*device.caps().name, what, "prepare the matrix anew").into()
                );
            }
        };
        let list = of.entries(row_ptr, |row| firsts.as_ref().map_or(row_ptr[row], |firsts| firsts[row]))?;
        let mut entries = device.scratch::<u32>(list.len())?;
        device.copies(|s| device.backend().write(s, &mut entries, 0, bytemuck::cast_slice(&list)))?;
        *order = Known::Listed { entries, n_slots: list.len() as u32 };
        Ok(())
    }

    /// Whether the device is to bring values to slots.
    pub(crate) fn has_slots(&self) -> bool {
        matches!(&*self.order(), Known::Listed { n_slots, .. } if *n_slots > 0)
    }

    /// Overwrites them by those of the part's entries with one copy to the device, where they stand in the order of these.
    pub(crate) fn write<T: Value>(&self, device: &Device<B>, stream: &B::Stream, vals: &[T]) -> Result<()> {
        let Known::Described(_) = &*self.order() else { return Ok(()) };
        let mut buffer = self.buffer.write().unwrap_or_else(PoisonError::into_inner);
        Ok(device.backend().write(stream, &mut buffer, 0, bytemuck::cast_slice(vals))?)
    }

    /// Overwrites them by those of the part's entries with a launch of `gather_values`, where the device has the entry of each slot.
    pub(crate) fn gather(
        &self,
        device: &Device<B>,
        stream: &B::Stream,
        kernel: &Compiled<B>,
        vals: Memory<'_, B>,
    ) -> Result<()> {
        let order = self.order();
        let Known::Listed { entries, n_slots } = &*order else { return Ok(()) };
        let buffer = self.buffer.write().unwrap_or_else(PoisonError::into_inner);
        to_slots(device, stream, kernel, *n_slots, entries, vals, &buffer)
    }
}

impl Rows {
    /// The entry of each slot, on all threads. The entries of a row follow each other from `first` of it on.
    fn entries(&self, row_ptr: &[u32], first: impl Fn(usize) -> u32 + Sync) -> Result<Pages<u32>> {
        let n_rows = row_ptr.len() - 1;
        let len = |row: usize| (row_ptr[row + 1] - row_ptr[row]) as usize;
        match self {
            Self::Slots { width } => in_lines(&vec![n_rows; *width], |rows, lines| {
                for (at, row) in rows.enumerate() {
                    lines[..len(row).min(*width)]
                        .iter_mut()
                        .zip(first(row)..)
                        .for_each(|(line, entry)| line[at] = entry);
                }
            }),
            Self::AfterSlots { width } => {
                let left = |row| (first(row)..first(row) + len(row) as u32).skip(*width);
                Pages::copied(&(0..n_rows).flat_map(left).collect::<Vec<_>>())
            }
            Self::Jagged(order) => {
                let lens: Vec<usize> = order.ptr().windows(2).map(|ends| ends[1] - ends[0]).collect();
                in_lines(&lens, |positions, lines| {
                    for (at, row) in order.perm()[positions].iter().enumerate() {
                        let row = *row as usize;
                        lines[..len(row)]
                            .iter_mut()
                            .zip(first(row)..)
                            .for_each(|(line, entry)| line[at] = entry);
                    }
                })
            }
            Self::Slices(slices) => slices.entries_of_slots(row_ptr, first, PADDING),
            Self::Diagonals { of_entries, n_diags, stride } => {
                in_lines(&vec![*stride; *n_diags], |slots, lines| {
                    for (at, row) in slots.enumerate().take_while(|(_, row)| *row < n_rows) {
                        let of_row = &of_entries[row_ptr[row] as usize..][..len(row)];
                        let held = of_row.iter().zip(first(row)..).filter(|(diagonal, _)| **diagonal != NONE);
                        held.for_each(|(diagonal, entry)| lines[usize::from(*diagonal)][at] = entry);
                    }
                })
            }
            Self::OffDiagonals { of_entries } => {
                let entries = |row: usize| (row_ptr[row] as usize..).zip(first(row)..).take(len(row));
                let left = (0..n_rows).flat_map(entries).filter(|(at, _)| of_entries[*at] == NONE);
                Pages::copied(&left.map(|(_, entry)| entry).collect::<Vec<_>>())
            }
        }
    }
}

/// The entries of slots that stand in lines of these lengths, the longest first, one line after another. Threads take positions of all lines and write
/// those of the slots that have one.
fn in_lines(lens: &[usize], write: impl Fn(Range<usize>, &mut [&mut [u32]]) + Sync) -> Result<Pages<u32>> {
    let mut all = Pages::new(lens.iter().sum())?;
    let n_positions = lens.first().map_or(0, |len| *len);
    let of_threads: Vec<_> = parts::cut(n_positions, parts::threads(all.len(), OF_A_THREAD)).collect();
    let mut lines: Vec<Vec<&mut [u32]>> = of_threads.iter().map(|_| Vec::with_capacity(lens.len())).collect();
    for line in parts::split(&mut all, lens.iter().copied()) {
        let n = line.len();
        let of_line = parts::split(line, of_threads.iter().map(|of| of.end.min(n) - of.start.min(n)));
        lines.iter_mut().zip(of_line).for_each(|(lines, of_line)| lines.push(of_line));
    }
    parts::map(of_threads.into_iter().zip(lines), |(positions, mut lines)| {
        lines.iter_mut().for_each(|line| line.fill(PADDING));
        write(positions, &mut lines);
    });
    Ok(all)
}
