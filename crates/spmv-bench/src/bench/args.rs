//! What `cargo xtask bench` is asked for.

use std::io::Write;
use std::path::PathBuf;

use spmv::{
    BackendKind, Dtype,
    plan::{Algorithm, Tune},
};

use super::report::Cache;
use super::suites::SuiteArgs;
use super::{files, tiling};

/// `cargo xtask bench`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Matrix Market files to multiply, or names of matrices of the suites. With `sym:` before, the lower triangle and its mirror.
    #[arg(long, num_args = 1.., value_name = "FILE")]
    pub(super) matrix: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) suites: SuiteArgs,
    /// The 20 matrices of Tan et al.'s Tables 3 and 4; 19 of them are twins, unless --suite-dir has the originals.
    #[arg(long, conflicts_with = "suite")]
    pub(super) tan_2019: bool,
    /// Generated matrices, each of nearly so many million entries: a 3-D Laplacian, finite elements, scattered entries, rows of a power
    /// law.
    #[arg(long, value_name = "N", conflicts_with_all = ["suite", "suite_dir", "tan_2019"],
        value_parser = clap::value_parser!(u32).range(1..=1200))]
    pub(super) millions: Option<u32>,
    /// A folder of .mtx files that replace suite matrices of the same name; implies `--suite twins`, unless --suite or --tan-2019 is given.
    #[arg(long, value_name = "DIR")]
    pub(super) suite_dir: Option<PathBuf>,
    /// Backends, with all their devices; all that open, without it.
    #[arg(long, value_delimiter = ',')]
    pub(super) backend: Vec<BackendKind>,
    /// Algorithms, or `all`.
    #[arg(long, value_delimiter = ',', default_value = "auto", value_parser = algorithm_or_all)]
    pub(super) algorithm: Vec<String>,
    /// Value types.
    #[arg(long, value_delimiter = ',', default_value = "f32,f64", value_parser = crate::precision::parser())]
    pub(super) precision: Vec<Dtype>,
    /// Tiling to force, such as T=32,W=8,S=7,B=5; or `table1`, that of Liu & Vinter's Table 1 for each device and type.
    #[arg(long)]
    pub(super) tiling: Option<tiling::Asked>,
    /// `published`: algorithms as their papers have them. `ipcsr` is `ipcsr_published`, `spec_segsum` has the tiling of Table 1,
    /// `csr_vector` a warp for each row.
    #[arg(long, conflicts_with = "tiling", default_value = "ours")]
    pub(super) variant: Variant,
    /// Has trials on each matrix choose algorithm and tiling too, as far as --algorithm and --tiling leave them open (`Options::tune`), and
    /// times what they take next to what was planned.
    #[arg(long, conflicts_with_all = ["sweep", "hetero", "regular", "census"])]
    pub(super) tune: Option<Trials>,
    /// Times products by the transpose, too, next to those by the matrix; so do other libraries, of the matrix as it is.
    #[arg(long, conflicts_with_all = ["sweep", "hetero", "regular", "census"])]
    pub(super) transposed: bool,
    /// Times with the matrix in cache, if it fits (the default; against cuSPARSE both are).
    #[arg(long)]
    pub(super) warm: bool,
    /// Times with caches emptied before every run, on devices that share the host's, and against cuSPARSE.
    #[arg(long)]
    pub(super) cold: bool,
    /// Timed runs; as many as a fraction of a second holds, without it (20 with --sweep).
    #[arg(long, value_name = "N")]
    pub(super) repeat: Option<usize>,
    /// Times other libraries in the same run, if the cpu backend takes part: sprs, faer, nalgebra-sparse, and MKL, Eigen, PETSc and
    /// SciPy where they are found (SPMV_MKL, SPMV_EIGEN, SPMV_PETSC and SPMV_PYTHON may say where). Then ours against cuSPARSE, if there is a CUDA device. SPMV_CUSPARSE may name several of its libraries: libcusparse.so.12:/folder/of/another.
    #[arg(long)]
    pub(super) peers: bool,
    /// Times spec_segsum under many tilings instead: W and S varied around the planned one, or that of --tiling.
    #[arg(long, conflicts_with_all = ["algorithm", "peers", "html"])]
    pub(super) sweep: bool,
    /// Times co-execution instead: each device with the host's cores, against either alone.
    #[arg(long, conflicts_with_all = ["sweep", "peers", "html", "cold"])]
    pub(super) hetero: bool,
    /// Times the regular parts of quasi-diagonal and Tetris matrices alone instead: DIA or ELL against CSR.
    #[arg(long, conflicts_with_all = ["algorithm", "tiling", "sweep", "hetero", "peers", "html", "cold"])]
    pub(super) regular: bool,
    /// Counts the patterns of matrices instead, and measures nothing.
    #[arg(long, conflicts_with_all = ["sweep", "hetero", "regular", "peers", "json", "html"])]
    pub(super) census: bool,
    /// Prints every split that was tried.
    #[arg(long, requires = "hetero")]
    pub(super) trace: bool,
    /// Writes the report as JSON (docs/bench-schema.md); to standard output with `-`, the tables then to standard error.
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// Writes the report as one HTML page; `-` as for JSON.
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
    /// Multiplies on so many devices of each backend together, too: distinct ones where there are as many, else the first one named
    /// so many times, which simulates them. Prints how many times as fast as one device that is.
    #[arg(long, value_name = "N", conflicts_with_all = ["sweep", "hetero", "regular", "census"],
        value_parser = clap::value_parser!(u32).range(2..=64))]
    pub(super) devices: Option<u32>,
    /// Compares ours with the first library of cuSPARSE on the matrix of this index alone, for the process that started this
    /// one and reads what it writes.
    #[arg(long, value_name = "INDEX", requires = "peers", hide = true)]
    pub(super) compare_one: Option<usize>,
    /// A contestant that ended an earlier such process, and why.
    #[arg(long, value_name = "NAME=WHY", requires = "compare_one", hide = true)]
    pub(super) crashed: Vec<String>,
    /// Takes the first matrices and few runs: a preview, not a measurement.
    #[arg(long)]
    pub(super) quick: bool,
}

