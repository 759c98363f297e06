//! The engine: row lengths and a column model in, a matrix out.

use std::ops::Range;

use rayon::prelude::*;
use spmv_core::{Csr, Value};

use super::GenerateError;
use super::random::{Draw, Scatter, mix, octave_tail};

/// Where the entries of a row stand. Rows are drawn independently, so patterns are not symmetric.
///
/// "Diagonal" means column `row * n_cols / n_rows`, also where the matrix is not square. A window that is
/// too small for a row's entries is widened.
///
/// ```
/// use spmv_io::generate::{self, ColumnModel};
/// let a = generate::from_row_lengths(&[3; 100], 100, ColumnModel::Band { half_width: 2 }, 1)?;
/// assert!((0..100).all(|row| a.row(row).all(|(col, _)| col.abs_diff(row as u32) <= 2)));
/// # Ok::<(), spmv_io::generate::GenerateError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ColumnModel {
    /// Every column equally likely.
    Uniform,
    /// The diagonal, and columns at most `half_width` from it, equally likely.
    Band {
        /// Columns on either side of the diagonal.
        half_width: usize,
    },
    /// Dense blocks: rows and columns belong to nodes, rows of a node share their columns. A row holds
    /// its own node and runs of neighbouring nodes that start at most `half_width` nodes away.
    Blocks {
        /// Rows and columns of a node.
        block: usize,
        /// Nodes that stand side by side.
        run: usize,
        /// Nodes on either side of the row's own.
        half_width: usize,
    },
    /// The diagonal; then a share of entries near it, a share in hub columns (a power law over columns
    /// in scattered order), the rest anywhere.
    Mixed {
        /// Share of entries at most `half_width` from the diagonal, 0 to 1.
        near: f64,
        /// Columns on either side of the diagonal.
        half_width: usize,
        /// Share of entries in hub columns, 0 to 1; `near + hubs` is at most 1.
        hubs: f64,
        /// Exponent of the hubs' power law, more than 1; 2 puts half of the hub entries in one column.
        exponent: f64,
    },
}

impl ColumnModel {
    fn check(&self) -> Result<(), GenerateError> {
        let bad = |name, value, wanted| Err(GenerateError::Parameter { name, value, wanted });
        match *self {
            Self::Blocks { block, run, .. } if block == 0 || run == 0 => {
                bad("block or run", 0.0, "at least 1")
            }
            Self::Mixed { near, hubs, .. } if !(near >= 0.0 && hubs >= 0.0 && near + hubs <= 1.0) => {
                bad("share of near and hub entries", near + hubs, "0 to 1, neither part negative")
            }
            Self::Mixed { exponent, .. } if !(exponent > 1.0 && exponent <= 32.0) => {
                bad("exponent of hub columns", exponent, "more than 1 and at most 32")
            }
            _ => Ok(()),
        }
    }
}

/// Draws a matrix with these row lengths, in entries, and columns from `columns`.
///
/// Columns of a row are sorted and unique; values have a magnitude of 0.1 to 1 and either sign. Equal
/// arguments give equal bits on every platform and with any number of threads.
/// O(entries log(longest row)) time, in parallel; scratch of one row per thread.
///
/// ```
/// use spmv_io::generate::{self, ColumnModel};
/// let a = generate::from_row_lengths(&[0, 3, 1], 4, ColumnModel::Uniform, 42)?;
/// assert_eq!(a.row_ptr(), [0, 0, 3, 4]);
/// # Ok::<(), spmv_io::generate::GenerateError>(())
/// ```
///
/// # Errors
/// [`GenerateError::RowTooLong`], [`GenerateError::TooManyEntries`], [`GenerateError::TooLarge`],
/// [`GenerateError::Parameter`].
pub fn from_row_lengths(
    lens: &[u32],
    n_cols: usize,
    columns: ColumnModel,
    seed: u64,
) -> Result<Csr<f64>, GenerateError> {
    columns.check()?;
    let placement = Placement::new(columns, lens.len(), n_cols, seed);
    fill_rows(lens, n_cols, |row, cols, vals, scratch| {
        scratch.clear();
        let mut draw = Draw::new(seed, row as u64);
        placement.columns(row, cols.len(), scratch, &mut draw);
        cols.copy_from_slice(scratch);
        vals.fill_with(|| draw.value());
    })
}

