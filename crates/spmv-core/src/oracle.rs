//! The naive product that decides whether any other result is right.
//!
//! Slow and obvious on purpose: one loop over rows, one over entries, sums of 64 bits in place order.

use num_traits::{Float, Zero};

use crate::csr::CsrView;
use crate::offset::Offset;
use crate::value::{Accum, Value, Wide};

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
pub struct Reference<W = f64> {
    /// `alpha*A*x + beta*y`, one per row.
    pub y: Vec<W>,
    /// `|alpha|*sum|a||x| + |beta||y|`, one per row: what the error bound scales with.
    pub magnitude: Vec<f64>,
    /// Roundings a result of each row may have gone through: its entries plus four, for the
    /// products with alpha and beta and the two last sums.
    pub roundings: Vec<usize>,
}

/// Multiplies in `f64`, or in `c64` if values are complex. `x` has `n_cols` values, `y` has `n_rows`. As in BLAS, `y` is not read if
/// `beta == 0`, nor are the entries and `x` if `alpha == 0`.
///
/// # Panics
/// If `x` or `y` has another length.
pub fn multiply<T: Value, O: Offset>(
    a: CsrView<'_, T, O>,
    alpha: T::Wide,
    x: &[T],
    beta: T::Wide,
    y: &[T::Accum],
) -> Reference<T::Wide> {
    assert_eq!((x.len(), y.len()), (a.n_cols(), a.n_rows()), "lengths of x and y");
    let mut reference = Reference { y: Vec::new(), magnitude: Vec::new(), roundings: Vec::new() };
    for (row, y_old) in y.iter().enumerate() {
        let (mut sum, mut magnitude) = (T::Wide::zero(), 0.0);
        let entries = a.row(row).filter(|_| !alpha.is_zero());
        for (col, value) in entries {
            let product = value.widen() * x[col as usize].widen();
            sum += product;
            magnitude += product.modulus();
        }
        let old = if beta.is_zero() { beta } else { beta * widened(*y_old) };
        reference.y.push(alpha * sum + old);
        reference.magnitude.push(alpha.modulus() * magnitude + old.modulus());
        reference.roundings.push(a.row_range(row).len() + 4);
    }
    reference
}

/// A sum as what the reference is kept in.
fn widened<A: Accum, W: Wide>(y: A) -> W {
    W::from_parts(y.parts())
}

impl<W: Wide> Reference<W> {
    /// The greatest `|y - reference| / bound` over all rows; at most 1 for a correct result in any
    /// order of summation, infinite where a NaN, an infinity or a length is wrong.
    ///
    /// The bound is `(gamma_n(u) + gamma_n(u64)) * magnitude` with `gamma_n(u) = n u / (1 - n u)`
    /// (Higham, *Accuracy and Stability of Numerical Algorithms*, section 3.1), `u` of the sums and
    /// `u64` of the reference itself, plus the least normal number for underflow in each rounding. Complex products and sums
    /// have four roundings more, and the square root of 2 times the error (section 3.6 there); each part is held against that. Where one
    /// part is not finite the other may be anything: what a product makes of infinities depends on the order of operations.
    pub fn error_over_bound<A: Accum>(&self, y: &[A]) -> f64 {
        if y.len() != self.y.len() {
            return f64::INFINITY;
        }
        let tiny = A::Part::min_positive_value().widen();
        let (more, times) = if A::DTYPE.is_complex() { (4, std::f64::consts::SQRT_2) } else { (0, 1.0) };
        let mut worst = 0.0f64;
        for (row, value) in y.iter().enumerate() {
            let n = self.roundings[row] + more;
            let gamma = gamma(n, A::UNIT_ROUNDOFF) + gamma(n, f64::UNIT_ROUNDOFF);
            let bound = times * (gamma * self.magnitude[row] + n as f64 * tiny);
            let overflows = self.magnitude[row] > A::Part::max_value().widen();
            let (got, want) = (value.parts(), self.y[row].parts());
            let is_finite = |parts: [f64; 2]| parts.iter().all(|part| part.is_finite());
            if A::DTYPE.is_complex() && !is_finite(got) && (!is_finite(want) || overflows) {
                continue;
            }
            for (got, want) in got.into_iter().zip(want) {
                worst = worst.max(ratio(got, want, bound, overflows));
            }
        }
        worst
    }

    /// The first row whose value differs at all from the reference, for inputs whose sums are exact.
    pub fn first_difference<A: Accum>(&self, y: &[A]) -> Option<usize> {
        if y.len() != self.y.len() {
            return Some(y.len().min(self.y.len()));
        }
        y.iter().zip(&self.y).position(|(got, want)| got.parts() != want.parts())
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
    use crate::value::types::c64;

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
    fn each_part_of_a_complex_sum_is_held_against_the_bound() {
        let [i, inf] = [c64::new(0.0, 1.0), c64::new(f64::INFINITY, 0.0)];
        let of = |x: c64| {
            let a = Csr::new(1, 2, vec![0u32, 2], vec![0, 1], vec![i, c64::new(2.0, -3.0)]).unwrap();
            multiply(a.view(), i, &[i, x], c64::new(2.0, 0.0), &[i])
        };
        // i*(i*i + (2 - 3i)(1 + i)) + 2i = i*(-1 + 5 - i) + 2i
        let r = of(c64::new(1.0, 1.0));
        assert_eq!(r.y, [c64::new(1.0, 6.0)]);
        assert_eq!(r.error_over_bound(&[c64::new(1.0, 6.0)]), 0.0);
        assert!(r.error_over_bound(&[c64::new(1.0, 6.0 + 1e-12)]) > 1.0);
        assert_eq!(r.first_difference(&[c64::new(1.5, 6.0)]), Some(0));
        assert_eq!(r.error_over_bound(&[inf]), f64::INFINITY);
        assert_eq!(of(inf).error_over_bound(&[inf]), 0.0);
        assert_eq!(of(inf).error_over_bound(&[i]), f64::INFINITY);
    }

    #[test]
    fn a_missing_row_is_an_error() {
        assert_eq!(reference(&[1.0]).error_over_bound::<f32>(&[]), f64::INFINITY);
    }
}
