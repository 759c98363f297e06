//! Parts of a 3-D Poisson problem, without its matrix.

use crate::traffic::{PartTraffic, Traffic};

/// What parts of the 7-point Laplacian hold and exchange, where each owns a box of `points` and the boxes form a `grid`.
///
/// Counted by formula, so a problem may exceed any memory. A grid of `[1, 1, parts]` is of slabs, as contiguous ranges of rows are
/// when points are numbered along the first axis first. Boxes need rows in another order. Boundary points have fewer nonzeros.
/// O(parts).
///
/// ```
/// use spmv_partition::poisson_3d;
/// let slabs = poisson_3d([10, 10, 10], [1, 1, 8], 8);
/// let boxes = poisson_3d([10, 10, 10], [2, 2, 2], 8);
/// // A slab between two others needs a face of each; a box at a corner a face along each axis.
/// assert_eq!((slabs.parts()[1].ghosts, boxes.parts()[1].ghosts), (200, 300));
/// assert_eq!((slabs.max_neighbours(), boxes.max_neighbours()), (2, 3));
/// ```
pub fn poisson_3d(points: [u64; 3], grid: [u64; 3], value_bytes: u64) -> Traffic {
    let rows: u64 = points.iter().product();
    let areas = [points[1] * points[2], points[0] * points[2], points[0] * points[1]];
    let part = |at: [u64; 3]| {
        // Other parts before and after this one, along each axis.
        let faces: [u64; 3] =
            std::array::from_fn(|axis| u64::from(at[axis] > 0) + u64::from(at[axis] + 1 < grid[axis]));
        let ghosts = (0..3).map(|axis| faces[axis] * areas[axis]).sum();
        let inner: u64 = (0..3).map(|axis| points[axis].saturating_sub(faces[axis])).product();
        let missing: u64 = (0..3).map(|axis| (2 - faces[axis]) * areas[axis]).sum();
        PartTraffic {
            rows,
            boundary_rows: rows - inner,
            nonzeros: 7 * rows - missing,
            remote_nonzeros: ghosts,
            ghosts,
            sent: ghosts,
            neighbours: faces.iter().sum(),
            value_bytes,
        }
    };
    let parts = (0..grid[2])
        .flat_map(|k| (0..grid[1]).flat_map(move |j| (0..grid[0]).map(move |i| [i, j, k])))
        .map(part)
        .collect();
    Traffic::new(parts)
}

/// Three numbers, ascending, whose product is `parts` and whose sum is least: a grid of boxes with small faces. O(parts).
///
/// ```
/// use spmv_partition::near_cube;
/// assert_eq!([near_cube(64), near_cube(12), near_cube(7)], [[4, 4, 4], [2, 2, 3], [1, 1, 7]]);
/// ```
pub fn near_cube(parts: u64) -> [u64; 3] {
    let divisors = |n: u64| (1..).take_while(move |d| d * d <= n).filter(move |d| n.is_multiple_of(*d));
    let grids = divisors(parts).flat_map(|a| {
        let rest = parts / a;
        divisors(rest).map(move |b| [a, b, rest / b])
    });
    let mut grid = grids.min_by_key(|grid| grid.iter().sum::<u64>()).unwrap_or([1, 1, parts]);
    grid.sort_unstable();
    grid
}

#[cfg(test)]
mod tests {
    use spmv_core::Csr;

    use super::*;
    use crate::{Permutation, Ranges, cut, permute};

    /// The Laplacian of a grid of points, numbered along the first axis first.
    fn laplacian([nx, ny, nz]: [u64; 3]) -> Csr<f64> {
        let n = [nx, ny, nz];
        let at = |p: [u64; 3]| (p[0] + nx * (p[1] + ny * p[2])) as u32;
        let mut entries = Vec::new();
        for row in 0..nx * ny * nz {
            let point = [row % nx, row / nx % ny, row / nx / ny];
            entries.push((row as u32, row as u32, 6.0));
            for axis in 0..3 {
                for step in [-1, 1] {
                    let Some(next) = point[axis].checked_add_signed(step).filter(|next| *next < n[axis])
                    else {
                        continue;
                    };
                    let mut other = point;
                    other[axis] = next;
                    entries.push((row as u32, at(other), -1.0));
                }
            }
        }
        let rows = (nx * ny * nz) as usize;
        Csr::from_coo(rows, rows, &entries).unwrap()
    }

    /// Counts by formula are those of parts that were made.
    fn check(points: [u64; 3], grid: [u64; 3]) {
        let n: [u64; 3] = std::array::from_fn(|axis| points[axis] * grid[axis]);
        let a = laplacian(n);
        let part_of = |row: u64| {
            let point = [row % n[0], row / n[0] % n[1], row / n[0] / n[1]];
            let at: [u64; 3] = std::array::from_fn(|axis| point[axis] / points[axis]);
            at[0] + grid[0] * (at[1] + grid[1] * at[2])
        };
        let mut order: Vec<u32> = (0..a.n_rows() as u32).collect();
        order.sort_by_key(|row| part_of(u64::from(*row)));
        let by_boxes = permute(a.view(), &Permutation::new(order).unwrap()).unwrap();
        let ranges = Ranges::even(a.n_rows() as u64, grid.iter().product::<u64>() as usize);
        let made = Traffic::of(&cut(by_boxes.view(), &ranges, &ranges).unwrap());
        assert_eq!(made, poisson_3d(points, grid, 8), "{points:?} on {grid:?}");
    }

    #[test]
    fn formulas_count_what_real_parts_hold_and_exchange() {
        check([3, 3, 3], [1, 1, 4]);
        check([3, 3, 3], [2, 2, 2]);
        check([4, 2, 3], [3, 1, 2]);
        check([2, 2, 2], [1, 1, 1]);
        check([1, 3, 2], [3, 2, 1]);
    }

    #[test]
    fn slabs_are_what_contiguous_ranges_of_rows_make() {
        let a = laplacian([4, 4, 12]);
        let ranges = Ranges::even(a.n_rows() as u64, 3);
        let made = Traffic::of(&cut(a.view(), &ranges, &ranges).unwrap());
        assert_eq!(made, poisson_3d([4, 4, 4], [1, 1, 3], 8));
    }

    #[test]
    fn grids_have_as_many_boxes_as_there_are_parts() {
        for parts in 1..200 {
            assert_eq!(near_cube(parts).iter().product::<u64>(), parts);
        }
        assert_eq!(near_cube(4096), [16, 16, 16]);
    }
}
