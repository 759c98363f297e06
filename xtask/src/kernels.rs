//! `cargo xtask kernels`: builds the committed PTX from the CUDA C++ sources, or checks that it is what they build.
//!
//! It needs neither a GPU nor a CUDA toolkit: compiler and assembler are packages of PyPI, pinned by
//! `spmv_kernels_cuda::recipe`. The same sources give the same bytes. Everything that makes PTX differ without its
//! source is in the recipe too, but for what `text` and `archive` do; `--check` finds that.

mod archive;
#[allow(unsafe_code)]
mod nvrtc;
mod ptxas;
mod text;
mod wheels;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, anyhow, bail, ensure};
use cargo_metadata::{Metadata, MetadataCommand};
use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};
use rayon::prelude::*;
use spmv_kernels_cuda::recipe::{first_line, options, unit};
use spmv_kernels_cuda::{MIXED, SOURCES, TARGETS, Target, VALUES, VARIANTS, Variants, entry, texts};

use nvrtc::Nvrtc;
use ptxas::{ByEntry, Needs};
use wheels::Tools;

/// `cargo xtask kernels`.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// Compares the committed PTX with what the sources build, and writes nothing.
    #[arg(long)]
    check: bool,
    /// Stems to build, such as spec_segsum; all, without it.
    #[arg(long, value_name = "STEM", value_delimiter = ',')]
    only: Vec<String>,
    /// A site-packages folder that holds the compilers; they are downloaded into target/cuda-wheels, without it.
    #[arg(long, value_name = "DIR")]
    wheels: Option<PathBuf>,
    /// Writes each text to `DIR/<target>/<stem>_<value>.ptx` too, to be read, or taken by SPMV_CUDA_KERNELS.
    #[arg(long, value_name = "DIR")]
    plain: Option<PathBuf>,
    /// Takes kernels that spill registers on sm_90; they fail, without it.
    #[arg(long)]
    allow_spills: bool,
    /// Assembles for the architectures that decide on the ISA, and the one that is shown: enough to compare.
    #[arg(skip)]
    few_architectures: bool,
}

/// Where sources and PTX are, from the workspace root.
const SOURCE_FOLDER: &str = "kernels-cuda";
const FOLDER: &str = "kernels-cuda/ptx";

/// Architectures that each target's PTX is assembled for, to prove that their drivers will take it.
const ARCHITECTURES: [(&str, &[&str]); 2] = [
    ("sm_60", &["sm_60", "sm_70", "sm_75", "sm_80", "sm_87", "sm_90"]),
    ("sm_90", &["sm_90", "sm_100", "sm_120"]),
];

/// The architecture whose registers are shown: the one that all targets' PTX is assembled for.
const SHOWN: &str = "sm_90";

/// What the compiler says of every target older than Turing, however often it is told that this is intended.
const EXPECTED_WARNING: &str = "are deprecated and may be removed in a future release";

/// One PTX text to build.
#[derive(Clone, Copy, Debug)]
struct Job {
    variants: &'static Variants,
    value: &'static str,
    target: &'static Target,
}

/// A PTX text as the sources have it now.
#[derive(Debug)]
struct Built {
    job: Job,
    text: String,
    /// By architecture.
    needs: BTreeMap<&'static str, ByEntry>,
}

