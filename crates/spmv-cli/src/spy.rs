//! Where the entries of a matrix are, as text.

use spmv::{CsrView, Value};

/// Characters of a line, each of which has two dots side by side.
const COLUMNS: usize = 40;
/// Dots of a character: down and across.
const DOTS: (usize, usize) = (4, 2);
/// Bits of Braille characters (U+2800 and on): down, then across.
const BITS: [[u32; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// Lines of Braille characters in the proportions of the matrix: a dot where there is an entry. Reads every entry once.
pub(crate) fn plot<T: Value>(a: CsrView<'_, T, u32>) -> Vec<String> {
    let (n_rows, n_cols) = (a.n_rows(), a.n_cols());
    if n_rows == 0 || n_cols == 0 {
        return vec![];
    }
    let most = COLUMNS * DOTS.1;
    let side = |n: usize| (most * n / n_rows.max(n_cols)).clamp(1, n);
    let (down, across) = (side(n_rows), side(n_cols));
    let width = across.div_ceil(DOTS.1);
    let mut cells = vec![0u32; down.div_ceil(DOTS.0) * width];
    for row in 0..n_rows {
        let y = row * down / n_rows;
        for (col, _) in a.row(row) {
            let x = col as usize * across / n_cols;
            cells[y / DOTS.0 * width + x / DOTS.1] |= BITS[y % DOTS.0][x % DOTS.1];
        }
    }
    let character = |bits: &u32| char::from_u32(0x2800 + bits).unwrap_or(' ');
    cells.chunks(width).map(|line| line.iter().map(character).collect()).collect()
}

#[cfg(test)]
mod tests {
    use spmv::Csr;

    use super::*;

    fn plot_of(n_rows: usize, n_cols: usize, at: &[(u32, u32)]) -> Vec<String> {
        let entries: Vec<_> = at.iter().map(|(row, col)| (*row, *col, 1.0f32)).collect();
        plot(Csr::from_coo(n_rows, n_cols, &entries).unwrap().view())
    }

    #[test]
    fn a_dot_is_an_entry_while_there_are_dots_enough() {
        assert_eq!(plot_of(4, 2, &[(0, 0), (1, 1), (3, 0)]), ["⡑"]);
        assert_eq!(plot_of(1, 4, &[(0, 3)]), ["⠀⠈"]);
    }

    #[test]
    fn a_large_matrix_fits_its_lines() {
        let diagonal: Vec<_> = (0..1000).map(|i| (i, i)).collect();
        let lines = plot_of(1000, 1000, &diagonal);
        assert_eq!((lines.len(), lines[0].chars().count()), (20, 40));
        assert!(lines[0].starts_with('⠑') || lines[0].starts_with('⠣'), "{}", lines[0]);
        assert_eq!(plot_of(3000, 1, &[(2999, 0)]).len(), 20);
    }

    #[test]
    fn nothing_has_no_lines() {
        assert!(plot_of(0, 3, &[]).is_empty() && plot_of(3, 0, &[]).is_empty());
    }
}
