//! What Tan et al. 2019 state of patterns and of co-execution.

use std::sync::LazyLock;

use spmv::hetero::Pattern;

use crate::papers::numbers::Numbers;

/// Text of the data file.
pub(crate) const DATA: &str = include_str!("../../papers/tan-2019.toml");

static NUMBERS: LazyLock<Numbers> = LazyLock::new(|| Numbers::of(DATA));

/// The patterns that the paper has, by its names.
pub(crate) const PATTERNS: [(Pattern, &str); 2] =
    [(Pattern::QuasiDiagonal, "quasi-diagonal"), (Pattern::Tetris, "Tetris")];

/// # Panics
/// If the data file has no such number; a test asks for each.
fn number(what: &str) -> f64 {
    let found = NUMBERS.all().iter().find(|number| number.what == what);
    found.unwrap_or_else(|| panic!("tan-2019.toml: {what}")).value
}

/// Share of a pattern in the SuiteSparse collection, in percent (section 3.1).
pub(crate) fn share(name: &str) -> f64 {
    number(&format!("{name}, share of the SuiteSparse collection"))
}

/// Mean speed-up over the device alone, before and after the cooperative step (section 4.2, figures 8 and 9).
pub(crate) fn speed_ups(name: &str) -> [f64; 2] {
    ["before", "after"]
        .map(|step| number(&format!("{name} over GPU alone, {step} the cooperative step, mean")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_that_is_asked_for_is_in_the_file() {
        for (pattern, name) in PATTERNS {
            let ([before, after], share) = (speed_ups(name), share(name));
            assert!(1.0 < before && before < after && share < 50.0, "{pattern}");
        }
    }
}