/// Builds, prints what the entries need, and writes or compares.
///
/// # Errors
/// If the compilers are not to be had, say anything against a source, or spill; with `--check`, if a file differs.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let start = Instant::now();
    let metadata = MetadataCommand::new().no_deps().exec().context("cargo metadata")?;
    let root = metadata.workspace_root.as_std_path();
    check_sources(&root.join(SOURCE_FOLDER))?;
    let folder = root.join(FOLDER);
    let jobs = jobs(&args.only)?;
    let tools = match &args.wheels {
        Some(folder) => Tools::in_site_packages(folder)?,
        None => Tools::installed(&wheels_folder(&metadata))?,
    };
    ptxas::check_version(&tools.ptxas)?;
    let nvrtc = Nvrtc::open(&tools.nvrtc)?;

    let results: Vec<anyhow::Result<Built>> =
        jobs.par_iter().map(|job| job.build(&nvrtc, &tools.ptxas, args.few_architectures)).collect();
    let built = all_or_first_of_each_stem(&jobs, results)?;
    println!("{}", table(&built));
    let (spills, elsewhere) = spills(&built);
    if !elsewhere.is_empty() {
        println!("spilled on other architectures, which is no failure:\n  {}\n", elsewhere.join("\n  "));
    }
    ensure!(
        spills.is_empty() || args.allow_spills,
        "registers are spilled (--allow-spills takes that):\n  {}",
        spills.join("\n  ")
    );
    if let Some(folder) = &args.plain {
        built.iter().try_for_each(|built| built.write_plain(folder))?;
    }
    let archives = archive::all(&folder, &built)?;
    let n_changed: usize = archives.iter().map(|archive| archive.differences.len()).sum();
    if args.check {
        archive::compare(&folder, &archives)?
    } else {
        archive::write(&folder, &archives)?
    }
    let n_bytes: usize = built.iter().map(|built| built.text.len()).sum();
    println!(
        "{} texts, {:.1} KiB, {n_changed} changed; {} archives, {:.1} KiB; {:.1} s",
        built.len(),
        n_bytes as f64 / 1024.0,
        archives.len(),
        archive::n_bytes(&archives) as f64 / 1024.0,
        start.elapsed().as_secs_f64()
    );
    Ok(())
}

/// Runs of `ci` that check all kernels together: one for each digit.
const PARTS: usize = 16;

/// The stems that a run of `ci` at a commit checks: every sixteenth, from one that the commit's hash names. That no text is of
/// another source than the committed one, a test sees in every run (`kernels-cuda/tests/ptx.rs`).
fn in_turn(commit: &str) -> Vec<String> {
    let digit = commit.chars().next().and_then(|c| c.to_digit(16)).unwrap_or(0) as usize;
    VARIANTS.iter().skip(digit).step_by(PARTS).map(|variants| variants.stem.to_owned()).collect()
}

/// `--check` of all kernels, or of some, in turn, as a step of `ci`. Where the compilers are not to be had, it checks nothing and returns why, unless
/// `SPMV_REQUIRE` names `kernels`.
///
/// # Errors
/// As of [`run`].
pub(crate) fn check_or_skip(all: bool) -> anyhow::Result<Option<String>> {
    let metadata = MetadataCommand::new().no_deps().exec().context("cargo metadata")?;
    let skipped = skipped(
        Tools::installed(&wheels_folder(&metadata)),
        spmv_backend::env::lists("SPMV_REQUIRE", "kernels"),
    )?;
    if skipped.is_none() {
        let only = commit()?.filter(|_| !all).map_or_else(Vec::new, |commit| in_turn(&commit));
        run(&Args { check: true, only, few_architectures: !all, ..Args::default() })?;
    }
    Ok(skipped)
}

/// Installs the compilers that [`check_or_skip`] needs, which says why there are none.
pub(crate) fn install_compilers() {
    let metadata = MetadataCommand::new().no_deps().exec();
    let _ = metadata.map(|metadata| Tools::installed(&wheels_folder(&metadata)));
}

/// Hash of the commit; `None` outside git.
fn commit() -> anyhow::Result<Option<String>> {
    let output = std::process::Command::new("git").args(["rev-parse", "HEAD"]).output();
    let output = output.ok().filter(|output| output.status.success());
    output.map(|output| Ok(String::from_utf8(output.stdout)?.trim().to_owned())).transpose()
}

/// Why nothing can be checked; an error if it must be.
fn skipped(tools: anyhow::Result<Tools>, required: bool) -> anyhow::Result<Option<String>> {
    match tools {
        Ok(_) => Ok(None),
        Err(e) if required => Err(e.context("SPMV_REQUIRE names 'kernels', and there are no compilers")),
        Err(e) => Ok(Some(format!(
            "SKIPPED: the PTX was not compared with its sources, as there are no compilers: {e:#}; \
             SPMV_REQUIRE=kernels makes that a failure"
        ))),
    }
}

/// Where the compilers are kept.
fn wheels_folder(metadata: &Metadata) -> PathBuf {
    metadata.target_directory.as_std_path().join("cuda-wheels")
}

