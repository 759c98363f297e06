//! What the charts show: rows that may be compared, and the contenders among them.

use super::super::report::{Cache, Report, Row};
use super::super::text::tuned;

/// The rows of one precision and one state of the caches.
pub(super) struct View<'a> {
    pub(super) precision: &'a str,
    pub(super) cache: Cache,
    pub(super) rows: Vec<&'a Row>,
}

/// One colour of the charts.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Series<'a> {
    Ours { on: &'a str, algorithm: &'a str, is_tuned: bool },
    Peer(&'a str),
}

/// How a contender did on a matrix.
#[derive(Clone, Copy)]
pub(super) enum Outcome {
    Absent,
    Failed,
    Right(Speed),
}

/// GFlop/s: of the median time, and between the longest and the shortest.
#[derive(Clone, Copy)]
pub(super) struct Speed {
    pub(super) median: f64,
    pub(super) range: Option<(f64, f64)>,
}

impl Speed {
    /// Of times in microseconds. `None` if no time passed.
    fn of(nnz: usize, median: f64, ends: Option<(f64, f64)>) -> Option<Self> {
        let gflops =
            |us: f64| Some(2.0 * nnz as f64 / us / 1e3).filter(|v| us > 0.0 && v.is_finite() && *v > 0.0);
        let range = ends.and_then(|(shortest, longest)| Some((gflops(longest)?, gflops(shortest)?)));
        Some(Self { median: gflops(median)?, range })
    }

    /// The end of what is drawn of it.
    pub(super) fn top(&self) -> f64 {
        self.range.map_or(self.median, |(_, high)| high.max(self.median))
    }
}

/// Every combination of precision and cache, in the order of the report.
pub(super) fn of(report: &Report) -> Vec<View<'_>> {
    let mut views: Vec<View<'_>> = Vec::new();
    for row in &report.rows {
        match views.iter_mut().find(|v| v.precision == row.precision && v.cache == row.cache) {
            Some(view) => view.rows.push(row),
            None => views.push(View { precision: &row.precision, cache: row.cache, rows: vec![row] }),
        }
    }
    views
}

/// Our ways to multiply, then peers. The same in all charts, so that colours keep their meaning.
pub(super) fn series(report: &Report) -> Vec<Series<'_>> {
    let ours = report.rows.iter().map(Series::of);
    let peers = report.rows.iter().flat_map(|r| r.peers.keys()).map(|p| Series::Peer(p));
    let mut all: Vec<Series<'_>> = Vec::new();
    for one in ours.chain(peers) {
        if !all.contains(&one) {
            all.push(one);
        }
    }
    all
}

/// Names of peers of any row, in order.
pub(super) fn peers<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Vec<&'a str> {
    let mut peers: Vec<&str> = rows.into_iter().flat_map(|r| r.peers.keys().map(String::as_str)).collect();
    peers.sort_unstable();
    peers.dedup();
    peers
}

/// The speed of a row whose result is right.
pub(super) fn speed(row: &Row) -> Option<f64> {
    row.gflops.filter(|v| row.ok && v.is_finite() && *v > 0.0)
}

impl View<'_> {
    pub(super) fn title(&self) -> String {
        let cache = match self.cache {
            Cache::Warm => "warm",
            Cache::Cold => "cold",
        };
        format!("{}, {cache} cache", self.precision)
    }

    /// Names of matrices in the order of the report.
    pub(super) fn matrices(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for row in &self.rows {
            if !names.contains(&row.matrix.as_str()) {
                names.push(&row.matrix);
            }
        }
        names
    }

    pub(super) fn outcome(&self, matrix: &str, series: &Series<'_>) -> Outcome {
        let mut rows = self.rows.iter().filter(|r| r.matrix == matrix);
        match series {
            Series::Ours { .. } => match rows.find(|r| Series::of(r) == *series) {
                None => Outcome::Absent,
                Some(row) => {
                    let us = row.device_us.or(row.time_us).filter(|_| speed(row).is_some());
                    let speed = us.and_then(|us| Speed::of(row.nnz, us.median, Some((us.min, us.max))));
                    speed.map_or(Outcome::Failed, Outcome::Right)
                }
            },
            Series::Peer(peer) => match rows.find_map(|r| Some((r.nnz, r.peers.get(*peer)?))) {
                None => Outcome::Absent,
                Some((nnz, time)) => {
                    let speed = time.time_us.and_then(|us| Speed::of(nnz, us, time.min_us.zip(time.max_us)));
                    speed.map_or(Outcome::Failed, Outcome::Right)
                }
            },
        }
    }
}

impl<'a> Series<'a> {
    pub(super) fn of(row: &'a Row) -> Self {
        Series::Ours { on: &row.on, algorithm: &row.algorithm, is_tuned: row.tuned }
    }

    pub(super) fn name(&self) -> String {
        match self {
            Series::Ours { on, algorithm, is_tuned } => format!("spmv {on} {algorithm}{}", tuned(*is_tuned)),
            Series::Peer(peer) => (*peer).to_owned(),
        }
    }
}
