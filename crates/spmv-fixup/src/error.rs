//! What a device can get wrong.

/// Something that the device reported and that cannot be. The run's `y` is then unspecified.
///
/// ```
/// use spmv_core::Tiling;
/// use spmv_fixup::{Structure, dirty};
/// let structure = Structure::new(Tiling::new(1, 1, 1, 1)?, &[0, 1], &[0, 1]);
/// let e = dirty::repair(&structure, &mut [7], &mut [0.0f32]).unwrap_err();
/// assert_eq!(e.to_string(), "the device reported dirty tile 7 of 1; its results are lost");
/// # Ok::<(), spmv_core::TilingError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FixupError {
    /// A dirty tile that does not exist.
    #[error("the device reported dirty tile {tile} of {n_tiles}; its results are lost")]
    TileOutOfRange {
        /// The index reported.
        tile: u32,
        /// Tiles of the matrix.
        n_tiles: usize,
    },
    /// A tile reported more than once.
    #[error("the device reported dirty tile {tile} twice; its results are lost")]
    TileTwice {
        /// The index reported.
        tile: u32,
    },
    /// More dirty tiles than tiles.
    #[error("the device counted {count} dirty tiles of {n_tiles}; its results are lost")]
    TooManyTiles {
        /// The count reported.
        count: u32,
        /// Tiles of the matrix.
        n_tiles: usize,
    },
    /// A carry for a row in which its bunch does not begin.
    #[error(
        "the device put bunch {bunch}'s carry in row {row} of {n_rows}, where the bunch does not begin; its results are lost"
    )]
    CarryMisplaced {
        /// The bunch.
        bunch: usize,
        /// The row reported.
        row: u32,
        /// Rows of the matrix.
        n_rows: usize,
    },
    /// Not one carry per bunch.
    #[error("{found} carries for {n_bunches} bunches")]
    CarryCount {
        /// Carries given.
        found: usize,
        /// Bunches of the matrix.
        n_bunches: usize,
    },
    /// A `y` of another length than the matrix has rows.
    #[error("y has {found} entries, the matrix has {n_rows} rows")]
    YLength {
        /// Entries of `y`.
        found: usize,
        /// Rows of the matrix.
        n_rows: usize,
    },
}
