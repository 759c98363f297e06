//! The generators by name: each is row lengths and a column model, or an exact rule.

use rayon::prelude::*;
use spmv_core::Csr;

use super::random::Draw;
use super::{ColumnModel, GenerateError, RowLengths, fill_rows, from_row_lengths};

/// Row lengths uniform in `min..=max` entries, columns uniform.
///
/// # Errors
/// [`GenerateError`]: lengths beyond `n_cols`, or too many entries.
pub fn uniform_rows(
    n_rows: usize,
    n_cols: usize,
    min: u32,
    max: u32,
    seed: u64,
) -> Result<Csr<f64>, GenerateError> {
    from_lengths(n_rows, n_cols, RowLengths::Uniform { min, max }, seed)
}

/// Row lengths normal with this mean and deviation (entries), clamped to `0..=n_cols`; columns uniform.
///
/// # Errors
/// [`GenerateError`]: a negative or non-finite number, or too many entries.
pub fn normal_rows(
    n_rows: usize,
    n_cols: usize,
    mean: f64,
    dev: f64,
    seed: u64,
) -> Result<Csr<f64>, GenerateError> {
    from_lengths(n_rows, n_cols, RowLengths::Normal { mean, dev }, seed)
}

/// Row lengths of `min..=max` entries with a share proportional to `length^-exponent`, columns uniform.
///
/// # Errors
/// [`GenerateError`]: lengths beyond `n_cols`, `min` 0, an exponent of 1 or less, too many entries.
pub fn power_law_rows(
    n_rows: usize,
    n_cols: usize,
    min: u32,
    max: u32,
    exponent: f64,
    seed: u64,
) -> Result<Csr<f64>, GenerateError> {
    from_lengths(n_rows, n_cols, RowLengths::PowerLaw { min, max, exponent }, seed)
}

fn from_lengths(
    n_rows: usize,
    n_cols: usize,
    lengths: RowLengths,
    seed: u64,
) -> Result<Csr<f64>, GenerateError> {
    if let RowLengths::Uniform { max, .. } | RowLengths::PowerLaw { max, .. } = lengths
        && max as usize > n_cols
    {
        return Err(GenerateError::LengthsTooLong { max, n_cols });
    }
    let mut lens = lengths.draw(n_rows, seed)?;
    lens.iter_mut().for_each(|len| *len = (*len).min(u32::try_from(n_cols).unwrap_or(u32::MAX)));
    from_row_lengths(&lens, n_cols, ColumnModel::Uniform, seed)
}

/// An `n` x `n` matrix with every entry from `lower` columns left to `upper` columns right of the diagonal.
///
/// ```
/// let a = spmv_io::generate::banded(5, 1, 2, 7)?;
/// assert_eq!(a.row(1).map(|(col, _)| col).collect::<Vec<_>>(), [0, 1, 2, 3]);
/// # Ok::<(), spmv_io::generate::GenerateError>(())
/// ```
///
/// # Errors
/// [`GenerateError::TooManyEntries`], [`GenerateError::TooLarge`].
pub fn banded(n: usize, lower: usize, upper: usize, seed: u64) -> Result<Csr<f64>, GenerateError> {
    let band = |row: usize| row.saturating_sub(lower)..row.saturating_add(upper).saturating_add(1).min(n);
    by_rule(n, n, seed, |row, out| out.extend(band(row).map(|col| col as u32)))
}

/// The `n` x `n` diagonal.
///
/// # Errors
/// [`GenerateError::TooLarge`].
pub fn diagonal(n: usize, seed: u64) -> Result<Csr<f64>, GenerateError> {
    banded(n, 0, 0, seed)
}

/// A matrix like those of finite elements: dense `dof` x `dof` blocks, each of `n_nodes` nodes joined to
/// itself and `neighbours` others at most `half_width` nodes away.
///
/// # Errors
/// [`GenerateError`]: no degrees of freedom, more neighbours than nodes, too many entries.
pub fn fem(
    n_nodes: usize,
    dof: usize,
    neighbours: usize,
    half_width: usize,
    seed: u64,
) -> Result<Csr<f64>, GenerateError> {
    let (n, len) = (n_nodes.saturating_mul(dof), neighbours.saturating_add(1).saturating_mul(dof));
    if n > u32::MAX as usize {
        return Err(GenerateError::TooLarge { axis: "rows", n });
    }
    let len = u32::try_from(len).unwrap_or(u32::MAX);
    from_row_lengths(&vec![len; n], n, ColumnModel::Blocks { block: dof, run: 1, half_width }, seed)
}