/// Builds a matrix by calling `fill(row, columns, values, scratch)` once per row, in parallel.
pub(crate) fn fill_rows<T: Value>(
    lens: &[u32],
    n_cols: usize,
    fill: impl Fn(usize, &mut [u32], &mut [T], &mut Vec<u32>) + Sync,
) -> Result<Csr<T>, GenerateError> {
    let row_ptr = offsets(lens, n_cols)?;
    let nnz = row_ptr[lens.len()] as usize;
    let (mut cols, mut vals) = (vec![0u32; nnz], vec![T::default(); nnz]);

    let mut pieces = Vec::new();
    let (mut cols_left, mut vals_left) = (&mut cols[..], &mut vals[..]);
    for rows in row_groups(&row_ptr) {
        let entries = (row_ptr[rows.end] - row_ptr[rows.start]) as usize;
        let (c, rest) = cols_left.split_at_mut(entries);
        cols_left = rest;
        let (v, rest) = vals_left.split_at_mut(entries);
        vals_left = rest;
        pieces.push((rows, c, v));
    }
    pieces.into_par_iter().for_each_init(Vec::new, |scratch, (rows, mut cols, mut vals)| {
        for row in rows {
            let (c, rest) = cols.split_at_mut(lens[row] as usize);
            cols = rest;
            let (v, rest) = vals.split_at_mut(lens[row] as usize);
            vals = rest;
            fill(row, c, v, scratch);
        }
    });
    Ok(Csr::new(lens.len(), n_cols, row_ptr, cols, vals).expect("generated rows are valid"))
}

fn offsets(lens: &[u32], n_cols: usize) -> Result<Vec<u32>, GenerateError> {
    for (axis, n) in [("rows", lens.len()), ("columns", n_cols)] {
        if n > u32::MAX as usize {
            return Err(GenerateError::TooLarge { axis, n });
        }
    }
    if let Some(row) = lens.iter().position(|&len| len as usize > n_cols) {
        return Err(GenerateError::RowTooLong { row, len: lens[row], n_cols });
    }
    let entries = lens.iter().map(|&len| u64::from(len)).sum();
    if entries > u64::from(u32::MAX) {
        return Err(GenerateError::TooManyEntries { entries });
    }
    let mut row_ptr = Vec::with_capacity(lens.len() + 1);
    row_ptr.push(0);
    let mut end = 0;
    row_ptr.extend(lens.iter().map(|&len| {
        end += len;
        end
    }));
    Ok(row_ptr)
}

/// Row ranges of about `GROUP` entries and rows each, so that threads share long and empty rows evenly.
fn row_groups(row_ptr: &[u32]) -> impl Iterator<Item = Range<usize>> + '_ {
    const GROUP: usize = 1 << 14;
    let n_rows = row_ptr.len() - 1;
    let mut start = 0;
    std::iter::from_fn(move || {
        let first = (start < n_rows).then_some(start)?;
        let limit = row_ptr[first] as usize + GROUP;
        let end = first + 1 + row_ptr[first + 2..].partition_point(|&o| o as usize <= limit).min(GROUP);
        start = end;
        Some(first..end)
    })
}

/// A column model bound to the shape of one matrix.
struct Placement {
    model: ColumnModel,
    n_rows: usize,
    n_cols: usize,
    seed: u64,
    hubs: Scatter,
    tail: f64,
}

impl Placement {
    fn new(model: ColumnModel, n_rows: usize, n_cols: usize, seed: u64) -> Self {
        let tail = if let ColumnModel::Mixed { exponent, .. } = model { octave_tail(exponent) } else { 0.0 };
        Self { model, n_rows, n_cols, seed, hubs: Scatter::new(n_cols, mix(seed)), tail }
    }

