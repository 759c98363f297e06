//! Algorithm 1 of the paper: entries move from the slower one to the faster.

use spmv_core::regular::distance;
use spmv_core::{CsrView, Offset, Value};

use crate::split::Regular;

/// Imbalance at which the search is over.
const EPSILON: f64 = 0.05;
/// Most steps, and steps in a row that may fail to help.
const MOST_STEPS: usize = 10;
const MOST_WORSE: usize = 2;
/// Levels of rows.
const ROW_LEVELS: usize = 1024;

/// Widths of a regular part, or rows, and how many entries the device has with each.
#[derive(Debug)]
pub(crate) struct Axis {
    /// (width or rows, entries), both increasing.
    levels: Vec<(usize, usize)>,
    all: usize,
}

/// Where a search ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Found {
    /// The width or rows with which device and host are done first.
    pub(crate) best: usize,
    /// The largest tried with which the device is done no later than the cores.
    pub(crate) idle_device: Option<usize>,
}

impl Axis {
    /// Of a kind of regular part. O(entries log entries).
    pub(crate) fn of_widths<T: Value, O: Offset>(a: CsrView<'_, T, O>, kind: Regular) -> Self {
        let width_of = |row: usize, slot: usize, col: u32| match kind {
            Regular::Diagonals { .. } => distance(row, col),
            _ => slot + 1,
        };
        let of_row = |row| a.row(row).enumerate().map(move |(slot, (col, _))| width_of(row, slot, col));
        let mut widths: Vec<usize> = (0..a.n_rows()).flat_map(of_row).collect();
        widths.sort_unstable();
        let mut entries = 0;
        let level = |run: &[usize]| {
            entries += run.len();
            (run[0], entries)
        };
        let levels = widths.chunk_by(|a, b| a == b).map(level).collect();
        Self { levels, all: a.nnz() }
    }

    /// Of the first rows, from none to all. `before` entries the device has in any case. O(rows).
    pub(crate) fn of_rows<T: Value, O: Offset>(a: CsrView<'_, T, O>, before: usize) -> Self {
        let step = a.nnz().div_ceil(ROW_LEVELS).max(1);
        let mut levels = vec![(0, before)];
        for rows in 1..=a.n_rows() {
            let entries = before + a.row_ptr()[rows].to_usize();
            let had = levels[levels.len() - 1].1;
            if entries - had >= step || rows == a.n_rows() {
                levels.push((rows, entries));
            }
        }
        Self { levels, all: before + a.nnz() }
    }

    /// The level with the nearest number of entries.
    fn nearest(&self, entries: f64) -> usize {
        let above = self.levels.partition_point(|(_, has)| (*has as f64) < entries);
        let off = |at: usize| (self.levels[at].1 as f64 - entries).abs();
        match above {
            0 => 0,
            at if at == self.levels.len() => at - 1,
            at => {
                if off(at - 1) < off(at) {
                    at - 1
                } else {
                    at
                }
            }
        }
    }

