//! What a benchmark found, as data: the JSON that `docs/bench-schema.md` describes.

mod co_execution;

use std::collections::BTreeMap;

pub(crate) use co_execution::{HeteroRow, RegularRow};
use serde::{Deserialize, Serialize};
use spmv::{DeviceCaps, Dtype, plan::RowStats};

/// Version of the schema; changes whenever a field changes its meaning or goes away.
pub(crate) const SCHEMA: &str = "spmv-bench/3";

/// What the name of a matrix ends with where the product is by its transpose.
pub(crate) const TRANSPOSED: &str = "^T";

/// The name of what is multiplied by: a matrix, or its transpose.
pub(crate) fn factor(matrix: &str, transposed: bool) -> String {
    format!("{matrix}{}", if transposed { TRANSPOSED } else { "" })
}

/// One run of `cargo xtask bench`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) schema: String,
    pub(crate) machine: String,
    pub(crate) commit: String,
    /// When it began, in UTC.
    #[serde(default)]
    pub(crate) date: Option<String>,
    /// Threads that other programs kept busy during the run, in the mean, where Linux says so.
    #[serde(default)]
    pub(crate) load: Option<f64>,
    /// Why the run ended before everything was measured, if it did; the lists below are then of what was.
    #[serde(default)]
    pub(crate) ended_early: Option<String>,
    /// Measured read bandwidth of this machine's memory, all threads, GB/s.
    pub(crate) read_gbs: f64,
    /// Where it was multiplied.
    pub(crate) devices: Vec<Device>,
    /// What some device was left out of, and why: a sentence each.
    pub(crate) left_out: Vec<String>,
    /// Peers that were asked for and not found, and why.
    pub(crate) absent: BTreeMap<String, String>,
    /// What each peer of `rows` is: library, version, function, threads.
    #[serde(default)]
    pub(crate) peers: BTreeMap<String, String>,
    pub(crate) rows: Vec<Row>,
    /// Empty but for `--sweep`, which leaves `rows` empty.
    pub(crate) sweep: Vec<Cell>,
    /// What [`comparisons`](Self::comparisons) rest on.
    #[serde(default)]
    pub(crate) comparison: Option<ComparisonRun>,
    /// The comparison on a CUDA device; empty without one and without `--peers`.
    #[serde(default)]
    pub(crate) comparisons: Vec<ComparisonRow>,
    /// Empty but for `--hetero`, which leaves `rows` empty.
    #[serde(default)]
    pub(crate) hetero: Vec<HeteroRow>,
    /// Empty but for `--regular`, which leaves `rows` empty.
    #[serde(default)]
    pub(crate) regular: Vec<RegularRow>,
}

/// A device of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Device {
    /// The backend, with an index where the run has several of its devices.
    pub(crate) label: String,
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) memory: String,
    /// Measured read bandwidth of its memory, GB/s.
    #[serde(default)]
    pub(crate) read_gbs: Option<f64>,
}

/// One matrix, multiplied one way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) matrix: String,
    /// Whether the matrix was generated in the likeness of another.
    pub(crate) twin: bool,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) nnz: usize,
    pub(crate) row_min: usize,
    pub(crate) row_mean: f64,
    pub(crate) row_max: usize,
    /// Label of the device.
    pub(crate) on: String,
    pub(crate) backend: String,
    pub(crate) device: String,
    pub(crate) algorithm: String,
    pub(crate) tiling: String,
    /// Whether `auto` takes this algorithm and tiling here, with trials if it is [`tuned`](Self::tuned).
    #[serde(default)]
    pub(crate) auto: bool,
    /// Whether trials on the matrix chose it.
    #[serde(default)]
    pub(crate) tuned: bool,
    pub(crate) precision: String,
    pub(crate) cache: Cache,
    /// Absent if the check failed: a wrong result has no speed.
    pub(crate) time_us: Option<Spread>,
    /// Stage 1 by the device's timestamps and stage 2 as whoever repairs measures it; absent on the cpu backend too,
    /// where it would say the same.
    pub(crate) device_us: Option<Spread>,
    pub(crate) gflops: Option<f64>,
    pub(crate) gbs: Option<f64>,
    /// `gbs` over the `read_gbs` of the device; above 1 where the matrix stays in cache.
    pub(crate) roof_share: Option<f64>,
    pub(crate) plan_us: f64,
    /// Tiles of a run; 0 for algorithms without tiles.
    #[serde(default)]
    pub(crate) n_tiles: u32,
    /// Null for algorithms without tiles.
    pub(crate) dirty_tiles: Option<u32>,
    pub(crate) stage1_us: f64,
    pub(crate) stage2_us: f64,
    pub(crate) error_over_bound: f64,
    pub(crate) ok: bool,
    /// Of a product among others in a queue, none of which is waited for; in measurements of several devices.
    #[serde(default)]
    pub(crate) queued_us: Option<f64>,
    /// Of several devices: speed over that of the fastest one of the backend, both by `queued_us`.
    #[serde(default)]
    pub(crate) over_one: Option<f64>,
    pub(crate) peers: BTreeMap<String, PeerTime>,
}

