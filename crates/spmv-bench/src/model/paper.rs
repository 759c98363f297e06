//! What Wang, Gu & Li 2017 state of their models, and the matrices that they name.

use std::sync::LazyLock;

use spmv_model::{Format, Spread};

use crate::papers::numbers::Numbers;

/// Text of the data file.
pub(crate) const DATA: &str = include_str!("../../papers/wang-2017.toml");

static NUMBERS: LazyLock<Numbers> = LazyLock::new(|| Numbers::of(DATA));

fn number(what: &str) -> Option<f64> {
    NUMBERS.all().iter().find(|number| number.what == what).map(|number| number.value)
}

/// The paper's name of a format.
fn name(format: Format) -> &'static str {
    match format {
        Format::CsrVector => "CSR-V",
        Format::CsrScalar => "CSR-S",
        Format::Ell => "ELL",
        Format::Jad => "JAD",
    }
}

/// Mean D_r in percent (Figures 7 to 10).
pub(crate) fn error(format: Format, spread: Spread) -> Option<f64> {
    number(&format!("mean D_r, {}, {spread}", name(format)))
}

/// How many times as large the mean D_r of `against` is.
pub(crate) fn factor(format: Format, of: Spread, against: Spread) -> Option<f64> {
    number(&format!("mean D_r of {against} over {of}, {}", name(format)))
}

/// Of the paper's 30 matrices, those on which one model is better than the other, and the rest.
pub(crate) fn wins(format: Format, of: Spread, against: Spread) -> Option<(f64, f64)> {
    let all = number("matrices")?;
    let better =
        |a: Spread, b: Spread| number(&format!("matrices on which {a} is better than {b}, {}", name(format)));
    let won = better(of, against).or_else(|| Some(all - better(against, of)?))?;
    Some((won, all - won))
}

/// The matrices that section 4 names, and the nearest relative that is freely at hand: of the same collection and kind.
pub(crate) const NAMED: [(&str, &str); 6] = [
    ("cavity05", "cavity14"),
    ("bcsstk04", "bcsstk16"),
    ("bp_1600", "bp_1200"),
    ("bcsstk16", "bcsstk16"),
    ("bips98_1142", "bips98_606"),
    ("bayer09", "bayer10"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::evaluation::COMPARED;

    #[test]
    fn every_number_that_is_compared_is_in_the_file() {
        for format in Format::ALL {
            for spread in Spread::ALL {
                assert!(error(format, spread).is_some(), "{format} {spread}");
            }
            for (of, against) in COMPARED {
                let (won, lost) = wins(format, of, against).unwrap();
                assert_eq!(won + lost, 30.0, "{format} {of} {against}");
                assert_eq!(factor(format, of, against).is_some(), against == Spread::Fixed);
            }
        }
        assert_eq!(wins(Format::CsrVector, Spread::Normal, Spread::Fixed), Some((27.0, 3.0)));
    }

    #[test]
    fn factors_are_about_those_of_the_means() {
        // The paper's of JAD are 4% less.
        for format in Format::ALL {
            for (of, against) in &COMPARED[..2] {
                let of_means = error(format, *against).unwrap() / error(format, *of).unwrap();
                let stated = factor(format, *of, *against).unwrap();
                assert!((0.95..1.01).contains(&(stated / of_means)), "{format} {of}: {stated} {of_means}");
            }
        }
    }

    #[test]
    fn every_number_says_where_it_stands() {
        for number in NUMBERS.all() {
            assert!(!number.item.is_empty() && !number.unit.is_empty(), "{number:?}");
            assert!(["abstract", "section "].iter().any(|p| number.section.starts_with(p)), "{number:?}");
            assert!(number.matrix.is_none() && number.value > 0.0, "{number:?}");
            assert!(number.precision.as_deref().is_none_or(|p| p == "f32"), "{number:?}");
            assert!(number.device.as_deref().is_none_or(|d| d == "GeForce GTX 540M"), "{number:?}");
        }
    }
}
