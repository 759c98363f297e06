// kernel: panel_unpack
// params: n_rows columns first_column column_stride width beta packed y
// steps:  1 a lane takes four columns of a row; 2 read them next to each other; 3 store them plus beta*y

use rayon::prelude::*;

use super::prelude::store;
use crate::device_args::view::PanelUnpack;
use crate::launch::Launch;
use crate::numbers::Numbers;

/// Values that one task copies: long enough to be worth a task, short enough to balance.
const CHUNK: usize = 16 * 1024;

pub(crate) fn run<T: Numbers>(_: Launch, args: PanelUnpack<'_, T>) {
    let PanelUnpack { n_rows, columns, first_column, column_stride, width, beta, packed, y, .. } = args;
    let (n_rows, width, stride) = (n_rows as usize, width as usize, column_stride as usize);
    if n_rows == 0 {
        return;
    }
    let one = num_traits::one();
    let of_columns = y[first_column as usize * stride..].par_chunks_mut(stride).take(columns as usize);
    // STEP 1
    of_columns.enumerate().for_each(|(column, y)| {
        y[..n_rows].par_chunks_mut(CHUNK).enumerate().for_each(|(task, y)| {
            // STEP 2
            let packed = packed[task * CHUNK * width..].iter().skip(column).step_by(width);
            for (y, sum) in y.iter_mut().zip(packed) {
                // STEP 3
                *y = store(one, *sum, beta, *y);
            }
        });
    });
}
