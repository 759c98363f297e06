//! How much of `x` consecutive entries read.

/// Columns of a line: 32 bytes of `f32`, 64 of `f64`.
const LINE: usize = 8;
/// Entries that are read, at most, and points at which lines are counted.
const ENTRIES: usize = 1 << 21;
const POINTS: usize = 16;
/// Columns below which nothing is counted: caches hold an `x` of so many.
const FEW: usize = 1 << 20;

/// The lines of eight columns that consecutive entries from the middle of a matrix touch, as a function of how many entries there are: its
/// slope is the part of the gathers that miss a cache of that many lines (Xiang et al. 2011, "All-window profiling and composable models of
/// cache sharing").
///
/// ```
/// use spmv_core::Footprint;
/// // An entry in each sixth line, and four in each column.
/// let far: Vec<u32> = (0..1 << 21).map(|i| 48 * i % 100_000_007).collect();
/// let near: Vec<u32> = (0..1 << 21).map(|i| i / 4).collect();
/// let misses = |cols: &[u32]| Footprint::of(cols, 100_000_007).map(|lines| lines.misses(1 << 20));
/// assert!(misses(&far) > Some(0.9) && misses(&near) < Some(0.05));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Footprint {
    /// Lines after so many times `of_a_point` entries.
    lines: [u32; POINTS],
    of_a_point: usize,
    n_lines: usize,
}

impl Footprint {
    /// Bytes of a line for values of so many bytes.
    pub fn line_bytes(of_value: usize) -> usize {
        LINE * of_value
    }

    /// Of two million entries at most, and a bit of scratch for each line; `None` for less than a million columns, and without entries.
    pub fn of(cols: &[u32], n_cols: usize) -> Option<Self> {
        let of_a_point = cols.len().min(ENTRIES) / POINTS;
        if n_cols < FEW || of_a_point == 0 {
            return None;
        }
        let n_lines = n_cols.div_ceil(LINE);
        let (mut met, mut n_met, mut lines) = (vec![0u64; n_lines.div_ceil(64)], 0, [0; POINTS]);
        let sampled = &cols[(cols.len() - POINTS * of_a_point) / 2..];
        for (cols, lines) in sampled.chunks_exact(of_a_point).zip(&mut lines) {
            for col in cols {
                let line = *col as usize / LINE;
                let (word, bit) = (&mut met[line / 64], 1 << (line % 64));
                n_met += u32::from(*word & bit == 0);
                *word |= bit;
            }
            *lines = n_met;
        }
        Some(Self { lines, of_a_point, n_lines })
    }

    /// The part of the gathers that miss a cache of so many lines, with the lines that it reads for the first time, as long as the entries
    /// that were read fill it; else the part of the last of them that touched a new line. O(1).
    pub fn misses(&self, n_held: usize) -> f64 {
        if n_held >= self.n_lines {
            return 0.0;
        }
        let full = self.lines.iter().position(|lines| *lines as usize >= n_held).unwrap_or(POINTS - 1);
        let before = if full > 0 { self.lines[full - 1] } else { 0 };
        f64::from(self.lines[full] - before) / self.of_a_point as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_missed() {
        let n_cols = 8 << 20;
        // Every line in turn, by its first column: half of them fit no cache that holds the half read before.
        let strided: Vec<u32> = (0..1 << 21).map(|i: u32| (i << 3) % n_cols).collect();
        let lines = Footprint::of(&strided, n_cols as usize).unwrap();
        assert_eq!(lines.misses(1 << 19), 1.0);
        assert_eq!(lines.misses(1 << 20), 0.0, "all lines fit");
        assert_eq!(Footprint::of(&strided, FEW - 1), None);
        assert_eq!(Footprint::of(&strided[..POINTS - 1], n_cols as usize), None);
    }

    #[test]
    fn random_columns_miss_what_the_cache_does_not_hold() {
        let n_cols = 1 << 22;
        let mut state = 1u64;
        let random = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 42) as u32 % n_cols
        });
        let cols: Vec<u32> = random.take(ENTRIES).collect();
        let lines = Footprint::of(&cols, n_cols as usize).unwrap();
        for eighths in [2, 4, 6] {
            let misses = lines.misses(eighths * (n_cols as usize / LINE) / 8);
            assert!((misses - (1.0 - eighths as f64 / 8.0)).abs() < 0.1, "{eighths}: {misses}");
        }
    }
}
