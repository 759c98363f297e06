//! Times of single multiplications, as Wang, Gu & Li 2017 take them.

use std::time::{Duration, Instant};

use spmv_backend::KernelSpec;
use spmv_core::{CsrView, Offset, Value};
use spmv_exec::Options;

use crate::backend::BackendKind;
use crate::context::Context;
use crate::erased::Scalar;
use crate::error::{Error, Result};

/// After which fewer runs are enough.
const ENOUGH: Duration = Duration::from_millis(40);

/// Times of one multiplication that was run several times, after others that do not count.
///
/// ```
/// use spmv::{BackendKind, Context, Csr, Options, fit::Runs};
/// let context = Context::with(BackendKind::Cpu)?;
/// let a = Csr::from_coo(2, 2, &[(0, 1, 2.0f32), (1, 0, 3.0)])?;
/// let runs = Runs::of(&context, &a, &Options::default())?.expect("auto takes every matrix");
/// println!("{}: {} s at the median of {}", runs.kernel, runs.median(), runs.seconds.len());
/// assert!(runs.median() > 0.0 && runs.mean() > 0.0);
/// # Ok::<(), spmv::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Runs {
    /// What ran.
    pub kernel: KernelSpec,
    /// Of each run, at least one; by the device's timestamps where [`by_device`](Self::by_device) says so.
    pub seconds: Vec<f64>,
}

impl Runs {
    /// Least runs before those that count, and the least time that they take: threads that sleep are slow at first.
    pub const FIRST: (usize, Duration) = (5, Duration::from_millis(2));

    /// Least runs that count, and the least time that they take. Where all of them take long, fewer are enough.
    pub const COUNTED: (usize, Duration) = (50, Duration::from_millis(4));

    /// Whether times are by the device's timestamps, and not by the caller's. The cpu backend has none of its own.
    pub fn by_device(context: &Context) -> bool {
        context.backend() != BackendKind::Cpu && context.caps().timestamps
    }

    /// Prepares a matrix and multiplies several times by ones, with `alpha` one and `beta` zero. `None` where a layout refuses
    /// the matrix, or the device the algorithm. Some 10 to 100 ms, besides preparing.
    ///
    /// # Errors
    /// As [`prepare_with`](Context::prepare_with) and [`enqueue`](crate::Matrix::enqueue).
    pub fn of<'a, T: Scalar, O: Offset>(
        context: &Context,
        a: impl Into<CsrView<'a, T, O>>,
        options: &Options,
    ) -> Result<Option<Self>> {
        let a = a.into();
        let matrix = match context.prepare_with(a, options) {
            // What a device cannot do, plans leave out too.
            Err(Error::Layout(_) | Error::Unsupported { .. }) => return Ok(None),
            prepared => prepared?,
        };
        let one = <T::Accum as Value>::from_f64(1.0);
        let x = context.upload(&vec![T::from_f64(1.0); a.n_cols()])?;
        let mut y = context.zeros::<T::Accum>(a.n_rows())?;
        let by_device = Self::by_device(context);
        let mut workspace = if by_device { matrix.timed_workspace()? } else { matrix.workspace()? };
        let mut run = || -> Result<f64> {
            let start = Instant::now();
            let stats = matrix.enqueue(&mut workspace, one, &x, T::Accum::default(), &mut y)?.wait()?;
            let by_caller = start.elapsed().as_secs_f64();
            Ok(if by_device { stats.stage1_s + stats.stage2_s } else { by_caller })
        };
        let mut seconds = Vec::new();
        for (least, time) in [Self::FIRST, Self::COUNTED] {
            seconds.clear();
            let start = Instant::now();
            while seconds.is_empty()
                || (start.elapsed() < ENOUGH && (seconds.len() < least || start.elapsed() < time))
            {
                seconds.push(run()?);
            }
        }
        Ok(Some(Self { kernel: matrix.plan().kernel, seconds }))
    }

    /// Their mean (equation 5 of Wang, Gu & Li 2017).
    pub fn mean(&self) -> f64 {
        self.seconds.iter().sum::<f64>() / self.seconds.len() as f64
    }

    /// The middle one of them.
    pub fn median(&self) -> f64 {
        let mut seconds = self.seconds.clone();
        seconds.sort_by(f64::total_cmp);
        seconds[seconds.len() / 2]
    }
}

#[cfg(test)]
mod tests {
    use spmv_backend::{KernelId, Lanes};
    use spmv_core::{Dtype, Tiling};

    use super::*;

    #[test]
    fn mean_and_median_are_of_all_runs_that_count() {
        let tiling = Tiling::new(1, 1, 1, 1).unwrap();
        let kernel = KernelSpec::new(KernelId::CsrScalar, Dtype::F32, Lanes::Subgroup, tiling);
        let runs = Runs { kernel, seconds: vec![1.0, 6.0, 2.0] };
        assert_eq!((runs.mean(), runs.median()), (3.0, 2.0));
    }
}
