//! `--census`: how many matrices are of which pattern, compared with the collection of Tan et al. 2019 (section 3.1).

use std::fmt::Write;

use spmv::{
    Csr,
    hetero::{Pattern, Regularity},
};

use super::inputs::Input;
use super::tan_2019;
use super::text::{aligned, name};

/// One matrix, counted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Counted {
    pub(crate) matrix: String,
    /// Whether it was generated in the likeness of another: its pattern is then of the generator's making.
    pub(crate) twin: bool,
    pub(crate) pattern: Pattern,
    /// Columns before and after the diagonal, or K.
    pub(crate) width: usize,
    /// Share of the entries in the regular part, 0 to 1.
    pub(crate) share: f64,
    /// Slots of DIA or ELL over these entries.
    pub(crate) padding: f64,
}

impl Counted {
    pub(crate) fn of(matrix: &str, twin: bool, a: &Csr<f64>) -> Self {
        let shape = Regularity::of(a.view());
        let (pattern, width) = (shape.pattern(), shape.width());
        Self { matrix: matrix.into(), twin, pattern, width, share: shape.share(), padding: shape.padding() }
    }
}

/// Reads or generates one matrix after the other.
///
/// # Errors
/// If one cannot be had.
pub(crate) fn of_all(inputs: &[Input]) -> anyhow::Result<Vec<Counted>> {
    let counted = |input: &Input| {
        let loaded = input.load()?;
        Ok(Counted::of(&loaded.name, loaded.twin, &loaded.matrix))
    };
    inputs.iter().map(counted).collect()
}

/// How many of some matrices have a pattern, in percent; none without matrices.
pub(crate) fn percentage(counted: &[&Counted], pattern: Pattern) -> Option<f64> {
    let n = counted.iter().filter(|counted| counted.pattern == pattern).count();
    (!counted.is_empty()).then(|| 100.0 * n as f64 / counted.len() as f64)
}

/// A table, then the share of each pattern among originals and among all.
pub(crate) fn text(counted: &[Counted]) -> String {
    let header = ["matrix", "pattern", "width", "share", "slots/entry"].map(str::to_owned).to_vec();
    let line = |c: &Counted| {
        let share = format!("{:.1}%", 100.0 * c.share);
        let padding = if c.padding.is_finite() { format!("{:.2}", c.padding) } else { "-".into() };
        vec![name(&c.matrix, c.twin), c.pattern.to_string(), c.width.to_string(), share, padding]
    };
    let mut text = format!("{}\n", aligned(header, counted.iter().map(line).collect()));
    let originals: Vec<&Counted> = counted.iter().filter(|counted| !counted.twin).collect();
    let has_twins = originals.len() < counted.len();
    let sets = [("originals", originals), ("all, twins as they were made", counted.iter().collect())];
    for (set, of_set) in sets.into_iter().take(if has_twins { 2 } else { 1 }) {
        for (pattern, paper) in tan_2019::PATTERNS.map(|(pattern, name)| (pattern, tan_2019::share(name))) {
            if let Some(ours) = percentage(&of_set, pattern) {
                let n = of_set.len();
                let _ =
                    writeln!(text, "{pattern}: {ours:.1}% of {n} matrices ({set}); the paper: {paper:.1}%");
            }
        }
    }
    text += "Width: columns before and after the diagonal of a quasi-diagonal matrix, K of others. Share: entries in the regular part\n\
         of that width. Slots: of DIA for a band, else of ELL.\n";
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use spmv_io::suite::{self, Entry};

    use super::*;

    fn of_file(name: &str) -> Counted {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(format!("{name}.mtx.gz"));
        of_all(&[Input::File(path)]).unwrap().remove(0)
    }

    fn of_entry(entry: &Entry) -> Counted {
        Counted::of(entry.name, entry.kind == suite::Kind::Twin, &entry.generate().unwrap())
    }

    #[test]
    fn real_matrices_have_the_pattern_that_a_picture_shows() {
        // A stencil of five points on a narrow grid, and a waveguide.
        for name in ["young1c", "dwg961a"] {
            assert_eq!(of_file(name).pattern, Pattern::QuasiDiagonal, "{:?}", of_file(name));
        }
        // Rows of nearly one length, entries far from the diagonal.
        for name in ["epb0", "delaunay_n13", "well1033", "west0479"] {
            assert_eq!(of_file(name).pattern, Pattern::Tetris, "{:?}", of_file(name));
        }
        // Power laws.
        for name in ["wiki-Vote", "p2p-Gnutella31"] {
            assert_eq!(of_file(name).pattern, Pattern::General, "{:?}", of_file(name));
        }
    }

    /// But for three that take long to make: `bench --census --tan-2019` counts all.
    #[test]
    fn matrices_of_the_paper_s_tables_up_to_two_million_entries_are_in_its_classes() {
        let tables = [
            (&suite::TAN_2019_QUASI_DIAGONAL, Pattern::QuasiDiagonal),
            (&suite::TAN_2019_TETRIS, Pattern::Tetris),
        ];
        let all = tables.iter().flat_map(|(table, pattern)| table.iter().map(move |e| (e, pattern)));
        for (entry, pattern) in all.filter(|(entry, _)| entry.nnz < 2_000_000) {
            let counted = of_entry(entry);
            assert_eq!(counted.pattern, *pattern, "{counted:?}");
            assert!(counted.twin || entry.name == "conf5_4-8x8-05", "{counted:?}");
        }
    }

    #[test]
    fn not_every_matrix_of_few_diagonals_or_even_rows_is_quasi_diagonal() {
        let of = |name| of_entry(suite::find(name).unwrap()).pattern;
        assert_eq!([of("dense2"), of("mc2depi")], [Pattern::Tetris, Pattern::QuasiDiagonal]);
    }

    #[test]
    fn twins_are_left_out_of_the_first_percentages() {
        let counted = |twin, pattern| Counted {
            matrix: "m".into(),
            twin,
            pattern,
            width: 3,
            share: 0.8125,
            padding: 1.5,
        };
        let all = [
            counted(false, Pattern::QuasiDiagonal),
            counted(false, Pattern::General),
            counted(true, Pattern::QuasiDiagonal),
        ];
        let text = text(&all);
        for line in [
            "quasi-diagonal: 50.0% of 2 matrices (originals); the paper: 23.0%",
            "quasi-diagonal: 66.7% of 3 matrices (all, twins as they were made); the paper: 23.0%",
            "tetris: 0.0% of 2 matrices (originals); the paper: 43.1%",
        ] {
            assert!(text.contains(line), "{text}");
        }
        assert!(text.contains("m (twin)") && text.contains("81.2%"), "{text}");
    }
}
