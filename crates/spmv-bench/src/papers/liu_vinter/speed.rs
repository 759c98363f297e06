//! Figures 4 to 6, Table 1 and stage 2: one race over the suite, shown in several ways.

use spmv::{
    Dtype, Options,
    plan::{Algorithm, RowStats, Tiling},
};
use spmv_io::suite::{self, Class};

use super::super::figures::{
    self, by_device, claim, left_out, maximum, mean, of_precision, ratios, table, with_mean,
};
use super::super::outcome::{Column, Outcome, Row, Rule, Table, Value};
use super::super::scene::{Contestant, Raced, Scene, Way};
use crate::bench::devices::Target;
use crate::bench::report::{self, harmonic_mean};
use crate::bench::tiling::Asked;

/// Names of contestants.
const SERIAL: &str = "CPU, one thread";
const OPEN_MP: &str = "CPU, all threads";
const SCALAR: &str = "csr_scalar";
/// As published: a warp a row.
const WARP: &str = "csr_vector, a warp a row";
const OURS: &str = "spec_segsum";
const TABLE_1: &str = "spec_segsum, Table 1";

/// The tiling that the paper of an algorithm gives it, if it gives one.
pub(super) fn published(algorithm: Algorithm, target: &Target, precision: Dtype) -> Options {
    let tiling = Asked::Published.tiling(algorithm, target.context.caps(), precision);
    Options { algorithm, tiling, ..Options::default() }
}

fn contestants(target: &Target, precision: Dtype) -> Vec<Contestant> {
    let published = |algorithm| published(algorithm, target, precision);
    let mut all = vec![
        Contestant { name: SERIAL.into(), way: Way::Loop { threads: 1 } },
        Contestant { name: OPEN_MP.into(), way: Way::Loop { threads: 0 } },
        Contestant::of(Algorithm::CsrScalar),
        Contestant::ours(WARP, published(Algorithm::CsrVector)),
        Contestant::of(Algorithm::CsrVector),
        Contestant::of(Algorithm::SpeculativeSegmentedSum),
        Contestant::ours(TABLE_1, published(Algorithm::SpeculativeSegmentedSum)),
    ];
    all.extend(super::super::scene::algorithms(&["coo", "hyb"]).map(Contestant::of));
    all
}

fn race(scene: &Scene<'_>) -> anyhow::Result<Vec<Raced>> {
    scene.race("the suite", &scene.suite(), &[Dtype::F32, Dtype::F64], &contestants)
}

pub(super) fn figure_4(scene: &Scene<'_>) -> anyhow::Result<Outcome> {
    throughput(scene, "figure-4", Dtype::F32)
}

pub(super) fn figure_5(scene: &Scene<'_>) -> anyhow::Result<Outcome> {
    throughput(scene, "figure-5", Dtype::F64)
}

/// GFlop/s of everyone, the harmonic mean, and speed-ups as the paper sums them up.
fn throughput(scene: &Scene<'_>, item: &str, precision: Dtype) -> anyhow::Result<Outcome> {
    let raced = of_precision(race(scene)?, precision);
    let mut outcome = Outcome::of(item);
    for (on, precision, of_it) in by_device(&raced) {
        let title = format!("GFlop/s in {precision} on {on}, and on the CPU");
        let grid = table(title.clone(), &of_it, 2, Raced::gflops);
        outcome.tables.push(with_mean(grid, "harmonic mean", harmonic_mean));
        outcome.figures.push(figures::bars(title, "GFlop/s", &of_it, Raced::gflops));
        for (slow, what) in
            [(WARP, "over CSR-vector"), (SCALAR, "over CSR-scalar"), (OPEN_MP, "over the CPU's OpenMP loop")]
        {
            let all = ratios(&of_it, slow, OURS, |_| true);
            for (sum, ours) in [("mean", mean(&all)), ("maximum", maximum(&all))] {
                let what = format!("{what}, {sum}");
                let papers = scene.numbers.stated(item, &what, None);
                outcome.claims.push(claim(what, (&on, &precision), papers, ours, ("x", Rule::SameWinner)));
            }
            for (class, name) in [(true, "the ten regular ones"), (false, "the ten irregular ones")] {
                let of_class = ratios(&of_it, slow, OURS, |matrix| is_regular(matrix) == class);
                let what = format!("{what}, mean of {name}");
                outcome.claims.push(claim(
                    what,
                    (&on, &precision),
                    vec![],
                    mean(&of_class),
                    ("x", Rule::Shown),
                ));
            }
        }
    }
    (outcome.notes, outcome.wrong) = left_out(&raced);
    outcome.notes.push(
        "Speed-ups are of spec_segsum as planned over csr_vector with a warp a row, as the paper's, and over csr_scalar; \
         arithmetic means and maxima, as there. coo and hyb are what CUSP compares with."
            .into(),
    );
    Ok(outcome)
}

