//! Times of every kernel as sums over what it does: the models that plans compare.

use spmv_backend::{DeviceCaps, KernelId, KernelSpec};
use spmv_core::{MatrixStats, RowStats, Tiling};

use serde::{Deserialize, Serialize};

/// Terms of [`Work`].
const TERMS: usize = 6;
/// Rounds of the fit, each of which weighs samples less that are far off.
const ROUNDS: usize = 20;
/// Relative error below which samples weigh alike.
const NEAR: f64 = 0.02;
/// Sweeps over the rates of one round.
const SWEEPS: usize = 20_000;

/// What a kernel does for a matrix, in counts that its time is a sum over.
///
/// ```
/// use spmv_backend::{DeviceCaps, DeviceKind, KernelId, KernelSpec, Lanes, MemoryModel};
/// use spmv_core::{Csr, Dtype, MatrixStats, Tiling};
/// use spmv_model::Work;
/// let caps = DeviceCaps::new("a GPU", DeviceKind::DiscreteGpu, MemoryModel::Discrete);
/// let a = Csr::from_coo(3, 3, &[(0, 0, 1.0f32), (1, 1, 1.0), (2, 0, 1.0), (2, 1, 1.0), (2, 2, 1.0)])?;
/// let tiling = Tiling::new(2, 1, 1, 1)?;
/// let spec = |id| KernelSpec { id, value: Dtype::F32, lanes: Lanes::Subgroup, tiling };
/// let work = |id| Work::of(&spec(id), &MatrixStats::of(a.view()), &caps);
/// assert_eq!((work(KernelId::CsrVector).places, work(KernelId::CsrVector).chain), (5.0, 1.5));
/// assert_eq!((work(KernelId::Ell).places, work(KernelId::Ell).chain), (9.0, 3.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// 1 if threads of a CPU must be woken, else 0: on a GPU, the launch is in any case.
    pub wakes: f64,
    /// Places of entries, with those that a layout pads; for each thread that takes part, as `rows` and `gathers`.
    pub places: f64,
    /// Rows.
    pub rows: f64,
    /// Steps of the lane that has the most to do, where rows are not cut.
    pub chain: f64,
    /// Lines of `x` that entries do not share.
    pub gathers: f64,
}

impl Work {
    /// Counts what a kernel does for a matrix. O(1).
    pub fn of(kernel: &KernelSpec, stats: &MatrixStats, caps: &DeviceCaps) -> Self {
        let rows = &stats.rows;
        let (n_rows, nnz, longest) = (rows.n_rows as f64, rows.nnz as f64, rows.max as f64);
        let n_diags = stats.diagonals.unwrap_or(0) as f64;
        let (places, chain) = match kernel.id {
            KernelId::Ell => (n_rows * longest, longest),
            KernelId::Dia => (n_rows * n_diags, n_diags),
            KernelId::CsrVector => (nnz, longest / f64::from(kernel.tiling.lanes())),
            KernelId::Ipcsr if !caps.tasks => (nnz, steps_in_a_block(&kernel.tiling, rows, caps)),
            id if id.takes_a_row_a_lane() => (nnz, longest),
            _ => (nnz, 0.0),
        };
        let threads = if caps.tasks {
            groups(kernel, rows).clamp(1.0, f64::from(caps.compute_units.max(1)))
        } else {
            1.0
        };
        Self {
            wakes: if threads > 1.0 { 1.0 } else { 0.0 },
            places: places / threads,
            rows: n_rows / threads,
            chain,
            gathers: nnz * stats.scatter / threads,
        }
    }

    fn terms(&self) -> [f64; TERMS] {
        [1.0, self.wakes, self.places, self.rows, self.chain, self.gathers]
    }
}

/// Steps of `ipcsr` after its products: a row's lanes take turns with those of others in its block, up to twice W each; then
/// subgroups take the rows that are longer, one after the other, of which there are no more than Cantelli's inequality says.
fn steps_in_a_block(tiling: &Tiling, rows: &RowStats, caps: &DeviceCaps) -> f64 {
    let (lanes, width) = (f64::from(tiling.lanes()), f64::from(tiling.width()));
    let together = caps.subgroup.map_or(1.0, |(_, most)| f64::from(most));
    let rows_of_a_block = (lanes * width / rows.mean.max(1e-9)).clamp(1.0, lanes);
    let of_a_row = (lanes / rows_of_a_block).log2().floor().exp2().min(together);
    let (most, longest) = (2.0 * width * of_a_row, rows.max as f64);
    if longest <= most || of_a_row >= together {
        return longest.min(most) / of_a_row;
    }
    let (variance, above) = (rows.std_dev.powi(2), (most - rows.mean).max(0.0));
    let share = if variance > 0.0 { variance / (variance + above.powi(2)) } else { 0.0 };
    2.0 * width + share * rows_of_a_block * together / lanes
}

