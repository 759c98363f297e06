//! Bytes that `Algorithm::Auto` moves on the suite's matrices, compared with the fewest possible, and what its kernels wait for.
//!
//! `cargo run --release -p spmv-cuda --example traffic [-- MATRIX ...]`; needs Nsight Compute (`ncu`) on the PATH and
//! leave to read the counters. Every kernel is measured with empty caches.

use std::env;
use std::process::{Command, Stdio};

use spmv_core::{Csr, Value};
use spmv_cuda::{Cuda, Options as CudaOptions};
use spmv_exec::{Device, Options};
use spmv_io::suite;

/// Set for the process that `ncu` watches.
const WATCHED: &str = "SPMV_TRAFFIC_WATCHED";

/// What is read, and what of it is shown.
const METRICS: [&str; 8] = [
    "gpu__time_duration.sum",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "lts__t_bytes.sum",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1tex__throughput.avg.pct_of_peak_sustained_elapsed",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
];

type Error = Box<dyn std::error::Error>;

/// One multiplication; prints what it is, for the process that watches.
fn multiply<T: Value>(device: &Device<Cuda>, name: &str, matrix: &Csr<f64>) -> Result<(), Error> {
    let a: Csr<T> = matrix.map_values(T::from_f64);
    let prepared = device.prepare(a.view(), &Options::default())?;
    let mut workspace = prepared.workspace()?;
    let (x, mut y) =
        (device.upload(&vec![T::from_f64(1.0); a.n_cols()])?, device.zeros::<T::Accum>(a.n_rows())?);
    prepared.apply(&mut workspace, num_traits::one(), &x, num_traits::zero(), &mut y)?;
    // As `bench` counts: every row offset, entry, x and y once.
    let bytes = (a.n_rows() + 1) * 4 + a.nnz() * 4 + (a.nnz() + a.n_rows() + a.n_cols()) * T::DTYPE.bytes();
    println!("{name}\t{}\t{}\t{bytes}\t{}", T::DTYPE, prepared.plan().kernel.id, prepared.n_parts());
    Ok(())
}

fn watched() -> Result<(), Error> {
    let device = Device::new(Cuda::open(CudaOptions::from_env()?)?)?;
    let asked: Vec<String> = env::args().skip(1).collect();
    for entry in suite::ENTRIES.iter().filter(|e| asked.is_empty() || asked.iter().any(|a| a == e.name)) {
        let matrix = entry.load(None)?;
        multiply::<f32>(&device, entry.name, &matrix)?;
        multiply::<f64>(&device, entry.name, &matrix)?;
    }
    Ok(())
}

/// Name and metrics of every launch, in order.
fn launches(log: &str) -> Result<Vec<(String, [f64; METRICS.len()])>, Error> {
    // Lines that begin with `==` are the profiler's own.
    let table: Vec<&str> = log.lines().filter(|line| !line.starts_with("==")).collect();
    let table = table.join("\n");
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let headers = reader.headers()?.clone();
    let column =
        |name: &str| headers.iter().position(|h| h == name).ok_or(format!("ncu gives no column '{name}'"));
    let kernel = column("Kernel Name")?;
    let columns = METRICS.iter().map(|m| column(m)).collect::<Result<Vec<_>, _>>()?;
    let mut launches = Vec::new();
    for record in reader.records() {
        let record = record?;
        // The row below the headers holds units.
        if record[kernel].is_empty() {
            continue;
        }
        let mut values = [0.0; METRICS.len()];
        for (value, column) in values.iter_mut().zip(&columns) {
            *value = record[*column].replace(',', "").parse()?;
        }
        launches.push((record[kernel].to_owned(), values));
    }
    Ok(launches)
}

/// What stands nearest to its peak; nothing near means that lanes wait for each other or for answers.
fn limit([dram, l2, l1]: [f64; 3]) -> &'static str {
    const NEAR: f64 = 60.0;
    match dram.max(l2).max(l1) {
        most if most < NEAR => "latency",
        most if most == dram => "memory",
        most if most == l2 => "L2",
        _ => "L1",
    }
}

fn main() -> Result<(), Error> {
    if env::var_os(WATCHED).is_some() {
        return watched();
    }
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("ncu.csv");
    let output = Command::new("ncu")
        .args(["--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none", "--log-file"])
        .arg(&log)
        .args(["--metrics", &METRICS.join(",")])
        .arg(env::current_exe()?)
        .args(env::args_os().skip(1))
        .env(WATCHED, "1")
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("ncu: {e}; install Nsight Compute and put it on the PATH"))?;
    let log = std::fs::read_to_string(&log).unwrap_or_default();
    if !output.status.success() {
        return Err(format!("ncu: {}\n{log}", output.status).into());
    }
    let mut launches = launches(&log)?.into_iter().peekable();
    println!(
        "| matrix | type | kernel | us | compulsory MB | memory MB | ratio | L2 MB | memory % | L2 % | L1 % | warps % | limit |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    for line in String::from_utf8(output.stdout)?.lines() {
        let [matrix, dtype, stem, bytes, parts] = line.split('\t').collect::<Vec<_>>()[..] else { continue };
        let (bytes, parts): (f64, usize) = (bytes.parse()?, parts.parse()?);
        let (mut us, mut moved, mut l2) = (0.0, 0.0, 0.0);
        // Shares of peak are those of the launch that takes longest.
        let (mut longest, mut shares) = (0.0, [0.0; 4]);
        let mut n = 0;
        while let Some((name, [ns, read, written, through_l2, rest @ ..])) =
            launches.next_if(|(name, _)| n < parts || is_second(name))
        {
            (us, moved, l2) = (us + ns / 1e3, moved + read + written, l2 + through_l2);
            if ns > longest {
                (longest, shares) = (ns, rest);
            }
            n += usize::from(name.starts_with(stem));
        }
        if n != parts {
            return Err(format!("ncu saw {n} launches of {stem} for {matrix}, {parts} were made").into());
        }
        let [dram, l2_share, l1, warps] = shares;
        println!(
            "| {matrix} | {dtype} | `{stem}` | {us:.1} | {:.2} | {:.2} | {:.2} | {:.2} | {dram:.0} | {l2_share:.0} | {l1:.0} | \
             {warps:.0} | {} |",
            bytes / 1e6,
            moved / 1e6,
            moved / bytes,
            l2 / 1e6,
            limit([dram, l2_share, l1])
        );
    }
    if launches.next().is_some() {
        return Err("ncu saw more launches than were made".into());
    }
    Ok(())
}

/// Kernels that follow another in one multiplication.
fn is_second(name: &str) -> bool {
    ["fixup_apply", "carry_apply"].iter().any(|stem| name.starts_with(stem))
}
