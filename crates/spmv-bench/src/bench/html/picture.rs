//! What a matrix looks like: where its entries are, and how long its rows.

use std::fmt::Write;

use super::super::report::Report;
use super::text::{escape, thousands};

/// Cells along the longer side of a spy plot.
const CELLS: usize = 64;
/// Fewest cells along the shorter side, so that a strip can be seen.
const THIN: usize = 8;
/// Shades of density.
const SHADES: u32 = 8;

/// A matrix, small enough for a page.
pub(crate) struct Picture {
    name: String,
    n_rows: usize,
    n_cols: usize,
    nnz: usize,
    /// Cells of the plot: down and across.
    grid: (usize, usize),
    /// Entries in each cell, row after row.
    cells: Vec<u32>,
    /// Rows with 0, 1, 2, 3-4, 5-8, ... entries.
    lengths: Vec<usize>,
}

impl Picture {
    /// Reads every entry once. At most 64 x 64 cells, in the proportions of the matrix.
    pub(crate) fn of<T: spmv::Value>(name: &str, a: spmv::CsrView<'_, T, u32>) -> Self {
        let (n_rows, n_cols) = (a.n_rows(), a.n_cols());
        let longer = n_rows.max(n_cols).max(1) as f64;
        let side = |n: usize| ((CELLS as f64 * n as f64 / longer).round() as usize).max(THIN).min(n);
        let grid = (side(n_rows), side(n_cols));
        let mut cells = vec![0u32; grid.0 * grid.1];
        let mut lengths = Vec::new();
        for row in 0..n_rows {
            let range = a.row_range(row);
            let bin = bin(range.len());
            if lengths.len() <= bin {
                lengths.resize(bin + 1, 0);
            }
            lengths[bin] += 1;
            let down = row * grid.0 / n_rows;
            for &col in &a.cols()[range] {
                cells[down * grid.1 + col as usize * grid.1 / n_cols] += 1;
            }
        }
        Self { name: name.to_owned(), n_rows, n_cols, nnz: a.nnz(), grid, cells, lengths }
    }
}

/// Which of 0, 1, 2, 3-4, 5-8, ... a row belongs to.
fn bin(length: usize) -> usize {
    match length {
        0 => 0,
        _ => 1 + length.next_power_of_two().trailing_zeros() as usize,
    }
}

fn bin_name(bin: usize) -> String {
    match bin {
        0..=2 => bin.to_string(),
        _ => format!("{}-{}", short((1 << (bin - 2)) + 1), short(1 << (bin - 1))),
    }
}

/// A row length of few letters.
fn short(n: usize) -> String {
    if n < 8192 { n.to_string() } else { format!("{}k", n / 1024) }
}

/// A panel for each picture.
pub(super) fn panels(out: &mut String, report: &Report, pictures: &[Picture]) {
    if pictures.is_empty() {
        return;
    }
    out.push_str(
        "<section>\n<h2>Matrices</h2>\n<p>Left: where entries are; stronger cells hold more (logarithmic). \
         Right: rows by their number of entries; bars are logarithmic, numbers are rows.</p>\n\
         <div class=\"panels\">\n",
    );
    for picture in pictures {
        let twin = report.rows.iter().any(|r| r.twin && r.matrix == picture.name);
        let _ = writeln!(
            out,
            "<article>\n<h3>{}{}</h3>\n<p class=\"num\">{} x {}, {} entries</p>\n<div class=\"pair\">",
            escape(&picture.name),
            if twin { " <span class=\"twin\">twin</span>" } else { "" },
            thousands(picture.n_rows),
            thousands(picture.n_cols),
            thousands(picture.nnz)
        );
        picture.spy(out);
        picture.histogram(out);
        out.push_str("</div>\n</article>\n");
    }
    out.push_str("</div>\n</section>\n");
}