/// Groups of a launch, for a block kernel at the least.
fn groups(kernel: &KernelSpec, rows: &RowStats) -> f64 {
    let tiling = &kernel.tiling;
    let (n_rows, nnz) = (rows.n_rows as f64, rows.nnz as f64);
    let bunches = f64::from(tiling.bunches());
    let (entries, tiles) = (f64::from(tiling.bunch_entries()) * bunches, f64::from(tiling.tiles()));
    let lanes = f64::from(tiling.group_lanes());
    let groups = match kernel.id {
        KernelId::MergePath => (n_rows + nnz) / entries,
        KernelId::Ipcsr => (nnz / entries).max(n_rows / lanes),
        KernelId::CsrVector => n_rows / (bunches * tiles),
        id if id.takes_a_row_a_lane() => n_rows / (lanes * tiles),
        _ => nnz / entries,
    };
    groups.ceil()
}

/// Seconds that a kernel takes for each unit of [`Work`]; none negative.
///
/// ```
/// use spmv_model::{Rates, Work};
/// let work = |places: f64| Work { wakes: 0.0, places, rows: 0.0, chain: 0.0, gathers: 0.0 };
/// // 1 us, and 1 ns a place.
/// let samples = [1e3, 2e3, 5e3].map(|places| (work(places), 1e-6 + 1e-9 * places));
/// let rates = Rates::fit(&samples);
/// assert!((rates.seconds(&work(1e4)) - 11e-6).abs() < 1e-15);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rates {
    /// In any case, and for waking threads.
    start: f64,
    wake: f64,
    place: f64,
    row: f64,
    step: f64,
    gather: f64,
}

impl Rates {
    /// The rates, none negative, with the least relative errors: squares for small ones, and as many times less weight for
    /// larger ones, so that a few matrices of another kind do not spoil the rest. Without samples all are 0.
    pub fn fit(samples: &[(Work, f64)]) -> Self {
        // Each equation is divided by its time, and each term by the largest it gets.
        let mut equations: Vec<[f64; TERMS]> =
            samples.iter().filter(|(_, s)| *s > 0.0).map(|(work, s)| work.terms().map(|t| t / s)).collect();
        let mut scale = [0.0f64; TERMS];
        for equation in &equations {
            for (scale, term) in scale.iter_mut().zip(equation) {
                *scale = scale.max(*term);
            }
        }
        for equation in &mut equations {
            for (term, scale) in equation.iter_mut().zip(scale) {
                *term /= if scale > 0.0 { scale } else { 1.0 };
            }
        }
        let mut rates = [0.0; TERMS];
        for _ in 0..ROUNDS {
            let weight = |equation: &[f64; TERMS]| 1.0 / (dot(equation, &rates) - 1.0).abs().max(NEAR);
            let weights: Vec<f64> = equations.iter().map(weight).collect();
            descend(&equations, &weights, &mut rates);
        }
        let [start, wake, place, row, step, gather] =
            std::array::from_fn(|i| if scale[i] > 0.0 { rates[i] / scale[i] } else { 0.0 });
        Self { start, wake, place, row, step, gather }
    }

    /// Predicted time.
    pub fn seconds(&self, work: &Work) -> f64 {
        let Self { start, wake, place, row, step, gather } = *self;
        dot(&[start, wake, place, row, step, gather], &work.terms())
    }

    /// Whether none is negative.
    pub(crate) fn is_valid(&self) -> bool {
        let Self { start, wake, place, row, step, gather } = *self;
        [start, wake, place, row, step, gather].iter().all(|rate| *rate >= 0.0)
    }
}