/// One matrix under one tiling of a sweep.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Cell {
    pub(crate) matrix: String,
    pub(crate) twin: bool,
    pub(crate) nnz: usize,
    /// Label of the device.
    pub(crate) on: String,
    pub(crate) precision: String,
    pub(crate) cache: Cache,
    pub(crate) tiling: String,
    pub(crate) w: u32,
    pub(crate) s: u32,
    /// Whether this is the tiling of the plan, or the one asked for; W or S of the others differs from it.
    pub(crate) planned: bool,
    pub(crate) outcome: Outcome,
    /// What the device said of a tiling that it refused or that failed.
    pub(crate) why: Option<String>,
    pub(crate) time_us: Option<Spread>,
    pub(crate) device_us: Option<Spread>,
    pub(crate) gflops: Option<f64>,
    pub(crate) error_over_bound: Option<f64>,
}

/// What a comparison with cuSPARSE ran on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ComparisonRun {
    /// Name of the device.
    pub(crate) device: String,
    /// Version of the library, if it was there; several are separated by commas.
    pub(crate) cusparse: Option<String>,
    /// Multiplications in a graph of warm ones; a cold graph holds one.
    pub(crate) graph_runs: u32,
    /// A multiplication of a 1 x 1 matrix in a warm graph, microseconds.
    pub(crate) empty_us: Option<f64>,
    /// Bytes that are read before every cold run, and how fast.
    pub(crate) flush_bytes: Option<u64>,
    pub(crate) flush_gbs: Option<f64>,
}

/// One matrix, multiplied one way on a CUDA device, captured and timed by events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ComparisonRow {
    pub(crate) matrix: String,
    pub(crate) twin: bool,
    pub(crate) nnz: usize,
    pub(crate) precision: String,
    pub(crate) cache: Cache,
    /// Library and way: `spmv/auto`, `cusparse/csr_alg1+preprocess`, `spmvop/alg1`.
    pub(crate) contestant: String,
    /// Version of the cuSPARSE that took turns with ours, if there was one.
    #[serde(default)]
    pub(crate) library: Option<String>,
    /// Algorithm and tiling of ours.
    pub(crate) kernel: Option<String>,
    /// Absent if it failed, or if the check did: a wrong result has no speed.
    pub(crate) us: Option<Spread>,
    /// Of ours preparing, copies included; of cuSPARSE descriptors, buffer and preprocessing, of SpMVOp its plan.
    pub(crate) setup_us: Option<f64>,
    /// Device memory that cuSPARSE asked for besides the matrix.
    #[serde(default)]
    pub(crate) buffer_bytes: Option<u64>,
    pub(crate) gbs: Option<f64>,
    pub(crate) ok: bool,
    pub(crate) error_over_bound: Option<f64>,
    /// Why it is not ok.
    pub(crate) why: Option<String>,
}

/// How a cell of a sweep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Outcome {
    Right,
    Wrong,
    /// The device cannot run the tiling and said so before the first run.
    Refused,
    /// The first run ended with an error.
    Failed,
}

/// Whether caches held the matrix when a run began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Cache {
    Warm,
    Cold,
}

/// Times of repeated runs, microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

/// Another library on the same matrix in the same run, microseconds; no time if its result was wrong.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PeerTime {
    /// Median.
    pub(crate) time_us: Option<f64>,
    #[serde(default)]
    pub(crate) min_us: Option<f64>,
    #[serde(default)]
    pub(crate) max_us: Option<f64>,
    pub(crate) prepare_us: f64,
}

impl Report {
    /// Results that are wrong, and runs that failed.
    pub(crate) fn n_failed(&self) -> usize {
        let rows = self.rows.iter().filter(|r| !r.ok).count();
        let comparisons = self.comparisons.iter().filter(|r| r.is_ours() && !r.ok).count();
        let hetero = self.hetero.iter().filter(|r| !r.ok).count();
        let regular = self.regular.iter().filter(|r| !r.ok).count();
        rows + comparisons + hetero + regular + self.sweep.iter().filter(|c| c.outcome.is_failure()).count()
    }

