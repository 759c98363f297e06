//! Tan et al. 2019: a matrix on a device and the host's cores.

use spmv::{hetero::Pattern, plan::Algorithm};
use spmv_io::suite::{Entry, TAN_2019_QUASI_DIAGONAL, TAN_2019_TETRIS};

use super::figures::{claim, distinct, of_columns};
use super::item::{How, Item, Paper};
use super::outcome::{Axis, Column, Outcome, Row, Rule, Table, Value};
use super::scene::Scene;
use crate::bench::census::{self, Counted};
use crate::bench::devices::Target;
use crate::bench::inputs::Input;
use crate::bench::live::Live;
use crate::bench::report::{Cache, HeteroRow, RegularRow, Report};
use crate::bench::{hetero, regular, tan_2019};

const BOTH: &str = "a device next to the cpu backend";

pub(super) const PAPER: Paper = Paper {
    id: "tan-2019",
    data: tan_2019::DATA,
    items: &[
        Item {
            id: "figure-1",
            title: "CSR, ELL and DIA",
            section: "page 591",
            how: How::Tests(&[("spmv-exec", "csr_scalar"), ("spmv-exec", "ell"), ("spmv-exec", "dia")]),
            reason: "",
        },
        Item {
            id: "figure-2",
            title: "quasi-diagonal matrices",
            section: "page 592, section 3.2",
            how: How::Tests(&[(
                "spmv-bench",
                "matrices_of_the_paper_s_tables_up_to_two_million_entries_are_in_its_classes",
            )]),
            reason: "",
        },
        Item {
            id: "figure-3",
            title: "Tetris matrices",
            section: "page 592, section 3.2",
            how: How::Tests(&[(
                "spmv-bench",
                "matrices_of_the_paper_s_tables_up_to_two_million_entries_are_in_its_classes",
            )]),
            reason: "",
        },
        Item {
            id: "figure-4",
            title: "Q1, a band about the diagonal, and Q2, the rest",
            section: "page 592, section 3.2",
            how: How::Tests(&[("spmv-hetero", "parts_and_rows_hold_every_entry_once")]),
            reason: "",
        },
        Item {
            id: "figure-5",
            title: "T1, the first K nonzeros of each row, and T2, the rest",
            section: "page 593, section 3.2",
            how: How::Tests(&[("spmv-hetero", "parts_and_rows_hold_every_entry_once")]),
            reason: "",
        },
        Item {
            id: "figure-6",
            title: "device and cores at work before the cooperative step",
            section: "page 593, section 3.3",
            how: How::Tests(&[("spmv-bench", "before_the_cooperative_step_the_cores_have_all_of_the_rest")]),
            reason: "",
        },
        Item {
            id: "figure-7",
            title: "device and cores at work after it",
            section: "page 593, section 3.3",
            how: How::Tests(&[("spmv-bench", "before_the_cooperative_step_the_cores_have_all_of_the_rest")]),
            reason: "",
        },
        Item {
            id: "algorithm-1",
            title: "the search for the partition",
            section: "page 593, section 3.3",
            how: How::Tests(&[("spmv-hetero", "by_runs_every_pattern_is_split_or_the_reason_is_given")]),
            reason: "",
        },
        Item {
            id: "equation-1",
            title: "the matrices that regressors are trained with, and their four sets",
            section: "page 594, section 4.1",
            how: How::Tests(&[("spmv-hetero", "models_alone_leave_a_slow_one_out")]),
            reason: "`cargo xtask train` fits and tests the four regressors, and says where features and sets differ from the paper's",
        },
        Item {
            id: "table-1",
            title: "shares of both patterns among the matrices at hand",
            section: "page 594, Table 1, and section 3.1",
            how: How::Run { needs: "nothing", run: table_1 },
            reason: "the paper counts the SuiteSparse collection; here are its small files of the repository, so shares differ by the choice",
        },
        Item {
            id: "table-2",
            title: "the equipment",
            section: "page 594, Table 2",
            how: How::Impossible("a GTX 1080 Ti with two Xeon E5606 cannot be had"),
            reason: "",
        },
        Item {
            id: "table-3",
            title: "the quasi-diagonal matrices",
            section: "page 594, Table 3",
            how: How::Run {
                needs: "nothing",
                run: |scene| matrices(scene, "table-3", Pattern::QuasiDiagonal),
            },
            reason: "",
        },
        Item {
            id: "table-4",
            title: "the Tetris matrices",
            section: "page 595, Table 4",
            how: How::Run { needs: "nothing", run: |scene| matrices(scene, "table-4", Pattern::Tetris) },
            reason: "",
        },
        Item {
            id: "figure-8",
            title: "quasi-diagonal matrices: speed-up over the device alone",
            section: "page 595, section 4.3",
            how: How::Run { needs: BOTH, run: |scene| speed_ups(scene, "figure-8", Pattern::QuasiDiagonal) },
            reason: SHARE,
        },
        Item {
            id: "figure-9",
            title: "Tetris matrices: speed-up over the device alone",
            section: "page 595, section 4.3",
            how: How::Run { needs: BOTH, run: |scene| speed_ups(scene, "figure-9", Pattern::Tetris) },
            reason: SHARE,
        },
        Item {
            id: "figure-10",
            title: "speed-up of DIA or ELL over CSR on regular parts",
            section: "page 596, section 4.3",
            how: How::Run { needs: "a device", run: figure_10 },
            reason: "the paper compares with a library's CSR kernel; the kernels that auto takes here read CSR nearly as fast as memory allows, \
                     and DIA and ELL read padding as well",
        },
    ],
};

