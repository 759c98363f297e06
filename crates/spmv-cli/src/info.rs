//! `spmv info`: a matrix, its layouts, and the plan for it.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use spmv::plan::{Algorithm, Plan, RowStats};
use spmv::{Context, Csr, Dtype, Options, Scalar, by_dtype};
use spmv_bench::{Loaded, aligned, load};

use crate::{device, spy};

/// `spmv info`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Matrix Market files, plain or gzipped, or names of matrices of the suites.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    device: device::DeviceArgs,
    /// Type of the values that layouts and plans are for.
    #[arg(long, default_value = "f64", value_parser = spmv_bench::precision())]
    precision: Dtype,
    /// Leaves the spy plot out.
    #[arg(long)]
    no_plot: bool,
}

/// Each file in turn.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let context = args.device.open()?;
    for (at, file) in args.files.iter().enumerate() {
        let Loaded { name, matrix, .. } = load(file)?;
        let mut text = String::from(if at == 0 { "" } else { "\n" });
        describe(&mut text, &name, &matrix, args.no_plot);
        by_dtype!(args.precision, T => {
            let a = matrix.map_values(<T as spmv::Value>::from_f64);
            plans::<T>(&mut text, &context, &a)
        })?;
        std::io::stdout().lock().write_all(text.as_bytes())?;
    }
    Ok(())
}

/// Size, lengths of rows, pattern.
fn describe(text: &mut String, name: &str, a: &Csr<f64>, no_plot: bool) {
    let rows = RowStats::of(a.view());
    let (n_rows, n_cols, nnz) = (a.n_rows(), a.n_cols(), a.nnz());
    let _ = writeln!(text, "{name}: {n_rows} rows, {n_cols} columns, {nnz} nonzeros");
    let (min, mean, max, deviation) = (rows.min, rows.mean, rows.max, rows.std_dev);
    let _ = writeln!(
        text,
        "nonzeros of a row: {min} to {max}, mean {mean:.2}, standard deviation {deviation:.2}; {} rows are empty",
        rows.empty
    );
    let Pattern { lower, upper, on_diagonal } = Pattern::of(a);
    let _ = writeln!(
        text,
        "columns: up to {lower} left of the diagonal, {upper} right of it; {on_diagonal} rows have an entry on it"
    );
    if n_rows == n_cols {
        let across = a.transpose();
        let is = |symmetric: bool| if symmetric { "symmetric" } else { "not symmetric" };
        let of_pattern = is(are_equal(a, &across, |_, _| true));
        let of_values = is(are_equal(a, &across, |v, w| v == w));
        let _ = writeln!(text, "pattern: {of_pattern}; values: {of_values}");
    }
    if !no_plot {
        text.push('\n');
        spy::plot(a.view()).iter().for_each(|line| {
            let _ = writeln!(text, "  {line}");
        });
    }
}

/// How far entries are from the diagonal.
#[derive(Debug, Default, PartialEq)]
struct Pattern {
    lower: u64,
    upper: u64,
    on_diagonal: usize,
}

impl Pattern {
    fn of(a: &Csr<f64>) -> Self {
        let mut pattern = Self::default();
        for row in 0..a.n_rows() {
            let mut on_diagonal = false;
            for (col, _) in a.row(row) {
                let (row, col) = (row as u64, u64::from(col));
                pattern.lower = pattern.lower.max(row.saturating_sub(col));
                pattern.upper = pattern.upper.max(col.saturating_sub(row));
                on_diagonal |= row == col;
            }
            pattern.on_diagonal += usize::from(on_diagonal);
        }
        pattern
    }
}

/// Whether two matrices have entries in the same positions, of equal values.
fn are_equal(a: &Csr<f64>, b: &Csr<f64>, equal: impl Fn(f64, f64) -> bool) -> bool {
    (0..a.n_rows()).all(|row| {
        a.view().row_range(row).len() == b.view().row_range(row).len()
            && a.row(row).zip(b.row(row)).all(|((i, v), (j, w))| i == j && equal(v, w))
    })
}

const HEADER: [&str; 4] = ["algorithm", "bytes", "of CSR", "predicted us"];

/// What each algorithm's layout takes, and what a product with the matrix follows.
fn plans<T: Scalar>(text: &mut String, context: &Context, a: &Csr<T>) -> anyhow::Result<()> {
    let chosen = context.plan(a, &Options::default())?;
    let algorithms = Algorithm::ALL.iter().filter(|algorithm| **algorithm != Algorithm::Auto);
    let mut left_out = Vec::new();
    let mut rows = Vec::new();
    for algorithm in algorithms {
        match context.plan(a, &Options { algorithm: *algorithm, ..Options::default() }) {
            Ok(plan) => rows.push(row(&plan, &chosen)),
            Err(e) => left_out.push(format!("{algorithm}: {e}")),
        }
    }
    let _ = writeln!(text, "\n{} values on {}\n", T::DTYPE, device::named(context));
    let _ = writeln!(text, "{}\n", aligned(HEADER.map(str::to_owned).to_vec(), rows));
    left_out.iter().for_each(|line| {
        let _ = writeln!(text, "{line}");
    });
    let _ = writeln!(text, "plan: {}", chosen.explain());
    Ok(())
}

fn row(plan: &Plan, chosen: &Plan) -> Vec<String> {
    let dash = || "-".to_owned();
    let taken = if plan.algorithm == chosen.algorithm { " (planned)" } else { "" };
    let of_all = chosen.candidates.iter().find(|candidate| candidate.algorithm == plan.algorithm);
    let cost = plan.layout_cost();
    vec![
        format!("{}{taken}", plan.algorithm),
        cost.map_or_else(dash, |cost| cost.bytes.to_string()),
        cost.map_or_else(dash, |cost| format!("{:.2}", cost.blow_up())),
        of_all.map_or_else(dash, |candidate| format!("{:.1}", candidate.seconds * 1e6)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(entries: &[(u32, u32, f64)]) -> Csr<f64> {
        Csr::from_coo(3, 3, entries).unwrap()
    }

    #[test]
    fn distances_are_counted_on_either_side() {
        let pattern = Pattern::of(&of(&[(0, 0, 1.0), (0, 2, 1.0), (2, 1, 1.0)]));
        assert_eq!(pattern, Pattern { lower: 1, upper: 2, on_diagonal: 1 });
    }

    #[test]
    fn a_pattern_may_be_symmetric_and_its_values_not() {
        let a = of(&[(0, 1, 2.0), (1, 0, 3.0), (2, 2, 1.0)]);
        assert!(are_equal(&a, &a.transpose(), |_, _| true) && !are_equal(&a, &a.transpose(), |v, w| v == w));
        let b = of(&[(0, 1, 2.0)]);
        assert!(!are_equal(&b, &b.transpose(), |_, _| true));
    }
}
