//! Rows, printed as they are measured: what a run that is ended early, or fails, has shown by then.

use std::cell::RefCell;
use std::io::Write;

use indicatif::ProgressBar;
use spmv::plan::Algorithm;

use super::report::{Cache, Cell, ComparisonRow, HeteroRow, Outcome, RegularRow, Report, Row, Spread};
use super::text::{name, number, tuned};

/// Where results are printed, and how many of each list of the report were.
pub(crate) struct Live {
    state: RefCell<State>,
    bar: ProgressBar,
    widths: Widths,
}

struct State {
    out: Box<dyn Write>,
    rows: usize,
    cells: usize,
    hetero: usize,
    regular: usize,
    comparisons: usize,
}

/// Characters of the first columns. Those of the others are the same in every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Widths {
    matrix: usize,
    on: usize,
    algorithm: usize,
}

impl Live {
    /// For matrices and devices of these names.
    pub(crate) fn new<'n>(
        out: Box<dyn Write>,
        bar: &ProgressBar,
        matrices: impl Iterator<Item = &'n str>,
        devices: impl Iterator<Item = &'n str>,
    ) -> Self {
        let matrix = matrices.map(|matrix| name(matrix, true).len()).max().unwrap_or(0);
        let on = devices.map(str::len).max().unwrap_or(0);
        let algorithm = Algorithm::ALL.iter().map(|a| a.name().len()).max().unwrap_or(0);
        let state = RefCell::new(State { out, rows: 0, cells: 0, hetero: 0, regular: 0, comparisons: 0 });
        Self { state, bar: bar.clone(), widths: Widths { matrix, on, algorithm } }
    }

    /// One that nobody reads.
    pub(crate) fn discarding() -> Self {
        Self::new(Box::new(std::io::sink()), &ProgressBar::hidden(), [].into_iter(), [].into_iter())
    }

    /// Prints what was added to the report since the last call.
    pub(crate) fn show(&self, report: &Report) {
        let state = &mut *self.state.borrow_mut();
        let mut lines = String::new();
        let w = self.widths;
        report.rows[state.rows..].iter().for_each(|row| lines += &w.row(row));
        report.sweep[state.cells..].iter().for_each(|cell| lines += &w.cell(cell));
        report.hetero[state.hetero..].iter().for_each(|row| lines += &w.hetero(row));
        report.regular[state.regular..].iter().for_each(|row| lines += &w.regular(row));
        report.comparisons[state.comparisons..].iter().for_each(|row| lines += &w.comparison(row));
        state.rows = report.rows.len();
        state.cells = report.sweep.len();
        state.hetero = report.hetero.len();
        state.regular = report.regular.len();
        state.comparisons = report.comparisons.len();
        if !lines.is_empty() {
            self.print(state, &lines);
        }
    }

    /// Prints tables and means.
    pub(crate) fn finish(&self, text: &str) {
        self.print(&mut self.state.borrow_mut(), &format!("\n{text}"));
    }

    fn print(&self, state: &mut State, text: &str) {
        // Whoever reads may have gone (`| head`); the files are still to be written.
        self.bar.suspend(|| drop(state.out.write_all(text.as_bytes()).and_then(|()| state.out.flush())));
    }
}

impl Widths {
    fn row(self, row: &Row) -> String {
        let start = self.start(&row.matrix, row.twin, &row.precision, row.cache);
        let way =
            format!("{:on$}  {:algorithm$}", row.on, row.algorithm, on = self.on, algorithm = self.algorithm)
                + tuned(row.tuned);
        let time = row.device_us.or(row.time_us);
        format!("{start}  {way}  {}\n", measured(row.ok, time, row.gflops, row.gbs))
    }

