//! `spmv devices`.

use std::io::Write;

use spmv::{BackendKind, Context, Dtype};
use spmv_bench::aligned;

const HEADER: [&str; 8] = ["backend", "device", "kind", "memory", "GB", "units", "values", "rates"];

/// A row for each device that opens, a line for each backend that does not.
pub(crate) fn run() -> anyhow::Result<()> {
    let (contexts, tried) = Context::every(&BackendKind::ALL);
    let mut out = std::io::stdout().lock();
    let table = aligned(HEADER.map(str::to_owned).to_vec(), contexts.iter().map(row).collect());
    writeln!(out, "{table}\n")?;
    for spmv::Tried { backend, reason, .. } in &tried {
        writeln!(out, "{backend} has no device here: {reason}")?;
    }
    writeln!(
        out,
        "Values: types that matrices may have. Rates: whose times plans follow; `spmv fit` measures a device's own."
    )?;
    Ok(())
}

fn row(context: &Context) -> Vec<String> {
    let caps = context.caps();
    let takes = |value: &Dtype| caps.storage.contains(*value) && caps.arithmetic.contains(value.accum());
    let values: Vec<&str> =
        Dtype::ALL.iter().filter(|value| takes(value)).map(|value| value.name()).collect();
    let rates = match Dtype::ALL.iter().find_map(|value| context.profile(*value)) {
        None => "none",
        Some(profile) if profile.is_built_in() => "built in",
        Some(_) => "measured here",
    };
    vec![
        context.backend().to_string(),
        caps.name.clone(),
        caps.kind.to_string(),
        caps.memory.to_string(),
        caps.memory_bytes.map_or_else(|| "-".to_owned(), |bytes| format!("{:.1}", bytes as f64 / 1e9)),
        caps.compute_units.to_string(),
        values.join(" "),
        rates.to_owned(),
    ]
}
