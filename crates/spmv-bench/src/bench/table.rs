//! The report as a table for terminals.

use std::collections::BTreeMap;
use std::fmt::Write;

use comfy_table::Table;

use super::peers::PEERS;
use super::report::{Cache, PeerTime, Report, Row, geometric_mean, harmonic_mean};
use super::text::{aligned, cold, name, number, tail, tuned};
use super::{compare, comparison, sets};

/// Columns before those of peers; those of [`DEVICE`] and [`OVER_ONE`] are left out where no row has such a number.
const COLUMNS: [&str; 16] = [
    "matrix",
    "rows x cols",
    "nnz",
    "row min/avg/max",
    "on",
    "plan/spmv",
    "us",
    "spread",
    DEVICE,
    "GFlop/s",
    "GB/s",
    "roof",
    "dirty tiles; st. 1+2 us",
    "err/bound",
    QUEUED,
    OVER_ONE,
];

/// Heading of the device's own times.
const DEVICE: &str = "device us";

/// Heading of the speed of several devices over that of one; left out where there is none, too.
const OVER_ONE: &str = "x one";

/// Heading of times in a queue; left out where there are none.
const QUEUED: &str = "queued us";

/// What the device's own times are.
const DEVICE_FORMULA: &str = "device us is stage 1 by the device's timestamps and stage 2 by\n\
     that of whoever repairs. ";

/// The table of one precision after the other, then means, formulas, machine and commit.
pub(crate) fn text(report: &Report) -> String {
    let mut text = String::new();
    let mut precisions: Vec<&str> = report.rows.iter().map(|r| r.precision.as_str()).collect();
    precisions.dedup();
    precisions.sort_unstable();
    precisions.dedup();
    for precision in precisions {
        let rows: Vec<&Row> = report.rows.iter().filter(|r| r.precision == precision).collect();
        let _ = writeln!(text, "{precision}\n{}", table(&rows));
        if let Some(peers) = peer_table(&rows) {
            let _ = writeln!(text, "\n{peers}");
        }
        means(&mut text, &rows);
    }
    text += &compare::text(report);
    text += &comparison::text(report);
    let device = report.rows.iter().any(|r| r.device_us.is_some());
    let _ = writeln!(
        text,
        "GFlop/s = 2 nnz / t. GB/s = ((m+1)*4 + nnz*4 + (nnz+n+m)*value) bytes / t, the compulsory traffic; roof is its\n\
         share of what the device's memory was measured to read (above 100% from cache); this machine's reads {:.1} GB/s.\n\
         us is one call, with its spread; {}t is its median{}.\n\
         Dirty tiles are repaired in stage 2, here with their share of all tiles; st. 1+2 are medians of both stages. plan/spmv is the time to prepare over `us`. Peers: their time over `us`.",
        report.read_gbs,
        if device { DEVICE_FORMULA } else { "" },
        if device { ", or that of device us where there is one" } else { "" },
    );
    if report.rows.iter().any(|r| r.over_one.is_some()) {
        text += "queued us is a product among others in a queue, none of which is waited for. x one: speed of several devices over that of\n\
                 the fastest one of the backend in this run, both by queued us.\n";
    }
    text + &tail(report)
}

fn table(rows: &[&Row]) -> Table {
    let peers = peers_of(rows);
    let is_there = |column: &usize| match COLUMNS[*column] {
        DEVICE => rows.iter().any(|r| r.device_us.is_some()),
        OVER_ONE => rows.iter().any(|r| r.over_one.is_some()),
        QUEUED => rows.iter().any(|r| r.queued_us.is_some()),
        _ => true,
    };
    let columns = || (0..COLUMNS.len()).filter(is_there);
    let header = columns().map(|c| COLUMNS[c].to_owned()).chain(peers.iter().map(|p| format!("{p} x")));
    let body = rows.iter().map(|row| {
        let cells = cells(row);
        columns().map(|c| cells[c].clone()).chain(peers.iter().map(|p| ratio_cell(row, p))).collect()
    });
    aligned(header.collect(), body.collect())
}

