//! Times of single multiplications, as the paper takes them.

use std::time::{Duration, Instant};

use spmv::{
    Csr, Options, Scalar, Value,
    plan::{Algorithm, Tiling},
};
use spmv_backend::KernelSpec;
use spmv_model::Format;

use crate::bench::devices::Target;
use crate::bench::measure::median;

/// Executions before those that count, and the least time that they take: threads that sleep are slow at first.
pub(super) const FIRST: usize = 5;
pub(super) const FIRST_TIME: Duration = Duration::from_millis(2);
/// Least executions that count, and the least time that they take; and the time after which fewer are enough.
const RUNS: usize = 50;
pub(super) const RUNS_TIME: Duration = Duration::from_millis(4);
const ENOUGH: Duration = Duration::from_millis(40);

/// The algorithm of a format, and the tiling that the paper gives it: half a warp a row, where lanes run together.
fn options(target: &Target, format: Format, max_blow_up: f64) -> Options {
    let algorithm: Algorithm = format.to_string().parse().expect("formats are named after algorithms");
    let half_warps = Tiling::new(16, 1, 1, 8).expect("a valid tiling");
    let tiling = (format == Format::CsrVector && !target.context.caps().tasks).then_some(half_warps);
    Options { algorithm, tiling, max_blow_up, ..Options::default() }
}

/// Multiplications after the first ones.
pub(crate) struct Runs {
    /// What ran.
    pub(crate) kernel: KernelSpec,
    /// By the device's timestamps where it has them; at least one.
    seconds: Vec<f64>,
}

impl Runs {
    /// As the paper takes them (equation 5).
    pub(super) fn mean(&self) -> f64 {
        self.seconds.iter().sum::<f64>() / self.seconds.len() as f64
    }

    pub(crate) fn median(self) -> f64 {
        median(self.seconds)
    }
}

/// Multiplies with a format as the paper does; `None` as for [`of`].
pub(super) fn of_format<T: Scalar>(
    target: &Target,
    format: Format,
    a: &Csr<T>,
    max_blow_up: f64,
) -> anyhow::Result<Option<Runs>>
where
    T::Accum: Scalar,
{
    of(target, &options(target, format, max_blow_up), a)
}

/// Multiplies several times. `None` where a layout refuses the matrix, or the device the algorithm.
pub(crate) fn of<T: Scalar>(target: &Target, options: &Options, a: &Csr<T>) -> anyhow::Result<Option<Runs>>
where
    T::Accum: Scalar,
{
    let matrix = match target.context.prepare_with(a, options) {
        // What a device cannot do, plans leave out too.
        Err(spmv::Error::Layout(_) | spmv::Error::Unsupported { .. }) => return Ok(None),
        prepared => prepared?,
    };
    let one = <T::Accum as Value>::from_f64(1.0);
    let x = target.context.upload(&vec![T::from_f64(1.0); a.n_cols()])?;
    let mut y = target.context.zeros::<T::Accum>(a.n_rows())?;
    let by_device = target.has_timestamps();
    let mut workspace = if by_device { matrix.timed_workspace()? } else { matrix.workspace()? };
    let mut run = || -> anyhow::Result<f64> {
        let start = Instant::now();
        let stats = matrix.enqueue(&mut workspace, one, &x, T::Accum::default(), &mut y)?.wait()?;
        let by_caller = start.elapsed().as_secs_f64();
        Ok(if by_device { stats.stage1_s + stats.stage2_s } else { by_caller })
    };
    let mut times = Vec::new();
    for (least, time) in [(FIRST, FIRST_TIME), (RUNS, RUNS_TIME)] {
        times.clear();
        let start = Instant::now();
        while times.is_empty()
            || (start.elapsed() < ENOUGH && (times.len() < least || start.elapsed() < time))
        {
            times.push(run()?);
        }
    }
    Ok(Some(Runs { kernel: matrix.plan().kernel, seconds: times }))
}

#[cfg(test)]
mod tests {
    use spmv::Dtype;
    use spmv_backend::{KernelId, Lanes};

    use super::*;

    #[test]
    fn the_mean_is_of_all_executions_that_count() {
        let tiling = Tiling::new(1, 1, 1, 1).unwrap();
        let kernel = KernelSpec::new(KernelId::CsrScalar, Dtype::F32, Lanes::Subgroup, tiling);
        let runs = Runs { kernel, seconds: vec![1.0, 6.0, 2.0] };
        assert_eq!((runs.mean(), runs.median()), (3.0, 2.0));
    }
}
