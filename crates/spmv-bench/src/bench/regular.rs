//! `--regular`: the regular parts of matrices alone, by DIA or ELL and by CSR (Tan et al. 2019, figure 10).

use std::fmt::Write;

use spmv::{
    Csr, Dtype, Options, Scalar, by_dtype,
    hetero::{Pattern, Regular, Regularity},
    plan::Algorithm,
};

use super::devices::Target;
use super::entrant::{Entrant, Problem};
use super::inputs::Loaded;
use super::measure::{self, Run};
use super::report::{RegularRow, Report, geometric_mean};
use super::runner::Way;
use super::text::{aligned, name, number, tail};

/// Bytes that a layout may take here, however many times those of CSR: the paper multiplies bands by DIA whose slots are mostly
/// padding.
const MOST_BYTES: f64 = 1e9;

/// Adds a row to the report for each device, unless the matrix has no regular part.
pub(crate) fn measure(
    way: &Way<'_>,
    loaded: &Loaded,
    precision: Dtype,
    report: &mut Report,
) -> anyhow::Result<()> {
    let Some(part) = Part::of(loaded) else {
        report.leave_out(format!("{}: general, without a regular part", loaded.name));
        return Ok(());
    };
    for target in way.targets {
        way.stop.check()?;
        report.regular.push(by_dtype!(precision, T => on_target::<T>(way, loaded, &part, target))?);
        way.live.show(report);
    }
    Ok(())
}

/// A regular part as the paper has it, whatever its padding.
pub(crate) struct Part {
    shape: Regularity,
    regular: Regular,
    matrix: Csr<f64>,
}

impl Part {
    /// `None` of a general matrix.
    pub(crate) fn of(loaded: &Loaded) -> Option<Self> {
        let shape = Regularity::of(loaded.matrix.view());
        let regular = Regular::published(&shape);
        (regular != Regular::None).then(|| Self {
            shape,
            regular,
            matrix: regular.part(loaded.matrix.view()),
        })
    }

    /// DIA or ELL alone, as the paper compares them.
    fn layout(&self) -> Algorithm {
        match self.regular {
            Regular::Diagonals { .. } => Algorithm::Dia,
            _ => Algorithm::Ell,
        }
    }

    /// For the layout, with a bound in bytes.
    fn options(&self, value: Dtype) -> Options {
        let csr_bytes = 4 * (self.matrix.n_rows() + 1) + self.matrix.nnz() * (4 + value.bytes());
        let default = Options::default();
        let max_blow_up = default.max_blow_up.max(MOST_BYTES / csr_bytes as f64);
        Options { algorithm: self.layout(), max_blow_up, ..default }
    }
}

/// Times the regular part on one device: in its layout, as `auto` has it, and by `csr_vector`, alternately.
///
/// # Errors
/// If the device fails or the run is to end; that the layout refuses the part is in the row.
pub(crate) fn on_target<T: Scalar>(
    way: &Way<'_>,
    loaded: &Loaded,
    part: &Part,
    target: &Target,
) -> anyhow::Result<RegularRow>
where
    T::Accum: Scalar,
{
    let problem = Problem::<T>::of(&part.matrix);
    let by = |algorithm| Options { algorithm, ..Options::default() };
    let (layout, refused) = match Entrant::prepare(target, &part.options(T::DTYPE), &problem) {
        Err(spmv::Error::Layout(why)) => (None, Some(why.to_string())),
        entrant => (Some(entrant?), None),
    };
    let auto = Entrant::prepare(target, &by(Algorithm::Auto), &problem)?;
    let vector = Entrant::prepare(target, &by(Algorithm::CsrVector), &problem)?;
    let entrants: Vec<&Entrant<T>> = [&auto, &vector].into_iter().chain(&layout).collect();
    let x = target.context.upload(&problem.x)?;
    let mut runs: Vec<Run<'_>> = entrants.iter().map(|entrant| entrant.run(&x)).collect();
    let times = measure::interleave(&mut runs, way.cache, way.repeat, way.eviction, way.stop)?;
    drop(runs);
    let mut medians = Vec::new();
    for (entrant, time) in entrants.iter().zip(times) {
        let finding = entrant.finding(&problem.reference, &x, way.cache, time)?;
        medians.push(finding.device_us.or(finding.time_us).map(|time| time.median));
    }
    let ok = medians.iter().all(Option::is_some);
    let us = |at: usize| medians.get(at).copied().flatten().filter(|_| ok);
    Ok(RegularRow {
        matrix: loaded.name.clone(),
        twin: loaded.twin,
        nnz: loaded.matrix.nnz(),
        precision: T::DTYPE.to_string(),
        on: target.label.clone(),
        pattern: part.shape.pattern().to_string(),
        regular: part.regular.to_string(),
        share: part.shape.share(),
        padding: part.shape.padding(),
        layout: part.layout().to_string(),
        layout_us: us(2),
        refused,
        auto_algorithm: auto.matrix().plan().algorithm.to_string(),
        auto_us: us(0),
        vector_us: us(1),
        ok,
    })
}

