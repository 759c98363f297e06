//! `cargo xtask partition`: what the parts of a matrix hold and exchange, by several ways to choose them.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::ValueEnum;
use spmv::Csr;
use spmv_partition::{PartTraffic, Ranges, Traffic, cut, permute, rcm};

use super::inputs::{Loaded, load};
use super::text::{aligned, name};

/// `cargo xtask partition`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Matrix Market files, plain or gzipped, or names of the suite.
    #[arg(required = true, value_name = "MATRIX")]
    matrix: Vec<PathBuf>,
    /// How many parts.
    #[arg(short = 'n', long, value_delimiter = ',', default_value = "4", value_parser = clap::value_parser!(u32).range(1..))]
    parts: Vec<u32>,
    /// How rows are given to parts: compares these; with one, each part is printed too. Without it `rows`, `nonzeros` and, if the
    /// matrix is square, `rcm`. `metis` needs a C compiler.
    #[arg(long, value_delimiter = ',')]
    by: Vec<By>,
}

/// A way to give rows to parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum By {
    /// As many rows for each, in the order of the matrix.
    Rows,
    /// As much work for each, in the order of the matrix.
    Nonzeros,
    /// As much work for each, in the order of reverse Cuthill-McKee.
    Rcm,
    /// By METIS, for the least communication volume; seed 1.
    #[cfg(feature = "metis")]
    Metis,
}

impl By {
    /// As on the command line.
    pub(super) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Parts and what they exchange. Columns are owned as rows are; those of a matrix that is not square are shared evenly.
    pub(super) fn traffic(self, a: &Csr<f64>, parts: usize) -> anyhow::Result<Traffic> {
        let by_nonzeros = |a: &Csr<f64>| Ranges::by_nonzeros(a.row_ptr(), parts);
        match self {
            By::Rows => of(a, &Ranges::even(a.n_rows() as u64, parts)),
            By::Nonzeros => of(a, &by_nonzeros(a)?),
            By::Rcm => {
                let banded = permute(a.view(), &rcm(a.view())?)?;
                of(&banded, &by_nonzeros(&banded)?)
            }
            #[cfg(feature = "metis")]
            By::Metis => {
                let (order, ranges) = spmv_partition::metis(a.view(), parts, 1)?;
                of(&permute(a.view(), &order)?, &ranges)
            }
        }
    }
}

fn of(a: &Csr<f64>, rows: &Ranges) -> anyhow::Result<Traffic> {
    let even = Ranges::even(a.n_cols() as u64, rows.n_parts());
    let cols = if a.n_rows() == a.n_cols() { rows } else { &even };
    Ok(Traffic::of(&cut(a.view(), rows, cols)?))
}

/// A row of the table for each matrix, number of parts and way; with one way, a table of its parts too.
///
/// # Errors
/// If a matrix cannot be read, or not be reordered.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let mut rows = Vec::new();
    for matrix in &args.matrix {
        let Loaded { name: matrix, twin, matrix: a } = load(matrix)?;
        let matrix = name(&matrix, twin);
        for parts in &args.parts {
            for by in ways(&args.by, &a) {
                let traffic = by
                    .traffic(&a, *parts as usize)
                    .with_context(|| format!("{matrix} in {parts} parts by {}", by.name()))?;
                if args.by.len() == 1 {
                    writeln!(out, "{matrix} in {parts} parts by {}\n\n{}\n", by.name(), of_parts(&traffic))?;
                }
                rows.push(row(&matrix, *by, &traffic));
            }
        }
    }
    writeln!(out, "{}\n", aligned(HEADER.map(str::to_owned).to_vec(), rows))?;
    write!(out, "{LEGEND}")?;
    Ok(())
}

/// Those that are named, or else all that a matrix can be partitioned by without a C compiler.
fn ways<'a>(named: &'a [By], a: &Csr<f64>) -> &'a [By] {
    match named {
        [] if a.n_rows() == a.n_cols() => &[By::Rows, By::Nonzeros, By::Rcm],
        [] => &[By::Rows, By::Nonzeros],
        named => named,
    }
}

