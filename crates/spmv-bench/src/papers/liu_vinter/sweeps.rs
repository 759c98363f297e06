//! Figures 7 and 8: W and S varied about Table 1.

use spmv::{
    Dtype, Options,
    plan::{Algorithm, Tiling},
};

use super::super::figures::{by_device, claim, distinct, left_out};
use super::super::outcome::{Axis, Column, Figure, Marks, Outcome, Row, Rule, Series, Table, Value};
use super::super::scene::{Contestant, Raced, Scene};
use super::speed::published;
use crate::bench::report::harmonic_mean;

/// Those that CUDA has code for; the paper's are in a picture alone.
const WIDTHS: [u32; 5] = [1, 4, 6, 8, 16];
const TILES: [u32; 7] = [1, 2, 3, 5, 7, 10, 16];
/// Those of a preview.
const QUICK: [u32; 3] = [1, 4, 8];

/// Which parameter of Table 1 is varied.
#[derive(Clone, Copy)]
enum Varied {
    W,
    S,
}

pub(super) fn figure_7(scene: &Scene<'_>) -> anyhow::Result<Outcome> {
    sweep(scene, "figure-7", Varied::W, &WIDTHS)
}

pub(super) fn figure_8(scene: &Scene<'_>) -> anyhow::Result<Outcome> {
    sweep(scene, "figure-8", Varied::S, &TILES)
}

fn sweep(scene: &Scene<'_>, item: &str, varied: Varied, values: &[u32]) -> anyhow::Result<Outcome> {
    let values = if scene.quick { &QUICK } else { values };
    let raced = scene.race(item, &scene.suite(), &[Dtype::F32, Dtype::F64], &|target, precision| {
        let algorithm = Algorithm::SpeculativeSegmentedSum;
        let Some(of_table) = published(algorithm, target, precision).tiling else { return vec![] };
        let tilings = values.iter().filter_map(|value| {
            let (w, s) = match varied {
                Varied::W => (*value, of_table.tiles()),
                Varied::S => (of_table.width(), *value),
            };
            Some((value, Tiling::new(of_table.lanes(), w, s, of_table.bunches()).ok()?))
        });
        let options = |tiling| Options { algorithm, tiling: Some(tiling), ..Options::default() };
        tilings.map(|(value, tiling)| Contestant::ours(&value.to_string(), options(tiling))).collect()
    })?;
    let mut outcome = Outcome::of(item);
    let name = match varied {
        Varied::W => "W",
        Varied::S => "S",
    };
    for (on, precision, of_it) in by_device(&raced) {
        show(&mut outcome, name, (&on, &precision), &of_it);
    }
    (outcome.notes, outcome.wrong) = left_out(&raced);
    Ok(outcome)
}

/// The harmonic mean over the matrices by the parameter; only of tilings that ran on all of them.
fn show(outcome: &mut Outcome, name: &str, (on, precision): (&str, &str), raced: &[&Raced]) {
    let of_value = |value: &String| {
        let rates: Option<Vec<f64>> = raced.iter().filter(|r| r.name == *value).map(|r| r.gflops()).collect();
        harmonic_mean(&rates?)
    };
    let means: Vec<(f64, Option<f64>)> = distinct(raced.iter().map(|r| r.name.clone()))
        .iter()
        .map(|value| (value.parse().unwrap_or(f64::NAN), of_value(value)))
        .collect();
    let rows = means.iter().map(|(value, mean)| Row {
        label: format!("{name}={value}"),
        twin: false,
        values: vec![Value::ours(*mean)],
        note: String::new(),
    });
    let title = format!("harmonic mean by {name} in {precision} on {on}, the other parameters as in Table 1");
    let rows = rows.collect();
    let columns = vec![Column::new("GFlop/s", 2)];
    outcome.tables.push(Table { title: title.clone(), rows_are: name.into(), columns, rows });
    let points: Vec<(f64, f64)> = means.iter().filter_map(|(value, mean)| Some((*value, (*mean)?))).collect();
    // "In general the overall performance goes up as W increases"; "if we assign more work to each thread-bunch, a better
    // performance can be expected": the best value is not the least.
    let best = points.iter().map(|(_, mean)| *mean).max_by(f64::total_cmp);
    let gain = best.zip(points.first()).map(|(best, (_, first))| best / first);
    outcome.claims.push(claim(
        format!("the best {name} over the least: more than 1"),
        (on, precision),
        vec![("all three".into(), 1.0)],
        gain.map(|gain| if gain > 1.0 + NOISE { gain } else { gain.min(1.0 - NOISE) }),
        ("x", Rule::SameWinner),
    ));
    let series = vec![Series { name: "spec_segsum".into(), marks: Marks::Line, points }];
    outcome.figures.push(Figure { title, x: Axis::log(name), y: Axis::linear("GFlop/s"), series });
}

/// What two runs of the same differ by.
const NOISE: f64 = 0.01;
