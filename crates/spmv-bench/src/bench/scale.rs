//! `cargo xtask scale`: products and conjugate gradients on many devices, predicted, and the prediction checked here.

mod calibrate;
mod print;
mod report;

use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use spmv::{BackendKind, Context, Csr, Dtype, plan::Algorithm};
use spmv_io::generate;
use spmv_partition::scale::{Arrangement, Curve, Machine, Scaling, Times, Work};
use spmv_partition::{Traffic, near_cube, poisson_3d};

use self::calibrate::{Measured, VALUE_BYTES};
use self::report::{Bounds, Check, Compared, OfCurve, OfMatrix, Point, Rate, Report, Scaled};
use super::devices::Target;
use super::inputs::{Loaded, load};
use super::partition::By;
use super::report::Cache;
use super::stop::Stop;
use super::text::name;

/// `cargo xtask scale`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// Square Matrix Market files, plain or gzipped, or names of the suite.
    #[arg(required = true, value_name = "MATRIX")]
    matrix: Vec<PathBuf>,
    /// How rows are given to parts.
    #[arg(long, default_value = "nonzeros")]
    by: By,
    /// Numbers of devices; one is always among them. Those beyond a matrix's rows are left out.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "1,2,4,8,16,32,64,128,256,512,1024,2048,4096",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    devices: Vec<u32>,
    /// Backend to measure rates on: its first device.
    #[arg(long, default_value = "cpu", value_name = "BACKEND")]
    calibrate: BackendKind,
    /// What multiplies, here and thus everywhere; what users get, without it, which may be another algorithm for a small part.
    #[arg(long, default_value = "auto")]
    algorithm: Algorithm,
    /// Given, not measured: microseconds of a message without bytes.
    #[arg(long, default_value = "3.5", value_parser = not_negative)]
    latency_us: f64,
    /// Given, not measured: GB/s that a device sends, while it receives as many.
    #[arg(long, default_value = "387", value_parser = positive)]
    link_gbs: f64,
    /// Microseconds of a sum over all devices, whatever their number; from latencies, without it.
    #[arg(long, value_parser = not_negative)]
    reduction_us: Option<f64>,
    /// GB/s of products, instead of what is measured. The check keeps what is measured; so for the next five.
    #[arg(long, value_parser = positive)]
    product_gbs: Option<f64>,
    /// GB/s of passes over vectors.
    #[arg(long, value_parser = positive)]
    vector_gbs: Option<f64>,
    /// GB/s at which exchanged values are gathered, copied to and from the host, and added.
    #[arg(long, value_parser = positive)]
    staged_gbs: Option<f64>,
    /// Microseconds to start an operation.
    #[arg(long, value_parser = not_negative)]
    start_us: Option<f64>,
    /// Microseconds that an exchange costs a part before any byte moves.
    #[arg(long, value_parser = not_negative)]
    stage_us: Option<f64>,
    /// Microseconds until the host has a scalar of a device, and the device the sum of all.
    #[arg(long, value_parser = not_negative)]
    read_us: Option<f64>,
    /// Points along an edge of the cube that each device has in weak scaling.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(8..=512))]
    side: u32,
    /// Least timed runs; as many as a fraction of a second holds, without it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    repeat: Option<u32>,
    /// Prints JSON instead of tables.
    #[arg(long)]
    json: bool,
}

fn number(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| format!("'{text}' is no number"))
}

fn positive(text: &str) -> Result<f64, String> {
    let value = number(text)?;
    if value > 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err(format!("{text} is not more than 0, and finite"))
    }
}

fn not_negative(text: &str) -> Result<f64, String> {
    let value = number(text)?;
    if value >= 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err(format!("{text} is not 0 or more, and finite"))
    }
}

/// Measures with each matrix, and with the Laplacian; prints rates, curves and checks.
///
/// # Errors
/// If a matrix cannot be read, is not square, or is too small to measure with; if the device does not open or has no `f64`.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let report = made(args)?;
    let out = std::io::stdout().lock();
    if args.json { Ok(serde_json::to_writer_pretty(out, &report)?) } else { print::tables(out, &report) }
}