/// Dense blocks on the diagonal, of so many rows and columns each. O(entries), in parallel.
///
/// ```
/// let a = spmv_io::generate::block_diagonal(&[1, 3], 7)?;
/// assert_eq!((a.n_rows(), a.nnz()), (4, 1 + 9));
/// assert_eq!(a.row(2).map(|(col, _)| col).collect::<Vec<_>>(), [1, 2, 3]);
/// # Ok::<(), spmv_io::generate::GenerateError>(())
/// ```
///
/// # Errors
/// [`GenerateError::TooManyEntries`], [`GenerateError::TooLarge`].
pub fn block_diagonal(sizes: &[u32], seed: u64) -> Result<Csr<f64>, GenerateError> {
    let n = sizes.iter().map(|&size| size as usize).sum();
    if n > u32::MAX as usize {
        return Err(GenerateError::TooLarge { axis: "rows", n });
    }
    let (mut lens, mut firsts) = (Vec::with_capacity(n), Vec::with_capacity(n));
    for &size in sizes {
        let first = lens.len() as u32;
        lens.resize(lens.len() + size as usize, size);
        firsts.resize(lens.len(), first);
    }
    fill_rows(&lens, n, |row, cols, vals, _| {
        let mut draw = Draw::new(seed, row as u64);
        for ((col, val), at) in cols.iter_mut().zip(vals).zip(firsts[row]..) {
            (*col, *val) = (at, draw.value());
        }
    })
}

/// Which neighbours a grid point is joined to, besides itself.
///
/// ```
/// use spmv_io::generate::{Stencil, grid_2d};
/// assert_eq!(grid_2d(3, 3, Stencil::Star, 0)?.row(4).count(), 5);
/// assert_eq!(grid_2d(3, 3, Stencil::Box, 0)?.row(4).count(), 9);
/// # Ok::<(), spmv_io::generate::GenerateError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stencil {
    /// Neighbours along one axis: 5 points in two dimensions, 7 in three.
    Star,
    /// Neighbours along any diagonal too: 9 points in two dimensions, 27 in three.
    Box,
}

/// An `nx` x `ny` grid, x fastest, not periodic.
///
/// # Errors
/// [`GenerateError::TooManyEntries`], [`GenerateError::TooLarge`].
pub fn grid_2d(nx: usize, ny: usize, stencil: Stencil, seed: u64) -> Result<Csr<f64>, GenerateError> {
    grid_3d(nx, ny, 1, stencil, seed)
}

/// An `nx` x `ny` x `nz` grid, x fastest, z slowest, not periodic.
///
/// # Errors
/// [`GenerateError::TooManyEntries`], [`GenerateError::TooLarge`].
pub fn grid_3d(
    nx: usize,
    ny: usize,
    nz: usize,
    stencil: Stencil,
    seed: u64,
) -> Result<Csr<f64>, GenerateError> {
    let n = nx.saturating_mul(ny).saturating_mul(nz);
    by_rule(n, n, seed, neighbours([nx, ny, nz], stencil))
}

/// The columns of a grid point's row: its own and its neighbours'.
pub(super) fn neighbours([nx, ny, nz]: [usize; 3], stencil: Stencil) -> impl Fn(usize, &mut Vec<u32>) + Sync {
    move |row, out| {
        let (x, y, z) = (row % nx, row / nx % ny, row / nx / ny);
        let around = |at: usize, n: usize| at.saturating_sub(1)..(at + 2).min(n);
        for zz in around(z, nz) {
            for yy in around(y, ny) {
                for xx in around(x, nx) {
                    let moved = usize::from(xx != x) + usize::from(yy != y) + usize::from(zz != z);
                    if stencil == Stencil::Box || moved <= 1 {
                        out.push(((zz * ny + yy) * nx + xx) as u32);
                    }
                }
            }
        }
    }
}

/// A periodic lattice with sides `dims`, the first fastest: every site is joined to itself and its
/// neighbours along each axis by dense `components` x `components` blocks.
///
/// ```
/// let a = spmv_io::generate::lattice(&[4, 4, 4], 2, 7)?;
/// assert_eq!((a.n_rows(), a.nnz()), (128, 128 * 2 * 7));
/// # Ok::<(), spmv_io::generate::GenerateError>(())
/// ```
///
/// # Errors
/// [`GenerateError::TooManyEntries`], [`GenerateError::TooLarge`].
pub fn lattice(dims: &[usize], components: usize, seed: u64) -> Result<Csr<f64>, GenerateError> {
    let n = dims.iter().fold(components, |n, &side| n.saturating_mul(side));
    by_rule(n, n, seed, |row, out| {
        let site = row / components;
        let mut sites = vec![site];
        let mut stride = 1;
        for &side in dims {
            let at = site / stride % side;
            let base = site - at * stride;
            sites.extend([base + (at + 1) % side * stride, base + (at + side - 1) % side * stride]);
            stride *= side;
        }
        // On sides of 1 and 2 several neighbours are one site.
        sites.sort_unstable();
        sites.dedup();
        out.extend(sites.iter().flat_map(|s| s * components..(s + 1) * components).map(|col| col as u32));
    })
}

