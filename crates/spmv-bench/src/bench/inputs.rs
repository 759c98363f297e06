//! The matrices of a bench run.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use spmv::Csr;
use spmv_io::classes;
use spmv_io::generate;
use spmv_io::matrix_market::{Field, Reader};
use spmv_io::suite::{self, Entry};

use super::suites::{Suite, SuiteArgs, Taken};

/// A matrix to be read or generated when its turn comes.
pub(crate) enum Input {
    File(PathBuf),
    Suite {
        entry: &'static Entry,
        dir: Option<PathBuf>,
    },
    OfClass(&'static classes::Entry),
    Generated {
        class: Class,
        millions: u32,
    },
    /// The lower triangle of another and its mirror.
    Symmetric {
        name: String,
        of: Box<Input>,
    },
}

/// Matrices that are generated with nearly as many entries as one asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Laplacian,
    FiniteElements,
    Scattered,
    PowerLaw,
}

/// Sizes of generated matrices are given in these.
pub(crate) const MILLION: usize = 1_000_000;

impl Class {
    pub(crate) const ALL: [Self; 4] =
        [Self::Laplacian, Self::FiniteElements, Self::Scattered, Self::PowerLaw];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Laplacian => "3-D Laplacian",
            Self::FiniteElements => "finite elements",
            Self::Scattered => "scattered",
            Self::PowerLaw => "power law",
        }
    }

    /// With so many entries, nearly.
    pub(crate) fn generate(self, nnz: usize) -> anyhow::Result<Csr<f64>> {
        let per_node = 3 * 9 * 3;
        Ok(match self {
            Self::Laplacian => generate::laplacian_3d(((nnz / 7) as f64).cbrt() as usize)?,
            Self::FiniteElements => generate::fem(nnz / per_node, 3, 8, 2000, 1)?,
            Self::Scattered => generate::scattered(&vec![16; nnz / 16], nnz / 16, 2)?,
            Self::PowerLaw => generate::power_law_rows(nnz / 10, nnz / 10, 3, 20_000, 2.2, 3)?,
        })
    }
}

/// A matrix in memory.
#[derive(Debug)]
pub struct Loaded {
    /// The name in tables: of a file without its ending, and with `Re` where only the real part was read.
    pub name: String,
    /// Whether it is generated to have the shape of a published one.
    pub twin: bool,
    /// Its values.
    pub matrix: Csr<f64>,
}

/// Reads a file, or else generates a matrix of a suite.
///
/// # Errors
/// If there is neither a file nor a matrix of this name, and what is wrong with the file.
pub fn load(matrix: &Path) -> anyhow::Result<Loaded> {
    let input = Input::known(matrix)?;
    input.load().with_context(|| matrix.display().to_string())
}

/// Before the name of a matrix.
const SYMMETRIC: &str = "sym:";

/// Suite matrices of a bench without arguments: one regular, one irregular.
const DEFAULT_SUITE: [&str; 2] = ["cant", "dc2"];

/// What the arguments name, and a sentence on what of it is left out; without any, the default.
pub(crate) fn select(
    files: &[PathBuf],
    suites: SuiteArgs,
    suite_dir: Option<&Path>,
) -> anyhow::Result<(Vec<Input>, Vec<String>)> {
    let suite = suites.suite.or(suite_dir.is_some().then_some(Suite::Twins));
    let Taken { twins, classes, left_out } = SuiteArgs { suite, ..suites }.taken();
    if suite.is_none() {
        return Ok((files_or_default(files)?, left_out));
    }
    let files = files.iter().cloned().map(Input::of);
    let twins = twins.into_iter().map(|entry| Input::Suite { entry, dir: suite_dir.map(Path::to_owned) });
    Ok((files.chain(twins).chain(classes.into_iter().map(Input::OfClass)).collect(), left_out))
}

/// Files; without any, the matrices in `tests/data` and two of the suite.
pub(crate) fn files_or_default(files: &[PathBuf]) -> anyhow::Result<Vec<Input>> {
    let mut inputs: Vec<Input> = files.iter().cloned().map(Input::of).collect();
    if inputs.is_empty() {
        inputs.extend(repository_files()?.into_iter().map(Input::File));
        let entries = DEFAULT_SUITE.iter().filter_map(|name| suite::find(name));
        inputs.extend(entries.map(|entry| Input::Suite { entry, dir: None }));
    }
    Ok(inputs)
}

/// Files, then the matrices of Tables 3 and 4 of Tan et al. 2019: originals of a folder, and twins of the others.
pub(crate) fn tan_2019(files: &[PathBuf], dir: Option<&Path>) -> Vec<Input> {
    let tables = suite::TAN_2019_QUASI_DIAGONAL.iter().chain(&suite::TAN_2019_TETRIS);
    let of_tables = tables.map(|entry| Input::Suite { entry, dir: dir.map(Path::to_owned) });
    files.iter().cloned().map(Input::File).chain(of_tables).collect()
}

