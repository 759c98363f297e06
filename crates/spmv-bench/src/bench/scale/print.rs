//! The report in tables.

use std::io::Write;

use super::super::text::aligned;
use super::report::{Bounds, Check, Compared, OfCurve, OfMatrix, Point, Rate, Report, Scaled};

const ASSUMPTIONS: &str = "\
Assumptions (docs/scale.md): devices are equal, and so are links; rates do not depend on the size of a part; a part's messages
start one after another, and leave while its local product runs; they share no link; no device waits for another but for ghosts
and sums; vectors and matrices are of f64.
Received: values of x, by the part that receives most. Imbalance: the most nonzeros of a part over their mean. Exchange: messages,
hidden as far as the local product takes longer. Speed-up of weak scaling: work done in the same time.
Check: a context of the one device, named so often, does its parts one after another; predicted as their sum. Where there are several
devices, contexts of a device for each part too, predicted with the network that is given. The rates are those measured here. The
algorithm is the first part's: where it is not that of one part, rates of products differ, and --algorithm keeps one.
";

/// Rates, curves, checks.
pub(super) fn tables(mut out: impl Write, report: &Report) -> anyhow::Result<()> {
    writeln!(out, "rates of {}; rows given to parts by {}\n", report.device, report.by)?;
    for matrix in report.matrices.iter().chain([&report.weak]) {
        of_matrix(&mut out, matrix)?;
    }
    write!(out, "{ASSUMPTIONS}")?;
    writeln!(out, "machine: {}\ncommit: {}", report.machine, report.commit)?;
    Ok(())
}

fn of_matrix(out: &mut impl Write, matrix: &OfMatrix) -> anyhow::Result<()> {
    let OfMatrix { name, rows, nonzeros, rates, curves, checks } = matrix;
    writeln!(out, "{name}: {rows} rows, {nonzeros} nonzeros\n")?;
    let row = |rate: &Rate| {
        vec![rate.what.to_owned(), format!("{:.3}", rate.value), rate.unit.to_owned(), rate.from.to_owned()]
    };
    let header = ["rate", "value", "unit", "from"].map(str::to_owned).to_vec();
    writeln!(out, "{}\n", aligned(header, rates.iter().map(row).collect()))?;
    for curve in curves {
        of_curve(out, name, curve)?;
    }
    let header = [
        "parts",
        "on",
        "algorithm",
        "product, us",
        "predicted",
        "ratio",
        "iteration, us",
        "predicted",
        "ratio",
    ];
    let rows = checks.iter().map(check).collect();
    writeln!(out, "check of {name}: times measured here\n")?;
    writeln!(out, "{}\n", aligned(header.map(str::to_owned).to_vec(), rows))?;
    Ok(())
}

fn of_curve(out: &mut impl Write, name: &str, curve: &OfCurve) -> anyhow::Result<()> {
    let header = [
        "devices",
        "imbalance",
        "received",
        "neighbours",
        "local, us",
        "exchange, us",
        "product, us",
        "speed-up",
        "efficiency",
        "iteration, us",
        "speed-up",
        "efficiency",
    ];
    writeln!(out, "{} scaling of {name}\n", curve.scaling)?;
    let rows = curve.points.iter().map(point).collect();
    writeln!(out, "{}\n", aligned(header.map(str::to_owned).to_vec(), rows))?;
    if let [first, .., last] = &curve.left_out[..] {
        writeln!(out, "no rows for {first} to {last} devices")?;
    } else if let [one] = &curve.left_out[..] {
        writeln!(out, "no rows for {one} devices")?;
    }
    let most = curve.points.last().map_or(1, |point| point.devices);
    for (what, bounds) in [("product", &curve.product), ("iteration", &curve.iteration)] {
        writeln!(out, "{what}: {}", in_words(bounds, most))?;
    }
    writeln!(out)?;
    Ok(())
}

fn in_words(bounds: &Bounds, most: usize) -> String {
    let limit = match (bounds.limit, bounds.fastest) {
        (None, _) => format!("scales up to {most} devices, the most that were asked for and have rows"),
        (Some(limit), Some(fastest)) if fastest > limit => {
            format!(
                "does not scale beyond {limit} devices: the next more are no faster, though {fastest} are"
            )
        }
        (Some(limit), _) => format!("does not scale beyond {limit} devices: no more of them are faster"),
    };
    let half = match bounds.below_half {
        Some(devices) => format!("efficiency is below 50% from {devices} on"),
        None => "efficiency is nowhere below 50%".to_owned(),
    };
    format!("{limit}; {half}")
}

fn us(seconds: f64) -> String {
    format!("{:.2}", 1e6 * seconds)
}

fn point(point: &Point) -> Vec<String> {
    let scaled = |of: &Scaled| {
        [us(of.seconds), format!("{:.2}", of.speed_up), format!("{:.0}%", 100.0 * of.efficiency)]
    };
    let mut row = vec![
        point.devices.to_string(),
        format!("{:.2}", point.imbalance),
        point.most_received.to_string(),
        point.most_neighbours.to_string(),
        us(point.local_s),
        us(point.exchange_s),
    ];
    row.extend(scaled(&point.product).into_iter().chain(scaled(&point.iteration)));
    row
}

fn check(check: &Check) -> Vec<String> {
    let compared = |of: &Compared| [us(of.measured_s), us(of.predicted_s), format!("{:.2}", of.ratio())];
    let (product, iteration) = (compared(&check.product), compared(&check.iteration));
    let of = [check.parts.to_string(), check.arrangement.to_owned(), check.algorithm.clone()];
    of.into_iter().chain(product).chain(iteration).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_say_where_scaling_ends() {
        let words = |limit, fastest, below_half| in_words(&Bounds { limit, fastest, below_half }, 4096);
        assert_eq!(
            words(Some(64), Some(64), Some(16)),
            "does not scale beyond 64 devices: no more of them are faster; efficiency is below 50% from 16 on"
        );
        assert_eq!(
            words(Some(8), Some(2048), Some(4)),
            "does not scale beyond 8 devices: the next more are no faster, though 2048 are; efficiency is below 50% from 4 on"
        );
        assert_eq!(
            words(None, Some(4096), None),
            "scales up to 4096 devices, the most that were asked for and have rows; efficiency is nowhere below 50%"
        );
    }
}