    /// Says once what was left out.
    pub(crate) fn leave_out(&mut self, line: String) {
        if !self.left_out.contains(&line) {
            self.left_out.push(line);
        }
    }

    /// Adds a row, with its share of the roof.
    pub(crate) fn add(&mut self, mut row: Row) {
        row.roof_share = row.gbs.zip(self.roof(&row.on)).map(|(gbs, roof)| gbs / roof);
        self.rows.push(row);
    }

    /// GB/s that the memory of a device was measured to read.
    pub(crate) fn roof(&self, label: &str) -> Option<f64> {
        let of_it = self.devices.iter().find(|device| device.label == label)?.read_gbs;
        of_it.filter(|gbs| gbs.is_finite() && *gbs > 0.0)
    }

    /// Adds a comparison with the library of this name.
    pub(crate) fn add_comparison(&mut self, found: Report, library: &str) {
        self.comparisons.extend(found.comparisons);
        found.left_out.into_iter().for_each(|line| self.leave_out(line));
        self.absent.extend(found.absent.into_values().map(|why| (library.to_owned(), why)));
        match (&mut self.comparison, found.comparison) {
            (Some(run), Some(found)) => run.add(found),
            (run, found) => *run = run.take().or(found),
        }
    }

    /// Results of ours.
    pub(crate) fn n_results(&self) -> usize {
        let comparisons = self.comparisons.iter().filter(|r| r.is_ours()).count();
        self.rows.len() + self.sweep.len() + self.hetero.len() + self.regular.len() + comparisons
    }
}

impl ComparisonRow {
    const OURS: &str = "spmv/";
    /// What the names of cuSPARSE's variants begin with.
    pub(crate) const CUSPARSE: &str = "cusparse/";
    /// The same of its SpMVOp.
    pub(crate) const SPMVOP: &str = "spmvop/";

    /// The name of one of our algorithms as a contestant.
    pub(crate) fn ours(algorithm: &str) -> String {
        format!("{}{algorithm}", Self::OURS)
    }

    /// Whether it is one of our algorithms.
    pub(crate) fn is_ours(&self) -> bool {
        self.contestant.starts_with(Self::OURS)
    }

    /// The contestant without its library.
    pub(crate) fn name(&self) -> &str {
        self.contestant.split_once('/').map_or(&*self.contestant, |(_, name)| name)
    }

    /// The contestant with the version of its library.
    pub(crate) fn label(&self) -> String {
        match (&self.library, self.contestant.split_once('/')) {
            (Some(version), Some((library, name))) if !self.is_ours() => {
                format!("{library} {version}/{name}")
            }
            _ => self.contestant.clone(),
        }
    }

    /// A right row, or one without a time.
    #[cfg(test)]
    pub(crate) fn sample(contestant: &str, us: Option<f64>) -> Self {
        Self {
            matrix: "a".into(),
            twin: false,
            nnz: 500,
            precision: "f32".into(),
            cache: Cache::Warm,
            contestant: contestant.into(),
            library: Some("12.6.3".into()),
            kernel: None,
            us: us.map(|median| Spread { median, min: median, max: median }),
            setup_us: Some(100.0),
            buffer_bytes: Some(5_000_000),
            gbs: us.map(|_| 50.0),
            ok: us.is_some(),
            error_over_bound: Some(0.1),
            why: None,
        }
    }
}

impl ComparisonRun {
    /// Adds another run on the same device: its library, and what this one does not know yet.
    fn add(&mut self, other: Self) {
        self.cusparse = match (self.cusparse.take(), other.cusparse) {
            (Some(known), Some(new)) if !known.split(", ").any(|version| version == new) => {
                Some(format!("{known}, {new}"))
            }
            (known, new) => known.or(new),
        };
        self.empty_us = self.empty_us.or(other.empty_us);
        self.flush_bytes = self.flush_bytes.or(other.flush_bytes);
        self.flush_gbs = self.flush_gbs.or(other.flush_gbs);
    }
}

impl PeerTime {
    /// No times where the result was wrong.
    pub(crate) fn new(time_us: Option<Spread>, prepare_us: f64) -> Self {
        Self {
            time_us: time_us.map(|t| t.median),
            min_us: time_us.map(|t| t.min),
            max_us: time_us.map(|t| t.max),
            prepare_us,
        }
    }
}