/// Row `dense` holds every column, all others `others` entries in uniform columns.
///
/// # Errors
/// [`GenerateError::Parameter`] if there is no row `dense`; `others` beyond `n_cols`; too many entries.
pub fn dense_row(
    n_rows: usize,
    n_cols: usize,
    dense: usize,
    others: u32,
    seed: u64,
) -> Result<Csr<f64>, GenerateError> {
    if dense >= n_rows {
        let wanted = "less than the number of rows";
        return Err(GenerateError::Parameter { name: "dense row", value: dense as f64, wanted });
    }
    let mut lens = vec![others; n_rows];
    lens[dense] =
        u32::try_from(n_cols).map_err(|_| GenerateError::TooLarge { axis: "columns", n: n_cols })?;
    from_row_lengths(&lens, n_cols, ColumnModel::Uniform, seed)
}

/// Which rows are empty.
///
/// ```
/// use spmv_io::generate::{EmptyRows, empty_rows};
/// let a = empty_rows(4, 4, EmptyRows::Alternating, 2, 7)?;
/// assert_eq!(a.row_ptr(), [0, 0, 2, 2, 4]);
/// # Ok::<(), spmv_io::generate::GenerateError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EmptyRows {
    /// The first so many.
    Leading(usize),
    /// The last so many.
    Trailing(usize),
    /// Rows 0, 2, 4 and so on.
    Alternating,
    /// Each row with this probability, 0 to 1.
    Random(f64),
}

/// Empty rows in a pattern; all others hold `len` entries in uniform columns.
///
/// # Errors
/// [`GenerateError::Parameter`] if a probability is not in 0 to 1; `len` beyond `n_cols`; too many entries.
pub fn empty_rows(
    n_rows: usize,
    n_cols: usize,
    empty: EmptyRows,
    len: u32,
    seed: u64,
) -> Result<Csr<f64>, GenerateError> {
    if let EmptyRows::Random(share) = empty
        && !(0.0..=1.0).contains(&share)
    {
        let wanted = "a number from 0 to 1";
        return Err(GenerateError::Parameter { name: "share of empty rows", value: share, wanted });
    }
    let mut draw = Draw::new(seed, u64::MAX);
    let is_empty = |row: usize| match empty {
        EmptyRows::Leading(n) => row < n,
        EmptyRows::Trailing(n) => row >= n_rows.saturating_sub(n),
        EmptyRows::Alternating => row.is_multiple_of(2),
        EmptyRows::Random(share) => draw.unit() < share,
    };
    let lens: Vec<u32> = (0..n_rows).map(is_empty).map(|empty| if empty { 0 } else { len }).collect();
    from_row_lengths(&lens, n_cols, ColumnModel::Uniform, seed)
}

/// A matrix whose rows hold the sorted columns that `rule(row, out)` appends, with random values.
fn by_rule(
    n_rows: usize,
    n_cols: usize,
    seed: u64,
    rule: impl Fn(usize, &mut Vec<u32>) + Sync,
) -> Result<Csr<f64>, GenerateError> {
    by_rules(n_rows, n_cols, rule, |row, _, vals| {
        let mut draw = Draw::new(seed, row as u64);
        vals.fill_with(|| draw.value());
    })
}

/// As [`by_rule`], with the values that `values(row, columns, values)` sets.
pub(super) fn by_rules(
    n_rows: usize,
    n_cols: usize,
    rule: impl Fn(usize, &mut Vec<u32>) + Sync,
    values: impl Fn(usize, &[u32], &mut [f64]) + Sync,
) -> Result<Csr<f64>, GenerateError> {
    if n_rows > u32::MAX as usize {
        return Err(GenerateError::TooLarge { axis: "rows", n: n_rows });
    }
    let len = |scratch: &mut Vec<u32>, row| {
        scratch.clear();
        rule(row, scratch);
        scratch.len() as u32
    };
    let lens: Vec<u32> = (0..n_rows).into_par_iter().map_init(Vec::new, len).collect();
    fill_rows(&lens, n_cols, |row, cols, vals, scratch| {
        scratch.clear();
        rule(row, scratch);
        cols.copy_from_slice(scratch);
        values(row, cols, vals);
    })
}
