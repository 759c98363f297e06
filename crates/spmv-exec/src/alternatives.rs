//! What could run instead of a plan: a pure function of the same inputs. Trials time it.

use crate::algorithms::{Algorithm, Known};
use crate::choice::Choice;
use crate::measured::Bound;
use crate::plan::{Inputs, Plan};
use crate::tilings::neighbours;

/// Times of the fastest prediction's, up to which an algorithm is worth a trial.
const WORTH_A_TRIAL: Bound<f64> =
    Bound { is: 2.0, by: "nothing was measured: it leaves room for predictions that are far off" };

/// Other algorithms that the options allow and whose layouts take the matrix, each with its planned tiling, the most promising first:
/// those whose predicted time is at most twice that of the fastest, then those without a prediction that the heuristic may take. None if
/// the options name one.
pub(crate) fn algorithms(inputs: &Inputs<'_>, planned: &Plan) -> Vec<Choice> {
    if inputs.options.algorithm != Algorithm::Auto {
        return vec![];
    }
    let most = planned.candidates.first().map_or(f64::INFINITY, |fastest| WORTH_A_TRIAL.is * fastest.seconds);
    let predicted = |known: Known| {
        planned.candidates.iter().find(|c| c.algorithm == Algorithm::from(known)).map(|c| c.seconds)
    };
    let is_promising = |known: Known| {
        let facts = known.method().facts();
        let is_promising = predicted(known).map_or(facts.by_heuristic, |seconds| seconds <= most);
        known != planned.known && is_promising && !facts.by_name_only && inputs.allow(known)
    };
    let choice = |known: Known| {
        let kernel = inputs.kernel(known).ok().filter(|kernel| inputs.take(known, kernel))?;
        let seconds = predicted(known).unwrap_or(f64::INFINITY);
        Some((seconds, Choice { algorithm: known.into(), tiling: kernel.tiling }))
    };
    let mut all: Vec<_> =
        Known::ALL.iter().copied().filter(|known| is_promising(*known)).filter_map(choice).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all.into_iter().map(|(_, choice)| choice).collect()
}

/// The same algorithm with tilings next to its own that the device can run. None if the options name a tiling.
pub(crate) fn tilings(inputs: &Inputs<'_>, of: &Choice) -> Vec<Choice> {
    let Some(known) = of.algorithm.known().filter(|_| inputs.options.tiling.is_none()) else {
        return vec![];
    };
    let (method, case) = (known.method(), inputs.case(known));
    let next = neighbours(method.tilings(), &case, &of.tiling, method.facts().row_a_lane);
    let fitting = next.into_iter().map(|tiling| inputs.fitting(known, tiling));
    let able = fitting.filter(|tiling| inputs.kernel_of(known, *tiling).is_ok());
    able.map(|tiling| Choice { algorithm: of.algorithm, tiling }).collect()
}

#[cfg(test)]
mod tests {
    use spmv_backend::{DeviceCaps, DeviceKind, MemoryModel, Types};
    use spmv_core::{Dtype, MatrixStats, RowStats, Runs};

    use super::*;
    use crate::options::Options;
    use crate::plan::{Given, plan};

    fn gpu() -> DeviceCaps {
        let mut caps = DeviceCaps::new("a GPU", DeviceKind::DiscreteGpu, MemoryModel::Discrete);
        (caps.subgroup, caps.compute_units, caps.bunch_barriers) = (Some((2, 32)), 132, true);
        (caps.max_group, caps.max_groups, caps.max_buffer_bytes) = (1024, u32::MAX, 1 << 40);
        caps
    }

    fn stats() -> MatrixStats {
        let n_rows = 1_000_000;
        let rows =
            RowStats { n_rows, n_cols: n_rows, nnz: 30 * n_rows, mean: 30.0, max: 30, ..RowStats::default() };
        MatrixStats { runs: Some(Runs::of(&[0, 1, 2, 10, 11, 12])), ..MatrixStats::from(&rows) }
    }

    /// Tilings next to the planned one, as text.
    fn next_to_planned(algorithm: Algorithm) -> (String, Vec<String>) {
        let (stats, caps, options) = (stats(), gpu(), Options { algorithm, ..Options::default() });
        let planned = plan(stats, Dtype::F32, &caps, None, &options).unwrap().choice();
        let inputs = Inputs {
            stats: &stats,
            types: Types::of(Dtype::F32),
            caps: &caps,
            options: &options,
            given: Given::Borrowed,
        };
        let next = tilings(&inputs, &planned).iter().map(|choice| choice.tiling.to_string()).collect();
        (planned.tiling.to_string(), next)
    }

    #[test]
    fn tilings_next_to_a_planned_one_follow_from_the_table() {
        let check = |algorithm, planned: &str, next: &[&str]| {
            let expected = (planned.to_owned(), next.iter().map(|text| (*text).to_owned()).collect());
            assert_eq!(next_to_planned(algorithm), expected, "{algorithm}");
        };
        let of_vector = ["T=2,W=1,S=1,B=64", "T=8,W=1,S=1,B=16", "T=4,W=1,S=1,B=64"];
        check(Algorithm::CsrVector, "T=4,W=1,S=1,B=32", &of_vector);
        // A lane for each row: only the size of a group matters.
        check(Algorithm::CsrScalar, "T=32,W=1,S=1,B=4", &["T=32,W=1,S=1,B=8"]);
        // A group is one bunch.
        let of_blocks = ["T=128,W=8,S=1,B=1", "T=512,W=8,S=1,B=1", "T=256,W=4,S=1,B=1", "T=256,W=16,S=1,B=1"];
        check(Algorithm::Ipcsr, "T=256,W=8,S=1,B=1", &of_blocks);
        let of_runs = [
            "T=2,W=3,S=1,B=64",
            "T=1,W=1,S=1,B=128",
            "T=1,W=2,S=1,B=128",
            "T=1,W=4,S=1,B=128",
            "T=1,W=3,S=1,B=256",
            "T=1,W=3,S=2,B=128",
        ];
        check(Algorithm::Sell, "T=1,W=3,S=1,B=128", &of_runs);
    }

    #[test]
    fn every_alternative_is_one_that_the_device_can_run() {
        for subgroup in [None, Some((8, 8)), Some((2, 32))] {
            for max_loop_steps in [None, Some(65_535)] {
                let (mut caps, stats, options) = (gpu(), stats(), Options::default());
                (caps.subgroup, caps.max_loop_steps, caps.max_group) = (subgroup, max_loop_steps, 256);
                let auto = plan(stats, Dtype::F64, &caps, None, &options).unwrap();
                let inputs = Inputs {
                    stats: &stats,
                    types: Types::of(Dtype::F64),
                    caps: &caps,
                    options: &options,
                    given: Given::Borrowed,
                };
                let others = algorithms(&inputs, &auto);
                assert!(others.len() > 1 && others.iter().all(|other| other.algorithm != auto.algorithm));
                for choice in others.iter().flat_map(|other| tilings(&inputs, other)).chain(others.clone()) {
                    let planned = plan(stats, Dtype::F64, &caps, None, &options.with_choice(choice));
                    assert_eq!(planned.unwrap().choice(), choice, "{caps:?}");
                }
            }
        }
    }
}