/// The sources are compiled from the text in this program: an error if they have changed since it was built.
fn check_sources(folder: &Path) -> anyhow::Result<()> {
    for (stem, text) in SOURCES {
        let path = folder.join(format!("{stem}.cu"));
        let found = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        ensure!(found == *text, "{stem}.cu has changed meanwhile; run `cargo xtask kernels` once more");
    }
    Ok(())
}

/// The texts of the stems, or of all.
fn jobs(only: &[String]) -> anyhow::Result<Vec<Job>> {
    if let Some(stranger) = only.iter().find(|stem| Variants::of(stem).is_none()) {
        let stems: Vec<_> = VARIANTS.iter().map(|variants| variants.stem).collect();
        bail!("no kernel is called '{stranger}'; there are {}", stems.join(", "));
    }
    let is_wanted = |stem: &str| only.is_empty() || only.iter().any(|wanted| wanted == stem);
    let targets = |(variants, value)| TARGETS.iter().map(move |target| Job { variants, value, target });
    Ok(texts().filter(|(variants, _)| is_wanted(variants.stem)).flat_map(targets).collect())
}

impl Job {
    /// Stem, type of values and target, as the text's first line has them.
    fn name(&self) -> String {
        format!("{} {} {}", self.variants.stem, self.value, self.target.name)
    }

    fn build(&self, nvrtc: &Nvrtc, ptxas: &Path, few: bool) -> anyhow::Result<Built> {
        self.try_build(nvrtc, ptxas, few).with_context(|| self.name())
    }

    fn try_build(&self, nvrtc: &Nvrtc, ptxas: &Path, few: bool) -> anyhow::Result<Built> {
        let Self { variants: Variants { stem, .. }, value, target } = *self;
        let unit = unit(stem).with_context(|| format!("{stem} has no source in SOURCES"))?;
        let (names, entries): (Vec<_>, Vec<_>) = self.variants.tilings().map(instance(stem)).unzip();
        let compiled = nvrtc.compile(&unit, &options(value, target), &names)?;
        let warnings = unexpected(&compiled.log);
        ensure!(warnings.is_empty(), "{warnings}");

        let body =
            text::tidied(&compiled.ptx, &std::iter::zip(compiled.lowered, entries).collect::<Vec<_>>());
        let isas = text::isas(target.isa, &compiled.ptx);
        let (body, needs) = assembled(&body, &isas, &architectures(target.name, few)?, ptxas)?;
        let first = first_line(stem, value, target.name, &body).context("no hash of the sources")?;
        Ok(Built { job: *self, text: format!("{first}\n{body}"), needs })
    }
}

/// Those that a target's PTX is assembled for; of a few, the one that is shown, and the newest, whose assembler asks for the latest ISA.
fn architectures(target: &str, few: bool) -> anyhow::Result<Vec<&'static str>> {
    let of_it = ARCHITECTURES.iter().find(|(name, _)| *name == target);
    let (_, of_it) = of_it.context("no architectures are listed for the target")?;
    let is_taken = |name: &&&'static str| !few || **name == SHOWN || Some(**name) == of_it.last().copied();
    Ok(of_it.iter().filter(is_taken).copied().collect())
}