const HEADER: [&str; 9] = [
    "matrix",
    "parts",
    "by",
    "values received",
    "bytes",
    "of matrix",
    "most by a part",
    "most neighbours",
    "imbalance",
];

const LEGEND: &str = "\
Values received: of x, by all parts in a product of f64 values. Of matrix: their bytes over those of the matrix as CSR, which a product
reads. Neighbours: other parts that a part sends to or receives from. Imbalance: the most nonzeros of a part over their mean.
";

fn row(matrix: &str, by: By, traffic: &Traffic) -> Vec<String> {
    let most = traffic.parts().iter().map(|part| part.ghosts).max().unwrap_or(0);
    vec![
        matrix.to_owned(),
        traffic.parts().len().to_string(),
        by.name(),
        traffic.volume().to_string(),
        traffic.volume_bytes().to_string(),
        format!("{:.2}%", 100.0 * traffic.ghost_share()),
        most.to_string(),
        traffic.max_neighbours().to_string(),
        format!("{:.2}", traffic.imbalance()),
    ]
}

fn of_parts(traffic: &Traffic) -> comfy_table::Table {
    let header =
        ["part", "rows", "boundary rows", "nonzeros", "values received", "sent", "neighbours", "bytes"];
    let row = |(at, part): (usize, &PartTraffic)| {
        let counts = [
            part.rows,
            part.boundary_rows,
            part.nonzeros,
            part.ghosts,
            part.sent,
            part.neighbours,
            part.bytes(),
        ];
        std::iter::once(at.to_string()).chain(counts.map(|count| count.to_string())).collect()
    };
    aligned(header.map(str::to_owned).to_vec(), traffic.parts().iter().enumerate().map(row).collect())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::inputs::Input;
    use super::*;

    fn of_file(name: &str) -> Csr<f64> {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(format!("{name}.mtx.gz"));
        load(&path).unwrap().matrix
    }

    #[test]
    fn contiguous_parts_of_a_mesh_of_triangles_receive_what_their_columns_say() {
        let a = of_file("delaunay_n13");
        let traffic = By::Rows.traffic(&a, 4).unwrap();
        // Counted without parts: pairs of a column and another part whose rows have it.
        let part_of = |row: u32| row / 2048;
        let mut needed: Vec<(u32, u32)> = (0..8192u32)
            .flat_map(|row| a.row(row as usize).map(move |(col, _)| (part_of(row), col)))
            .filter(|(part, col)| *part != part_of(*col))
            .collect();
        needed.sort_unstable();
        needed.dedup();
        assert_eq!(traffic.volume(), needed.len() as u64);
        assert_eq!(row("m", By::Rows, &traffic)[..4], ["m", "4", "rows", &needed.len().to_string()]);
        assert_eq!(of_parts(&traffic).to_string().lines().count(), 6);
    }

    #[test]
    fn orders_of_few_ghosts_have_fewer() {
        let a = of_file("delaunay_n13");
        let volume = |by: By| by.traffic(&a, 4).unwrap().volume();
        assert!(volume(By::Rcm) * 4 < volume(By::Rows), "{}", volume(By::Rcm));
        #[cfg(feature = "metis")]
        assert!(volume(By::Metis) * 10 < volume(By::Rows), "{}", volume(By::Metis));
    }

    #[test]
    fn matrices_that_are_not_square_are_cut_but_not_reordered() {
        let a = of_file("well1033");
        assert!(By::Nonzeros.traffic(&a, 3).unwrap().imbalance() < 1.1);
        assert_eq!(ways(&[], &a), [By::Rows, By::Nonzeros]);
        assert!(By::Rcm.traffic(&a, 3).unwrap_err().to_string().starts_with("1033 rows and 320 columns"));
    }

    #[test]
    fn what_is_neither_a_file_nor_of_the_suite_is_refused() {
        assert!(Input::known(Path::new("no such matrix")).is_err());
        assert_eq!(Input::known(Path::new("cant")).unwrap().name(), "cant");
    }
}
