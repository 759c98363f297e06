//! The comparison as text.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::super::report::{Cache, ComparisonRow, ComparisonRun, Report, geometric_mean};
use super::super::sets::{self, Set};
use super::super::text::{aligned, name, number};

const COLUMNS: [&str; 12] = [
    "matrix",
    "nnz",
    "ours",
    "us",
    "GB/s",
    "its us",
    "its best",
    "x",
    "set-up us",
    "its set-up us",
    "its buffer MB",
    "err/bound",
];

const FORMULAS: &str = "us is one multiplication, a median of graphs between two events; x is the \
    time of the library's\nbest variant over it: above 1 ours is faster. GB/s counts the compulsory traffic. set-up us of ours \
    includes copying the\nmatrix to the device, which the library is spared; its is that of descriptors, buffer and \
    preprocessing, or of SpMVOp its\nplan. Its buffer is what it asks for besides the matrix. Ours are measured anew with each \
    library.\n";

/// What ours are compared with: one version of the library, by `cusparseSpMV` or by SpMVOp.
#[derive(Clone, Copy, PartialEq)]
struct Opponent<'a> {
    version: Option<&'a str>,
    is_op: bool,
}

impl<'a> Opponent<'a> {
    /// Every one of these rows, in their order. Ours alone count as rows of `cusparseSpMV`.
    fn all(rows: &[&'a ComparisonRow]) -> Vec<Self> {
        let mut all = Vec::new();
        for row in rows {
            let opponent = Self::of(row);
            if !all.contains(&opponent) {
                all.push(opponent);
            }
        }
        all
    }

    fn of(row: &'a ComparisonRow) -> Self {
        let is_op = row.contestant.starts_with(ComparisonRow::SPMVOP);
        Self { version: row.library.as_deref(), is_op }
    }

    /// Whether the row is of this opponent, or of ours next to it.
    fn has(self, row: &ComparisonRow) -> bool {
        let of = Opponent::of(row);
        of.version == self.version && (row.is_ours() || of.is_op == self.is_op)
    }

    fn name(self) -> String {
        match self {
            Self { version: None, .. } => "no cuSPARSE".into(),
            Self { version: Some(version), is_op: false } => format!("cuSPARSE {version}"),
            Self { version: Some(version), is_op: true } => format!("SpMVOp of cuSPARSE {version}"),
        }
    }
}

/// A table for each precision, cache state and opponent, means, what failed, and what the numbers rest on; nothing without a
/// comparison.
pub(crate) fn text(report: &Report) -> String {
    let Some(run) = &report.comparison else { return String::new() };
    let mut text = String::new();
    let mut groups: Vec<(&str, Cache)> =
        report.comparisons.iter().map(|row| (row.precision.as_str(), row.cache)).collect();
    groups.sort_by_key(|(precision, cache)| (*cache == Cache::Cold, *precision));
    groups.dedup();
    for (precision, cache) in groups {
        let rows: Vec<&ComparisonRow> = report
            .comparisons
            .iter()
            .filter(|row| (row.precision.as_str(), row.cache) == (precision, cache))
            .collect();
        let title = format!("{precision}, {cache:?}").to_lowercase();
        let mut of_opponents = Vec::new();
        for opponent in Opponent::all(&rows) {
            let rows: Vec<&ComparisonRow> = rows.iter().copied().filter(|row| opponent.has(row)).collect();
            let name = opponent.name();
            let _ = writeln!(text, "{title}: ours and {name} on {}", run.device);
            let pairs = pairs(&rows);
            if !pairs.is_empty() {
                let lines = pairs.iter().map(|pair| pair.cells().into()).collect();
                let _ = writeln!(text, "{}", aligned(COLUMNS.map(String::from).into(), lines));
            }
            means(&mut text, &title, &name, &pairs);
            text.push('\n');
            of_opponents.push(pairs);
        }
        if of_opponents.len() > 1 {
            mean_over_all(&mut text, &title, &of_opponents);
            text.push('\n');
        }
    }
    failures(&mut text, &report.comparisons);
    text + FORMULAS + &roofs(run) + "\n"
}

/// One of our rows, and the row of the opponent's fastest right variant on the same matrix.
struct Pair<'a> {
    ours: &'a ComparisonRow,
    best: Option<&'a ComparisonRow>,
}