/// A table for each precision and device, then means.
pub(crate) fn text(report: &Report) -> String {
    let mut groups: Vec<(&str, &str)> = report.regular.iter().map(|r| (&*r.precision, &*r.on)).collect();
    groups.sort_unstable();
    groups.dedup();
    let mut text = String::new();
    for (precision, on) in groups {
        let is_of_it = |row: &&RegularRow| (&*row.precision, &*row.on) == (precision, on);
        let rows: Vec<&RegularRow> = report.regular.iter().filter(is_of_it).collect();
        let header = ["matrix", "pattern", "regular part", "share", "slots/entry", "layout", "us"];
        let header = header.into_iter().chain(["auto", "us", "csr_vector us", "x auto", "x csr_vector"]);
        let table = aligned(header.map(str::to_owned).collect(), rows.iter().map(|row| cells(row)).collect());
        let _ = writeln!(text, "regular parts in {precision} on {on}\n{table}");
        for pattern in [Pattern::QuasiDiagonal, Pattern::Tetris] {
            text += &mean(&rows, pattern);
        }
        for row in rows {
            if let Some(why) = &row.refused {
                let _ = writeln!(text, "{}: {} refuses it: {why}", name(&row.matrix, row.twin), row.layout);
            }
        }
        text.push('\n');
    }
    text += "Vectors are on the device; times are by its timestamps if it has them. `x auto`: speed of the layout over that of CSR as auto\n\
         has it. The paper names bbmat, rgg_n_2_15_s0 and xenon1 as matrices on which DIA does not pay (section 4.3).\n";
    text + &tail(report)
}

fn cells(row: &RegularRow) -> Vec<String> {
    let us = |us: Option<f64>| if row.ok { number(us, 1) } else { "FAILED".into() };
    vec![
        name(&row.matrix, row.twin),
        row.pattern.clone(),
        row.regular.clone(),
        format!("{:.0}%", 100.0 * row.share),
        format!("{:.2}", row.padding),
        row.layout.clone(),
        us(row.layout_us),
        row.auto_algorithm.clone(),
        us(row.auto_us),
        us(row.vector_us),
        number(row.over_auto(), 3),
        number(row.over_vector(), 3),
    ]
}

/// How often the layout wins against CSR, and by how much in the mean.
fn mean(rows: &[&RegularRow], pattern: Pattern) -> String {
    let of_it = || rows.iter().filter(|row| row.pattern == pattern.name());
    let auto: Vec<f64> = of_it().filter_map(|row| row.over_auto()).collect();
    let vector: Vec<f64> = of_it().filter_map(|row| row.over_vector()).collect();
    let (Some(over_auto), Some(over_vector)) = (geometric_mean(&auto), geometric_mean(&vector)) else {
        return String::new();
    };
    let wins = |ratios: &[f64]| ratios.iter().filter(|ratio| **ratio > 1.0).count();
    format!(
        "{} {pattern}: the layout is {over_auto:.3} times as fast as auto in the geometric mean, faster on {}; {over_vector:.3} \
         times as fast as csr_vector, faster on {}\n",
        auto.len(),
        wins(&auto),
        wins(&vector)
    )
}

#[cfg(test)]
pub(crate) mod tests {
    use spmv::{BackendKind, Context};

    use super::super::runner::tests::once;
    use super::*;

    pub(crate) fn row() -> RegularRow {
        RegularRow {
            matrix: "m".into(),
            twin: false,
            nnz: 1000,
            precision: "f32".into(),
            on: "gpu".into(),
            pattern: "tetris".into(),
            regular: "the first 3 entries of each row".into(),
            share: 0.8,
            padding: 1.25,
            layout: "ell".into(),
            layout_us: Some(10.0),
            refused: None,
            auto_algorithm: "csr_vector".into(),
            auto_us: Some(5.0),
            vector_us: Some(20.0),
            ok: true,
        }
    }

    fn measured(entries: &[(u32, u32, f64)], n: usize) -> Report {
        let target = Target::new(Context::with(BackendKind::Cpu).unwrap(), "cpu");
        let matrix = Csr::from_coo(n, n, entries).unwrap();
        let loaded = Loaded { name: "m".into(), twin: false, matrix };
        let mut report = super::super::html::tests::sample(&[]);
        report.regular.clear();
        once(&[&target], &[Algorithm::Auto], |way| measure(way, &loaded, Dtype::F32, &mut report).unwrap());
        report
    }

    #[test]
    fn a_regular_part_is_timed_in_its_layout_and_by_rows() {
        // Rows of the band have one slot of DIA of ten: more than three times the bytes of CSR.
        let band = (0..200u32).flat_map(|r| [(r, r, 1.0), (r, (r + r * 7 % 16).min(199), 2.0)]);
        let report = measured(&band.collect::<Vec<_>>(), 200);
        let row = &report.regular[0];
        assert!(
            row.ok && row.pattern == "quasi-diagonal" && row.layout == "dia" && row.padding > 3.0,
            "{row:?}"
        );
        assert!(row.layout_us.is_some() && row.auto_us.is_some() && row.vector_us.is_some(), "{row:?}");
        assert!(row.share >= 0.8 && row.refused.is_none(), "{row:?}");
    }

    #[test]
    fn a_matrix_without_a_regular_part_is_left_out_by_name() {
        let uneven = (0..30u32).flat_map(|r| (0..100u32).map(move |k| (r * 10, (k * 3 + r) % 300, 1.0)));
        let report = measured(&uneven.collect::<Vec<_>>(), 300);
        assert!(report.regular.is_empty());
        assert!(report.left_out.iter().any(|line| line == "m: general, without a regular part"));
    }

    #[test]
    fn means_count_how_often_the_layout_wins() {
        let faster = RegularRow { layout_us: Some(2.5), ..row() };
        let refused = RegularRow { layout_us: None, refused: Some("too large".into()), ..row() };
        let mut report = super::super::html::tests::sample(&[]);
        report.regular = vec![row(), faster, refused];
        let text = text(&report);
        assert!(
            text.contains("2 tetris: the layout is 1.000 times as fast as auto in the geometric mean, faster on 1; 4.000 times"),
            "{text}"
        );
        assert!(text.contains("m: ell refuses it: too large"), "{text}");
    }
}
