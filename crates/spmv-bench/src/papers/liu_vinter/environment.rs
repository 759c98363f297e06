//! Tables 2 and 3: devices and matrices.

use spmv::plan::RowStats;

use super::super::figures::claim;
use super::super::outcome::{Column, Outcome, Row, Rule, Table, Value};
use super::super::scene::Scene;

/// The paper's devices, then ours.
pub(super) fn table_2(scene: &Scene<'_>) -> anyhow::Result<Outcome> {
    const ITEM: &str = "table-2";
    let columns = ["GPU cores", "scratchpad of a GPU core, KiB", "memory bandwidth, GB/s"];
    let devices =
        super::super::figures::distinct(scene.numbers.of_item(ITEM).filter_map(|n| n.device.clone()));
    let mut rows: Vec<Row> = devices
        .into_iter()
        .map(|device| {
            let value = |what: &&str| {
                let of_it = scene.numbers.find(ITEM, what, |n| n.device.as_deref() == Some(&*device));
                Value::both(of_it, None)
            };
            Row {
                values: columns.iter().map(value).collect(),
                label: device,
                twin: false,
                note: "the paper's".into(),
            }
        })
        .collect();
    for target in scene.targets {
        let caps = target.context.caps();
        let gbs = target.read_gbs(scene.read_gbs);
        let local_kib = f64::from(caps.max_local_bytes) / 1024.0;
        let values =
            vec![Value::ours(f64::from(caps.compute_units)), Value::ours(local_kib), Value::ours(gbs)];
        rows.push(Row {
            label: caps.name.clone(),
            twin: false,
            values,
            note: format!("{}, measured here", target.label),
        });
    }
    let columns = columns.iter().map(|name| Column::new(*name, 1)).collect();
    let mut outcome = Outcome::of(ITEM);
    outcome.tables.push(Table { title: "devices".into(), rows_are: "device".into(), columns, rows });
    outcome.notes.push(
        "impossible here: the three processors of the paper. Bandwidth is that of the host's memory, where it was measured."
            .into(),
    );
    Ok(outcome)
}

/// Dimensions and row lengths of the suite.
pub(super) fn table_3(scene: &Scene<'_>) -> anyhow::Result<Outcome> {
    const ITEM: &str = "table-3";
    const COLUMNS: [&str; 6] = ["rows", "columns", "nnz", "shortest row", "mean row", "longest row"];
    let mut outcome = Outcome::of(ITEM);
    let mut rows = Vec::new();
    let (mut agree, mut all) = (0u32, 0u32);
    for input in scene.suite() {
        scene.stop.check()?;
        let loaded = input.load()?;
        let RowStats { n_rows, n_cols, nnz, min, mean, max, .. } = RowStats::of(loaded.matrix.view());
        let ours = [n_rows as f64, n_cols as f64, nnz as f64, min as f64, mean, max as f64];
        let paper = COLUMNS.map(|what| scene.numbers.of_matrix(ITEM, what, &loaded.name));
        let is_as_printed =
            paper.iter().zip(ours).all(|(paper, ours)| paper.is_some_and(|p| as_printed(p, ours)));
        agree += u32::from(is_as_printed);
        all += 1;
        let values = paper.into_iter().zip(ours).map(|(paper, ours)| Value::both(paper, ours)).collect();
        let note = if is_as_printed { "" } else { "differs" };
        rows.push(Row { label: loaded.name.clone(), twin: loaded.twin, values, note: note.into() });
    }
    let columns = COLUMNS.iter().map(|name| Column::new(*name, 0)).collect();
    outcome.tables.push(Table { title: "the suite".into(), rows_are: "matrix".into(), columns, rows });
    outcome.claims.push(claim(
        "matrices whose numbers are the paper's, to the digits that it prints",
        ("-", ""),
        vec![(String::new(), f64::from(all))],
        Some(f64::from(agree)),
        ("", Rule::Equal),
    ));
    Ok(outcome)
}

/// Whether a number is printed so: whole up to 1000, then in thousands and tenths of a million. Small ones are rounded or cut off.
fn as_printed(paper: f64, ours: f64) -> bool {
    let most = match paper {
        ..1e3 => 0.999,
        ..1e6 => 500.0,
        _ => 5e4,
    };
    (paper - ours).abs() <= most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_agree_to_the_digits_that_are_printed() {
        assert!(as_printed(62e3, 62_451.0) && !as_printed(62e3, 63_000.0));
        assert!(as_printed(4.0e6, 4_007_383.0) && !as_printed(4.0e6, 4_100_000.0));
        assert!(as_printed(5.0, 5.6) && as_printed(119.0, 119.3) && !as_printed(119.0, 120.0));
    }
}
