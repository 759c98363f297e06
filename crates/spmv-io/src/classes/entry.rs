//! What the table holds of a matrix.

use spmv_core::Csr;

use super::recipe::Recipe;
use crate::generate::GenerateError;

/// What a matrix of the suite comes from.
///
/// ```
/// use spmv_io::classes::Class;
/// assert!(Class::Banded.is_streaming() && !Class::Circuit.is_streaming());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Class {
    /// Laplacians of squares and cubes: 5, 7 or 27 points a row.
    Stencil,
    /// Finite elements: dense blocks of several unknowns a node.
    FiniteElements,
    /// All entries near the diagonal.
    Banded,
    /// Dense blocks on the diagonal.
    BlockDiagonal,
    /// Columns anywhere.
    Random,
    /// Graphs whose out-degrees, in-degrees or both follow a power law.
    PowerLaw,
    /// Constraints of linear programs, wide and tall, and their transposes.
    LinearProgram,
    /// A few entries a row near the diagonal, and some rows and columns of supply lines.
    Circuit,
}

impl Class {
    /// Whether neighbouring rows read neighbouring values of `x`, so that a product streams the matrix through memory. All others are
    /// irregular: in columns, in row lengths, or both.
    pub fn is_streaming(self) -> bool {
        matches!(self, Self::Stencil | Self::FiniteElements | Self::Banded | Self::BlockDiagonal)
    }
}

/// One matrix of the suite.
///
/// ```
/// use spmv_io::classes::{self, Class};
/// let entry = classes::find("rmat-1e8").unwrap();
/// assert_eq!((entry.nnz, entry.class), (100_000_000, Class::PowerLaw));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Entry {
    /// What it is and how many nonzeros it has: `stencil27-1e7`.
    pub name: &'static str,
    /// What it comes from.
    pub class: Class,
    /// Nonzeros of the name; the matrix has at most 10% more or fewer.
    pub nnz: usize,
    pub(super) recipe: Recipe,
}

impl Entry {
    /// Generates the matrix. O(nonzeros), in parallel but for the transposes; 12 bytes a nonzero and 4 a row, transposes twice that.
    ///
    /// # Errors
    /// [`GenerateError`], if the recipe contradicts itself; the tests see to it that none does.
    pub fn generate(&self) -> Result<Csr<f64>, GenerateError> {
        // Not from the name: transposes are those of the same matrix.
        self.recipe.generate(self.nnz as u64, self.nnz as u64)
    }
}
