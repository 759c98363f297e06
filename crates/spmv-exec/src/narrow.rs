//! Values of a matrix in a narrower type than its vectors.

use spmv_backend::DeviceCaps;
use spmv_core::{Dtype, Value, for_each_mixed};

use crate::error::{Error, Result};

/// What is done with values in any type.
pub(crate) trait WithValues {
    type Output;

    fn run<V: Value>(self, vals: &[V]) -> Result<Self::Output>;
}

/// Does it with values in the type that was asked for, to which they are rounded; in their own, if that is not one of
/// [`Types::mixed`](spmv_backend::Types::mixed).
pub(crate) fn with_values_in<T: Value, W: WithValues>(
    asked: Option<Dtype>,
    vals: &[T],
    with: W,
) -> Result<W::Output> {
    macro_rules! by_pair {
        ($($value:ident $v:ty, $vector:ident $x:ty;)*) => {
            match asked {
                // The first comparison is of constants: no code is made for what is not of this type.
                $(Some(Dtype::$value) if const { T::DTYPE as u8 == Dtype::$vector as u8 } => with.run(&rounded::<T, $v>(vals)?),)*
                _ => with.run(vals),
            }
        };
    }
    for_each_mixed!(by_pair)
}

/// The narrowest type for [`Options::values`](crate::Options::values) that holds each of these values exactly, so that nothing is rounded: `None`
/// if there is none, and for values that are no `f64`, which gain little. Cores take `f32` alone: few of their layouts are fast
/// with 16 bits. Matrices of ones, stencils and small integers have such a type.
///
/// O(values), up to the first that does not fit.
///
/// ```
/// use spmv_backend::{DeviceCaps, DeviceKind, MemoryModel};
/// use spmv_core::Dtype;
/// use spmv_exec::exact_values;
/// let gpu = DeviceCaps::new("a GPU", DeviceKind::DiscreteGpu, MemoryModel::Discrete);
/// assert_eq!(exact_values(&[-1.0, 6.0, 0.5], &gpu), Some(Dtype::F16));
/// assert_eq!(exact_values(&[1e30f32 as f64], &gpu), Some(Dtype::F32));
/// assert_eq!(exact_values(&[0.1], &gpu), None);
/// ```
pub fn exact_values<T: Value>(vals: &[T], caps: &DeviceCaps) -> Option<Dtype> {
    macro_rules! first_that_holds {
        ($($value:ident $v:ty, $vector:ident $x:ty;)*) => {
            $(if T::DTYPE == Dtype::F64 && T::DTYPE == Dtype::$vector && is_fast(caps, Dtype::$value) && vals.iter().all(is_exact::<T, $v>) {
                return Some(Dtype::$value);
            })*
        };
    }
    for_each_mixed!(first_that_holds);
    None
}

/// Whether products with values in such a type take no longer than with wider ones.
fn is_fast(caps: &DeviceCaps, value: Dtype) -> bool {
    caps.storage.contains(value) && (!caps.tasks || value == Dtype::F32)
}

fn is_exact<T: Value, V: Value>(val: &T) -> bool {
    let parts = val.parts();
    V::from_parts(parts).parts().map(f64::to_bits) == parts.map(f64::to_bits)
}

/// Each value rounded to the nearest of a narrower type.
fn rounded<T: Value, V: Value>(vals: &[T]) -> Result<Vec<V>> {
    let narrow: Vec<V> = vals.iter().map(|val| V::from_parts(val.parts())).collect();
    let is_finite = |parts: [f64; 2]| parts.iter().all(|part| part.is_finite());
    let is_beyond = |(val, narrow): (&T, &V)| is_finite(val.parts()) && !is_finite(narrow.parts());
    match vals.iter().zip(&narrow).position(is_beyond) {
        None => Ok(narrow),
        Some(entry) => Err(Error::Narrow { entry, value: vals[entry].parts()[0], dtype: V::DTYPE }),
    }
}

#[cfg(test)]
mod tests {
    use spmv_backend::{DeviceKind, MemoryModel};
    use spmv_core::{bf16, f16};

    use super::*;

    #[test]
    fn the_narrowest_type_holds_every_bit() {
        let mut caps = DeviceCaps::new("a device", DeviceKind::DiscreteGpu, MemoryModel::Discrete);
        let of = |caps: &DeviceCaps, val: f64| exact_values(&[1.0, -0.0, f64::INFINITY, val], caps);
        assert_eq!(of(&caps, 2048.0), Some(Dtype::F16));
        assert_eq!(of(&caps, 65_536.0), Some(Dtype::Bf16), "beyond f16");
        assert_eq!(of(&caps, 2049.0), Some(Dtype::F32), "more digits than 16 bits have");
        assert_eq!([1.0 / 3.0, 1e300, 1e-50].map(|val| of(&caps, val)), [None; 3]);
        assert_eq!(exact_values(&[1.0f32], &caps), None);
        caps.tasks = true;
        assert_eq!(of(&caps, 2048.0), Some(Dtype::F32));
        caps.storage = caps.arithmetic.without(Dtype::F32);
        assert_eq!(of(&caps, 2048.0), None);
    }

    #[test]
    fn values_are_rounded_to_the_nearest_and_finite_ones_stay_finite() {
        let third = 1.0_f64 / 3.0;
        assert_eq!(
            rounded::<f64, f32>(&[third, -0.0, f64::INFINITY]).unwrap(),
            [third as f32, -0.0, f32::INFINITY]
        );
        assert!(rounded::<f64, f16>(&[f64::NAN]).unwrap()[0].is_nan());
        assert_eq!(rounded::<f32, bf16>(&[1e30]).unwrap(), [bf16::from_f32(1e30)]);
        let e = rounded::<f32, f16>(&[1.0, 65_536.0]).unwrap_err();
        assert_eq!(
            e.to_string(),
            "entry 1 has the value 6.5536e4, which is beyond f16; scale the matrix, or keep its values in a wider type"
        );
    }
}