/// Medians of peers, with their spread: a line for each matrix and state of caches, whoever multiplied it of ours.
fn peer_table(rows: &[&Row]) -> Option<Table> {
    let peers = peers_of(rows);
    let mut lines: Vec<(&str, Cache)> = Vec::new();
    let mut body = Vec::new();
    for row in rows.iter().filter(|row| !row.peers.is_empty()) {
        if lines.contains(&(&row.matrix, row.cache)) {
            continue;
        }
        lines.push((&row.matrix, row.cache));
        let of_peers = peers.iter().map(|peer| match row.peers.get(*peer) {
            Some(PeerTime { time_us: Some(us), min_us: Some(min), max_us: Some(max), .. }) => {
                format!("{us:.1} {min:.0}-{max:.0}")
            }
            Some(PeerTime { time_us: Some(us), .. }) => format!("{us:.1}"),
            Some(_) => "FAILED".into(),
            None => "-".into(),
        });
        let name = name(&row.matrix, row.twin) + cold(row.cache);
        body.push(std::iter::once(name).chain(of_peers).collect());
    }
    let header = std::iter::once("peers, us and spread").chain(peers.iter().copied()).map(str::to_owned);
    (!body.is_empty()).then(|| aligned(header.collect(), body))
}

fn peers_of<'a>(rows: &[&'a Row]) -> Vec<&'a str> {
    let mut peers: Vec<&str> = rows.iter().flat_map(|r| r.peers.keys().map(String::as_str)).collect();
    peers.sort_unstable();
    peers.dedup();
    peers
}

/// One for each of [`COLUMNS`].
fn cells(row: &Row) -> [String; COLUMNS.len()] {
    let (plan, time, spread) = match row.time_us {
        Some(t) => (
            format!("{:.1}", row.plan_us / t.median),
            format!("{:.1}", t.median),
            format!("{:.0}-{:.0}", t.min, t.max),
        ),
        None => ("-".into(), "FAILED".into(), "-".into()),
    };
    let dirty = match row.dirty_tiles {
        Some(dirty) => format!(
            "{dirty}/{} {:.1}%; {:.0}+{:.0}",
            row.n_tiles,
            100.0 * row.dirty_share().unwrap_or(0.0),
            row.stage1_us,
            row.stage2_us
        ),
        None => "-".into(),
    };
    [
        name(&row.matrix, row.twin),
        format!("{} x {}", row.rows, row.cols),
        row.nnz.to_string(),
        format!("{}/{:.1}/{}", row.row_min, row.row_mean, row.row_max),
        way(row),
        plan,
        time,
        spread,
        number(row.device_us.map(|t| t.median), 1),
        number(row.gflops, 2),
        number(row.gbs, 1),
        row.roof_share.map_or_else(|| "-".into(), |s| format!("{:.0}%", 100.0 * s)),
        dirty,
        format!("{:.3}", row.error_over_bound),
        number(row.queued_us, 1),
        number(row.over_one, 2),
    ]
}

/// Device, algorithm, and whether trials took it and caches were emptied.
fn way(row: &Row) -> String {
    format!("{} {}{}", row.on, row.algorithm, state(row))
}

/// Whether trials took it, and whether caches were emptied.
fn state(row: &Row) -> String {
    format!("{}{}", tuned(row.tuned), cold(row.cache))
}

fn ratio_cell(row: &Row, peer: &str) -> String {
    match (row.peers.get(peer), row.ratio_to(peer)) {
        (Some(_), Some(ratio)) => format!("{ratio:.2}"),
        (Some(_), None) => "FAILED".into(),
        (None, _) => "-".into(),
    }
}

