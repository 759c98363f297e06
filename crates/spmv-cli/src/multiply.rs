//! `spmv multiply`.

use std::path::PathBuf;

use anyhow::bail;
use spmv::{Dtype, Number, Options, Scalar, io};

use crate::{device, files};

/// `spmv multiply`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The matrix: a Matrix Market file, plain or gzipped.
    #[arg(value_name = "FILE")]
    matrix: PathBuf,
    /// A file with x, of one column; all ones, without it.
    #[arg(short, long, value_name = "FILE")]
    x: Option<PathBuf>,
    /// A file with y, of one column; without it, zeros.
    #[arg(short, long, value_name = "FILE")]
    y: Option<PathBuf>,
    /// What the product is multiplied by.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    alpha: f64,
    /// What y is multiplied by.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    beta: f64,
    /// Multiplies by the transpose.
    #[arg(long)]
    transposed: bool,
    /// Where the result is written, gzipped if the name ends in .gz; to standard output, a number a line, without it.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Type of the values: f32, f64, c32 or c64. Without it f64, or c64 if a file is complex.
    #[arg(long, value_parser = spmv_bench::precision())]
    precision: Option<Dtype>,
    #[command(flatten)]
    device: device::DeviceArgs,
}

/// Reads, multiplies, writes.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let read = [&args.matrix].into_iter().chain(&args.x).chain(&args.y);
    match files::precision(args.precision, read)? {
        Dtype::F32 => multiply::<f32>(args),
        Dtype::F64 => multiply::<f64>(args),
        Dtype::C32 => multiply::<spmv::c32>(args),
        Dtype::C64 => multiply::<spmv::c64>(args),
        other => bail!("--precision {other}: files hold x and y in f32, f64, c32 or c64"),
    }
}

fn multiply<T: Number + Scalar<Accum = T>>(args: &Args) -> anyhow::Result<()> {
    let a = io::read::<T>(&args.matrix)?;
    let (len_x, len_y) = match args.transposed {
        false => (a.n_cols(), a.n_rows()),
        true => (a.n_rows(), a.n_cols()),
    };
    let [of_x, of_y] = if args.transposed { ["rows", "columns"] } else { ["columns", "rows"] };
    let vector = |file: &Option<PathBuf>, len, filled_with| match file {
        Some(file) => io::read_vector::<T>(file),
        None => Ok(vec![filled_with; len]),
    };
    let x = vector(&args.x, len_x, T::one())?;
    let mut y = vector(&args.y, len_y, T::zero())?;
    files::expect_length("x", x.len(), len_x, of_x)?;
    files::expect_length("y", y.len(), len_y, of_y)?;
    let context = args.device.open()?;
    let transpose;
    let a = match args.transposed {
        false => &a,
        true => {
            transpose = a.transpose();
            &transpose
        }
    };
    // One product: a layout of its own would cost more than it saves.
    let options = Options { expected_runs: Some(1), ..Options::default() };
    let matrix = context.prepare_with(a, &options)?;
    matrix.apply_slices(T::from_f64(args.alpha), &x, T::from_f64(args.beta), &mut y)?;
    files::write(args.output.as_deref(), &y)
}
