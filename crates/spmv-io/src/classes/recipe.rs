//! How a matrix of so many nonzeros is made: its extent follows from them, and a generator does the rest.

use spmv_core::Csr;

use crate::generate::random::mix;
use crate::generate::{self, ColumnModel, GenerateError, RowLengths};

/// A kind of matrix, of any size.
#[derive(Clone, Copy, Debug)]
pub(super) enum Recipe {
    /// A square of 5 points a row.
    Square,
    /// A cube of 7 points a row.
    Cube,
    /// A cube of 27 points a row.
    CubeBox,
    /// Nodes of so many unknowns, joined to a normal number of nodes about them in space (3) or on a surface (2).
    Mesh { unknowns: usize, joined: (f64, f64), dimensions: u32 },
    /// Every entry so near the diagonal.
    FullBand { half_width: usize },
    /// Rows of equal length, their columns anywhere so near the diagonal.
    SparseBand { len: u32, half_width: usize },
    /// Dense blocks of at least so many rows, and of at most so many.
    Blocks { min: u32, max: u32 },
    /// Rows of 1 to so many entries, columns anywhere.
    Random { max: u32 },
    /// Row lengths by a power law of this exponent, from `min` entries to a hundredth of all; columns anywhere.
    PowerLaw { min: u32, exponent: f64 },
    /// Power laws by rows and by columns, about 8 to 16 edges a vertex.
    Rmat,
    /// Few long rows, as of set covering; about ten entries a column.
    Wide,
    /// Rows of 2 to 6 entries, five rows a column; some columns are in many constraints.
    Tall,
    /// Short rows by a power law; most entries near the diagonal, some in columns of supply lines.
    Circuit,
    /// The transpose of another kind.
    Transpose(&'static Recipe),
}

impl Recipe {
    /// A matrix of about `nnz` nonzeros. O(nonzeros).
    pub(super) fn generate(&self, nnz: u64, seed: u64) -> Result<Csr<f64>, GenerateError> {
        let rows_of = |model: RowLengths| draw_until(model, nnz, seed, u64::from);
        let part = |share: u64| u32::try_from(nnz / share).unwrap_or(u32::MAX);
        match *self {
            Self::Square => generate::laplacian_2d(side(nnz, |s| 5 * s * s - 4 * s)),
            Self::Cube => generate::laplacian_3d(side(nnz, |s| 7 * s.pow(3) - 6 * s * s)),
            Self::CubeBox => generate::laplacian_3d_box(side(nnz, |s| (3 * s - 2).pow(3))),
            Self::Mesh { unknowns, joined, dimensions } => mesh(nnz, seed, unknowns, joined, dimensions),
            Self::FullBand { half_width } => {
                let n = nnz as usize / (2 * half_width + 1);
                generate::banded(n, half_width, half_width, seed)
            }
            Self::SparseBand { len, half_width } => {
                let n = nnz as usize / len as usize;
                generate::from_row_lengths(&vec![len; n], n, ColumnModel::Band { half_width }, seed)
            }
            Self::Blocks { min, max } => {
                let area = |size| u64::from(size) * u64::from(size);
                let sizes = draw_until(RowLengths::Uniform { min, max }, nnz, seed, area)?;
                generate::block_diagonal(&sizes, seed)
            }
            Self::Random { max } => {
                let lens = rows_of(RowLengths::Uniform { min: 1, max })?;
                generate::scattered(&lens, lens.len(), seed)
            }
            Self::PowerLaw { min, exponent } => {
                let lens = rows_of(RowLengths::PowerLaw { min, max: part(100), exponent })?;
                generate::scattered(&lens, lens.len(), seed)
            }
            Self::Rmat => generate::rmat((nnz / 8).max(1).ilog2(), nnz, seed),
            Self::Wide => {
                let min = (nnz.isqrt() / 4) as u32;
                let lens = rows_of(RowLengths::PowerLaw { min, max: part(40), exponent: 2.0 })?;
                generate::scattered(&lens, nnz as usize / 10, seed)
            }
            Self::Tall => {
                let lens = rows_of(RowLengths::Uniform { min: 2, max: 6 })?;
                let columns = ColumnModel::Mixed { near: 0.6, half_width: 64, hubs: 0.1, exponent: 1.2 };
                generate::from_row_lengths(&lens, lens.len() / 5, columns, seed)
            }
            Self::Circuit => {
                let lens = rows_of(RowLengths::PowerLaw { min: 2, max: part(500), exponent: 2.5 })?;
                let columns = ColumnModel::Mixed { near: 0.75, half_width: 50, hubs: 0.1, exponent: 1.3 };
                generate::from_row_lengths(&lens, lens.len(), columns, seed)
            }
            Self::Transpose(of) => Ok(of.generate(nnz, seed)?.transpose()),
        }
    }
}

/// Rows of a node hold their own node and those about it, in runs of neighbours as numberings of meshes have them.
fn mesh(
    nnz: u64,
    seed: u64,
    unknowns: usize,
    (mean, dev): (f64, f64),
    dimensions: u32,
) -> Result<Csr<f64>, GenerateError> {
    let block = (unknowns * unknowns) as u64;
    let nodes = draw_until(RowLengths::Normal { mean, dev }, nnz / block, seed, u64::from)?;
    // Nodes between one and the next in the slowest direction.
    let half_width = match dimensions {
        3 => side(nodes.len() as u64, |s| s.pow(3)).pow(2),
        _ => nodes.len().isqrt(),
    };
    let of_node = |&joined: &u32| std::iter::repeat_n(joined * unknowns as u32, unknowns);
    let lens: Vec<u32> = nodes.iter().flat_map(of_node).collect();
    let columns = ColumnModel::Blocks { block: unknowns, run: 3, half_width };
    generate::from_row_lengths(&lens, lens.len(), columns, seed)
}

/// Lengths of a model whose weights sum to `total`, or to more by less than the last one.
fn draw_until(
    model: RowLengths,
    total: u64,
    seed: u64,
    weight: impl Fn(u32) -> u64,
) -> Result<Vec<u32>, GenerateError> {
    const BATCH: usize = 1 << 16;
    let (mut lens, mut sum) = (Vec::new(), 0);
    for batch in 0.. {
        for len in model.draw(BATCH, mix(seed).wrapping_add(batch))? {
            if sum >= total {
                return Ok(lens);
            }
            sum += weight(len);
            lens.push(len);
        }
    }
    Ok(lens)
}

/// The side of the grid whose `count` is nearest to `nnz`; it grows with the side.
fn side(nnz: u64, count: impl Fn(u64) -> u64) -> usize {
    let above = (1..).find(|side| count(*side) > nnz).unwrap_or(1);
    let below = above.saturating_sub(1).max(1);
    let nearest = if count(above) - nnz < nnz.abs_diff(count(below)) { above } else { below };
    nearest as usize
}
