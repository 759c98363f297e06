//! `cargo xtask reproduce`: the papers, figure by figure.

mod catalogue;
mod document;
mod figures;
mod gao;
mod item;
mod liu_vinter;
mod loops;
pub(crate) mod numbers;
mod outcome;
mod page;
mod print;
mod scene;
mod study;
mod tan;
mod wang;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context as _;
use spmv::{BackendKind, Dtype};

use crate::bench::devices::{self, Target};
use crate::bench::measure::Eviction;
use crate::bench::stop::{Stop, Stopped};
use crate::bench::{self, Ending, files};
use item::{How, Item, Paper};
use outcome::{Findings, SCHEMA};
use scene::Scene;

/// `cargo xtask reproduce`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// `liu-vinter-2015`, `gao`, `wang-2017` or `tan-2019`.
    #[arg(required_unless_present = "document")]
    paper: Option<String>,
    /// A table, figure or algorithm: `figure-4`; `all` that is measured. Without one, lists them.
    item: Option<String>,
    /// Backends, with all their devices; all that open, without it.
    #[arg(long, value_delimiter = ',')]
    backend: Vec<BackendKind>,
    /// Value types, of those that the paper has.
    #[arg(long, value_delimiter = ',', default_value = "f32,f64", value_parser = crate::precision::parser())]
    precision: Vec<Dtype>,
    /// A folder of .mtx files that replace twins of the same name.
    #[arg(long, value_name = "DIR")]
    originals: Option<PathBuf>,
    /// Timed runs; as many as a fraction of a second holds, without it.
    #[arg(long, value_name = "N")]
    repeat: Option<usize>,
    /// Few matrices and runs: a preview.
    #[arg(long)]
    quick: bool,
    /// wang-2017: takes the grids that `cargo xtask fit` kept, and measures the others.
    #[arg(long, conflicts_with = "quick")]
    fitted: bool,
    /// Writes what was found as JSON; to standard output with `-`.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Writes it as one HTML page with the figures; `-` as for JSON.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Writes docs/reproduction.md from the archived runs instead.
    #[arg(long, conflicts_with_all = ["item", "json", "html", "quick", "fitted"])]
    document: bool,
}

/// Runs of `--quick`.
const QUICK_REPEAT: usize = 1;

/// Lists the items of a paper, or measures one or all.
///
/// # Errors
/// If there is no such paper or item, nothing can be measured, or a result is wrong.
pub(crate) fn run(args: &Args) -> anyhow::Result<Ending> {
    if args.document {
        document::write()?;
        return Ok(Ending::Complete);
    }
    let paper = catalogue::find(args.paper.as_deref().unwrap_or_default())?;
    let Some(asked) = &args.item else {
        print!("{}", print::list(paper));
        return Ok(Ending::Complete);
    };
    let items: Vec<&Item> = match asked.as_str() {
        "all" => paper.items.iter().collect(),
        one => vec![paper.item(one)?],
    };
    if !items.iter().any(|item| matches!(item.how, How::Run { .. })) {
        items.iter().for_each(|item| print!("{}", print::unmeasured(paper, item)));
        return Ok(Ending::Complete);
    }
    let targets = devices::open(&args.backend)?;
    let stop = Stop::at_interrupt()?;
    let (findings, ended) = measure(args, paper, &items, &targets, &Eviction::new(), stop);
    for (path, text) in [
        (&args.json, serde_json::to_string_pretty(&findings)? + "\n"),
        (&args.html, page::page(paper, &findings)),
    ] {
        let Some(path) = path else { continue };
        files::write(path, &text).with_context(|| path.display().to_string())?;
    }
    match ended {
        Err(e) if e.is::<Stopped>() => return Ok(Ending::Interrupted),
        ended => ended?,
    }
    let wrong: Vec<&String> = findings.outcomes.iter().flat_map(|o| &o.wrong).collect();
    anyhow::ensure!(wrong.is_empty(), "{} results are wrong: {}", wrong.len(), wrong[0]);
    Ok(Ending::Complete)
}

/// Measures items one after the other, printing each; what there is when one fails is returned with the error.
fn measure(
    args: &Args,
    paper: &'static Paper,
    items: &[&'static Item],
    targets: &[Target],
    eviction: &Eviction,
    stop: &Stop,
) -> (Findings, anyhow::Result<()>) {
    let numbers = paper.numbers();
    let bar = bench::progress(items.len());
    let read_gbs = eviction.read_gbs();
    let scene = Scene {
        targets,
        precisions: &args.precision,
        quick: args.quick,
        fitted: args.fitted,
        repeat: args.repeat.or(args.quick.then_some(QUICK_REPEAT)),
        read_gbs,
        eviction,
        stop,
        bar: &bar,
        originals: args.originals.as_deref(),
        numbers: &numbers,
        raced: RefCell::new(BTreeMap::new()),
        studied: RefCell::new(None),
    };
    let mut findings = Findings {
        schema: SCHEMA.into(),
        paper: paper.id.into(),
        machine: bench::machine(),
        commit: bench::commit(),
        quick: args.quick,
        devices: targets.iter().map(Target::device).collect(),
        read_gbs,
        outcomes: vec![],
    };
    let to_stderr = [&args.json, &args.html].into_iter().flatten().any(|path| files::is_stdout(path));
    let say = |text: String| bar.suspend(|| if to_stderr { eprintln!("{text}") } else { println!("{text}") });
    let mut ended = Ok(());
    for item in items {
        bar.inc(1);
        let How::Run { run, .. } = &item.how else {
            say(print::unmeasured(paper, item));
            continue;
        };
        match run(&scene).with_context(|| item.id) {
            Ok(outcome) => {
                say(print::outcome(paper, item, &outcome));
                findings.outcomes.push(outcome);
            }
            Err(e) => {
                ended = Err(e);
                break;
            }
        }
    }
    bar.finish_and_clear();
    say(print::tail(&findings));
    (findings, ended)
}