/// Whose versions of algorithms run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Variant {
    Ours,
    Published,
}

/// How many candidates trials are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Trials {
    /// Up to 10.
    Quick,
    /// Up to 40.
    Thorough,
}

impl From<Trials> for Tune {
    fn from(trials: Trials) -> Self {
        match trials {
            Trials::Quick => Tune::Quick,
            Trials::Thorough => Tune::Thorough,
        }
    }
}

/// Matrices and runs of `--quick`.
pub(super) const QUICK_MATRICES: usize = 3;
const QUICK_REPEAT: usize = 5;
/// Runs of each cell of `--sweep`.
const SWEEP_REPEAT: usize = 20;

impl Args {
    /// Multiplies these too: files, or names of matrices of the suites.
    pub fn add_matrices(&mut self, files: impl IntoIterator<Item = PathBuf>) {
        self.matrix.extend(files);
    }

    /// Whether it was said what to multiply.
    pub fn has_matrices(&self) -> bool {
        let of_suites = self.suites.suite.is_some() || self.suite_dir.is_some() || self.tan_2019;
        of_suites || self.millions.is_some() || !self.matrix.is_empty()
    }

    pub(super) fn caches(&self) -> &'static [Cache] {
        match (self.warm, self.cold) {
            (true, true) => &[Cache::Warm, Cache::Cold],
            (false, true) => &[Cache::Cold],
            _ => &[Cache::Warm],
        }
    }

    /// Whether products are by the transpose, of all that are measured of a matrix.
    pub(super) fn products(&self) -> &'static [bool] {
        if self.transposed { &[false, true] } else { &[false] }
    }

    /// Those of the comparison on a CUDA device: both, unless one is asked for.
    pub(super) fn comparison_caches(&self) -> &'static [Cache] {
        if self.warm || self.cold { self.caches() } else { &[Cache::Warm, Cache::Cold] }
    }

    /// Where rows and tables are printed: not between the lines of a file that goes to standard output.
    pub(super) fn console(&self) -> Box<dyn Write> {
        if self.writes_to_stdout() { Box::new(std::io::stderr()) } else { Box::new(std::io::stdout()) }
    }

    pub(super) fn writes_to_stdout(&self) -> bool {
        [&self.json, &self.html].into_iter().flatten().any(|path| files::is_stdout(path))
    }

    pub(super) fn tiling(&self) -> Option<tiling::Asked> {
        self.tiling.or((self.variant == Variant::Published).then_some(tiling::Asked::Published))
    }

    /// Timed runs, if their number is fixed.
    pub(super) fn repeat(&self) -> Option<usize> {
        let default = if self.quick { Some(QUICK_REPEAT) } else { self.sweep.then_some(SWEEP_REPEAT) };
        self.repeat.or(default)
    }
}

impl Args {
    /// What multiplies, in the asked order.
    pub(super) fn algorithms(&self) -> anyhow::Result<Vec<Algorithm>> {
        algorithms(&self.algorithm, self.variant)
    }
}

/// The name, if there is an algorithm of it, or it is `all`.
fn algorithm_or_all(name: &str) -> Result<String, String> {
    if name != "all" {
        name.parse::<Algorithm>().map_err(|e| e.to_string())?;
    }
    Ok(name.to_owned())
}