fn made(args: &Args) -> anyhow::Result<Report> {
    let stop = Stop::at_interrupt()?;
    // The first is opened by itself, for an error that says why it does not open.
    let context = Context::with(args.calibrate)?;
    let (all, _) = Context::every(&[args.calibrate]);
    let devices: Vec<Context> = std::iter::once(context.clone()).chain(all.into_iter().skip(1)).collect();
    let target = Target::new(context, args.calibrate.to_string());
    if let Some(why) = target.obstacle(Dtype::F64, Cache::Warm) {
        anyhow::bail!("{why}");
    }
    let matrices = args.matrix.iter().map(|matrix| {
        let Loaded { name: matrix, twin, matrix: a } = load(matrix)?;
        let name = name(&matrix, twin);
        strong(args, &devices, &name, &a, stop).context(name)
    });
    Ok(Report {
        matrices: matrices.collect::<anyhow::Result<_>>()?,
        weak: weak(args, &devices, stop)?,
        device: target.context.caps().name.clone(),
        machine: super::machine(),
        commit: super::commit(),
        by: args.by.name(),
    })
}

/// A given matrix on more and more devices.
fn strong(
    args: &Args,
    devices: &[Context],
    name: &str,
    a: &Csr<f64>,
    stop: &Stop,
) -> anyhow::Result<OfMatrix> {
    let (rows, cols) = (a.n_rows(), a.n_cols());
    ensure!(rows == cols, "{rows} rows and {cols} columns: only square matrices have x in the ranges of y");
    ensure!(rows > 0, "no rows: there is nothing to give to devices");
    let (here, checked) = measured(args, devices, a, stop)?;
    let (taken, left_out): (Vec<u32>, Vec<u32>) = counts(args).into_iter().partition(|n| *n as usize <= rows);
    let traffic = |n: &u32| {
        stop.check()?;
        args.by.traffic(a, *n as usize)
    };
    let traffic = taken.iter().map(traffic).collect::<anyhow::Result<Vec<_>>>()?;
    let curve = of_curve(Scaling::Strong, "strong".into(), &machine(args, &here), &traffic, left_out);
    of_matrix(args, name.to_owned(), a, &here, vec![curve], &checked)
}

/// A cube of points for each device: stacked in slabs, and in boxes.
fn weak(args: &Args, devices: &[Context], stop: &Stop) -> anyhow::Result<OfMatrix> {
    let a = generate::laplacian_3d(args.side as usize)?;
    let (here, checked) = measured(args, devices, &a, stop)?;
    let machine = machine(args, &here);
    let points = [u64::from(args.side); 3];
    let curve = |scaling: &str, grid: fn(u64) -> [u64; 3]| {
        let traffic: Vec<_> =
            counts(args).iter().map(|n| poisson_3d(points, grid(u64::from(*n)), VALUE_BYTES)).collect();
        of_curve(Scaling::Weak, scaling.into(), &machine, &traffic, vec![])
    };
    let curves = vec![curve("weak (slabs)", |n| [1, 1, n]), curve("weak (boxes)", near_cube)];
    of_matrix(args, format!("3-D Laplacian, {0} x {0} x {0} points", args.side), &a, &here, curves, &checked)
}

fn measured(
    args: &Args,
    devices: &[Context],
    a: &Csr<f64>,
    stop: &Stop,
) -> anyhow::Result<(Machine, Vec<Measured>)> {
    let options = spmv::Options { algorithm: args.algorithm, ..spmv::Options::default() };
    calibrate::measure(devices, (a, &options), args.repeat.map(|n| n as usize), stop)
}

/// Numbers of devices, ascending, each once; one among them.
fn counts(args: &Args) -> Vec<u32> {
    let mut counts = args.devices.clone();
    counts.push(1);
    counts.sort_unstable();
    counts.dedup();
    counts
}

/// What was measured, but for what was given instead; and the network, which is given.
fn machine(args: &Args, here: &Machine) -> Machine {
    let gbs = |given: Option<f64>, measured: f64| given.map_or(measured, |gbs| gbs * 1e9);
    let us = |given: Option<f64>, measured: f64| given.map_or(measured, |us| us * 1e-6);
    Machine {
        product_bytes_s: gbs(args.product_gbs, here.product_bytes_s),
        vector_bytes_s: gbs(args.vector_gbs, here.vector_bytes_s),
        start_s: us(args.start_us, here.start_s),
        stage_s: us(args.stage_us, here.stage_s),
        staged_bytes_s: gbs(args.staged_gbs, here.staged_bytes_s),
        read_s: us(args.read_us, here.read_s),
        message_s: args.latency_us * 1e-6,
        link_bytes_s: args.link_gbs * 1e9,
        reduction_s: args.reduction_us.map(|us| us * 1e-6),
    }
}