/// Rows are of one precision, cache state and opponent; those of one matrix stand together.
fn pairs<'a>(rows: &[&'a ComparisonRow]) -> Vec<Pair<'a>> {
    let mut pairs = Vec::new();
    for of_matrix in rows.chunk_by(|a, b| (&a.matrix, a.nnz) == (&b.matrix, b.nnz)) {
        let (ours, theirs): (Vec<&ComparisonRow>, Vec<&ComparisonRow>) =
            of_matrix.iter().partition(|row| row.is_ours());
        let best = fastest(theirs);
        pairs.extend(ours.into_iter().map(|ours| Pair { ours, best }));
    }
    pairs
}

fn fastest(rows: Vec<&ComparisonRow>) -> Option<&ComparisonRow> {
    let timed = rows.into_iter().filter_map(|row| Some((row.us?.median, row)));
    timed.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, row)| row)
}

impl Pair<'_> {
    /// Time of the opponent's best over ours: above 1 where ours is faster.
    fn ratio(&self) -> Option<f64> {
        Some(self.best?.us?.median / self.ours.us?.median)
    }

    /// One for each of [`COLUMNS`].
    fn cells(&self) -> [String; COLUMNS.len()] {
        let Self { ours, best } = self;
        let asked = ours.name();
        let how = match &ours.kernel {
            Some(kernel) if asked == "auto" => format!("auto: {kernel}"),
            _ => asked.to_owned(),
        };
        [
            name(&ours.matrix, ours.twin),
            ours.nnz.to_string(),
            how,
            ours.us.map_or_else(|| "FAILED".into(), |us| format!("{:.2}", us.median)),
            number(ours.gbs, 1),
            number(best.and_then(|row| row.us).map(|us| us.median), 2),
            best.map_or("-", |row| row.name()).to_owned(),
            number(self.ratio(), 2),
            number(ours.setup_us, 0),
            number(best.and_then(|row| row.setup_us), 0),
            number(best.and_then(|row| row.buffer_bytes).map(|bytes| bytes as f64 / 1e6), 1),
            number(ours.error_over_bound, 3),
        ]
    }
}