    /// Moves entries until device and host take as long as each other, moving stops helping, or there were ten steps. `times` are those
    /// of the device and of the cores with a width or rows; `None` ends the search with what was found. `None` without levels.
    ///
    /// What is to move is proportional to the difference: as much as would end it if device and host kept their entries a
    /// second. It never moves past a level that was found to be too far.
    pub(crate) fn balance<E>(
        &self,
        start: usize,
        mut times: impl FnMut(usize) -> Result<Option<[f64; 2]>, E>,
    ) -> Result<Option<Found>, E> {
        let past = self.levels.len();
        if past == 0 {
            return Ok(None);
        }
        let mut at = self.levels.partition_point(|(value, _)| *value < start).min(past - 1);
        // Levels known to leave the device idle, and the cores.
        let (mut from, mut to, mut idle) = (0, past, None);
        let (mut best, mut least, mut worse) = (at, f64::INFINITY, 0);
        for _ in 0..MOST_STEPS {
            let (value, entries) = self.levels[at];
            let Some([device, cores]) = times(value)? else { break };
            let longer = device.max(cores);
            if longer < least {
                (best, least, worse) = (at, longer, 0);
            } else if longer.is_finite() {
                worse += 1;
            }
            if device <= cores {
                from = from.max(at + 1);
                idle = idle.max(Some(value));
            } else {
                to = to.min(at);
            }
            let is_even = longer.is_finite() && (device - cores).abs() <= EPSILON * longer;
            if is_even || worse > MOST_WORSE || from >= to {
                break;
            }
            let (has, left) = (entries as f64, (self.all - entries) as f64);
            let wanted = match has > 0.0 && left > 0.0 && device > 0.0 && cores > 0.0 {
                // Half of what it cannot do.
                _ if device.is_infinite() => has / 2.0,
                true => self.all as f64 * (has / device) / (has / device + left / cores),
                // One without entries has no speed yet.
                false if device < cores => has + left * (cores - device) / (2.0 * cores),
                false => has - has * (device - cores) / (2.0 * device),
            };
            at = self.nearest(wanted).clamp(from, to - 1);
        }
        Ok(Some(Found { best: self.levels[best].0, idle_device: idle }))
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;
    use spmv_core::Csr;

    use super::*;

    /// Rows of as many entries as given, in columns from 0.
    fn of_lengths(lens: &[usize]) -> Csr<f32> {
        let n_cols = lens.iter().copied().max().unwrap_or(0).max(1);
        Csr::from_rows(n_cols, lens.iter().map(|len| (0..*len as u32).map(|c| (c, 1.0)))).unwrap()
    }

    #[test]
    fn levels_of_widths_and_rows_count_entries() {
        let a = of_lengths(&[1, 3, 0, 2]);
        let slots = Axis::of_widths(a.view(), Regular::Slots { width: 1 });
        assert_eq!(slots.levels, [(1, 3), (2, 5), (3, 6)]);
        // Columns minus rows: 0; -1 0 1; -3 -2.
        let diagonals = Axis::of_widths(a.view(), Regular::Diagonals { half_width: 0 });
        assert_eq!(diagonals.levels, [(0, 2), (1, 4), (2, 5), (3, 6)]);
        let rows = Axis::of_rows(a.view(), 10);
        assert_eq!((rows.levels, rows.all), (vec![(0, 10), (1, 11), (2, 14), (4, 16)], 16));
        let none = Axis::of_widths(of_lengths(&[]).view(), Regular::Slots { width: 1 });
        assert_eq!(none.balance(0, |_| Ok::<_, Infallible>(Some([1.0, 1.0]))), Ok(None));
    }

    /// Seconds of one with a start-up time.
    fn seconds(entries: usize, start: f64, of_an_entry: f64) -> f64 {
        if entries == 0 { 0.0 } else { start + of_an_entry * entries as f64 }
    }

    #[test]
    fn a_fast_and_a_slow_one_end_up_balanced() {
        let a = of_lengths(&vec![10; 3000]);
        let axis = Axis::of_rows(a.view(), 0);
        let speeds = [(1e-5, 1e-9, 0.0, 1e-9), (0.0, 1e-10, 2e-6, 1e-9), (3e-6, 5e-9, 1e-6, 2e-9)];
        for ((start_d, per_d, start_c, per_c), start) in
            speeds.iter().flat_map(|speeds| [0, 100, 1500, 3000].map(|start| (*speeds, start)))
        {
            let times = |rows: usize| {
                [seconds(10 * rows, start_d, per_d), seconds(30_000 - 10 * rows, start_c, per_c)]
            };
            let longer = |rows: usize| times(rows)[0].max(times(rows)[1]);
            let mut steps = 0;
            let count = |rows: usize| {
                steps += 1;
                Ok::<_, Infallible>(Some(times(rows)))
            };
            let found = axis.balance(start, count).unwrap().unwrap();
            let least = (0..=3000).map(longer).fold(f64::INFINITY, f64::min);
            assert!(steps <= MOST_STEPS && longer(found.best) < 1.05 * least, "{start}: {least} {found:?}");
        }
    }

    #[test]
    fn what_the_device_cannot_hold_moves_away_from_it() {
        let a = of_lengths(&vec![10; 1000]);
        let times = |rows: usize| {
            let device = if rows > 90 { f64::INFINITY } else { seconds(10 * rows, 0.0, 1e-9) };
            let cores = if rows > 90 { 0.0 } else { seconds(10_000 - 10 * rows, 0.0, 1e-9) };
            Ok::<_, Infallible>(Some([device, cores]))
        };
        let found = Axis::of_rows(a.view(), 0).balance(800, times).unwrap().unwrap();
        assert!((40..=90).contains(&found.best), "{found:?}");
    }

    #[test]
    fn without_further_times_the_best_so_far_is_found() {
        let axis = Axis::of_rows(of_lengths(&vec![10; 1000]).view(), 0);
        for n_times in 0..3 {
            let mut tried = Vec::new();
            let found = axis.balance(800, |rows| {
                let is_known = tried.len() < n_times;
                tried.push(rows);
                let times = [seconds(10 * rows, 5e-6, 1e-8), seconds(10_000 - 10 * rows, 0.0, 1e-9)];
                Ok::<_, Infallible>(is_known.then_some(times))
            });
            assert_eq!(tried.len(), n_times + 1);
            assert_eq!(found.unwrap().unwrap().best, tried[n_times.saturating_sub(1)], "{tried:?}");
        }
    }

    proptest! {
        #[test]
        fn any_times_end_and_the_best_was_tried(
            lens in prop::collection::vec(0usize..30, 0..200),
            start in 0usize..300,
            times in prop::collection::vec((0.0..1.0f64, 0.0..1.0f64), MOST_STEPS),
        ) {
            let axis = Axis::of_rows(of_lengths(&lens).view(), 3);
            let mut tried = Vec::new();
            let found = axis.balance(start, |rows| {
                let (d, c) = times[tried.len()];
                tried.push((rows, d.max(c)));
                Ok::<_, Infallible>(Some([d, c]))
            });
            let found = found.unwrap().unwrap();
            let least = tried.iter().map(|t| t.1).fold(f64::INFINITY, f64::min);
            prop_assert!(tried.contains(&(found.best, least)), "{tried:?} {found:?}");
            prop_assert!(tried.iter().all(|(rows, _)| *rows <= lens.len()));
            // No split is tried twice.
            let mut rows: Vec<_> = tried.iter().map(|t| t.0).collect();
            rows.sort_unstable();
            rows.dedup();
            prop_assert_eq!(rows.len(), tried.len());
        }
    }
}