/// One of each class.
pub(crate) fn generated(millions: u32) -> impl Iterator<Item = Input> {
    Class::ALL.into_iter().map(move |class| Input::Generated { class, millions })
}

/// Real matrices of the repository whose values are real.
fn repository_files() -> anyhow::Result<Vec<PathBuf>> {
    files_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data"))
}

/// Matrix Market files of a folder, plain and gzipped, in the order of their names.
pub(crate) fn files_in(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if [".mtx", ".mtx.gz"].iter().any(|end| path.to_string_lossy().ends_with(end)) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The name in tables and files, which says so where only the real part is multiplied.
fn named(name: String, field: Field) -> String {
    if field == Field::Complex { format!("Re({name})") } else { name }
}

impl Input {
    /// A matrix of a suite, if there is one of this name and no such file; with `sym:` before, its lower triangle and the mirror of that.
    pub(crate) fn of(path: PathBuf) -> Self {
        let name = path.to_str().filter(|_| !path.exists());
        if let Some((name, of)) = name.and_then(|name| Some((name.to_owned(), name.strip_prefix(SYMMETRIC)?)))
        {
            return Self::Symmetric { name, of: Box::new(Self::of(of.into())) };
        }
        match (name.and_then(suite::find), name.and_then(classes::find)) {
            (Some(entry), _) => Self::Suite { entry, dir: None },
            (_, Some(entry)) => Self::OfClass(entry),
            _ => Self::File(path),
        }
    }

    /// As [`of`](Self::of), if there is such a matrix.
    pub(super) fn known(matrix: &Path) -> anyhow::Result<Self> {
        let input = Self::of(matrix.to_owned());
        let is_known = input.file().is_none_or(|path| path.exists());
        ensure!(is_known, "{}: neither a file nor a matrix of a suite", matrix.display());
        Ok(input)
    }

    fn file(&self) -> Option<&Path> {
        match self {
            Input::File(path) => Some(path),
            Input::Symmetric { of, .. } => of.file(),
            Input::Suite { .. } | Input::OfClass(_) | Input::Generated { .. } => None,
        }
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            Input::File(path) => {
                let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("matrix");
                name.split(".mtx").next().unwrap_or(name)
            }
            Input::Suite { entry, .. } => entry.name,
            Input::OfClass(entry) => entry.name,
            Input::Generated { class, .. } => class.name(),
            Input::Symmetric { name, .. } => name,
        }
    }

    /// Reads or generates the matrix; twins are kept in the user's cache folder.
    pub(crate) fn load(&self) -> anyhow::Result<Loaded> {
        let name = self.name().to_owned();
        match self {
            Input::File(path) => {
                let (header, matrix) = Reader::new().real_part(true).read_with_header(path)?;
                if header.field == Field::Complex {
                    eprintln!("{name}: complex; its real part is multiplied");
                }
                Ok(Loaded { name: named(name, header.field), twin: false, matrix })
            }
            Input::Suite { entry, dir } => {
                let cache =
                    directories::ProjectDirs::from("", "", "spmv").map(|d| d.cache_dir().join("suite"));
                let loaded = entry.load_from(dir.as_deref(), cache.as_deref())?;
                Ok(Loaded { name, twin: loaded.twin, matrix: loaded.matrix })
            }
            Input::OfClass(entry) => Ok(Loaded { name, twin: false, matrix: entry.generate()? }),
            Input::Generated { class, millions } => {
                Ok(Loaded { name, twin: false, matrix: class.generate(*millions as usize * MILLION)? })
            }
            Input::Symmetric { of, .. } => {
                let Loaded { twin, matrix, .. } = of.load()?;
                let triangle = |row: usize| matrix.row(row).filter(move |(col, _)| *col as usize <= row);
                let lower = Csr::from_rows(matrix.n_cols(), (0..matrix.n_rows()).map(triangle))?;
                Ok(Loaded { name, twin, matrix: lower.mirrored()? })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lower_triangle_is_mirrored() {
        let input = Input::of("sym:stencil5-1e5".into());
        let Loaded { name, matrix, .. } = input.load().unwrap();
        assert_eq!((&*name, &matrix), ("sym:stencil5-1e5", &matrix.transpose()));
        assert!(Input::known("sym:nothing".as_ref()).is_err());
    }

    #[test]
    fn a_complex_file_is_named_for_what_is_multiplied() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wave.mtx");
        std::fs::write(&path, "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 2.0 3.0\n")
            .unwrap();
        let loaded = Input::File(path.clone()).load().unwrap();
        assert_eq!((&*loaded.name, loaded.matrix.vals()), ("Re(wave)", &[2.0][..]));
        std::fs::write(&path, "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2.0\n").unwrap();
        assert_eq!(Input::File(path).load().unwrap().name, "wave");
    }
}