impl Picture {
    /// One path for each shade; neighbours of a shade in a row become one rectangle.
    fn spy(&self, out: &mut String) {
        let (down, across) = self.grid;
        let scale = 192.0 / down.max(across).max(1) as f64;
        let _ = write!(
            out,
            "<svg class=\"spy\" role=\"img\" aria-label=\"entries of {}\" width=\"{:.0}\" height=\"{:.0}\" \
             viewBox=\"0 0 {across} {down}\" preserveAspectRatio=\"none\" shape-rendering=\"crispEdges\" \
             xmlns=\"http://www.w3.org/2000/svg\">",
            escape(&self.name),
            across as f64 * scale,
            down as f64 * scale
        );
        let most = self.cells.iter().copied().max().unwrap_or(0);
        for shade in 1..=SHADES {
            let mut path = String::new();
            for (y, row) in self.cells.chunks(across.max(1)).enumerate() {
                let mut x = 0;
                for run in row.chunk_by(|a, b| self::shade(*a, most) == self::shade(*b, most)) {
                    if self::shade(run[0], most) == shade {
                        let _ = write!(path, "M{x} {y}h{0}v1h-{0}z", run.len());
                    }
                    x += run.len();
                }
            }
            if !path.is_empty() {
                let opacity = f64::from(shade) / f64::from(SHADES);
                let _ = write!(out, "<path fill-opacity=\"{opacity}\" d=\"{path}\"/>");
            }
        }
        out.push_str("</svg>\n");
    }

    fn histogram(&self, out: &mut String) {
        const LINE: usize = 15;
        const BAR: f64 = 76.0;
        let first = self.lengths.iter().position(|n| *n > 0).unwrap_or(0);
        let bins = &self.lengths[first..];
        let height = bins.len() * LINE;
        let most = bins.iter().copied().max().unwrap_or(0);
        let _ = write!(
            out,
            "<svg class=\"chart\" role=\"img\" aria-label=\"row lengths of {}\" width=\"208\" \
             height=\"{height}\" viewBox=\"0 0 208 {height}\" xmlns=\"http://www.w3.org/2000/svg\">",
            escape(&self.name)
        );
        for (i, &n) in bins.iter().enumerate() {
            let width = BAR * (n as f64).ln_1p() / (most.max(1) as f64).ln_1p();
            let (y, name, n) = (i * LINE, bin_name(first + i), thousands(n));
            let _ = write!(
                out,
                "<text x=\"72\" y=\"{}\" text-anchor=\"end\">{name}</text><rect class=\"s0\" x=\"78\" \
                 y=\"{}\" width=\"{width:.1}\" height=\"11\"><title>{n} rows with {name} entries</title></rect>\
                 <text x=\"{:.1}\" y=\"{}\">{n}</text>",
                y + 11,
                y + 2,
                82.0 + width,
                y + 11
            );
        }
        out.push_str("</svg>\n");
    }
}

/// 0 for no entries, up to [`SHADES`] for the fullest cell.
fn shade(count: u32, most: u32) -> u32 {
    if count == 0 {
        return 0;
    }
    let share = f64::from(count).ln_1p() / f64::from(most).ln_1p();
    ((share * f64::from(SHADES)).ceil() as u32).clamp(1, SHADES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_double() {
        let lengths = [0, 1, 2, 3, 4, 5, 8, 9, 16, 17];
        assert_eq!(lengths.map(bin), [0, 1, 2, 3, 3, 4, 4, 5, 5, 6]);
        assert_eq!([0, 1, 2, 3, 4, 5].map(bin_name), ["0", "1", "2", "3-4", "5-8", "9-16"]);
    }

    #[test]
    fn every_entry_and_row_is_counted_once() {
        let (rows, cols) = (100, 300);
        let row_ptr: Vec<u32> = (0..=rows as u32).map(|r| r * 3).collect();
        let entries: Vec<u32> = (0..rows as u32).flat_map(|r| [r, r + 100, r + 200]).collect();
        let values = vec![1.0f32; entries.len()];
        let picture = Picture::of("p", spmv::CsrView::new(rows, cols, &row_ptr, &entries, &values).unwrap());
        assert_eq!(picture.grid, (21, 64));
        assert_eq!(picture.cells.iter().sum::<u32>(), 300);
        assert_eq!(picture.lengths, [0, 0, 0, 100]);
    }

    #[test]
    fn a_matrix_without_entries_has_a_picture() {
        for (m, n, row_ptr) in
            [(0, 0, vec![0u32]), (0, 5, vec![0]), (1, 0, vec![0, 0]), (2, 2, vec![0, 0, 0])]
        {
            let picture = Picture::of::<f64>("e", spmv::CsrView::new(m, n, &row_ptr, &[], &[]).unwrap());
            let (mut spy, mut histogram) = (String::new(), String::new());
            picture.spy(&mut spy);
            picture.histogram(&mut histogram);
            assert!(!spy.contains("<path") && !histogram.contains("NaN"), "{spy}{histogram}");
        }
    }
}
