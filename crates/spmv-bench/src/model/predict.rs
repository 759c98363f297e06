//! `cargo xtask predict`: predicted and measured times of real matrices.

use std::path::PathBuf;

use anyhow::Context as _;
use spmv::by_dtype;

use super::evaluation::{self, Evaluation};
use super::report;
use super::scope::Scope;
use crate::bench::devices;
use crate::bench::report::Cache;
use crate::bench::suites::SuiteArgs;
use crate::bench::{MatrixCache, files, inputs};

/// `cargo xtask predict`.
#[derive(Debug, clap::Args)]
pub(crate) struct PredictArgs {
    /// Matrix Market files; those in tests/data and two of the suite, without it.
    #[arg(long, num_args = 1.., value_name = "FILE")]
    matrix: Vec<PathBuf>,
    #[command(flatten)]
    suites: SuiteArgs,
    /// Writes what was predicted and measured, matrix by matrix.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    scope: Scope,
}

/// Prints, for each device, type and matrix, times and how far they are from each other.
pub(crate) fn predict(args: &PredictArgs) -> anyhow::Result<()> {
    let mut found: Vec<Evaluation> = Vec::new();
    let (inputs, left_out) = inputs::select(&args.matrix, args.suites, None)?;
    left_out.iter().for_each(|line| println!("{line}"));
    let mut matrix_cache = MatrixCache::new(MatrixCache::CAPACITY_BYTES);
    for (at, input) in inputs.iter().enumerate() {
        matrix_cache.keep(at, input.load()?);
    }
    for target in devices::open(&args.scope.backend)? {
        for &precision in &args.scope.precision {
            if let Some(why) = target.obstacle(precision, Cache::Warm) {
                println!("{why}");
                continue;
            }
            let label = &target.label;
            let Some(profile) = target.context.profile(precision) else {
                println!("{label} has no fit of {precision}; run `cargo xtask fit --precision {precision}`");
                continue;
            };
            if profile.is_built_in() {
                println!("{label} has no fit of {precision}; times are predicted by the built-in profile");
            }
            let spreads = &args.scope.model;
            let evaluation = by_dtype!(precision, T => {
                evaluation::evaluate::<T>(&target, profile, spreads, &inputs, &matrix_cache)
            })?;
            println!("{}", report::text(&evaluation));
            found.push(evaluation);
        }
    }
    anyhow::ensure!(!found.is_empty(), "nothing was predicted; run `cargo xtask fit` first");
    if let Some(path) = &args.json {
        let text = serde_json::to_string_pretty(&found)? + "\n";
        files::write(path, &text).with_context(|| path.display().to_string())?;
    }
    Ok(())
}
