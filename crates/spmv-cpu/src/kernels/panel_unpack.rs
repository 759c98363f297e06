// kernel: panel_unpack
// params: n_rows columns first_column column_stride width beta packed y
// steps:  1 a lane takes four columns of a row; 2 read them next to each other; 3 store them plus beta*y

use super::prelude::{for_rows, store};
use crate::device_args::view::PanelUnpack;
use crate::launch::{Groups, Launch};
use crate::numbers::Numbers;

/// Values that one task copies: long enough to be worth a task, short enough to balance.
const CHUNK: usize = 16 * 1024;

pub(crate) fn run<T: Numbers>(launch: Launch, args: PanelUnpack<'_, T>) {
    let PanelUnpack { n_rows, columns, first_column, column_stride, width, beta, packed, y, .. } = args;
    let (n_rows, width, stride) = (n_rows as usize, width as usize, column_stride as usize);
    if n_rows == 0 || columns == 0 {
        return;
    }
    let one = num_traits::one();
    let tasks = n_rows.div_ceil(CHUNK) as u32;
    let groups = Groups { n: columns * tasks, ..launch.groups };
    // STEP 1
    let first = |group: u32| (group / tasks) as usize * stride + (group % tasks) as usize * CHUNK;
    for_rows(groups, &mut y[first_column as usize * stride..], &first, &|y| {
        let (column, row) = (y.base / stride, y.base % stride);
        // STEP 2
        let packed = packed[row * width..].iter().skip(column).step_by(width);
        for (y, sum) in y.rows.iter_mut().zip(packed).take(CHUNK.min(n_rows - row)) {
            // STEP 3
            *y = store(one, *sum, beta, *y);
        }
    });
}
