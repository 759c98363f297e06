//! The matrix of the examples.

use std::ops::Range;

use spmv_partition::{LocalRows, Ranges};

/// Points of a cube, numbered box by box, and along x, then y, then z within each: a process that owns a box has the fewest neighbours
/// in other processes.
pub(crate) struct Cube {
    side: u64,
    /// Of x, y and z: where a box begins, and after the last one where the cube ends.
    cuts: [Vec<u64>; 3],
}

impl Cube {
    /// Of all ways to cut a cube into so many boxes, one with the fewest cuts.
    pub(crate) fn boxes(side: u64, n: usize) -> Self {
        let n = n as u64;
        let divisors = |n: u64| (1..=n).filter(move |d| n.is_multiple_of(*d));
        let ways = divisors(n).flat_map(|x| divisors(n / x).map(move |y| [x, y, n / x / y]));
        let boxes = ways.min_by_key(|way| way.iter().sum::<u64>()).expect("1 divides n");
        Self { side, cuts: boxes.map(|n| (0..=n).map(|at| side * at / n).collect()) }
    }

    /// Of each process, its box.
    pub(crate) fn ranges(&self) -> spmv_partition::Result<Ranges> {
        let mut offsets = vec![0];
        let [x, y, z] = self.cuts.each_ref().map(|cuts| cuts.windows(2).map(|ends| ends[1] - ends[0]));
        for (z, y, x) in z
            .flat_map(|z| y.clone().map(move |y| (z, y)))
            .flat_map(|(z, y)| x.clone().map(move |x| (z, y, x)))
        {
            offsets.push(offsets[offsets.len() - 1] + x * y * z);
        }
        Ranges::new(offsets)
    }

    /// Rows of the seven-point stencil: 6 in the diagonal, -1 for each neighbour.
    pub(crate) fn rows(&self, own: Range<u64>) -> spmv_partition::Result<LocalRows<f64>> {
        let (mut row_ptr, mut cols, mut vals) = (vec![0], vec![], vec![]);
        for number in own {
            let point = self.point(number);
            let mut row = vec![(number, 6.0)];
            for axis in 0..3 {
                let moved = |to| self.number(std::array::from_fn(|a| if a == axis { to } else { point[a] }));
                row.extend(point[axis].checked_sub(1).map(|below| (moved(below), -1.0)));
                row.extend(
                    Some(point[axis] + 1)
                        .filter(|above| *above < self.side)
                        .map(|above| (moved(above), -1.0)),
                );
            }
            row.sort_by_key(|(col, _)| *col);
            cols.extend(row.iter().map(|(col, _)| col));
            vals.extend(row.iter().map(|(_, val)| val));
            row_ptr.push(cols.len() as u64);
        }
        LocalRows::new(self.side.pow(3), row_ptr, cols, vals)
    }

    /// On an axis, the last box whose begin is not after what is looked for.
    fn extent(&self, axis: usize, is_after: impl Fn(u64) -> bool) -> Range<u64> {
        let cuts = &self.cuts[axis];
        let at = cuts[1..cuts.len() - 1].partition_point(|cut| !is_after(*cut));
        cuts[at]..cuts[at + 1]
    }

    fn number(&self, [x, y, z]: [u64; 3]) -> u64 {
        let [of_x, of_y, of_z] = [(0, x), (1, y), (2, z)].map(|(axis, at)| self.extent(axis, |cut| cut > at));
        let [width, depth, height] = [&of_x, &of_y, &of_z].map(|of| of.end - of.start);
        let before =
            of_z.start * self.side.pow(2) + of_y.start * self.side * height + of_x.start * depth * height;
        before + ((z - of_z.start) * depth + y - of_y.start) * width + x - of_x.start
    }

    fn point(&self, number: u64) -> [u64; 3] {
        let layer = self.side.pow(2);
        let of_z = self.extent(2, |cut| cut * layer > number);
        let (rest, height) = (number - of_z.start * layer, of_z.end - of_z.start);
        let of_y = self.extent(1, |cut| cut * self.side * height > rest);
        let (rest, depth) = (rest - of_y.start * self.side * height, of_y.end - of_y.start);
        let of_x = self.extent(0, |cut| cut * depth * height > rest);
        let (rest, width) = (rest - of_x.start * depth * height, of_x.end - of_x.start);
        [of_x.start + rest % width, of_y.start + rest / width % depth, of_z.start + rest / width / depth]
    }
}