const SHARE: &str = "the paper's partition gives the device a regular part in DIA or ELL, which is seldom faster here than CSR of all rows \
                     (figure-10); beyond that the speed-up is bounded by what the cores add to the device: the ratio of their \
                     bandwidths, less the copies of vectors";

/// The tables, or their two smallest matrices if it is to be quick.
fn inputs(scene: &Scene<'_>, pattern: Pattern) -> Vec<Input> {
    let table: &'static [Entry] = match pattern {
        Pattern::QuasiDiagonal => &TAN_2019_QUASI_DIAGONAL,
        _ => &TAN_2019_TETRIS,
    };
    let mut taken: Vec<&'static Entry> = table.iter().collect();
    if scene.quick {
        taken.sort_by_key(|entry| entry.nnz);
        taken.truncate(2);
    }
    taken.into_iter().map(|entry| scene.of_suite(entry)).collect()
}

/// Dimensions, and whether our definition puts the matrix into the paper's class.
fn matrices(scene: &Scene<'_>, item: &str, pattern: Pattern) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::of(item);
    let mut rows = Vec::new();
    let (mut as_there, mut all) = (0u32, 0u32);
    for input in inputs(scene, pattern) {
        scene.stop.check()?;
        let loaded = input.load()?;
        let counted = Counted::of(&loaded.name, loaded.twin, &loaded.matrix);
        let of = |what| scene.numbers.of_matrix(item, what, &loaded.name);
        let values = vec![
            Value::both(of("rows"), loaded.matrix.n_rows() as f64),
            Value::both(of("nnz"), loaded.matrix.nnz() as f64),
            Value::ours(counted.width as f64),
            Value::ours(100.0 * counted.share),
            Value::ours(Some(counted.padding).filter(|p| p.is_finite())),
        ];
        as_there += u32::from(counted.pattern == pattern);
        all += 1;
        rows.push(Row { label: loaded.name, twin: loaded.twin, values, note: counted.pattern.to_string() });
    }
    let columns = [
        ("rows", 0),
        ("nonzeros", 0),
        ("width", 0),
        ("% in the regular part", 1),
        ("slots for a nonzero", 2),
    ];
    let columns = columns.map(|(name, digits)| Column::new(name, digits)).to_vec();
    outcome.tables.push(Table {
        title: format!("{pattern} matrices of the paper"),
        rows_are: "matrix".into(),
        columns,
        rows,
    });
    outcome.claims.push(claim(
        format!("matrices that are {pattern} here too"),
        ("-", ""),
        vec![(String::new(), f64::from(all))],
        Some(f64::from(as_there)),
        ("", Rule::Equal),
    ));
    outcome
        .notes
        .push("A twin is of the paper's class because it was made to be; an original confirms it.".into());
    Ok(outcome)
}