fn dot(a: &[f64; TERMS], b: &[f64; TERMS]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Weighted least squares of `equations * rates = 1` over rates that are not negative, one rate after another.
fn descend(equations: &[[f64; TERMS]], weights: &[f64], rates: &mut [f64; TERMS]) {
    let (mut gram, mut right) = ([[0.0; TERMS]; TERMS], [0.0; TERMS]);
    for (equation, weight) in equations.iter().zip(weights) {
        for i in 0..TERMS {
            right[i] += weight * equation[i];
            for j in 0..TERMS {
                gram[i][j] += weight * equation[i] * equation[j];
            }
        }
    }
    for _ in 0..SWEEPS {
        let mut moved = 0.0f64;
        for i in 0..TERMS {
            if gram[i][i] > 0.0 {
                let next = (rates[i] + (right[i] - dot(&gram[i], rates)) / gram[i][i]).max(0.0);
                moved = moved.max((next - rates[i]).abs());
                rates[i] = next;
            }
        }
        if moved <= 1e-16 {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use spmv_backend::{DeviceKind, MemoryModel};

    use super::*;

    const HAND: Rates =
        Rates { start: 1e-6, wake: 9e-6, place: 1e-10, row: 3e-10, step: 5e-8, gather: 2e-10 };

    fn work(wakes: f64, places: f64, rows: f64, chain: f64, gathers: f64) -> Work {
        Work { wakes, places, rows, chain, gathers }
    }

    /// Independent of each other.
    fn works() -> Vec<Work> {
        let mut works = Vec::new();
        for (i, places) in [1e3, 1e4, 1e5, 1e6].into_iter().enumerate() {
            for (j, rows) in [0.5, 0.1, 0.02].into_iter().enumerate() {
                let k = (i + j) as f64;
                works.push(work(
                    (k > 1.0).into(),
                    places,
                    rows * places,
                    3.0 * k * k,
                    places * (k % 3.0) / 4.0,
                ));
            }
        }
        works
    }

    #[test]
    fn rates_of_exact_times_come_back() {
        let samples: Vec<_> = works().into_iter().map(|work| (work, HAND.seconds(&work))).collect();
        let rates = Rates::fit(&samples);
        for (work, seconds) in samples {
            let error = (rates.seconds(&work) - seconds).abs() / seconds;
            assert!(error < 1e-12, "{error:e}: {rates:?}");
        }
    }

    #[test]
    fn one_wild_sample_changes_little() {
        let mut samples: Vec<_> = works().into_iter().map(|work| (work, HAND.seconds(&work))).collect();
        samples[5].1 *= 30.0;
        let rates = Rates::fit(&samples);
        let errors = samples.iter().map(|(work, _)| (rates.seconds(work) / HAND.seconds(work) - 1.0).abs());
        let errors: Vec<_> = errors.collect();
        assert!(errors.iter().all(|error| *error < 0.05), "{errors:?}");
    }

    #[test]
    fn no_rate_is_negative() {
        // Faster, the more rows there are.
        let sample = |rows: f64| (work(0.0, 1e4, rows, 0.0, 0.0), 1e-5 - 1e-10 * rows);
        let Rates { start, wake, place, row, step, gather } = Rates::fit(&[1e3, 2e3, 5e3].map(sample));
        assert!([start, wake, place, step, gather].iter().all(|rate| *rate >= 0.0));
        assert_eq!(row, 0.0);
    }

    #[test]
    fn long_rows_of_a_block_take_turns() {
        let mut caps = DeviceCaps::new("a GPU", DeviceKind::DiscreteGpu, MemoryModel::Discrete);
        caps.subgroup = Some((2, 32));
        let tiling = Tiling::new(128, 8, 1, 1).unwrap();
        let steps = |mean: f64, max: usize, std_dev: f64| {
            steps_in_a_block(&tiling, &RowStats { mean, max, std_dev, ..RowStats::default() }, &caps)
        };
        // 64 rows with two lanes each, which take up to 16 places.
        assert_eq!((steps(16.0, 20, 2.0), steps(16.0, 32, 2.0)), (10.0, 16.0));
        // Of the 64 rows a fifth may be longer, for four subgroups.
        assert!((steps(16.0, 33, 8.0) - (16.0 + 0.2 * 64.0 / 4.0)).abs() < 1e-12);
        assert_eq!(steps(0.0, 0, 0.0), 0.0);
        assert_eq!(steps(5000.0, 90_000, 10.0), 16.0, "a block holds a piece of a row");
    }

    proptest! {
        #[test]
        fn no_samples_make_a_fit_panic_or_a_prediction_negative(
            samples in prop::collection::vec((prop::array::uniform5(0.0..1e9f64), 0.0..1.0f64), 0..8),
            of in prop::array::uniform5(prop_oneof![Just(0.0), Just(f64::MAX), 0.0..1e9f64]),
        ) {
            let of_array = |[a, b, c, d, e]: [f64; 5]| work(a, b, c, d, e);
            let samples: Vec<_> = samples.into_iter().map(|(w, s)| (of_array(w), s)).collect();
            prop_assert!(Rates::fit(&samples).seconds(&of_array(of)) >= 0.0);
        }
    }
}
