//! Libraries written in Rust.

mod faer;
mod nalgebra;
mod sprs;

use super::{Factor, Peer, PeerValue};

/// A value type of all of them.
pub(crate) trait RustValue:
    ::faer::traits::ComplexField
    + nalgebra_sparse::na::Scalar
    + nalgebra_sparse::na::ClosedAddAssign
    + nalgebra_sparse::na::ClosedMulAssign
    + ::sprs::MulAcc
    + num_traits::Zero
    + num_traits::One
{
}

impl RustValue for f32 {}
impl RustValue for f64 {}

/// Prepares the matrix for the library of that name, one of [`RUST_PEERS`](super::RUST_PEERS).
///
/// # Errors
/// What the library says.
pub(super) fn prepare<'a, T: PeerValue>(
    name: &str,
    factor: Factor<'a, T>,
) -> anyhow::Result<Box<dyn Peer<T> + 'a>> {
    Ok(match name {
        "sprs" => Box::new(sprs::Sprs::new(factor)?),
        "faer" => Box::new(faer::Faer::new(factor)?),
        _ => Box::new(nalgebra::Nalgebra::new(factor)?),
    })
}

pub(crate) use faer::conjugate_gradient;

#[cfg(test)]
mod tests {
    use super::super::{Arrays, Peer, RUST_PEERS};
    use super::prepare;
    use spmv::Csr;

    /// What a peer leaves in a `y` of one value, for a matrix with rows that sum to 6, 0 and 3, or its transpose, with rows that sum to 2
    /// and 7.
    fn product(name: &str, transposed: bool, y: impl Fn(&dyn Peer<f64>) -> f64) -> Vec<f64> {
        let a = Csr::from_coo(3, 2, &[(0, 0, 2.0), (0, 1, 4.0), (2, 1, 3.0)]).unwrap();
        let arrays = Arrays::of(a.view(), &vec![1.0; if transposed { 3 } else { 2 }], transposed);
        let mut peer = prepare(name, arrays.factor()).unwrap();
        let mut y = arrays.y(y(&*peer));
        peer.run(arrays.x(), &mut y).unwrap();
        y.to_vec()
    }

    #[test]
    fn the_first_product_is_that_of_matrix_and_vector() {
        for name in RUST_PEERS {
            assert_eq!(product(name, false, |peer| peer.y_before()), [6.0, 0.0, 3.0], "{name}");
            assert_eq!(product(name, true, |peer| peer.y_before()), [2.0, 7.0], "{name}");
        }
    }

    #[test]
    fn what_is_timed_does_not_clear_y() {
        assert_eq!(product("sprs", false, |_| 100.0), [106.0, 100.0, 103.0]);
        assert!(product("nalgebra", false, |_| f64::NAN).iter().all(|sum| sum.is_nan()));
    }
}
