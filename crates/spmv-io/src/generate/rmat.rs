//! R-MAT graphs: power laws of both degrees, and communities within communities.

use spmv_core::Csr;

use super::engine::distinct;
use super::random::{Draw, mix};
use super::{GenerateError, fill_rows};

/// Shares of a quarter's edges in its upper rows and lower ones: 0.57 + 0.19 and 0.19 + 0.05, as Graph 500 has them.
const UPPER: f64 = 0.76;
const LOWER: f64 = 0.24;
/// Of 65,536 edges of upper and of lower rows, those in left columns: 0.57 of 0.76, 0.19 of 0.24.
const LEFT_OF_UPPER: u64 = 49_152;
const LEFT_OF_LOWER: u64 = 51_883;

/// The adjacency matrix of an R-MAT graph with `2^scale` vertices and `edges` edges, none of them twice.
///
/// Rows have the out-degrees, columns the in-degrees: both follow the power law of Graph 500's parameters (0.57, 0.19, 0.19, 0.05), and
/// vertices are renumbered, as it asks. Two simplifications make rows independent. A vertex has its expected number of edges, rounded up
/// or down at random. An edge that a row already has is drawn again, at last anywhere. O(entries * (scale + log(longest row))), in
/// parallel. Chakrabarti, Zhan and Faloutsos 2004.
///
/// ```
/// use spmv_core::RowStats;
/// let a = spmv_io::generate::rmat(12, 40_000, 7)?;
/// let rows = RowStats::of(a.view());
/// assert!(rows.nnz.abs_diff(40_000) < 1_000 && rows.max > 50 * rows.nnz / rows.n_rows);
/// # Ok::<(), spmv_io::generate::GenerateError>(())
/// ```
///
/// # Errors
/// [`GenerateError::Parameter`] if `scale` is more than 31; [`GenerateError::TooManyEntries`].
pub fn rmat(scale: u32, edges: u64, seed: u64) -> Result<Csr<f64>, GenerateError> {
    if scale > 31 {
        return Err(GenerateError::Parameter { name: "scale", value: scale.into(), wanted: "at most 31" });
    }
    let n = 1u64 << scale;
    let numbering = Numbering::new(scale);
    let degrees = degrees(scale, edges);
    let mut rounding = Draw::new(seed, u64::MAX);
    let lens: Vec<u32> = (0..n)
        .map(|row| {
            let degree = degrees[numbering.vertex(row).count_ones() as usize];
            (degree + rounding.unit()).min(n as f64) as u32
        })
        .collect();
    fill_rows(&lens, n as usize, |row, cols, vals, scratch| {
        let vertex = numbering.vertex(row as u64);
        let mut draw = Draw::new(mix(seed), row as u64);
        scratch.clear();
        distinct(scratch, cols.len(), 0..n, 1, &mut draw, |draw| numbering.row(end(vertex, scale, draw)));
        cols.copy_from_slice(scratch);
        vals.fill_with(|| draw.value());
    })
}

/// Expected edges of a vertex by the number of ones among its bits: levels at which it is in the lower rows.
fn degrees(scale: u32, edges: u64) -> Vec<f64> {
    let degree = |ones: u32| {
        let upper = (ones..scale).fold(edges as f64, |edges, _| edges * UPPER);
        (0..ones).fold(upper, |edges, _| edges * LOWER)
    };
    (0..=scale).map(degree).collect()
}

/// The vertex to which an edge goes from `vertex`: one bit for each level, four from each draw.
fn end(vertex: u64, scale: u32, draw: &mut Draw) -> u64 {
    let (mut end, mut bits) = (0, 0);
    for level in 0..scale {
        if level % 4 == 0 {
            bits = draw.bits();
        }
        let left = if vertex >> level & 1 == 0 { LEFT_OF_UPPER } else { LEFT_OF_LOWER };
        end |= u64::from(bits & 0xffff >= left) << level;
        bits >>= 16;
    }
    end
}

/// A numbering of `2^scale` vertices in which neither hubs nor communities are neighbours. Each step is a bijection.
struct Numbering {
    mask: u64,
    /// At least half of the bits, so that the exclusive or with the shifted number is its own inverse.
    shift: u32,
}

const FACTORS: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9];
const INVERSES: [u64; 2] = [inverse(FACTORS[0]), inverse(FACTORS[1])];

impl Numbering {
    fn new(scale: u32) -> Self {
        Self { mask: (1 << scale) - 1, shift: scale.div_ceil(2).max(1) }
    }

    fn vertex(&self, row: u64) -> u64 {
        FACTORS.into_iter().fold(row, |x, factor| self.folded(x.wrapping_mul(factor) & self.mask))
    }

    fn row(&self, vertex: u64) -> u64 {
        INVERSES.into_iter().rev().fold(vertex, |x, inverse| self.folded(x).wrapping_mul(inverse) & self.mask)
    }

    fn folded(&self, x: u64) -> u64 {
        x ^ x >> self.shift
    }
}

/// Of an odd number, modulo 2^64: each of Newton's steps doubles the bits that are right, of which there are three at first.
const fn inverse(odd: u64) -> u64 {
    let mut x = odd;
    let mut step = 0;
    while step < 5 {
        x = x.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(x)));
        step += 1;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_vertex_has_one_row() {
        for scale in 0..12 {
            let numbering = Numbering::new(scale);
            let mut seen: Vec<u64> = (0..1 << scale).map(|row| numbering.vertex(row)).collect();
            assert!((0..1 << scale).all(|row| numbering.row(seen[row as usize]) == row), "scale {scale}");
            seen.sort_unstable();
            assert_eq!(seen, (0..1 << scale).collect::<Vec<_>>());
        }
    }

    #[test]
    fn rows_and_columns_follow_a_power_law_and_hubs_are_not_neighbours() {
        let a = rmat(14, 200_000, 3).unwrap();
        assert_eq!(a, rmat(14, 200_000, 3).unwrap());
        assert!(a.nnz().abs_diff(200_000) < 2_000, "{}", a.nnz());
        for a in [&a, &a.transpose()] {
            let mut lens: Vec<(u32, usize)> = a.row_ptr().windows(2).map(|w| w[1] - w[0]).zip(0..).collect();
            lens.sort_unstable_by(|a, b| b.cmp(a));
            let of_hubs: u32 = lens[..lens.len() / 100].iter().map(|(len, _)| len).sum();
            assert!(of_hubs as usize > a.nnz() / 5, "a hundredth of the vertices has {of_hubs} edges");
            let distance = lens[..20].windows(2).map(|w| w[0].1.abs_diff(w[1].1)).min();
            assert!(distance > Some(8), "{distance:?}");
        }
    }

    #[test]
    fn small_graphs_and_large_scales() {
        assert_eq!(rmat(0, 1, 1).unwrap().nnz(), 1);
        assert_eq!(rmat(3, 0, 1).unwrap().n_rows(), 8);
        assert!(rmat(3, 1_000, 1).unwrap().nnz() <= 64);
        assert_eq!(rmat(32, 1, 1).unwrap_err().to_string(), "scale is 32; it must be at most 31");
    }
}