/// Means for each way of multiplying, over all matrices and over the sets of the suites: rates harmonic, ratios geometric. What `auto`
/// takes is a way too, where that is several algorithms.
fn means(text: &mut String, rows: &[&Row]) {
    let mut ways: BTreeMap<String, Vec<&Row>> = BTreeMap::new();
    let mut picks: BTreeMap<String, Vec<&Row>> = BTreeMap::new();
    for &row in rows {
        ways.entry(way(row)).or_default().push(row);
        let of_auto = picks.entry(format!("{} auto{}", row.on, state(row))).or_default();
        // Named twice, as by `--algorithm auto,ipcsr`, a pick counts once.
        if row.auto && of_auto.iter().all(|pick| pick.matrix != row.matrix) {
            of_auto.push(row);
        }
    }
    let is_several = |picks: &[&Row]| picks.iter().any(|pick| pick.algorithm != picks[0].algorithm);
    ways.extend(picks.into_iter().filter(|(_, picks)| is_several(picks)));
    let sets = sets::of(rows.iter().map(|row| &*row.matrix));
    for (name, rows) in &ways {
        for set in &sets {
            let rows: Vec<&Row> = rows.iter().copied().filter(|row| set.contains(&row.matrix)).collect();
            mean(text, &set.label(name), &rows);
        }
    }
    text.push('\n');
}

/// A line on the rows, if any has a speed.
fn mean(text: &mut String, label: &str, rows: &[&Row]) {
    let gflops: Vec<f64> = rows.iter().filter_map(|r| r.gflops).collect();
    let (Some(harmonic), Some(geometric)) = (harmonic_mean(&gflops), geometric_mean(&gflops)) else {
        return;
    };
    let _ = write!(
        text,
        "{label}: {harmonic:.2} GFlop/s harmonic mean, {geometric:.2} geometric, of {} matrices",
        gflops.len()
    );
    let gbs: Vec<f64> = rows.iter().filter_map(|r| r.gbs).collect();
    if let Some(mean) = geometric_mean(&gbs) {
        let _ = write!(text, "; {mean:.1} GB/s (geometric mean)");
    }
    let ratio = |name: &str, of: &dyn Fn(&Row) -> Option<f64>| {
        let ratios: Vec<f64> = rows.iter().filter_map(|r| of(r)).collect();
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        geometric_mean(&ratios).map(|mean| format!("; {mean:.2}x {name} (geometric mean, least {least:.2}x)"))
    };
    let to_best = ratio("the best of all others", &Row::ratio_to_best);
    let to_each = PEERS.iter().map(|(peer, label)| ratio(label, &|r| r.ratio_to(peer)));
    let to_one = ratio("one device", &|r| r.over_one);
    let ratios = std::iter::once(to_best).chain(to_each).chain([to_one]).flatten();
    let _ = writeln!(text, "{}", ratios.collect::<String>());
}

#[cfg(test)]
mod tests {
    use super::super::html::tests::sample;
    use super::super::report::{Device, Spread};
    use super::*;

    fn spread(median: f64) -> Spread {
        Spread { median, min: median - 1.0, max: median + 2.0 }
    }

    #[test]
    fn every_peer_has_a_ratio_and_the_best_of_each_matrix_too() {
        let mut report = sample(&["a", "b"]);
        report.rows.retain(|row| row.ok);
        for (row, times) in report.rows.iter_mut().zip([[100.0, 400.0], [400.0, 200.0]]) {
            let of = ["mkl", "petsc"].into_iter().zip(times);
            row.peers =
                of.map(|(name, us)| (name.to_owned(), PeerTime::new(Some(spread(us)), 1.0))).collect();
        }
        report.rows[1].peers.insert("scipy".into(), PeerTime::new(None, 1.0));
        report.peers.insert("petsc".into(), "PETSc, 1 thread".into());
        let text = text(&report);
        let expected = "; 1.41x the best of all others (geometric mean, least 1.00x); \
                        2.00x MKL inspector-executor (geometric mean, least 1.00x); \
                        2.83x PETSc (geometric mean, least 2.00x)\n";
        assert!(text.contains(expected), "{text}");
        let line = text.lines().filter(|line| line.starts_with("| b ")).nth(1).unwrap();
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        assert_eq!(cells, ["", "b", "400.0 399-402", "200.0 199-202", "FAILED", ""]);
        assert!(text.contains("petsc: PETSc, 1 thread"), "{text}");
    }

