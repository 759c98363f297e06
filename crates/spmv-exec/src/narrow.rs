//! Values of a matrix in a narrower type than its vectors.

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
    use spmv_core::{bf16, f16};

    use super::*;

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
