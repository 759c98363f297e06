// kernel: panel_pack
// params: n_rows columns first_column row_stride column_stride width x slots
// steps:  1 a lane takes four columns of a row; 2 read them, zeros after the last; 3 store them next to each other

use super::prelude::for_chunks;
use crate::device_args::view::PanelPack;
use crate::launch::Launch;
use crate::numbers::Numbers;

/// Values that one task copies: long enough to be worth a task, short enough to balance.
const CHUNK: usize = 16 * 1024;

pub(crate) fn run<T: Numbers>(launch: Launch, args: PanelPack<'_, T>) {
    let PanelPack { n_rows, columns, first_column, row_stride, column_stride, width, x, slots, .. } = args;
    let (width, columns) = (width as usize, columns as usize);
    let at = |row: usize, column: usize| {
        row * row_stride as usize + (first_column as usize + column) * column_stride as usize
    };
    let rows_of_a_task = CHUNK.div_ceil(width);
    let slots = &mut slots[..n_rows as usize * width];
    for_chunks(launch.groups.team, rows_of_a_task * width, slots, &|slots| {
        // STEP 1
        let rows = slots.base / width..;
        for (row, slots) in rows.zip(slots.rows.chunks_exact_mut(width)) {
            for (column, slot) in slots.iter_mut().enumerate() {
                // STEP 2, STEP 3
                *slot = if column < columns { x[at(row, column)] } else { <T::Vector as Default>::default() };
            }
        }
    });
}