    /// Appends `len` sorted, distinct columns to the empty `out`.
    fn columns(&self, row: usize, len: usize, out: &mut Vec<u32>, draw: &mut Draw) {
        let whole = 0..self.n_cols as u64;
        let diagonal = (row as u64 * self.n_cols as u64 / self.n_rows as u64) as u32;
        if len == 0 {
            return;
        }
        match self.model {
            ColumnModel::Uniform => distinct(out, len, whole.clone(), 1, draw, |draw| draw.below(whole.end)),
            ColumnModel::Band { half_width } => {
                let near = window(diagonal.into(), half_width, len, whole.end);
                out.push(diagonal);
                distinct(out, len, near.clone(), 1, draw, |draw| within(&near, draw));
            }
            ColumnModel::Blocks { block, run, half_width } => {
                self.blocks(row, len, block, run, half_width, out, draw);
            }
            ColumnModel::Mixed { near, half_width, hubs, .. } => {
                out.push(diagonal);
                let band = window(diagonal.into(), half_width, 1, whole.end);
                distinct(out, len, whole.clone(), 1, draw, |draw| match draw.unit() {
                    u if u < near => within(&band, draw),
                    u if u < near + hubs => self.hubs.at(draw.power_law(1, whole.end, self.tail) - 1) as u64,
                    _ => draw.below(whole.end),
                });
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of one variant, unpacked")]
    fn blocks(
        &self,
        row: usize,
        len: usize,
        block: usize,
        run: usize,
        half_width: usize,
        out: &mut Vec<u32>,
        draw: &mut Draw,
    ) {
        let n_nodes = (self.n_cols / block) as u64;
        let need = len.div_ceil(block);
        if need as u64 > n_nodes {
            // So long a row leaves no choice of nodes.
            return distinct(out, len, 0..self.n_cols as u64, 1, draw, |draw| draw.below(self.n_cols as u64));
        }
        let row_nodes = (self.n_rows / block).max(1) as u64;
        let own = ((row / block) as u64).min(row_nodes - 1) * n_nodes / row_nodes;
        out.push(own as u32);
        // Drawn per node and not per row: the rows of a node share their columns.
        let mut node_draw = Draw::new(mix(self.seed), (row / block) as u64);
        let near = window(own, half_width, need, n_nodes);
        distinct(out, need, near.clone(), run, &mut node_draw, |draw| within(&near, draw));

        // From the back, so that nodes are expanded in place.
        out.resize(need * block, 0);
        for i in (0..need).rev() {
            let first = out[i] * block as u32;
            for (k, col) in out[i * block..(i + 1) * block].iter_mut().enumerate() {
                *col = first + k as u32;
            }
        }
        if len < block {
            let skip = (row % block).min(block - len);
            out.drain(..skip);
        }
        out.truncate(len);
    }
}

/// `half_width` columns on both sides of `centre`, cut at the edges, widened to hold `len`.
fn window(centre: u64, half_width: usize, len: usize, n_cols: u64) -> Range<u64> {
    let low = centre.saturating_sub(half_width as u64).min(n_cols.saturating_sub(len as u64));
    let high = centre.saturating_add(half_width as u64 + 1).min(n_cols).max(low + len as u64);
    low..high
}

fn within(range: &Range<u64>, draw: &mut Draw) -> u64 {
    range.start + draw.below(range.end - range.start)
}

/// Completes the sorted `out` to `len` distinct columns of `range`, in runs that start where `start` says.
pub(super) fn distinct(
    out: &mut Vec<u32>,
    len: usize,
    range: Range<u64>,
    run: usize,
    draw: &mut Draw,
    mut start: impl FnMut(&mut Draw) -> u64,
) {
    // A model that keeps proposing columns it has would never end; the last word is uniform.
    const ROUNDS: usize = 8;
    if len as u64 * 3 > range.end - range.start {
        return select(out, len, range, draw);
    }
    let mut round = 0;
    while out.len() < len {
        while out.len() < len {
            let first = if round < ROUNDS { start(draw) } else { within(&range, draw) };
            let end = (first + run as u64).min(range.end).min(first + (len - out.len()) as u64);
            out.extend(first as u32..end as u32);
        }
        out.sort_unstable();
        out.dedup();
        round += 1;
    }
}

/// Selection sampling (Knuth, algorithm 3.4.2 S) among the columns of `range` that `out` lacks.
fn select(out: &mut Vec<u32>, len: usize, range: Range<u64>, draw: &mut Draw) {
    let given = out.len();
    let mut missing = (len - given) as u64;
    let mut free = range.end - range.start - given as u64;
    for col in range {
        if missing == 0 {
            break;
        }
        if out[..given].contains(&(col as u32)) {
            continue;
        }
        if draw.below(free) < missing {
            out.push(col as u32);
            missing -= 1;
        }
        free -= 1;
    }
    out.sort_unstable();
}
