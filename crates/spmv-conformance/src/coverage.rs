//! How much of the suite runs: everything, or what covers it.

use std::sync::LazyLock;

use spmv_core::Dtype;

/// Alpha and beta to try: `y` unread, `y` kept, both scaled, and a sum that is only scaled.
pub const SCALINGS: [(f64, f64); 4] = [(1.0, 0.0), (1.0, 1.0), (-2.0, 3.0), (0.5, 0.0)];

/// Whether `SPMV_FULL` asks for the exhaustive suite; `cargo xtask test --full` sets it.
pub fn is_full() -> bool {
    static FULL: LazyLock<bool> = LazyLock::new(|| spmv_backend::env::set("SPMV_FULL").is_some());
    *FULL
}

/// What one trial takes of what it could try.
///
/// The full suite takes all of them in every trial. By default trials take turns: each takes a part, and the parts of
/// neighbouring trials differ. So every value type meets every scaling and every real matrix, but not in every tiling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    turn: Option<usize>,
}

/// Groups of fewer cases run each in every scaling.
const FEW: usize = 8;

impl Share {
    /// Everything in the full suite, else the part of this turn.
    pub fn of(turn: usize) -> Self {
        Self { turn: (!is_full()).then_some(turn) }
    }

    /// Everything.
    pub fn all() -> Self {
        Self { turn: None }
    }

    /// The share of a later turn.
    pub fn next(self, by: usize) -> Self {
        Self { turn: self.turn.map(|turn| turn + by) }
    }

    /// Every `n`-th of the items, from this turn's on; or all.
    ///
    /// ```
    /// # use spmv_conformance::Share;
    /// assert_eq!(Share::all().part(&[1, 2, 3, 4, 5], 2), [1, 2, 3, 4, 5]);
    /// ```
    pub fn part<T: Clone>(self, items: &[T], n: usize) -> Vec<T> {
        match self.turn {
            None => items.to_vec(),
            Some(turn) => items.iter().skip(turn % n).step_by(n).cloned().collect(),
        }
    }

    /// Alpha and beta for a case of a group: one pair of [`SCALINGS`], or all in small groups and in the full suite.
    ///
    /// Cases that follow each other get different pairs, and so do cases four apart, so that no pattern of a group
    /// always meets the same one.
    pub fn scalings(self, case: usize, n_cases: usize) -> &'static [(f64, f64)] {
        match self.turn {
            Some(turn) if n_cases >= FEW => {
                let at = (turn + case + case / SCALINGS.len()) % SCALINGS.len();
                &SCALINGS[at..=at]
            }
            _ => &SCALINGS,
        }
    }

    /// How many random matrices of so many: a tenth, five at least.
    pub(crate) fn random(self, all: u32) -> u32 {
        if self.turn.is_some() { (all / 10).clamp(5.min(all), all) } else { all }
    }

    /// The value types to try of those that the device can do: all, or the first from this turn's on.
    pub(crate) fn dtypes(self, can: impl Fn(Dtype) -> bool) -> Vec<Dtype> {
        match self.turn {
            None => Dtype::ALL.to_vec(),
            Some(turn) => {
                let from = |i| Dtype::ALL[(turn + i) % Dtype::ALL.len()];
                let first = (0..Dtype::ALL.len()).map(from).find(|dtype| can(*dtype));
                // Where it can do none, one trial says why.
                vec![first.unwrap_or(from(0))]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURNS: std::ops::Range<usize> = 0..4;

    fn turn(turn: usize) -> Share {
        Share { turn: Some(turn) }
    }

    #[test]
    fn four_turns_take_every_item_once() {
        let mut taken: Vec<u32> = TURNS.flat_map(|t| turn(t).part(&[1, 2, 3, 4, 5, 6, 7], 4)).collect();
        taken.sort_unstable();
        assert_eq!(taken, [1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn every_pattern_of_four_meets_every_scaling() {
        for pattern in 0..4 {
            let met: Vec<_> = (0..4).map(|round| turn(0).scalings(pattern + 4 * round, 16)[0]).collect();
            assert!(SCALINGS.iter().all(|scaling| met.contains(scaling)), "{met:?}");
        }
        assert_eq!(turn(1).scalings(0, FEW - 1), SCALINGS);
        assert_eq!(Share::all().scalings(0, 100), SCALINGS);
    }

    #[test]
    fn a_type_that_the_device_lacks_is_passed_over() {
        let no_f64 = |dtype| dtype != Dtype::F64;
        for t in TURNS {
            assert!(no_f64(turn(t).dtypes(no_f64)[0]));
        }
        assert_eq!(turn(0).dtypes(|_| false).len(), 1);
        assert_eq!(Share::all().dtypes(|_| false), Dtype::ALL);
    }
}
