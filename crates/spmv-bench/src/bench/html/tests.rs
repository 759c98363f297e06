//! What must hold for every page.

use std::collections::{BTreeMap, BTreeSet};

use super::super::report::{
    Cache, Cell, ComparisonRow, ComparisonRun, Device, Outcome, PeerTime, Report, Row, SCHEMA, Spread,
};
use super::text::thousands;
use super::{Picture, escape, page};

const HOSTILE: &str = "<b>&\"";

/// A time that no other field has.
const WRONG_US: f64 = 77.25;

/// Right in f32 and wrong in f64, for each name; a wrong row keeps stray numbers that must not show.
pub(crate) fn sample(names: &[&str]) -> Report {
    let mut rows = Vec::new();
    for &name in names {
        for (precision, ok) in [("f32", true), ("f64", false)] {
            let median = if ok { 100.0 } else { WRONG_US };
            let peer = |us: Option<f64>| {
                PeerTime::new(us.map(|median| Spread { median, min: median - 10.0, max: median + 20.0 }), 5.0)
            };
            rows.push(Row {
                matrix: name.to_owned(),
                twin: !ok,
                rows: 1000,
                cols: 1200,
                nnz: 500_000,
                row_min: 0,
                row_mean: 500.0,
                row_max: 900,
                on: "cpu".into(),
                backend: "cpu".into(),
                device: "cpu".into(),
                algorithm: "csr5".into(),
                auto: false,
                tuned: false,
                tiling: "T=32,W=8,S=7,B=5".into(),
                precision: precision.into(),
                cache: Cache::Warm,
                time_us: Some(Spread { median, min: 99.0, max: 120.0 }),
                device_us: None,
                gflops: Some(2.0 * 500_000.0 / median / 1e3),
                gbs: Some(40.0),
                roof_share: Some(1.25),
                plan_us: 800.0,
                n_tiles: 12,
                dirty_tiles: Some(3),
                stage1_us: 90.0,
                stage2_us: 10.0,
                error_over_bound: if ok { 0.1 } else { 50.0 },
                ok,
                queued_us: None,
                over_one: None,
                peers: BTreeMap::from([
                    ("fast".to_owned(), peer(Some(150.0))),
                    (format!("{HOSTILE}peer"), peer(None)),
                ]),
            });
        }
    }
    Report {
        schema: SCHEMA.into(),
        machine: format!("{HOSTILE}machine"),
        commit: format!("{HOSTILE}commit"),
        date: Some(format!("{HOSTILE}date")),
        load: Some(1.5),
        ended_early: Some(format!("{HOSTILE}ended")),
        read_gbs: 32.0,
        devices: vec![Device {
            label: "cpu".into(),
            name: format!("{HOSTILE}device"),
            kind: "CPU".into(),
            memory: "unified, coherent".into(),
            read_gbs: Some(32.0),
        }],
        left_out: vec![format!("{HOSTILE}left out")],
        absent: BTreeMap::from([(format!("{HOSTILE}absent"), format!("{HOSTILE}why"))]),
        peers: BTreeMap::from([(format!("{HOSTILE}peer"), format!("{HOSTILE}about"))]),
        rows,
        sweep: vec![cell()],
        comparison: Some(ComparisonRun::sample()),
        hetero: vec![super::super::hetero::tests::row()],
        regular: vec![super::super::regular::tests::row()],
        comparisons: vec![ComparisonRow::sample("spmv/auto", Some(10.0))],
    }
}

fn cell() -> Cell {
    Cell {
        matrix: "a".into(),
        twin: false,
        nnz: 500_000,
        on: "cpu".into(),
        precision: "f64".into(),
        cache: Cache::Warm,
        tiling: "T=32,W=8,S=7,B=5".into(),
        w: 8,
        s: 7,
        planned: true,
        outcome: Outcome::Right,
        why: None,
        time_us: None,
        device_us: None,
        gflops: Some(10.0),
        error_over_bound: Some(0.1),
    }
}

pub(super) fn pictures(names: &[&str]) -> Vec<Picture> {
    let view = spmv::CsrView::new(3, 3, &[0u32, 1, 3, 3], &[0, 0, 2], &[1.0f64; 3]).unwrap();
    names.iter().map(|name| Picture::of(name, view)).collect()
}

#[test]
fn no_text_is_taken_for_markup() {
    let mut report = sample(&[HOSTILE]);
    for row in &mut report.rows {
        for field in [&mut row.on, &mut row.device, &mut row.algorithm, &mut row.tiling, &mut row.precision] {
            field.push_str(HOSTILE);
        }
    }
    let page = page(&report, &pictures(&[HOSTILE]));
    assert!(page.contains(&escape(HOSTILE)));
    assert!(!page.contains("<b>"), "a name became an element");
    assert!(!page.contains("&\""), "a name left its attribute");
}

#[test]
fn a_wrong_row_is_marked_and_shows_no_speed() {
    let page = page(&sample(&["a"]), &[]);
    let wrong: Vec<&str> = page.lines().filter(|l| l.starts_with("<tr class=\"row failed\">")).collect();
    assert_eq!(wrong.len(), 1);
    assert!(wrong[0].contains(">FAILED<"));
    let speed = 2.0 * 500_000.0 / WRONG_US / 1e3;
    let ratio = 150.0 / WRONG_US;
    for number in [format!("{WRONG_US:.1}"), format!("{speed:.2}"), format!("{ratio:.2}"), ">40.0<".into()] {
        assert!(!wrong[0].contains(&number), "{number} in {}", wrong[0]);
    }
    assert!(!page.contains(&format!("{speed:.2} GFlop/s")), "a chart shows the speed of a wrong result");
}

