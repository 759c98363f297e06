//! Which suites a run takes, and up to which size.

use spmv_io::{classes, suite};

use crate::memory;

/// `--suite`, and how far it goes.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct SuiteArgs {
    /// A suite of matrices. `twins`, also without a name: the 20 of Liu & Vinter's Table 3; 17 of them are twins. `classes`: 18 kinds of
    /// generated matrices, streaming and irregular, each of 1e5, 1e6, 1e7 and 1e8 nonzeros and three of 1e9. `all`: both.
    #[arg(long, value_name = "SUITE", num_args = 0..=1, default_missing_value = "twins")]
    pub(crate) suite: Option<Suite>,
    /// Leaves out matrices of suites with more nonzeros than this, such as 1e8. Without it classes end at 1e7, of which 24 GB of
    /// memory hold two hundred copies. Classes for which there is no memory are left out too.
    #[arg(long, value_name = "NNZ", value_parser = count, requires = "suite")]
    pub(crate) max_nnz: Option<u64>,
}

/// A suite by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Suite {
    Twins,
    Classes,
    All,
}

/// Most nonzeros of the classes, unless others are asked for.
const MAX_NNZ: u64 = 10_000_000;

/// Bytes a nonzero while a matrix is measured: as it was generated, in the measured precision, and as a device of the host's memory
/// holds it.
const BYTES_A_NONZERO: u64 = 40;

/// Matrices to take, and a sentence on those that are left out.
pub(super) struct Taken {
    pub(super) twins: Vec<&'static suite::Entry>,
    pub(super) classes: Vec<&'static classes::Entry>,
    pub(super) left_out: Vec<String>,
}

impl SuiteArgs {
    pub(super) fn taken(&self) -> Taken {
        self.taken_with(memory::free_bytes().unwrap_or(u64::MAX))
    }

    fn taken_with(&self, free_bytes: u64) -> Taken {
        let takes = |suite| [Some(suite), Some(Suite::All)].contains(&self.suite);
        let twins = suite::ENTRIES.iter().filter(|_| takes(Suite::Twins));
        let classes = classes::ENTRIES.iter().filter(|_| takes(Suite::Classes));
        let is_small = |nnz: usize, most: u64| nnz as u64 <= most;
        let (twins, large_twins): (Vec<_>, Vec<_>) =
            twins.partition(|entry| is_small(entry.nnz, self.max_nnz.unwrap_or(u64::MAX)));
        let most = self.max_nnz.unwrap_or(MAX_NNZ);
        let (small, large): (Vec<&classes::Entry>, Vec<_>) =
            classes.partition(|entry| is_small(entry.nnz, most));
        let (classes, too_large): (Vec<_>, Vec<&classes::Entry>) =
            small.into_iter().partition(|entry| entry.nnz as u64 * BYTES_A_NONZERO <= free_bytes);

        let mut left_out = Vec::new();
        let n = large.len() + large_twins.len();
        if n > 0 {
            let most = if large.is_empty() { self.max_nnz.unwrap_or(most) } else { most };
            left_out.push(format!(
                "{n} matrices of the suite have more than {most} nonzeros and are left out; --max-nnz takes larger ones"
            ));
        }
        left_out.extend(too_large.iter().map(|entry| {
            let gb = |bytes: u64| bytes as f64 / 1e9;
            let (needed, free) = (gb(entry.nnz as u64 * BYTES_A_NONZERO), gb(free_bytes));
            format!(
                "{} is left out: it takes {needed:.0} GB of memory, and {free:.0} GB are free",
                entry.name
            )
        }));
        Taken { twins, classes, left_out }
    }
}

/// A number of nonzeros: `20000000`, `2e7`.
fn count(text: &str) -> Result<u64, String> {
    let number: f64 = text.parse().map_err(|_| format!("{text} is not a number such as 1e8"))?;
    if number >= 1.0 && number < 2f64.powi(53) && number.fract() == 0.0 {
        Ok(number as u64)
    } else {
        Err(format!("{text} is no number of nonzeros; it must be whole and at least 1"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of twins and classes, and sentences on the others.
    fn taken(suite: Option<Suite>, max_nnz: Option<u64>, free_bytes: u64) -> (usize, usize, Vec<String>) {
        let taken = SuiteArgs { suite, max_nnz }.taken_with(free_bytes);
        (taken.twins.len(), taken.classes.len(), taken.left_out)
    }

    #[test]
    fn each_suite_is_taken_by_its_name() {
        assert_eq!(taken(None, None, u64::MAX), (0, 0, vec![]));
        assert_eq!(taken(Some(Suite::Twins), None, 0), (20, 0, vec![]));
        let (twins, classes, left_out) = taken(Some(Suite::Classes), None, u64::MAX);
        assert_eq!((twins, classes), (0, 54));
        assert_eq!(
            left_out,
            [
                "21 matrices of the suite have more than 10000000 nonzeros and are left out; --max-nnz takes larger ones"
            ]
        );
        assert_eq!(taken(Some(Suite::All), Some(1_000_000_000), u64::MAX), (20, 75, vec![]));
    }

    #[test]
    fn an_explicit_limit_is_for_twins_too() {
        let (twins, classes, left_out) = taken(Some(Suite::All), Some(5_000_000), u64::MAX);
        assert!((1..20).contains(&twins), "{twins}");
        assert_eq!(classes, 36);
        let n = 20 - twins + 75 - classes;
        assert!(left_out[0].starts_with(&format!("{n} matrices of the suite have more than 5000000 ")));
    }

    #[test]
    fn what_memory_does_not_hold_is_left_out_by_name() {
        let (_, classes, left_out) = taken(Some(Suite::Classes), Some(1_000_000_000), 23_000_000_000);
        assert_eq!((classes, left_out.len()), (72, 3));
        assert_eq!(left_out[0], "stencil7-1e9 is left out: it takes 40 GB of memory, and 23 GB are free");
    }

    #[test]
    fn numbers_of_nonzeros_have_an_exponent_or_not() {
        assert_eq!(
            ["1e8", "20000000", "2.5e7"].map(count),
            [Ok(100_000_000), Ok(20_000_000), Ok(25_000_000)]
        );
        for wrong in ["", "many", "0", "-1", "0.5", "1e300", "nan"] {
            assert!(count(wrong).is_err(), "{wrong}");
        }
    }
}