/// A census over the files of the repository and those of the folder of originals.
fn table_1(scene: &Scene<'_>) -> anyhow::Result<Outcome> {
    const ITEM: &str = "table-1";
    let counted = census::of_all(&scene.files()?)?;
    let originals: Vec<&Counted> = counted.iter().filter(|c| !c.twin).collect();
    let mut outcome = Outcome::of(ITEM);
    let rows = counted.iter().map(|c| Row {
        label: c.matrix.clone(),
        twin: c.twin,
        values: vec![
            Value::ours(c.width as f64),
            Value::ours(100.0 * c.share),
            Value::ours(Some(c.padding).filter(|p| p.is_finite())),
        ],
        note: c.pattern.to_string(),
    });
    let columns = [("width", 0), ("% in the regular part", 1), ("slots for a nonzero", 2)];
    let columns = columns.map(|(name, digits)| Column::new(name, digits)).to_vec();
    let rows = rows.collect();
    outcome.tables.push(Table { title: "matrices at hand".into(), rows_are: "matrix".into(), columns, rows });
    for (pattern, what) in [
        (Pattern::QuasiDiagonal, "quasi-diagonal, share of the SuiteSparse collection"),
        (Pattern::Tetris, "Tetris, share of the SuiteSparse collection"),
    ] {
        let papers = scene
            .numbers
            .find(ITEM, what, |_| true)
            .map(|value| (String::new(), value))
            .into_iter()
            .collect();
        let ours = census::percentage(&originals, pattern);
        outcome.claims.push(claim(what, ("-", ""), papers, ours, ("%", Rule::Within(1.5))));
    }
    Ok(outcome)
}

/// Co-execution of every matrix of a table on every device next to the cores.
fn co_execution(scene: &Scene<'_>, pattern: Pattern) -> anyhow::Result<Vec<HeteroRow>> {
    let targets: Vec<&Target> = scene.targets.iter().collect();
    let live = Live::discarding();
    let mut report = Report::default();
    for input in inputs(scene, pattern) {
        scene.stop.check()?;
        scene.bar.set_message(format!("{pattern}: {}", input.name()));
        let loaded = input.load()?;
        for &precision in scene.precisions {
            let able: Vec<&Target> =
                targets.iter().copied().filter(|t| t.obstacle(precision, Cache::Warm).is_none()).collect();
            let way = scene.way(&able, &[Algorithm::Auto], &live);
            hetero::measure(&way, &loaded, precision, &mut report)?;
        }
    }
    Ok(report.hetero)
}