#[test]
fn a_right_row_shows_time_speed_and_ratio() {
    let page = page(&sample(&["a"]), &[]);
    let right = page.lines().find(|l| l.starts_with("<tr class=\"row\">")).unwrap();
    for number in [">100.0<", ">10.00<", ">40.0<", ">125<", ">1.50<"] {
        assert!(right.contains(number), "{number} is not in {right}");
    }
}

#[test]
fn two_devices_of_one_backend_have_their_own_colours_and_times() {
    let mut report = sample(&["a"]);
    report.rows.truncate(1);
    report.rows.push(report.rows[0].clone());
    for (row, on) in report.rows.iter_mut().zip(["opencl#0", "opencl#1"]) {
        row.on = on.to_owned();
        row.device_us = Some(Spread { median: 61.5, min: 60.0, max: 70.0 });
    }
    let page = page(&report, &[]);
    assert_eq!(page.matches(">61.5<").count(), 2);
    for (colour, on) in ["opencl#0", "opencl#1"].into_iter().enumerate() {
        assert!(page.contains(&format!("<i class=\"s{colour}\"></i>spmv {on} csr5")), "{on}");
    }
}

#[test]
fn every_matrix_is_in_table_charts_and_panels() {
    let names = ["alpha", "beta", "gamma"];
    let page = page(&sample(&names), &pictures(&names));
    for name in names {
        assert_eq!(page.matches(&format!("<th scope=\"row\">{name}")).count(), 2, "rows of {name}");
        assert_eq!(page.matches(&format!("<h3>{name}")).count(), 1, "panel of {name}");
        assert!(page.contains(&format!("<title>{name}, spmv cpu csr5: 10.00 GFlop/s")), "{name} in a chart");
    }
    assert_eq!(page.matches("class=\"twin\">twin</span></th>").count(), names.len());
}

#[test]
fn bars_have_values_and_error_bars_and_axes_have_units() {
    let page = page(&sample(&["a"]), &[]);
    // 2 * 500000 in 100 us, 99 to 120.
    assert!(page.contains("<title>a, spmv cpu csr5: 10.00 GFlop/s, runs from 8.33 to 10.10</title>"));
    assert!(page.contains("rotate(-90)\">10.0</text>"));
    // Ours and the peer that was right.
    assert_eq!(page.matches("class=\"spread\"").count(), 3);
    for axis in ["GFlop/s, linear", "GFlop/s, logarithmic", "flop per compulsory byte, logarithmic"] {
        assert!(page.contains(&format!(">{axis}</text>")), "{axis}");
    }
}

#[test]
fn the_roof_of_each_memory_is_drawn_once() {
    let mut report = sample(&["a"]);
    report.rows.truncate(1);
    let device = report.devices[0].clone();
    for (label, read_gbs) in
        [("opencl", Some(32.0)), ("cuda", Some(2800.0)), ("wgpu", None), ("idle", Some(1.0))]
    {
        report.devices.push(Device { label: label.into(), read_gbs, ..device.clone() });
        if label != "idle" {
            report.rows.push(Row { on: label.into(), ..report.rows[0].clone() });
        }
    }
    let page = page(&report, &[]);
    assert_eq!(page.matches("class=\"roof\"").count(), 2);
    assert!(page.contains(">cpu, opencl: 32.0 GB/s read<") && page.contains(">cuda: 2800.0 GB/s read<"));
}

#[test]
fn the_page_names_no_address_but_the_svg_namespace() {
    let page = page(&sample(&["a"]), &pictures(&["a"]));
    let rest = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for outside in ["http", "src=", "href=", "url(", "@import"] {
        assert!(!rest.contains(outside), "{outside}");
    }
}

#[test]
fn reports_without_rows_or_numbers_have_a_page() {
    let mut report = sample(&["a"]);
    (report.read_gbs, report.devices[0].read_gbs) = (f64::NAN, Some(f64::NAN));
    for row in &mut report.rows {
        (row.gflops, row.gbs, row.plan_us) = (Some(f64::INFINITY), Some(0.0), f64::NAN);
    }
    assert!(page(&report, &[]).contains("FAILED"));
    report.rows.clear();
    assert!(page(&report, &[]).contains("Measurements"));
}

#[test]
fn digits_are_grouped_by_three() {
    assert_eq!([0, 999, 1000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
}

#[test]
fn the_schema_document_names_every_field() {
    let mut keys = BTreeSet::new();
    collect(&serde_json::to_value(sample(&["a"])).unwrap(), &mut keys);
    let document = include_str!("../../../../../docs/bench-schema.md");
    for key in keys {
        assert!(document.contains(&format!("`{key}`")), "docs/bench-schema.md does not name `{key}`");
    }
    assert!(document.contains(&format!("`{SCHEMA}`")));
}

/// Names of fields at any depth; keys of the maps of peers are names of libraries instead.
fn collect(value: &serde_json::Value, keys: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(fields) => {
            for (key, inner) in fields {
                keys.insert(key.clone());
                match (key.as_str(), inner) {
                    ("absent", _) => {}
                    ("peers", serde_json::Value::Object(peers)) => {
                        peers.values().for_each(|peer| collect(peer, keys));
                    }
                    _ => collect(inner, keys),
                }
            }
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| collect(item, keys)),
        _ => {}
    }
}
