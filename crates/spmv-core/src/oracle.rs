//! The naive product that decides whether any other result is right.
//!
//! Slow and obvious on purpose: one loop over rows, one over entries, `f64` sums in place order.

use crate::csr::CsrView;
use crate::value::{Accum, Offset, Value};

/// The reference product and what its rounding error is measured by.
///
/// ```
/// use spmv_core::{Csr, oracle};
/// let a = Csr::from_coo(1, 2, &[(0, 0, 3.0f32), (0, 1, -4.0)])?;
/// let reference = oracle::multiply(a.view(), 2.0, &[1.0, 1.0], 1.0, &[10.0]);
/// assert_eq!(reference.y, [8.0]);
/// assert_eq!(reference.magnitude, [24.0]);
/// assert_eq!(reference.error_over_bound(&[8.0f32]), 0.0);
/// # Ok::<(), spmv_core::CsrError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Reference {
    /// `alpha*A*x + beta*y`, one per row.
    pub y: Vec<f64>,
    /// `|alpha|*sum|a||x| + |beta||y|`, one per row: what the error bound scales with.
    pub magnitude: Vec<f64>,
    /// Roundings a result of each row may have gone through: its entries plus four, for the
    /// products with alpha and beta and the two last sums.
    pub roundings: Vec<usize>,
}

/// Multiplies in `f64`. `x` has `n_cols` values, `y` has `n_rows`. As in BLAS, `y` is not read if `beta == 0`, nor are the
/// entries and `x` if `alpha == 0`.
///
/// # Panics
/// If `x` or `y` has another length.
pub fn multiply<T: Value, O: Offset>(
    a: CsrView<'_, T, O>,
    alpha: f64,
    x: &[T],
    beta: f64,
    y: &[T::Accum],
) -> Reference {
    assert_eq!((x.len(), y.len()), (a.n_cols(), a.n_rows()), "lengths of x and y");
    let mut reference = Reference { y: Vec::new(), magnitude: Vec::new(), roundings: Vec::new() };
    for (row, y_old) in y.iter().enumerate() {
        let (mut sum, mut magnitude) = (0.0, 0.0);
        let entries = a.row(row).filter(|_| alpha != 0.0);
        for (col, value) in entries {
            let product = value.as_f64() * x[col as usize].as_f64();
            sum += product;
            magnitude += product.abs();
        }
        let old = if beta == 0.0 { 0.0 } else { beta * y_old.as_f64() };
        reference.y.push(alpha * sum + old);
        reference.magnitude.push(alpha.abs() * magnitude + old.abs());
        reference.roundings.push(a.row_range(row).len() + 4);
    }
    reference
}

impl Reference {
    /// The greatest `|y - reference| / bound` over all rows; at most 1 for a correct result in any
    /// order of summation, infinite where a NaN, an infinity or a length is wrong.
    ///
    /// The bound is `(gamma_n(u) + gamma_n(u64)) * magnitude` with `gamma_n(u) = n u / (1 - n u)`
    /// (Higham, *Accuracy and Stability of Numerical Algorithms*, section 3.1), `u` of the sums and
    /// `u64` of the reference itself, plus the least normal number for underflow in each rounding.
    pub fn error_over_bound<A: Accum>(&self, y: &[A]) -> f64 {
        if y.len() != self.y.len() {
            return f64::INFINITY;
        }
        let tiny = A::min_positive_value().as_f64();
        let mut worst = 0.0f64;
        for (row, value) in y.iter().enumerate() {
            let n = self.roundings[row];
            let gamma = gamma(n, A::UNIT_ROUNDOFF) + gamma(n, f64::UNIT_ROUNDOFF);
            let bound = gamma * self.magnitude[row] + n as f64 * tiny;
            let overflows = self.magnitude[row] > A::max_value().as_f64();
            let ratio = ratio(value.as_f64(), self.y[row], bound, overflows);
            worst = worst.max(ratio);
        }
        worst
    }

    /// The first row whose value differs at all from the reference, for inputs whose sums are exact.
    pub fn first_difference<A: Accum>(&self, y: &[A]) -> Option<usize> {
        if y.len() != self.y.len() {
            return Some(y.len().min(self.y.len()));
        }
        y.iter().zip(&self.y).position(|(got, want)| got.as_f64() != *want)
    }
}

/// gamma_n = n u / (1 - n u), the classic bound on n roundings.
fn gamma(n: usize, u: f64) -> f64 {
    let nu = n as f64 * u;
    if nu < 1.0 { nu / (1.0 - nu) } else { f64::INFINITY }
}

fn ratio(got: f64, want: f64, bound: f64, overflows: bool) -> f64 {
    if got.is_nan() || want.is_nan() {
        return if got.is_nan() && want.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if want.is_infinite() {
        return if got == want { 0.0 } else { f64::INFINITY };
    }
    // A finite sum may overflow on the way, in some order of summation.
    if got.is_infinite() {
        return if overflows { 0.0 } else { f64::INFINITY };
    }
    let error = (got - want).abs();
    if error == 0.0 { 0.0 } else { error / bound }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csr::Csr;

    fn reference(values: &[f32]) -> Reference {
        let n = values.len();
        let a = Csr::new(1, n, vec![0u32, n as u32], (0..n as u32).collect(), values.to_vec()).unwrap();
        multiply(a.view(), 1.0, &vec![1.0; n], 0.0, &[f32::NAN])
    }

    #[test]
    fn a_wrong_entry_is_far_beyond_the_bound() {
        let r = reference(&[1.0; 100]);
        assert!(r.error_over_bound(&[100.0f32]) == 0.0);
        assert!(r.error_over_bound(&[99.0f32]) > 100.0);
        assert_eq!(r.first_difference(&[99.0f32]), Some(0));
    }

    #[test]
    fn nan_is_right_only_where_the_reference_has_it() {
        assert_eq!(reference(&[f32::NAN, 1.0]).error_over_bound(&[f32::NAN]), 0.0);
        assert_eq!(reference(&[1.0]).error_over_bound(&[f32::NAN]), f64::INFINITY);
        assert_eq!(reference(&[f32::NAN]).error_over_bound(&[1.0f32]), f64::INFINITY);
    }

    #[test]
    fn infinities_keep_their_sign() {
        assert_eq!(reference(&[f32::INFINITY]).error_over_bound(&[f32::INFINITY]), 0.0);
        assert_eq!(reference(&[f32::INFINITY]).error_over_bound(&[f32::NEG_INFINITY]), f64::INFINITY);
        assert_eq!(reference(&[1.0]).error_over_bound(&[f32::INFINITY]), f64::INFINITY);
        assert_eq!(reference(&[f32::MAX, f32::MAX]).error_over_bound(&[f32::INFINITY]), 0.0);
    }

    #[test]
    fn a_missing_row_is_an_error() {
        assert_eq!(reference(&[1.0]).error_over_bound::<f32>(&[]), f64::INFINITY);
    }
}