    #[test]
    fn device_times_have_a_column_where_there_are_any() {
        let mut report = sample(&["a"]);
        assert!(!text(&report).contains(DEVICE));
        report.rows.truncate(1);
        report.rows[0].device_us = Some(Spread { median: 61.25, min: 60.0, max: 70.0 });
        let text = text(&report);
        let columns = |start: &str| text.lines().find(|l| l.starts_with(start)).unwrap().split('|');
        let at = columns("| matrix").position(|c| c.trim() == DEVICE).unwrap();
        assert_eq!(columns("| a ").nth(at).unwrap().trim(), "61.2");
    }

    #[test]
    fn each_way_has_its_geometric_mean_of_gbs() {
        let mut report = sample(&["a", "b"]);
        report.rows.retain(|row| row.ok);
        report.rows[1].gbs = Some(10.0);
        let text = text(&report);
        assert!(text.contains("of 2 matrices; 20.0 GB/s (geometric mean)"), "of 40 and 10: {text}");
    }

    #[test]
    fn streaming_and_irregular_classes_have_means_of_their_own() {
        let mut report = sample(&["stencil5-1e5", "rmat-1e5"]);
        report.rows.retain(|row| row.ok);
        report.rows[1].gbs = Some(10.0);
        for (row, us) in report.rows.iter_mut().zip([300.0, 50.0]) {
            row.peers.insert("mkl".into(), PeerTime::new(Some(spread(us)), 1.0));
        }
        let text = text(&report);
        for (set, gbs, mean, least) in [
            ("", "20.0", "1.22", "0.50"),
            (", streaming classes", "40.0", "3.00", "3.00"),
            (", irregular classes", "10.0", "0.50", "0.50"),
        ] {
            let line = text.lines().find(|line| line.starts_with(&format!("cpu csr5{set}: "))).unwrap();
            let expected = format!("{mean}x MKL inspector-executor (geometric mean, least {least}x)");
            assert!(line.contains(&expected) && line.contains(&format!("{gbs} GB/s")), "{line}");
        }
    }

    #[test]
    fn what_auto_takes_has_a_mean_where_it_is_several_algorithms() {
        let mut report = sample(&["a", "b"]);
        report.rows.retain(|row| row.ok);
        report.rows.iter_mut().for_each(|row| row.auto = true);
        assert!(!text(&report).contains("cpu auto"), "{}", text(&report));
        report.rows[1].algorithm = "csr_vector".into();
        report.rows.push(report.rows[1].clone());
        assert!(
            text(&report).contains("cpu auto: 10.00 GFlop/s harmonic mean, 10.00 geometric, of 2 matrices")
        );
    }

    #[test]
    fn devices_of_one_backend_have_rows_means_and_lines_of_their_own() {
        let mut report = sample(&["a"]);
        report.rows.truncate(1);
        report.rows.push(report.rows[0].clone());
        report.devices.clear();
        for (row, label) in report.rows.iter_mut().zip(["opencl#0", "opencl#1"]) {
            row.on = label.to_owned();
            let (kind, memory) = ("discrete GPU".to_owned(), "discrete".to_owned());
            report.devices.push(Device {
                label: label.to_owned(),
                name: "some GPU".into(),
                kind,
                memory,
                read_gbs: None,
            });
        }
        let text = text(&report);
        for label in ["opencl#0", "opencl#1"] {
            assert!(text.contains(&format!("|{label} csr5 |")), "row of {label}: {text}");
            assert!(text.contains(&format!("{label} csr5: 10.00 GFlop/s")), "mean of {label}: {text}");
            assert!(text.contains(&format!("{label}: some GPU; discrete GPU, memory discrete")), "{text}");
        }
    }
}
