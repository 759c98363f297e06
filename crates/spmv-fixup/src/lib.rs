//! Stage 2 of speculative segmented sum, on the CPU.
//!
//! The device leaves three results behind: `y` with sums that may stand in the wrong rows, the
//! *speculator* (the tiles where that may be so, in any order) and the *synchronizer* (for each bunch,
//! the sum that belongs to the row in which the bunch began). [`dirty::repair`] repairs the first with the
//! second, [`carry::add`] applies the third. Each row belongs to one tile, so the two may come in
//! either order and the result does not depend on the order in which tiles were reported.
//!
//! Every index that a device wrote is checked before use. Liu & Vinter 2015, section 3.2.
//!
//! ```
//! use spmv_core::{Tiling, tiling::tile_rows};
//! use spmv_fixup::{Structure, carry, dirty};
//!
//! // Rows of 1, 0 and 3 entries; one tile of 4, so row 2's sum was stored at row 1.
//! let row_ptr = [0u32, 1, 1, 4];
//! let tiling = Tiling::new(4, 1, 1, 1)?;
//! let tile_rows = tile_rows(&tiling, &row_ptr);
//! let structure = Structure::new(tiling, &row_ptr, &tile_rows);
//!
//! let mut y = [0.0, 30.0, f64::NAN];
//! dirty::repair(&structure, &mut [0], &mut y)?;
//! carry::add(&structure, &[0], &[5.0], &mut y)?;
//! assert_eq!(y, [5.0, 0.0, 30.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod carry;
pub mod dirty;
mod error;

pub use error::FixupError;
use spmv_core::Tiling;

/// What stage 2 knows of the matrix: how it was cut, and where its rows and tiles begin.
///
/// ```
/// use spmv_core::{Tiling, tiling::tile_rows};
/// use spmv_fixup::Structure;
/// let row_ptr = [0u32, 3, 3, 7];
/// let tiling = Tiling::new(2, 2, 1, 1)?;
/// let tile_rows = tile_rows(&tiling, &row_ptr);
/// assert_eq!(Structure::new(tiling, &row_ptr, &tile_rows).n_tiles(), 2);
/// # Ok::<(), spmv_core::TilingError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Structure<'a> {
    tiling: Tiling,
    row_ptr: &'a [u32],
    tile_rows: &'a [u32],
}

impl<'a> Structure<'a> {
    /// `row_ptr` are the offsets of a valid matrix; `tile_rows` is [`spmv_core::tiling::tile_rows`] of it.
    ///
    /// # Panics
    /// If `tile_rows` does not have one row per tile boundary.
    pub fn new(tiling: Tiling, row_ptr: &'a [u32], tile_rows: &'a [u32]) -> Self {
        let nnz = row_ptr[row_ptr.len() - 1];
        assert_eq!(tile_rows.len(), tiling.n_tiles(nnz) as usize + 1, "one row per tile boundary");
        Self { tiling, row_ptr, tile_rows }
    }

    /// Rows of the matrix, and of the `y` to be repaired.
    pub fn n_rows(&self) -> usize {
        self.row_ptr.len() - 1
    }

    /// Tiles of the matrix.
    pub fn n_tiles(&self) -> usize {
        self.tile_rows.len() - 1
    }

    /// Bunches of the matrix: entries of the synchronizer.
    pub fn n_bunches(&self) -> usize {
        self.tiling.n_bunches(self.nnz()) as usize
    }

    fn nnz(&self) -> u32 {
        self.row_ptr[self.row_ptr.len() - 1]
    }

    fn check_y(&self, len: usize) -> Result<(), FixupError> {
        let n_rows = self.n_rows();
        if len == n_rows { Ok(()) } else { Err(FixupError::YLength { found: len, n_rows }) }
    }
}