/// Each number of the model, and whether it was measured or given.
fn sources(args: &Args, here: &Machine) -> Vec<Rate> {
    let Machine {
        product_bytes_s,
        vector_bytes_s,
        start_s,
        stage_s,
        staged_bytes_s,
        read_s,
        message_s,
        link_bytes_s,
        ..
    } = machine(args, here);
    let rate = |what, value, unit, is_given| Rate {
        what,
        value,
        unit,
        from: if is_given { "given" } else { "measured" },
    };
    let mut all = vec![
        rate("products", product_bytes_s / 1e9, "GB/s", args.product_gbs.is_some()),
        rate("passes over vectors", vector_bytes_s / 1e9, "GB/s", args.vector_gbs.is_some()),
        rate("start of an operation", start_s * 1e6, "us", args.start_us.is_some()),
        rate("exchange of a part, without bytes", stage_s * 1e6, "us", args.stage_us.is_some()),
        rate(
            "exchanged values gathered, copied, added",
            staged_bytes_s / 1e9,
            "GB/s",
            args.staged_gbs.is_some(),
        ),
        rate("a sum of two parts, without messages", read_s * 1e6, "us", args.read_us.is_some()),
        rate("a message without bytes", message_s * 1e6, "us", true),
        rate("the link of a device, each way", link_bytes_s / 1e9, "GB/s", true),
    ];
    all.extend(args.reduction_us.map(|us| rate("a sum over all devices", us, "us", true)));
    all
}

fn of_curve(
    scaling: Scaling,
    named: String,
    machine: &Machine,
    traffic: &[Traffic],
    left_out: Vec<u32>,
) -> OfCurve {
    let times = traffic.iter().map(|traffic| machine.times(traffic, Arrangement::Together));
    let curve = Curve::new(scaling, times.collect());
    let scaled = |at: usize, of| Scaled {
        seconds: curve.points()[at].seconds(of),
        speed_up: curve.speed_up(at, of),
        efficiency: curve.efficiency(at, of),
    };
    let point = |(at, traffic): (usize, &Traffic)| {
        let Times { parts, pack_s, local_s, exchange_s, boundary_s, .. } = curve.points()[at];
        Point {
            devices: parts,
            imbalance: traffic.imbalance(),
            most_received: traffic.parts().iter().map(|part| part.ghosts).max().unwrap_or(0),
            most_neighbours: traffic.max_neighbours(),
            pack_s,
            local_s,
            exchange_s,
            boundary_s,
            product: scaled(at, Work::Product),
            iteration: scaled(at, Work::Iteration),
        }
    };
    let bounds = |of| Bounds {
        limit: curve.limit(of),
        fastest: curve.fastest(of),
        below_half: curve.first_below(0.5, of),
    };
    OfCurve {
        scaling: named,
        points: traffic.iter().enumerate().map(point).collect(),
        left_out,
        product: bounds(Work::Product),
        iteration: bounds(Work::Iteration),
    }
}