fn algorithms(names: &[String], variant: Variant) -> anyhow::Result<Vec<Algorithm>> {
    if names.iter().any(|n| n == "all") {
        return Ok(Algorithm::ALL.iter().copied().filter(|a| *a != Algorithm::Auto).collect());
    }
    let published = |algorithm| match (variant, algorithm) {
        (Variant::Published, Algorithm::Ipcsr) => Algorithm::IpcsrPublished,
        (_, algorithm) => algorithm,
    };
    names.iter().map(|n| Ok(published(n.parse()?))).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use clap::Parser;

    use super::super::suites::Suite;
    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }

    pub(in super::super) fn parse(line: &str) -> Result<Args, clap::Error> {
        Cli::try_parse_from(line.split(' ')).map(|cli| cli.args)
    }

    #[test]
    fn a_sweep_chooses_its_algorithm_itself_and_varies_any_tiling() {
        for other in ["--algorithm all", "--peers", "--html page.html"] {
            let e = parse(&format!("bench --sweep {other}")).unwrap_err();
            assert_eq!(e.kind(), clap::error::ErrorKind::ArgumentConflict, "{other}");
        }
        assert!(parse("bench --sweep --suite --precision f64 --backend cpu --json cells.json").is_ok());
        assert_eq!(parse("bench --sweep --tiling table1").unwrap().tiling, Some(tiling::Asked::Table1));
    }

    #[test]
    fn against_cusparse_both_cache_states_are_measured_unless_one_is_asked_for() {
        let caches = |line| parse(line).unwrap().comparison_caches().to_vec();
        assert_eq!(caches("bench --peers"), [Cache::Warm, Cache::Cold]);
        assert_eq!([caches("bench --warm"), caches("bench --cold")], [[Cache::Warm], [Cache::Cold]]);
        assert_eq!(parse("bench --peers").unwrap().caches(), [Cache::Warm]);
    }

    #[test]
    fn a_suite_has_a_name_or_is_that_of_the_twins() {
        let of = |line| {
            let SuiteArgs { suite, max_nnz } = parse(line).unwrap().suites;
            (suite, max_nnz)
        };
        assert_eq!(of("bench"), (None, None));
        for line in
            ["bench --suite", "bench --suite twins", "bench --suite --peers", "bench --suite --matrix a.mtx"]
        {
            assert_eq!(of(line), (Some(Suite::Twins), None), "{line}");
        }
        assert_eq!(of("bench --suite classes --peers"), (Some(Suite::Classes), None));
        assert_eq!(of("bench --suite=all --max-nnz 1e8"), (Some(Suite::All), Some(100_000_000)));
        assert!(parse("bench --suite --peers").unwrap().peers);
        for wrong in [
            "bench --suite cant",
            "bench --max-nnz 1e8",
            "bench --suite --max-nnz few",
            "bench --suite --millions 1",
            "bench --suite classes --tan-2019",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_process_for_one_comparison_is_asked_for_after_what_was_asked_of_all() {
        let args = parse("bench --peers --matrix a.mtx --compare-one=3 --crashed=spmvop/alg1=why").unwrap();
        assert_eq!(
            (args.compare_one, args.crashed, args.matrix.len()),
            (Some(3), vec!["spmvop/alg1=why".into()], 1)
        );
    }

    #[test]
    fn an_explicit_number_of_runs_comes_before_the_defaults() {
        let repeat = |line| parse(line).unwrap().repeat();
        assert_eq!(
            [repeat("bench"), repeat("bench --quick"), repeat("bench --sweep")],
            [None, Some(5), Some(20)]
        );
        assert_eq!([repeat("bench --sweep --quick"), repeat("bench --sweep --repeat 3")], [Some(5), Some(3)]);
    }

    #[test]
    fn a_report_on_standard_output_is_not_mixed_with_tables() {
        let to_stdout = |line| parse(line).unwrap().writes_to_stdout();
        assert!(to_stdout("bench --json -") && to_stdout("bench --html /dev/stdout"));
        assert!(!to_stdout("bench --json a.json"));
    }

    #[test]
    fn trials_are_of_single_products_alone() {
        assert_eq!(parse("bench --tune thorough --algorithm all").unwrap().tune, Some(Trials::Thorough));
        for wrong in
            ["bench --tune", "bench --tune off", "bench --tune quick --sweep", "bench --tune quick --hetero"]
        {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn transposes_are_multiplied_by_next_to_their_matrices() {
        let products = |line| parse(line).unwrap().products().to_vec();
        assert_eq!(products("bench --peers"), [false]);
        assert_eq!(products("bench --transposed --peers --devices 2 --tune quick"), [false, true]);
        assert!(
            parse("bench --transposed --sweep").is_err() && parse("bench --transposed --hetero").is_err()
        );
    }

    #[test]
    fn several_devices_are_two_at_least() {
        assert_eq!(parse("bench --devices 4 --peers").unwrap().devices, Some(4));
        assert!(parse("bench --devices 1").is_err() && parse("bench --devices 2 --hetero").is_err());
    }
}