fn speed_ups(scene: &Scene<'_>, item: &str, pattern: Pattern) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::of(item);
    let cores = scene.targets.iter().filter(|target| target.is_cores()).count();
    if cores == 0 || cores == scene.targets.len() {
        outcome
            .notes
            .push("not measured: it needs the cpu backend and another, as in --backend cpu,opencl".into());
        return Ok(outcome);
    }
    let rows = co_execution(scene, pattern)?;
    for (on, precision) in distinct(rows.iter().map(|r| (r.on.clone(), r.precision.clone()))) {
        let of_it: Vec<&HeteroRow> = rows.iter().filter(|r| r.on == on && r.precision == precision).collect();
        let lines = of_it.iter().map(|r| {
            let values = [r.before(), r.after(), r.over_device(), r.over_single()].map(Value::ours).to_vec();
            let note = match r.chosen.as_str() {
                "both" => r.split.clone().unwrap_or_default(),
                alone => format!("the {alone} alone"),
            };
            Row { label: r.matrix.clone(), twin: r.twin, values, note }
        });
        let columns = ["before the cooperative step", "after it", "as chosen", "over the faster one alone"];
        let columns = columns.map(|name| Column::new(name, 2)).to_vec();
        let title = format!("speed-up over the device alone in {precision} on {on}");
        let lines: Vec<Row> = lines.collect();
        outcome.figures.push(of_columns(
            &title,
            Axis::linear("speed-up"),
            &lines,
            &["before", "after", "as chosen"],
        ));
        outcome.tables.push(Table { title, rows_are: "matrix".into(), columns, rows: lines });
        let paper = |step: &str| {
            let is_it =
                |n: &&super::numbers::Number| n.what.contains(step) && n.what.contains("over GPU alone");
            scene.numbers.of_item(item).filter(is_it).map(|n| ("GTX 1080 Ti".to_owned(), n.value)).collect()
        };
        let mean = |of: fn(&HeteroRow) -> Option<f64>, both: bool| {
            let taken = of_it.iter().filter(|r| !both || r.chosen == "both");
            let values: Vec<f64> = taken.filter_map(|r| of(r)).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        for (what, step, of, both) in [
            ("before the cooperative step, mean", "before", HeteroRow::before as fn(&HeteroRow) -> _, false),
            ("after the cooperative step, mean", "after", HeteroRow::after, false),
            ("as chosen, mean", "no such", HeteroRow::over_device, false),
            ("as chosen, mean of the matrices that both multiply", "no such", HeteroRow::over_device, true),
        ] {
            let ours = mean(of, both);
            outcome.claims.push(claim(what, (&on, &precision), paper(step), ours, ("x", Rule::SameWinner)));
        }
    }
    let wrong = rows.iter().filter(|r| !r.ok);
    outcome.wrong = wrong.map(|r| format!("{} in {} on {}", r.matrix, r.precision, r.on)).collect();
    outcome.notes.push("Vectors are on the host, for the device alone as for both.".into());
    Ok(outcome)
}

fn figure_10(scene: &Scene<'_>) -> anyhow::Result<Outcome> {
    let live = Live::discarding();
    let mut report = Report::default();
    for pattern in [Pattern::QuasiDiagonal, Pattern::Tetris] {
        for input in inputs(scene, pattern) {
            scene.stop.check()?;
            let loaded = input.load()?;
            for &precision in scene.precisions {
                let able: Vec<&Target> =
                    scene.targets.iter().filter(|t| t.obstacle(precision, Cache::Warm).is_none()).collect();
                regular::measure(
                    &scene.way(&able, &[Algorithm::Auto], &live),
                    &loaded,
                    precision,
                    &mut report,
                )?;
            }
        }
    }
    let mut outcome = Outcome::of("figure-10");
    let rows = &report.regular;
    for (on, precision) in distinct(rows.iter().map(|r| (r.on.clone(), r.precision.clone()))) {
        let of_it: Vec<&RegularRow> =
            rows.iter().filter(|r| r.on == on && r.precision == precision).collect();
        let lines = of_it.iter().map(|r| {
            let refused = if r.refused.is_some() { ", refused" } else { "" };
            Row {
                label: r.matrix.clone(),
                twin: r.twin,
                values: vec![
                    Value::ours(r.over_auto()),
                    Value::ours(r.over_vector()),
                    Value::ours(r.padding),
                ],
                note: format!("{}{refused}; auto: {}", r.layout, r.auto_algorithm),
            }
        });
        let lines: Vec<Row> = lines.collect();
        let columns = ["over CSR as auto has it", "over csr_vector", "slots for a nonzero"];
        let columns = columns.map(|name| Column::new(name, 2)).to_vec();
        let title = format!("DIA or ELL over CSR on regular parts in {precision} on {on}");
        outcome.figures.push(of_columns(
            &title,
            Axis::linear("speed-up"),
            &lines,
            &["over auto", "over csr_vector"],
        ));
        let wins = lines.iter().filter(|row| row.values[0].ours.is_some_and(|ratio| ratio > 1.0)).count();
        let n = lines.iter().filter(|row| row.values[0].ours.is_some()).count();
        outcome.tables.push(Table { title, rows_are: "matrix".into(), columns, rows: lines });
        // Three of the paper's matrices are named as exceptions; on the others the layout is the faster.
        let what = "matrices named as exceptions because of DIA";
        let papers = scene.numbers.of_item("figure-10").filter(|number| number.what.starts_with(what));
        let papers = papers.map(|number| ("GTX 1080 Ti".to_owned(), number.value)).collect();
        let ours = (n > 0).then_some((n - wins) as f64);
        outcome.claims.push(claim(
            "matrices on which DIA or ELL is not faster than CSR",
            (&on, &precision),
            papers,
            ours,
            ("", Rule::AtMost(1.0)),
        ));
    }
    let wrong = rows.iter().filter(|r| !r.ok);
    outcome.wrong = wrong.map(|r| format!("{} in {} on {}", r.matrix, r.precision, r.on)).collect();
    outcome.notes = std::mem::take(&mut report.left_out);
    Ok(outcome)
}