/// Whether the paper groups it with the regular ones.
fn is_regular(matrix: &str) -> bool {
    suite::find(matrix).is_some_and(|entry| entry.class == Class::Regular)
}

/// Bytes by the paper's formula: x is read once for each nonzero.
fn bytes_of_the_paper(rows: &RowStats, value: Dtype) -> f64 {
    let (m, nnz, value) = (rows.n_rows as f64, rows.nnz as f64, value.bytes() as f64);
    (m + 1.0 + nnz) * 4.0 + (nnz + nnz + m) * value
}

pub(super) fn figure_6(scene: &Scene<'_>) -> anyhow::Result<Outcome> {
    let raced: Vec<Raced> = race(scene)?.into_iter().filter(|r| r.name == OURS).collect();
    let mut outcome = Outcome::of("figure-6");
    let roofs = scene.targets.iter().map(|target| (&target.label, target.read_gbs(scene.read_gbs)));
    let roofs: Vec<(&String, Option<f64>)> = roofs.collect();
    for (on, precision, of_it) in by_device(&raced) {
        let gbs = |r: &Raced, bytes: f64| r.us.map(|us| bytes / us / 1e3);
        let papers_gbs = |r: &Raced| gbs(r, bytes_of_the_paper(&r.rows, r.precision));
        let ours_gbs = |r: &Raced| gbs(r, report::Row::compulsory_bytes(&r.rows, r.precision));
        let rows = of_it.iter().map(|r| Row {
            label: r.matrix.clone(),
            twin: r.twin,
            values: vec![Value::ours(papers_gbs(r)), Value::ours(ours_gbs(r))],
            note: String::new(),
        });
        let columns =
            vec![Column::new("GB/s by the paper's formula", 1), Column::new("by compulsory traffic", 1)];
        let title = format!("bandwidth of spec_segsum in {precision} on {on}");
        let rows = rows.collect();
        outcome.tables.push(Table { title: title.clone(), rows_are: "matrix".into(), columns, rows });
        let best = of_it.iter().filter_map(|r| papers_gbs(r)).max_by(f64::total_cmp);
        let roof = roofs.iter().find(|(target, _)| **target == on).and_then(|(_, roof)| *roof);
        outcome.claims.push(claim(
            "highest bandwidth by the paper's formula over what memory reads",
            (&on, &precision),
            vec![],
            best.zip(roof).map(|(gbs, roof)| gbs / roof),
            ("x", Rule::Shown),
        ));
        // "We can see that the regular matrices can use bandwidth more efficiently compared to the irregular ones."
        let mean_of = |class: bool| {
            let values = of_it.iter().filter(|r| is_regular(&r.matrix) == class);
            let values: Vec<_> = values.filter_map(|r| Some((r.matrix.clone(), papers_gbs(r)?))).collect();
            mean(&values)
        };
        let ratio = mean_of(true).zip(mean_of(false)).map(|(regular, irregular)| regular / irregular);
        outcome.claims.push(claim(
            "bandwidth on regular matrices over that on irregular ones is above 1",
            (&on, &precision),
            vec![("all three".into(), 1.0)],
            ratio,
            ("x", Rule::SameWinner),
        ));
        outcome.figures.push(figures::bars(title, "GB/s, the paper's formula", &of_it, papers_gbs));
    }
    for (on, roof) in roofs {
        let roof = roof.map_or_else(|| "an unknown number of".into(), |roof| format!("{roof:.1}"));
        outcome.notes.push(format!("{on}: its memory was measured to read {roof} GB/s."));
    }
    Ok(outcome)
}

