//! The small least squares problem of GMRES, on the host.

use num_traits::{Float, Zero};
use spmv::Number;

/// The upper Hessenberg matrix H of a cycle as rotations make it triangular, and what they make of `norm*e_1`.
#[derive(Debug)]
pub(crate) struct Hessenberg<A> {
    /// Columns of the triangle.
    columns: Vec<Vec<A>>,
    /// Cosine and sine of each rotation; the sine is real.
    rotations: Vec<(A, A)>,
    /// One number more than columns: the last is the residual.
    right: Vec<A>,
    /// No further direction was found: later columns mean nothing.
    is_closed: bool,
    is_singular: bool,
}

impl<A: Number> Hessenberg<A> {
    /// Without columns, for a residual of this norm.
    pub(crate) fn new(norm: A::Part) -> Self {
        Self {
            columns: vec![],
            rotations: vec![],
            right: vec![A::from_re(norm)],
            is_closed: false,
            is_singular: false,
        }
    }

    /// Adds a column: as many products as there are columns now, that of the new direction with itself, and the norm of what is left.
    pub(crate) fn push(&mut self, column: &[A]) {
        let n = self.columns.len();
        if self.is_closed || self.is_singular {
            return;
        }
        let (mut column, below) = (column[..=n].to_vec(), column[n + 1].re());
        for (i, (cos, sin)) in self.rotations.iter().copied().enumerate() {
            let (a, b) = (column[i], column[i + 1]);
            column[i] = cos.conj() * a + sin * b;
            column[i + 1] = cos * b - sin * a;
        }
        let length = column[n].modulus().hypot(below);
        let norm = column.iter().fold(below, |norm, h| norm.hypot(h.modulus()));
        if length <= A::Part::epsilon() * norm {
            // But for rounding errors the image of the direction is a combination of images before: nothing is gained.
            self.is_singular = true;
            return;
        }
        // What is left of the direction but for rounding errors is nothing: the space is all that there is.
        self.is_closed = below <= A::Part::epsilon() * norm;
        let (cos, sin) = (column[n] / A::from_re(length), A::from_re(below / length));
        column[n] = A::from_re(length);
        let right = self.right[n];
        self.right[n] = cos.conj() * right;
        self.right.push(-sin * right);
        self.rotations.push((cos, sin));
        self.columns.push(column);
    }

    /// Norm of the residual.
    pub(crate) fn residual(&self) -> A::Part {
        self.right.last().map_or(A::Part::zero(), |last| last.modulus())
    }

    /// Whether the matrix is singular on the directions found, to working precision. Later columns are not taken.
    pub(crate) fn is_singular(&self) -> bool {
        self.is_singular
    }

    /// What the directions are scaled by, by back substitution.
    pub(crate) fn solution(&self) -> Vec<A> {
        let n = self.columns.len();
        let mut y = self.right[..n].to_vec();
        for j in (0..n).rev() {
            y[j] = y[j] / self.columns[j][j];
            let of_y = y[j];
            y[..j].iter_mut().zip(&self.columns[j]).for_each(|(y, h)| *y = *y - of_y * *h);
        }
        y
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn residual_and_solution_are_those_of_the_least_squares_problem() {
        // H = [[3, 1], [4, 2], [0, 5]] and 10*e_1: normal equations [25 11; 11 30]*y = [30; 10].
        let mut h = Hessenberg::<f64>::new(10.0);
        h.push(&[3.0, 4.0]);
        assert!((h.residual() - 8.0).abs() < 1e-14);
        h.push(&[1.0, 2.0, 5.0]);
        let y = h.solution();
        let expected = [790.0 / 629.0, -80.0 / 629.0];
        assert!(y.iter().zip(expected).all(|(y, expected)| (y - expected).abs() < 1e-14), "{y:?}");
        let left = [10.0 - 3.0 * y[0] - y[1], -4.0 * y[0] - 2.0 * y[1], -5.0 * y[1]];
        assert!((h.residual() - left.iter().map(|x| x * x).sum::<f64>().sqrt()).abs() < 1e-14);
        assert!(!h.is_singular());
    }

    #[test]
    fn columns_after_the_last_direction_change_nothing() {
        let mut h = Hessenberg::<f64>::new(2.0);
        h.push(&[4.0, 0.0]);
        assert!(!h.is_singular() && h.residual() == 0.0);
        h.push(&[0.0, 0.0, 0.0]);
        assert_eq!(h.solution(), [0.5]);
        // A singular matrix: nothing is gained.
        let mut h = Hessenberg::<f64>::new(2.0);
        h.push(&[0.0, 0.0]);
        assert!(h.is_singular() && h.residual() == 2.0 && h.solution().is_empty());
    }
}