#[cfg(test)]
impl ComparisonRun {
    pub(crate) fn sample() -> Self {
        Self {
            device: "some GPU".into(),
            cusparse: Some("12.6.3".into()),
            graph_runs: 20,
            empty_us: Some(1.5),
            flush_bytes: Some(256 << 20),
            flush_gbs: Some(4000.0),
        }
    }
}

impl Device {
    pub(crate) fn of(label: &str, caps: &DeviceCaps) -> Self {
        let (label, name) = (label.to_owned(), caps.name.clone());
        Self { label, name, kind: caps.kind.to_string(), memory: caps.memory.to_string(), read_gbs: None }
    }

    /// What reports say of its memory after its kind.
    pub(crate) fn read(&self) -> String {
        self.read_gbs.map_or_else(String::new, |gbs| format!(", read at {gbs:.1} GB/s"))
    }
}

impl Outcome {
    pub(crate) fn is_failure(self) -> bool {
        matches!(self, Outcome::Wrong | Outcome::Failed)
    }
}

/// The time that rates and comparisons of algorithms count: the device's own where it was taken, else the
/// caller's. Median, microseconds.
pub(crate) fn counted_us(time_us: Option<Spread>, device_us: Option<Spread>) -> Option<f64> {
    device_us.or(time_us).map(|t| t.median)
}

impl Row {
    /// Dirty tiles over all tiles.
    pub(crate) fn dirty_share(&self) -> Option<f64> {
        let dirty = self.dirty_tiles.filter(|_| self.n_tiles > 0)?;
        Some(f64::from(dirty) / f64::from(self.n_tiles))
    }

    /// Compulsory traffic: every row offset, entry, x and y once, `(m+1)*4 + nnz*4 + (nnz+n+m)*value` bytes.
    /// `y` of 16-bit values is counted at their size too, as in the formula.
    pub(crate) fn compulsory_bytes(rows: &RowStats, value: Dtype) -> f64 {
        let (m, n, nnz) = (rows.n_rows as f64, rows.n_cols as f64, rows.nnz as f64);
        (m + 1.0) * 4.0 + nnz * 4.0 + (nnz + n + m) * value.bytes() as f64
    }

    /// As [`counted_us`].
    pub(crate) fn counted_us(&self) -> Option<f64> {
        counted_us(self.time_us, self.device_us)
    }

    /// Time of the peer over ours, both as the caller sees them: above 1 where we are faster.
    pub(crate) fn ratio_to(&self, peer: &str) -> Option<f64> {
        Some(self.peers.get(peer)?.time_us? / self.time_us?.median)
    }

    /// As [`ratio_to`](Self::ratio_to) for the fastest of all peers.
    pub(crate) fn ratio_to_best(&self) -> Option<f64> {
        self.peers.keys().filter_map(|p| self.ratio_to(p)).min_by(f64::total_cmp)
    }
}

/// `(product of values)^(1/n)`; `None` without values.
pub(crate) fn geometric_mean(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    (!values.is_empty()).then(|| (values.iter().map(|v| v.ln()).sum::<f64>() / n).exp())
}

/// `sum / n`; `None` without values.
pub(crate) fn arithmetic_mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// `n / sum of reciprocals`; `None` without values.
pub(crate) fn harmonic_mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.len() as f64 / values.iter().map(|v| 1.0 / v).sum::<f64>())
}

/// A geometric mean and the least of some ratios, each with its matrix.
pub(crate) fn mean_and_least<'a>(ratios: &[(f64, &'a str)]) -> Option<(f64, f64, &'a str)> {
    let (least, at) = ratios.iter().copied().min_by(|a, b| a.0.total_cmp(&b.0))?;
    let mean = geometric_mean(&ratios.iter().map(|(ratio, _)| *ratio).collect::<Vec<_>>())?;
    Some((mean, least, at))
}

