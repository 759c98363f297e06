// kernel: carry_apply
// params: n_rows row_base n_bunches epilogue alpha lo hi bunch_rows carries y
// steps:  1 find the bunches that carry to the same row; 2 add alpha times the sum of their carries to it

use num_traits::Zero;

use super::prelude::{bounds, clamped, rows_of, scaled};
use crate::device_args::view::CarryApply;
use crate::launch::Launch;
use crate::numbers::Numbers;

pub(crate) fn run<T: Numbers>(_: Launch, args: CarryApply<'_, T>) {
    let CarryApply { n_rows, row_base, n_bunches, epilogue, alpha, lo, hi, bunch_rows, carries, y, .. } =
        args;
    let (carries, bunch_rows) = (&carries[..n_bunches as usize], &bunch_rows[..=n_bunches as usize]);
    let y = rows_of(y, row_base, n_rows);
    let bounds = bounds(epilogue, lo, hi);
    let mut bunch = 0;
    while bunch < carries.len() {
        // STEP 1
        let row = bunch_rows[bunch + 1];
        let same = bunch_rows[bunch + 1..].iter().take_while(|r| **r == row).count();
        // STEP 2
        if let Some(y) = y.get_mut(row as usize) {
            let sum = carries[bunch..bunch + same].iter().fold(T::Accum::zero(), |sum, carry| sum + *carry);
            *y += scaled(alpha, sum);
            if let Some(bounds) = bounds {
                *y = clamped(*y, bounds);
            }
        }
        bunch += same;
    }
}