fn of_matrix(
    args: &Args,
    name: String,
    a: &Csr<f64>,
    here: &Machine,
    curves: Vec<OfCurve>,
    measured: &[Measured],
) -> anyhow::Result<OfMatrix> {
    // Of what was given only the network: the rates of another device are not this one's.
    let Machine { message_s, link_bytes_s, reduction_s, .. } = machine(args, here);
    let own = Machine { message_s, link_bytes_s, reduction_s, ..*here };
    let check = |of: &Measured| -> anyhow::Result<Check> {
        // As a context of several devices divides rows.
        let predicted = own.times(&By::Nonzeros.traffic(a, of.parts)?, of.arrangement);
        let compared = |measured_s, of| Compared { measured_s, predicted_s: predicted.seconds(of) };
        let (product, iteration) =
            (compared(of.product_s, Work::Product), compared(of.iteration_s, Work::Iteration));
        let arrangement = match of.arrangement {
            Arrangement::InTurn => "one device, in turn",
            Arrangement::Together => "a device each",
        };
        Ok(Check { parts: of.parts, arrangement, algorithm: of.algorithm.to_string(), product, iteration })
    };
    let checks = measured.iter().map(check).collect::<anyhow::Result<_>>()?;
    Ok(OfMatrix { name, rows: a.n_rows(), nonzeros: a.nnz(), rates: sources(args, here), curves, checks })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }

    fn parsed(matrix: &str, rest: &[&str]) -> Result<Args, clap::Error> {
        let file =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(format!("{matrix}.mtx.gz"));
        let file = file.to_str().expect("a path in UTF-8").to_owned();
        let all = ["scale", &file, "--repeat", "1", "--side", "16"].into_iter().chain(rest.iter().copied());
        Cli::try_parse_from(all).map(|cli| cli.args)
    }

    #[test]
    fn a_matrix_of_the_repository_gets_rates_curves_and_checks() {
        // Messages of a second: nothing is hidden, and nobody helps.
        let options = ["--devices", "4,2,8192,16384", "--start-us", "1.5", "--latency-us", "1e6"];
        let options = [&options[..], &["--algorithm", "csr_vector"]].concat();
        let args = parsed("delaunay_n13", &options).unwrap();
        let report = made(&args).unwrap();
        let [OfMatrix { rows: 8192, rates, curves, checks, .. }] = &report.matrices[..] else {
            panic!("{report:?}")
        };
        let given: Vec<_> = rates.iter().filter(|rate| rate.from == "given").map(|rate| rate.what).collect();
        let network = ["a message without bytes", "the link of a device, each way"];
        assert_eq!(given, [&["start of an operation"][..], &network].concat());
        let [strong] = &curves[..] else { panic!("{curves:?}") };
        assert_eq!(strong.points.iter().map(|point| point.devices).collect::<Vec<_>>(), [1, 2, 4, 8192]);
        assert_eq!(strong.left_out, [16384]);
        assert_eq!((strong.points[0].product.speed_up, strong.points[0].most_received), (1.0, 0));
        assert_eq!((strong.product.limit, strong.iteration.limit), (Some(1), Some(1)));
        assert_eq!(strong.product.below_half, Some(2));
        assert_eq!(checks.iter().map(|check| check.parts).collect::<Vec<_>>(), [1, 2, 4]);
        assert!(checks.iter().all(|check| check.algorithm == "csr_vector"), "{checks:?}");
        assert!(checks.iter().all(|check| check.product.ratio() > 0.0 && check.iteration.ratio() > 0.0));
        let kinds: Vec<_> = report.weak.curves.iter().map(|curve| &*curve.scaling).collect();
        assert_eq!(kinds, ["weak (slabs)", "weak (boxes)"]);

        let mut printed = Vec::new();
        print::tables(&mut printed, &report).unwrap();
        let printed = String::from_utf8(printed).unwrap();
        for line in ["strong scaling", "no rows for 16384 devices", "given", "measured", "Assumptions"] {
            assert!(printed.contains(line), "{line} in\n{printed}");
        }
        let is_header = |line: &str| line.contains("parts") && line.contains("algorithm");
        assert!(printed.lines().any(is_header), "{printed}");
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["matrices"][0]["curves"][0]["points"][3]["devices"], 8192);
    }

    #[test]
    fn options_that_mean_nothing_are_errors_with_words() {
        let message = |rest: &[&str]| parsed("delaunay_n13", rest).unwrap_err().to_string();
        assert!(message(&["--link-gbs", "0"]).contains("0 is not more than 0, and finite"));
        assert!(message(&["--latency-us=-1"]).contains("-1 is not 0 or more, and finite"));
        assert!(message(&["--product-gbs", "inf"]).contains("inf is not more than 0, and finite"));
        assert!(message(&["--start-us", "fast"]).contains("'fast' is no number"));
        assert!(message(&["--devices", "0"]).contains("0 is not in 1.."));
        assert!(message(&["--by", "columns"]).contains("nonzeros"));
        assert!(message(&["--calibrate", "abacus"]).contains("abacus"));
        assert!(Cli::try_parse_from(["scale"]).unwrap_err().to_string().contains("MATRIX"));
    }

    #[test]
    fn matrices_that_are_not_square_are_refused() {
        let refused = made(&parsed("well1033", &[]).unwrap()).unwrap_err();
        assert!(
            format!("{refused:#}").contains("well1033: 1033 rows and 320 columns: only square"),
            "{refused:#}"
        );
    }
}