/// Values in their order, each once.
pub(crate) fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut all = Vec::new();
    for value in values {
        if !all.contains(&value) {
            all.push(value);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_geometric() {
        let ratios = [(4.0, "a"), (1.0, "b")];
        assert_eq!(mean_and_least(&ratios), Some((2.0, 1.0, "b")));
        assert_eq!(mean_and_least(&[]), None);
    }

    #[test]
    fn means_of_one_and_four() {
        assert!((arithmetic_mean(&[1.0, 4.0]).unwrap() - 2.5).abs() < 1e-12);
        assert!((geometric_mean(&[1.0, 4.0]).unwrap() - 2.0).abs() < 1e-12);
        assert!((harmonic_mean(&[1.0, 4.0]).unwrap() - 1.6).abs() < 1e-12);
        assert_eq!(geometric_mean(&[]), None);
    }

    #[test]
    fn the_devices_own_time_counts_where_there_is_one() {
        let spread = |median| Some(Spread { median, min: 1.0, max: 9.0 });
        assert_eq!(counted_us(spread(5.0), spread(3.0)), Some(3.0));
        assert_eq!(counted_us(spread(5.0), None), Some(5.0));
        assert_eq!(counted_us(None, None), None);
    }

    #[test]
    fn a_failure_of_ours_counts_and_one_of_another_library_does_not() {
        let mut report = super::super::html::tests::sample(&[]);
        (report.sweep, report.hetero, report.regular) = (vec![], vec![], vec![]);
        report.comparisons = vec![ComparisonRow::sample("cusparse/default", None)];
        assert_eq!((report.n_failed(), report.n_results()), (0, 0));
        report.comparisons.push(ComparisonRow::sample("spmv/auto", None));
        assert_eq!((report.n_failed(), report.n_results()), (1, 1));
    }

    #[test]
    fn comparisons_with_several_libraries_are_one_report() {
        let found = |version: &str| {
            let library = Some(version.to_owned());
            let row =
                ComparisonRow { library: library.clone(), ..ComparisonRow::sample("cusparse/default", None) };
            let run = ComparisonRun { cusparse: library, ..ComparisonRun::sample() };
            let left_out = vec!["f16 is left out".into()];
            Report { comparison: Some(run), comparisons: vec![row], left_out, ..Report::default() }
        };
        let mut report = Report::default();
        for version in ["12.6.3", "12.9.4", "12.6.3"] {
            report.add_comparison(found(version), "/own");
        }
        let labels: Vec<String> = report.comparisons.iter().map(ComparisonRow::label).collect();
        let [old, new] = ["cusparse 12.6.3/default", "cusparse 12.9.4/default"];
        assert_eq!(labels, [old, new, old]);
        assert_eq!(report.comparison.unwrap().cusparse.as_deref(), Some("12.6.3, 12.9.4"));
        assert_eq!((report.left_out.len(), report.absent.len()), (1, 0));
    }

    #[test]
    fn a_library_that_is_absent_is_named() {
        let mut report = Report::default();
        let absent = BTreeMap::from([("cusparse".to_owned(), "it does not load".to_owned())]);
        report.add_comparison(Report { absent, ..Report::default() }, "/own");
        assert_eq!(report.absent["/own"], "it does not load");
    }

    #[test]
    fn a_report_from_before_the_comparison_can_be_read() {
        let mut json = serde_json::to_value(super::super::html::tests::sample(&["a"])).unwrap();
        let fields = json.as_object_mut().unwrap();
        assert!(fields.remove("comparison").is_some() && fields.remove("comparisons").is_some());
        let report: Report = serde_json::from_value(json).unwrap();
        assert_eq!((report.comparison, report.comparisons.len()), (None, 0));
    }

    #[test]
    fn a_report_from_before_the_paper_s_partition_can_be_read() {
        let mut json = serde_json::to_value(super::super::html::tests::sample(&["a"])).unwrap();
        assert!(json.as_object_mut().unwrap().remove("regular").is_some());
        let hetero = json["hetero"][0].as_object_mut().unwrap();
        for field in ["before_split", "before_us", "after_split", "after_us", "regular_refused"] {
            assert!(hetero.remove(field).is_some(), "{field}");
        }
        let report: Report = serde_json::from_value(json).unwrap();
        let row = &report.hetero[0];
        assert_eq!(
            (row.before(), row.after(), &row.before_split, report.regular.len()),
            (None, None, &None, 0)
        );
        assert!(row.over_device().is_some());
    }

    #[test]
    fn archived_runs_of_co_execution_can_be_read() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results");
        let mut n_rows = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy();
            if !(name.contains("hetero") && name.ends_with(".json")) {
                continue;
            }
            let report: Report = serde_json::from_str(&std::fs::read_to_string(&path).unwrap())
                .unwrap_or_else(|e| panic!("{name}: {e}"));
            n_rows += report.hetero.len();
        }
        assert!(n_rows > 0);
    }

    #[test]
    fn compulsory_traffic_by_hand() {
        let rows = RowStats { n_rows: 2, n_cols: 3, nnz: 5, ..RowStats::default() };
        assert_eq!(Row::compulsory_bytes(&rows, Dtype::F64), 12.0 + 20.0 + 80.0);
        assert_eq!(Row::compulsory_bytes(&rows, Dtype::Bf16), 12.0 + 20.0 + 20.0);
    }
}
