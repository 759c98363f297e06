//! The report as a table for terminals.

use std::fmt::Write;

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};

use super::peers::{MKL, RUST_PEERS};
use super::report::{Cache, Report, Row, geometric_mean, harmonic_mean};

/// Columns before those of peers.
const COLUMNS: [&str; 13] = [
    "matrix",
    "rows x cols",
    "nnz",
    "row min/avg/max",
    "on",
    "plan/spmv",
    "us",
    "spread",
    "GFlop/s",
    "GB/s",
    "roof",
    "dirty; st. 1+2 us",
    "err/bound",
];

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
        means(&mut text, &rows);
    }
    let _ = writeln!(
        text,
        "GFlop/s = 2 nnz / t. GB/s = ((m+1)*4 + nnz*4 + (nnz+n+m)*value) bytes / t, the compulsory traffic; roof is its\n\
         share of the {:.1} GB/s that this machine's memory was measured to read (above 100% from cache).\n\
         plan/spmv is the time to prepare over the time of one multiplication. Peers: their time over ours.",
        report.read_gbs
    );
    for (name, why) in &report.absent {
        let _ = writeln!(text, "{name} was not measured: {why}");
    }
    let _ = writeln!(text, "machine: {}\ncommit:  {}", report.machine, report.commit);
    text
}

fn table(rows: &[&Row]) -> Table {
    let peers = peers_of(rows);
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN);
    table.set_header(COLUMNS.iter().map(|c| (*c).to_owned()).chain(peers.iter().map(|p| format!("{p} x"))));
    for row in rows {
        let mut cells = cells(row);
        cells.extend(peers.iter().map(|p| ratio_cell(row, p)));
        table.add_row(cells);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_padding((0, 1));
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn peers_of<'a>(rows: &[&'a Row]) -> Vec<&'a str> {
    let mut peers: Vec<&str> = rows.iter().flat_map(|r| r.peers.keys().map(String::as_str)).collect();
    peers.sort_unstable();
    peers.dedup();
    peers
}

fn cells(row: &Row) -> Vec<String> {
    let name = if row.twin { format!("{} (twin)", row.matrix) } else { row.matrix.clone() };
    let number =
        |v: Option<f64>, digits: usize| v.map_or_else(|| "-".to_owned(), |v| format!("{v:.digits$}"));
    let (plan, time, spread) = match row.time_us {
        Some(t) => (
            format!("{:.1}", row.plan_us / t.median),
            format!("{:.1}", t.median),
            format!("{:.0}-{:.0}", t.min, t.max),
        ),
        None => ("-".into(), "FAILED".into(), "-".into()),
    };
    let dirty = match row.dirty_tiles {
        Some(dirty) => format!("{dirty}; {:.0}+{:.0}", row.stage1_us, row.stage2_us),
        None => "-".into(),
    };
    vec![
        name,
        format!("{} x {}", row.rows, row.cols),
        row.nnz.to_string(),
        format!("{}/{:.1}/{}", row.row_min, row.row_mean, row.row_max),
        way(row),
        plan,
        time,
        spread,
        number(row.gflops, 2),
        number(row.gbs, 1),
        row.roof_share.map_or_else(|| "-".into(), |s| format!("{:.0}%", 100.0 * s)),
        dirty,
        format!("{:.3}", row.error_over_bound),
    ]
}

/// Backend, algorithm, and whether caches were emptied.
fn way(row: &Row) -> String {
    let cold = if row.cache == Cache::Cold { ", cold" } else { "" };
    format!("{} {}{cold}", row.backend, row.algorithm)
}

fn ratio_cell(row: &Row, peer: &str) -> String {
    match (row.peers.get(peer), row.ratio_to(peer)) {
        (Some(_), Some(ratio)) => format!("{ratio:.2}"),
        (Some(_), None) => "FAILED".into(),
        (None, _) => "-".into(),
    }
}

/// Means for each way of multiplying: rates harmonic, ratios geometric.
fn means(text: &mut String, rows: &[&Row]) {
    let mut ways: Vec<String> = rows.iter().map(|r| way(r)).collect();
    ways.sort_unstable();
    ways.dedup();
    for name in ways {
        let rows = || rows.iter().filter(|r| way(r) == name);
        let gflops: Vec<f64> = rows().filter_map(|r| r.gflops).collect();
        let (Some(harmonic), Some(geometric)) = (harmonic_mean(&gflops), geometric_mean(&gflops)) else {
            continue;
        };
        let _ = write!(
            text,
            "{name}: {harmonic:.2} GFlop/s harmonic mean, {geometric:.2} geometric, of {} matrices",
            gflops.len()
        );
        let ratio = |name: &str, of: &dyn Fn(&Row) -> Option<f64>| {
            let ratios: Vec<f64> = rows().filter_map(|r| of(r)).collect();
            let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
            geometric_mean(&ratios)
                .map(|mean| format!("; {mean:.2}x {name} (geometric mean, least {least:.2}x)"))
        };
        let to_rust = ratio("the best of sprs, faer, nalgebra-sparse", &|r| r.ratio_to_best(&RUST_PEERS));
        let to_mkl = ratio("MKL inspector-executor", &|r| r.ratio_to(MKL));
        let _ = writeln!(text, "{}{}", to_rust.unwrap_or_default(), to_mkl.unwrap_or_default());
    }
    text.push('\n');
}
