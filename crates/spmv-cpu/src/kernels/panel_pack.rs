// kernel: panel_pack
// params: n_rows columns first_column row_stride column_stride width x slots
// steps:  1 a lane takes four columns of a row; 2 read them, zeros after the last; 3 store them next to each other

use rayon::prelude::*;

use crate::device_args::view::PanelPack;
use crate::launch::Launch;
use crate::numbers::Numbers;

/// Values that one task copies: long enough to be worth a task, short enough to balance.
const CHUNK: usize = 16 * 1024;

pub(crate) fn run<T: Numbers>(_: Launch, args: PanelPack<'_, T>) {
    let PanelPack { n_rows, columns, first_column, row_stride, column_stride, width, x, slots, .. } = args;
    let (width, columns) = (width as usize, columns as usize);
    let at = |row: usize, column: usize| {
        row * row_stride as usize + (first_column as usize + column) * column_stride as usize
    };
    let rows_of_a_task = CHUNK.div_ceil(width);
    let slots = &mut slots[..n_rows as usize * width];
    slots.par_chunks_mut(rows_of_a_task * width).enumerate().for_each(|(task, slots)| {
        // STEP 1
        for (i, slots) in slots.chunks_exact_mut(width).enumerate() {
            let row = task * rows_of_a_task + i;
            for (column, slot) in slots.iter_mut().enumerate() {
                // STEP 2, STEP 3
                *slot = if column < columns { x[at(row, column)] } else { <T::Vector as Default>::default() };
            }
        }
    });
}