/// The text with the least ISA that every architecture's assembler takes, and what its entries need there.
fn assembled(
    body: &str,
    isas: &[(u32, u32)],
    architectures: &[&'static str],
    ptxas: &Path,
) -> anyhow::Result<(String, BTreeMap<&'static str, ByEntry>)> {
    let mut refusal = anyhow!("the compiler's ISA is older than the target's least");
    for isa in isas {
        let text = text::with_isa(body, *isa);
        let needs: anyhow::Result<_> =
            architectures.iter().map(|&name| Ok((name, ptxas::assemble(ptxas, &text, name)?))).collect();
        match needs {
            Ok(needs) => return Ok((text, needs)),
            Err(e) => refusal = e,
        }
    }
    Err(refusal)
}

/// The instantiation in C++ and the entry's name for a tiling.
fn instance(stem: &'static str) -> impl Fn((u32, u32)) -> (String, String) {
    move |(lanes, width)| {
        let name = entry(stem, lanes, width).expect("`tilings` yields those that have an entry");
        (format!("{stem}<{lanes}, {width}>"), name)
    }
}

/// What the compiler said beyond [`EXPECTED_WARNING`].
fn unexpected(log: &str) -> String {
    let lines = log.lines().filter(|line| !line.trim().is_empty() && !line.contains(EXPECTED_WARNING));
    lines.collect::<Vec<_>>().join("\n")
}

/// All texts; or, where some failed, the first failure of each stem, since the others mostly repeat it.
fn all_or_first_of_each_stem(
    jobs: &[Job],
    results: Vec<anyhow::Result<Built>>,
) -> anyhow::Result<Vec<Built>> {
    let (mut built, mut failures) = (Vec::new(), BTreeMap::new());
    for (job, result) in std::iter::zip(jobs, results) {
        match result {
            Ok(text) => built.push(text),
            Err(e) => drop(failures.entry(job.variants.stem).or_insert(e)),
        }
    }
    if failures.is_empty() {
        return Ok(built);
    }
    failures.values().for_each(|failure| eprintln!("{failure:#}\n"));
    bail!("{} of {} texts were built; nothing was written", built.len(), jobs.len())
}

/// Registers of each entry on [`SHOWN`], one column for each type of values and target.
fn table(built: &[Built]) -> String {
    let column = |(value, target): (&str, &Target)| format!("{value} {}", target.name);
    let columns =
        || VALUES.iter().chain(MIXED).flat_map(|value| TARGETS.iter().map(|target| (*value, target)));
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN);
    table.set_header(std::iter::once("entry".to_owned()).chain(columns().map(column)));
    for variants in VARIANTS {
        let of_column = |at: (&str, &Target)| {
            built.iter().find(|b| b.job.variants == variants && (b.job.value, b.job.target) == at)
        };
        let files: Vec<_> = columns().map(of_column).collect();
        if files.iter().all(Option::is_none) {
            continue;
        }
        for (_, name) in variants.tilings().map(instance(variants.stem)) {
            let needs = files.iter().map(|file| file.and_then(|file| file.needs.get(SHOWN)?.get(&name)));
            let cells: Vec<_> = needs.map(|needs| needs.map(cell).unwrap_or_default()).collect();
            table.add_row(std::iter::once(name).chain(cells));
        }
    }
    table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    format!("registers of a lane on {SHOWN}, by type of values and target of the PTX\n\n{table}\n")
}

/// Registers; then, if there are any, bytes of stack frame and spilled bytes.
fn cell(needs: &Needs) -> String {
    let mut text = needs.registers.to_string();
    for (what, n_bytes) in [("stack", needs.stack_bytes), ("spilled", needs.spill_bytes)] {
        if n_bytes > 0 {
            text = format!("{text} {what} {n_bytes}");
        }
    }
    text
}

/// Entries that spill on [`SHOWN`], and those that do on another architecture.
fn spills(built: &[Built]) -> (Vec<String>, Vec<String>) {
    let (mut shown, mut elsewhere) = (Vec::new(), Vec::new());
    for file in built {
        let all = file.needs.iter().flat_map(|(on, entries)| entries.iter().map(move |entry| (*on, entry)));
        for (on, (name, needs)) in all.filter(|(_, (_, needs))| needs.spill_bytes > 0) {
            let (value, target, n_bytes) = (file.job.value, file.job.target.name, needs.spill_bytes);
            let spills = if on == SHOWN { &mut shown } else { &mut elsewhere };
            spills.push(format!("{name} {value} {target} on {on}: {n_bytes} bytes"));
        }
    }
    (shown, elsewhere)
}