/// What the plan takes, next to Table 1, and the times of both.
pub(super) fn table_1(scene: &Scene<'_>) -> anyhow::Result<Outcome> {
    let raced = race(scene)?;
    let mut outcome = Outcome::of("table-1");
    let columns = ["T", "W", "B", "S"].map(|name| Column::new(name, 0)).to_vec();
    let rows = ["Intel", "AMD", "nVidia"].into_iter().flat_map(|device| {
        ["f32", "f64"].into_iter().filter_map(move |precision| {
            let value = |what: &str| {
                let is_it = |n: &super::super::numbers::Number| {
                    n.device.as_deref() == Some(device) && n.precision.as_deref() == Some(precision)
                };
                scene.numbers.find("table-1", what, is_it)
            };
            let values: Vec<Value> = ["T", "W", "B", "S"].map(|what| Value::both(value(what), None)).to_vec();
            values[0].paper?;
            Some(Row {
                label: format!("{device} {precision}"),
                twin: false,
                values,
                note: "the paper's".into(),
            })
        })
    });
    let mut rows: Vec<Row> = rows.collect();
    for (on, precision, of_it) in by_device(&raced) {
        for (name, note) in [(TABLE_1, "Table 1 as such"), (OURS, "as planned")] {
            let tilings: Vec<Tiling> =
                of_it.iter().filter(|r| r.name == name).filter_map(|r| r.tiling).collect();
            for shape in figures::distinct(tilings.iter().map(|t| (t.lanes(), t.width(), t.bunches()))) {
                let of_shape = tilings.iter().filter(|t| (t.lanes(), t.width(), t.bunches()) == shape);
                let s: Vec<u32> = of_shape.map(|t| t.tiles()).collect();
                // S follows the matrix.
                let (least, most) =
                    (s.iter().min().copied().unwrap_or(0), s.iter().max().copied().unwrap_or(0));
                let note = if least == most { note.to_owned() } else { format!("{note}, S up to {most}") };
                let values = [shape.0, shape.1, shape.2, least].map(|value| Value::ours(f64::from(value)));
                rows.push(Row {
                    label: format!("{on} {precision}"),
                    twin: false,
                    values: values.to_vec(),
                    note,
                });
            }
        }
        let all = ratios(&of_it, TABLE_1, OURS, |_| true);
        outcome.claims.push(claim(
            "time with Table 1 over time as planned, mean",
            (&on, &precision),
            vec![],
            mean(&all),
            ("x", Rule::Shown),
        ));
    }
    outcome.tables.push(Table { title: "tilings".into(), rows_are: "device".into(), columns, rows });
    Ok(outcome)
}

/// How many tiles are dirty, and what their repair takes; of the real matrices too, since few of the suite have empty rows.
pub(super) fn stage_2(scene: &Scene<'_>) -> anyhow::Result<Outcome> {
    let mut raced: Vec<Raced> = race(scene)?.into_iter().filter(|r| r.name == OURS).collect();
    let precisions = [Dtype::F32, Dtype::F64];
    raced.extend(scene.race("real matrices", &scene.files()?, &precisions, &|target, precision| {
        contestants(target, precision).into_iter().filter(|c| c.name == OURS).collect()
    })?);
    let mut outcome = Outcome::of("section-3.2");
    for (on, precision, of_it) in by_device(&raced) {
        let rows = of_it.iter().map(|r| {
            let dirty = r.dirty_tiles.map(f64::from);
            let tiles = f64::from(r.tiles);
            let share = dirty.filter(|_| tiles > 0.0).map(|dirty| 100.0 * dirty / tiles);
            let of_time = r.us.filter(|us| *us > 0.0).map(|us| 100.0 * r.stage2_us / us);
            Row {
                label: r.matrix.clone(),
                twin: r.twin,
                values: vec![
                    Value::ours(tiles),
                    Value::ours(dirty),
                    Value::ours(share),
                    Value::ours(of_time),
                ],
                note: String::new(),
            }
        });
        let columns = vec![
            Column::new("tiles", 0),
            Column::new("dirty", 0),
            Column::new("% of tiles", 2),
            Column::new("stage 2, % of the time", 1),
        ];
        let title = format!("stage 2 in {precision} on {on}");
        let rows = rows.collect();
        outcome.tables.push(Table { title, rows_are: "matrix".into(), columns, rows });
    }
    (outcome.notes, outcome.wrong) = left_out(&raced);
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidth_of_the_paper_by_hand() {
        let rows = RowStats { n_rows: 2, n_cols: 3, nnz: 5, ..RowStats::default() };
        assert_eq!(bytes_of_the_paper(&rows, Dtype::F64), 8.0 * 4.0 + 12.0 * 8.0);
        assert_eq!(bytes_of_the_paper(&rows, Dtype::F32), 8.0 * 4.0 + 12.0 * 4.0);
    }

    #[test]
    fn the_first_ten_matrices_are_the_regular_ones() {
        let regular = suite::ENTRIES.iter().filter(|entry| is_regular(entry.name)).count();
        assert!(regular == 10 && is_regular("mc2depi") && !is_regular("cop20k_A"));
    }
}