/// A line for each of our algorithms, and one for the fastest of several: over all matrices, and over the sets of the suites.
fn means(text: &mut String, title: &str, opponent: &str, pairs: &[Pair<'_>]) {
    let mut names: Vec<&str> = Vec::new();
    for pair in pairs {
        if !names.contains(&pair.ours.name()) {
            names.push(pair.ours.name());
        }
    }
    let sets = sets::of(pairs.iter().map(|pair| &*pair.ours.matrix));
    for &name in &names {
        let ratios = pairs.iter().filter(|pair| pair.ours.name() == name).filter_map(named_ratio);
        mean_of_sets(text, (title, opponent), name, &sets, &ratios.collect::<Vec<_>>());
    }
    if names.len() > 1 {
        let of_matrices = pairs.chunk_by(|a, b| (&a.ours.matrix, a.ours.nnz) == (&b.ours.matrix, b.ours.nnz));
        let best = |pairs: &[Pair<'_>]| {
            pairs
                .iter()
                .filter_map(Pair::ratio)
                .max_by(f64::total_cmp)
                .map(|r| (pairs[0].ours.matrix.clone(), r))
        };
        let ratios: Vec<(String, f64)> = of_matrices.filter_map(best).collect();
        mean_of_sets(text, (title, opponent), "the fastest of ours", &sets, &ratios);
    }
}

/// The same for the least ratio of each matrix, whichever opponent it is to.
fn mean_over_all(text: &mut String, title: &str, of_opponents: &[Vec<Pair<'_>>]) {
    let mut least: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    for pair in of_opponents.iter().flatten() {
        let Some(ratio) = pair.ratio() else { continue };
        least
            .entry((pair.ours.name(), &pair.ours.matrix))
            .and_modify(|r| *r = ratio.min(*r))
            .or_insert(ratio);
    }
    let sets = sets::of(least.keys().map(|(_, matrix)| *matrix));
    let of_names: Vec<_> = least.iter().collect();
    for of_name in of_names.chunk_by(|a, b| a.0.0 == b.0.0) {
        let ratios: Vec<_> =
            of_name.iter().map(|((_, matrix), ratio)| ((*matrix).to_owned(), **ratio)).collect();
        mean_of_sets(text, (title, "every library"), of_name[0].0.0, &sets, &ratios);
    }
}

fn named_ratio(pair: &Pair<'_>) -> Option<(String, f64)> {
    Some((pair.ours.matrix.clone(), pair.ratio()?))
}

fn mean_of_sets(
    text: &mut String,
    (title, opponent): (&str, &str),
    name: &str,
    sets: &[Set],
    ratios: &[(String, f64)],
) {
    for set in sets {
        let of_set = ratios.iter().filter(|(matrix, _)| set.contains(matrix)).cloned().collect();
        // The matrices that are behind are named once.
        let behind = if set.is_all() { behind(ratios) } else { String::new() };
        mean(text, (&format!("{title}, {}", set.label(name)), opponent), of_set, &behind);
    }
}

fn mean(text: &mut String, (label, opponent): (&str, &str), ratios: Vec<(String, f64)>, behind: &str) {
    let values: Vec<f64> = ratios.iter().map(|(_, ratio)| *ratio).collect();
    let least = ratios.iter().min_by(|a, b| a.1.total_cmp(&b.1));
    if let (Some(mean), Some((matrix, least))) = (geometric_mean(&values), least) {
        let _ = writeln!(
            text,
            "{label}: {mean:.3}x {opponent}'s best (geometric mean of {}, least {least:.3}x, {matrix}){behind}",
            values.len()
        );
    }
}

/// Where the opponent is faster, the worst first.
fn behind(ratios: &[(String, f64)]) -> String {
    let mut behind: Vec<&(String, f64)> = ratios.iter().filter(|(_, ratio)| *ratio < 1.0).collect();
    behind.sort_by(|a, b| a.1.total_cmp(&b.1));
    let names: Vec<String> = behind.iter().map(|(matrix, ratio)| format!("{matrix} {ratio:.3}x")).collect();
    if names.is_empty() {
        String::new()
    } else {
        format!("; behind on {}: {}", names.len(), names.join(", "))
    }
}

/// What has no time and why, each reason once.
fn failures(text: &mut String, rows: &[ComparisonRow]) {
    let mut reasons: Vec<(&ComparisonRow, &str, usize)> = Vec::new();
    for row in rows {
        let Some(why) = row.why.as_deref() else { continue };
        match reasons.iter_mut().find(|(first, of, _)| *of == why && first.label() == row.label()) {
            Some((.., count)) => *count += 1,
            None => reasons.push((row, why, 1)),
        }
    }
    for (first, why, count) in reasons {
        let more = if count > 1 { format!(" and {} more", count - 1) } else { String::new() };
        let (contestant, ComparisonRow { matrix, precision, cache, .. }) = (first.label(), first);
        let state = format!("{cache:?}").to_lowercase();
        let _ = writeln!(text, "{contestant} has no time for {matrix} ({precision}, {state}){more}: {why}");
    }
}

/// What bounds the times of this run.
fn roofs(run: &ComparisonRun) -> String {
    let mut parts = Vec::new();
    if let Some(us) = run.empty_us {
        parts.push(format!(
            "a multiplication of a 1 x 1 matrix takes {us:.2} us, one of {} in a graph",
            run.graph_runs
        ));
    }
    if let (Some(bytes), Some(gbs)) = (run.flush_bytes, run.flush_gbs) {
        parts.push(format!("before a cold run csr_vector reads {} MiB at {gbs:.0} GB/s", bytes >> 20));
    }
    if parts.is_empty() { String::new() } else { format!("In this run {}.\n", parts.join("; ")) }
}

#[cfg(test)]
mod tests {
    use super::super::super::html::tests::sample;
    use super::*;

    fn row(matrix: &str, contestant: &str, us: Option<f64>) -> ComparisonRow {
        ComparisonRow { matrix: matrix.into(), ..ComparisonRow::sample(contestant, us) }
    }

    fn report(comparisons: Vec<ComparisonRow>) -> Report {
        Report { comparisons, comparison: Some(ComparisonRun::sample()), ..sample(&[]) }
    }

    #[test]
    fn ratios_are_to_the_fastest_variant_and_the_least_is_named() {
        let rows = vec![
            row("a", "spmv/auto", Some(10.0)),
            row("a", "cusparse/default", Some(30.0)),
            row("a", "cusparse/csr_alg1+preprocess", Some(20.0)),
            row("b", "spmv/auto", Some(10.0)),
            row("b", "cusparse/default", Some(5.0)),
        ];
        let text = text(&report(rows));
        let cells = |matrix: &str| -> Vec<String> {
            let line = text.lines().find(|l| l.starts_with(&format!("| {matrix} "))).unwrap();
            line.split('|').map(|cell| cell.trim().to_owned()).collect()
        };
        assert_eq!(cells("a")[4..9], ["10.00", "50.0", "20.00", "csr_alg1+preprocess", "2.00"]);
        assert_eq!(cells("b")[6..9], ["5.00", "default", "0.50"]);
        assert_eq!(cells("b")[9..13], ["100", "100", "5.0", "0.100"]);
        let mean = "f32, warm, auto: 1.000x cuSPARSE 12.6.3's best (geometric mean of 2, least 0.500x, b); behind on 1: b 0.500x";
        assert!(text.contains(mean), "{text}");
    }

    #[test]
    fn classes_have_means_by_streaming_and_by_size() {
        let of = |matrix: &str, us| {
            [row(matrix, "spmv/auto", Some(10.0)), row(matrix, "cusparse/default", Some(us))]
        };
        let rows = [of("band-1e6", 10.0), of("band-1e8", 20.0), of("rmat-1e6", 5.0)].concat();
        let text = text(&report(rows));
        for line in [
            "f32, warm, auto: 1.000x cuSPARSE 12.6.3's best (geometric mean of 3, least 0.500x, rmat-1e6); behind on 1: rmat-1e6 0.500x",
            "f32, warm, auto, streaming classes: 1.414x cuSPARSE 12.6.3's best (geometric mean of 2, least 1.000x, band-1e6)",
            "f32, warm, auto, streaming classes above 20M nonzeros: 2.000x cuSPARSE 12.6.3's best (geometric mean of 1, least 2.000x, band-1e8)",
            "f32, warm, auto, irregular classes: 0.500x cuSPARSE 12.6.3's best (geometric mean of 1, least 0.500x, rmat-1e6)",
        ] {
            assert_eq!(text.lines().filter(|found| *found == line).count(), 1, "{line}: {text}");
        }
        assert!(!text.contains("irregular classes up to"), "{text}");
    }

    #[test]
    fn auto_names_its_kernel_and_tiling() {
        let mut rows = vec![row("a", "spmv/auto", Some(1.0)), row("a", "spmv/csr_vector", Some(1.0))];
        for row in &mut rows {
            row.kernel = Some("csr_vector T=8,W=1,S=1,B=32".into());
        }
        let text = text(&report(rows));
        assert!(text.contains("auto: csr_vector T=8,W=1,S=1,B=32"), "{text}");
        assert_eq!(text.matches("T=8").count(), 1, "the other is named by what was asked for: {text}");
    }

    #[test]
    fn several_of_ours_have_means_of_their_own_and_of_the_fastest() {
        let rows = vec![
            row("a", "spmv/csr_vector", Some(10.0)),
            row("a", "spmv/merge_path", Some(5.0)),
            row("a", "cusparse/default", Some(10.0)),
        ];
        let text = text(&report(rows));
        for (name, ratio) in
            [("csr_vector", "1.000"), ("merge_path", "2.000"), ("the fastest of ours", "2.000")]
        {
            assert!(text.contains(&format!("f32, warm, {name}: {ratio}x")), "{name}: {text}");
        }
    }

    #[test]
    fn each_library_has_a_table_with_ours_next_to_it_and_spmvop_one_of_its_own() {
        let of = |version: &str, contestant, us| ComparisonRow {
            library: Some(version.into()),
            ..row("a", contestant, Some(us))
        };
        let rows = vec![
            of("12.6.3", "spmv/auto", 10.0),
            of("12.6.3", "cusparse/default", 10.0),
            of("12.9.4", "spmv/auto", 8.0),
            of("12.9.4", "cusparse/default", 12.0),
            of("12.9.4", "spmvop/alg1", 4.0),
        ];
        let text = text(&report(rows));
        for (library, ratio) in [
            ("cuSPARSE 12.6.3", "1.000"),
            ("cuSPARSE 12.9.4", "1.500"),
            ("SpMVOp of cuSPARSE 12.9.4", "0.500"),
        ] {
            assert!(text.contains(&format!("f32, warm: ours and {library} on some GPU")), "{text}");
            assert!(text.contains(&format!("auto: {ratio}x {library}'s best")), "{text}");
        }
        assert_eq!(text.matches("| a ").count(), 3, "{text}");
        let of_all = "f32, warm, auto: 0.500x every library's best (geometric mean of 1, least 0.500x, a)";
        assert_eq!(text.matches(of_all).count(), 1, "{text}");
    }

    #[test]
    fn what_failed_has_no_time_and_a_reason_told_once() {
        let mut rows = vec![row("a", "spmv/auto", None), row("b", "spmv/auto", None)];
        rows.push(row("b", "cusparse/default", Some(5.0)));
        for row in rows.iter_mut().filter(|row| row.us.is_none()) {
            row.why = Some("out of luck".into());
        }
        let text = text(&report(rows));
        assert_eq!(text.matches("FAILED").count(), 2, "{text}");
        let reason = "spmv/auto has no time for a (f32, warm) and 1 more: out of luck";
        assert!(text.contains(reason) && text.matches("out of luck").count() == 1, "{text}");
        assert!(!text.contains("geometric mean"), "{text}");
    }

    #[test]
    fn states_have_tables_of_their_own_warm_first() {
        let mut rows = vec![row("a", "spmv/auto", Some(1.0)), row("a", "spmv/auto", Some(2.0))];
        rows[0].cache = Cache::Cold;
        let text = text(&report(rows));
        let at = |title: &str| text.find(title).unwrap();
        assert!(at("f32, warm: ours and cuSPARSE 12.6.3 on some GPU") < at("f32, cold: ours"), "{text}");
    }

    #[test]
    fn the_roofs_of_the_run_are_one_line() {
        let text = text(&report(vec![]));
        let line = text.lines().find(|l| l.starts_with("In this run")).unwrap();
        assert!(line.contains("takes 1.50 us, one of 20") && line.contains("256 MiB at 4000 GB/s"), "{line}");
    }

    #[test]
    fn without_a_comparison_there_is_no_text() {
        assert_eq!(text(&Report { comparison: None, comparisons: vec![], ..sample(&["a"]) }), "");
    }
}