impl Built {
    /// Writes the text as `SPMV_CUDA_KERNELS` takes it, in a folder for each target.
    fn write_plain(&self, folder: &Path) -> anyhow::Result<()> {
        let folder = folder.join(self.job.target.name);
        std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        let path = folder.join(format!("{}_{}.ptx", self.job.variants.stem, self.job.value));
        std::fs::write(&path, &self.text).with_context(|| path.display().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of two texts of axpby, not as the sources build it.
    pub(super) fn built(value: &str, needs: Needs) -> Built {
        let job = *jobs(&["axpby".into()]).unwrap().iter().find(|job| job.value == value).unwrap();
        let entries: ByEntry = [("axpby_32x1".to_owned(), needs)].into();
        Built { job, text: format!("// spmv: {}, sources\n", job.name()), needs: [("sm_90", entries)].into() }
    }

    #[test]
    fn jobs_are_the_product_of_stems_values_and_targets() {
        assert_eq!(jobs(&[]).unwrap().len(), texts().count() * TARGETS.len());
        let two = jobs(&["axpby".into(), "spec_segsum".into()]).unwrap();
        assert_eq!(two.len(), (2 * VALUES.len() + MIXED.len()) * TARGETS.len());
        let names: Vec<_> = two.iter().map(Job::name).collect();
        assert!(names.contains(&"spec_segsum f16 sm_60".to_owned()), "{names:?}");
        assert!(names.contains(&"spec_segsum f32_f64 sm_90".to_owned()), "{names:?}");
        assert!(jobs(&["spmv".into()]).unwrap_err().to_string().contains("axpby"));
    }

    #[test]
    fn all_turns_check_every_kernel_once() {
        let mut checked: Vec<String> = (0..PARTS).flat_map(|turn| in_turn(&format!("{turn:x}"))).collect();
        checked.sort_unstable();
        let mut all: Vec<&str> = VARIANTS.iter().map(|variants| variants.stem).collect();
        all.sort_unstable();
        assert_eq!(checked, all);
        assert_eq!(in_turn("c6f0"), in_turn("c000"), "the first digit alone");
    }

    #[test]
    fn a_few_architectures_are_the_newest_and_the_one_that_is_shown() {
        assert_eq!(architectures("sm_60", true).unwrap(), ["sm_90"]);
        assert_eq!(architectures("sm_90", true).unwrap(), ["sm_90", "sm_120"]);
        assert_eq!(architectures("sm_60", false).unwrap().len(), 6);
        assert!(architectures("sm_20", true).is_err());
    }

    #[test]
    fn every_target_is_assembled_for_the_architecture_that_is_shown() {
        for target in TARGETS {
            let row = ARCHITECTURES.iter().find(|(name, _)| *name == target.name).unwrap();
            assert!(row.1.contains(&SHOWN) && row.1.contains(&target.name), "{}", target.name);
        }
    }

    #[test]
    fn only_the_expected_warning_is_silent() {
        let log = format!("nvrtc: warning: Architectures prior to 75 {EXPECTED_WARNING}\n\n");
        assert_eq!(unexpected(&log), "");
        assert_eq!(unexpected(&format!("{log}a.cu(3): warning: unused\n")), "a.cu(3): warning: unused");
    }

    #[test]
    fn what_an_entry_needs_is_shown_and_spills_are_named() {
        let files = [
            built("f32", Needs { registers: 24, ..Needs::default() }),
            built("f64", Needs { registers: 64, stack_bytes: 16, spill_bytes: 8 }),
        ];
        let text = table(&files);
        assert!(text.contains("| f32 sm_60 |") && text.contains("| 64 stack 16 spilled 8 |"), "{text}");
        assert!(text.contains("\n| axpby_32x1 |") && !text.contains("csr_vector"), "{text}");
        assert_eq!(spills(&files), (vec!["axpby_32x1 f64 sm_60 on sm_90: 8 bytes".to_owned()], vec![]));
    }

    #[test]
    fn without_compilers_the_check_is_skipped_loudly_unless_it_is_required() {
        let none = || Err(anyhow!("no package index"));
        let reason = skipped(none(), false).unwrap().unwrap();
        assert!(reason.starts_with("SKIPPED: ") && reason.contains("no package index"), "{reason}");
        let error = format!("{:#}", skipped(none(), true).unwrap_err());
        assert_eq!(error, "SPMV_REQUIRE names 'kernels', and there are no compilers: no package index");
        let tools = Tools { nvrtc: PathBuf::new(), ptxas: PathBuf::new() };
        assert_eq!(skipped(Ok(tools), true).unwrap(), None);
    }
}
