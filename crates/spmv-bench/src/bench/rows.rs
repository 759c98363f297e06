//! Tables whose rows are printed as they are measured, so that a run that is ended early has shown something.

use std::io::Write;

/// A table on standard output.
pub(crate) struct Rows {
    widths: Vec<usize>,
}

/// Characters of a column of numbers at least.
const NUMBER: usize = 9;

impl Rows {
    /// Prints the header. The first column holds these names, the others what is no wider than their headers or [`NUMBER`], or than the
    /// names of `devices` in the column `on`.
    pub(crate) fn begin<'n>(
        header: &[&str],
        names: impl Iterator<Item = &'n str>,
        devices: impl Iterator<Item = &'n str>,
    ) -> Self {
        let longest = |names: &mut dyn Iterator<Item = &'n str>| names.map(str::len).max().unwrap_or(0);
        let (mut names, mut devices) = (names, devices);
        let (name, device) = (longest(&mut names), longest(&mut devices));
        let width = |(at, header): (usize, &&str)| match (at, *header) {
            (0, header) => header.len().max(name),
            (_, "on") => device.max(2),
            (_, header) => header.len().max(NUMBER),
        };
        let rows = Self { widths: header.iter().enumerate().map(width).collect() };
        rows.print(&header.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        rows
    }

    /// Prints a row.
    pub(crate) fn print(&self, cells: &[String]) {
        // Whoever reads may have gone (`| head`).
        let mut out = std::io::stdout().lock();
        drop(writeln!(out, "{}", self.line(cells)).and_then(|()| out.flush()));
    }

    fn line(&self, cells: &[String]) -> String {
        let padded = cells.iter().zip(&self.widths).enumerate().map(|(at, (cell, &width))| match at {
            0 => format!("{cell:width$}"),
            _ => format!("{cell:>width$}"),
        });
        padded.collect::<Vec<_>>().join("  ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_from_the_first_row_on() {
        let rows = Rows::begin(&["matrix", "on", "us"], ["a longer name"].into_iter(), ["cuda0"].into_iter());
        let line = |cells: [&str; 3]| rows.line(&cells.map(str::to_owned));
        assert_eq!(line(["a", "cpu", "1.5"]), "a                cpu        1.5");
        assert_eq!(line(["a longer name", "cuda0", "12345.5"]), "a longer name  cuda0    12345.5");
    }
}