    fn cell(self, cell: &Cell) -> String {
        let start = self.start(&cell.matrix, cell.twin, &cell.precision, cell.cache);
        let end = match cell.outcome {
            Outcome::Refused => "refused".to_owned(),
            outcome => {
                let time = cell.device_us.or(cell.time_us);
                measured(!outcome.is_failure(), time, cell.gflops, None)
            }
        };
        format!("{start}  {:on$}  {:22}  {end}\n", cell.on, cell.tiling, on = self.on)
    }

    fn hetero(self, row: &HeteroRow) -> String {
        let start = self.start(&row.matrix, row.twin, &row.precision, Cache::Warm);
        let end = if row.ok {
            format!("{:>10} us  {:>5} x single", number(row.together_us, 1), number(row.over_single(), 2))
        } else {
            "FAILED".to_owned()
        };
        format!("{start}  {:on$}  runs on {:6}  {end}\n", row.on, row.chosen, on = self.on)
    }

    fn regular(self, row: &RegularRow) -> String {
        let start = self.start(&row.matrix, row.twin, &row.precision, Cache::Warm);
        let end = if row.ok { number(row.over_auto(), 3) + " x auto" } else { "FAILED".to_owned() };
        format!("{start}  {:on$}  {:>10} us  {end}\n", row.on, number(row.layout_us, 1), on = self.on)
    }

    fn comparison(self, row: &ComparisonRow) -> String {
        let start = self.start(&row.matrix, row.twin, &row.precision, row.cache);
        // The longest: cusparse 12.6.3/csr_alg1+preprocess.
        format!("{start}  {:35}  {}\n", row.label(), measured(row.ok, row.us, None, row.gbs))
    }

    fn start(self, matrix: &str, twin: bool, precision: &str, cache: Cache) -> String {
        let cache = if cache == Cache::Cold { "cold" } else { "warm" };
        format!("{:matrix$}  {precision:4}  {cache}", name(matrix, twin), matrix = self.matrix)
    }
}

/// Time and rates, as far as there are any.
fn measured(ok: bool, time: Option<Spread>, gflops: Option<f64>, gbs: Option<f64>) -> String {
    if !ok {
        return "FAILED".into();
    }
    let rate =
        |rate: Option<f64>, unit| rate.map_or_else(String::new, |rate| format!("  {rate:>8.2} {unit}"));
    let us = number(time.map(|time| time.median), 1);
    format!("{us:>10} us{}{}", rate(gflops, "GFlop/s"), rate(gbs, "GB/s"))
}

#[cfg(test)]
mod tests {
    use super::super::html::tests::sample;
    use super::*;

    fn shown(reports: &[&Report]) -> Vec<String> {
        let (folder, bar) = (tempfile::tempdir().unwrap(), ProgressBar::hidden());
        let path = folder.path().join("out");
        let out = Box::new(std::fs::File::create(&path).unwrap());
        let live = Live::new(out, &bar, ["a", "longer"].into_iter(), ["cpu"].into_iter());
        reports.iter().for_each(|report| live.show(report));
        std::fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn every_result_has_one_line_and_is_printed_once() {
        let (one, two) = (sample(&["a"]), sample(&["a", "longer"]));
        let lines = shown(&[&one, &one, &two]);
        // Two rows for each matrix; a cell, a hetero row, a regular part and a comparison of the sample.
        assert_eq!(lines.len(), 2 * 2 + 4, "{lines:?}");
        assert!(
            lines[0].starts_with("a ") && lines[0].ends_with("100.0 us     10.00 GFlop/s     40.00 GB/s")
        );
        assert!(lines[1].ends_with("FAILED"), "a wrong result has no speed: {lines:?}");
    }

    #[test]
    fn columns_of_one_list_are_aligned() {
        let lines = shown(&[&sample(&["a", "longer"])]);
        let at = |line: &str| line.find("cpu").unwrap();
        let rows: Vec<usize> = lines.iter().filter(|l| l.contains("csr5")).map(|l| at(l)).collect();
        assert!(rows.len() == 4 && rows.iter().all(|column| *column == rows[0]), "{lines:?}");
    }
}
