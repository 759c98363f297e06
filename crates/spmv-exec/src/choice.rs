//! An algorithm with its tiling: what trials are of, and what can be saved and given again.

use std::fmt;
use std::str::FromStr;

use spmv_core::{Tiling, TilingError};

use crate::algorithms::{Algorithm, UnknownAlgorithm};

/// An algorithm with its tiling.
///
/// Its text can be saved and parsed again.
///
/// ```
/// use spmv_exec::{Algorithm, Choice};
/// let choice: Choice = "sell T=2,W=3,S=1,B=64".parse()?;
/// assert_eq!((choice.algorithm, choice.tiling.width()), (Algorithm::Sell, 3));
/// assert_eq!(choice.to_string(), "sell T=2,W=3,S=1,B=64");
/// # Ok::<(), spmv_exec::ChoiceError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Choice {
    /// Never `Auto`.
    pub algorithm: Algorithm,
    /// T, W, S and B.
    pub tiling: Tiling,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.algorithm, self.tiling)
    }
}

/// A text that is no [`Choice`].
///
/// ```
/// use spmv_exec::{Choice, ChoiceError};
/// let e = "auto T=1,W=1,S=1,B=1".parse::<Choice>().unwrap_err();
/// assert_eq!(e, ChoiceError::Syntax("auto T=1,W=1,S=1,B=1".into()));
/// assert!(e.to_string().ends_with("is not of the form csr_vector T=4,W=1,S=1,B=32"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChoiceError {
    /// Not a name and a tiling; `auto` chooses nothing.
    #[error("choice '{0}' is not of the form csr_vector T=4,W=1,S=1,B=32")]
    Syntax(String),
    /// A name that is no algorithm's.
    #[error(transparent)]
    Algorithm(#[from] UnknownAlgorithm),
    /// What follows it is no tiling.
    #[error(transparent)]
    Tiling(#[from] TilingError),
}

impl FromStr for Choice {
    type Err = ChoiceError;

    fn from_str(s: &str) -> Result<Self, ChoiceError> {
        let (algorithm, tiling) = s.split_once(' ').ok_or_else(|| ChoiceError::Syntax(s.to_owned()))?;
        match algorithm.parse()? {
            Algorithm::Auto => Err(ChoiceError::Syntax(s.to_owned())),
            algorithm => Ok(Self { algorithm, tiling: tiling.parse()? }),
        }
    }
}

/// A candidate that was timed on the matrix ([`Tune`](crate::Tune)).
///
/// ```
/// # fn with<B: spmv_backend::Backend>(prepared: spmv_exec::Prepared<B, f64>) {
/// for trial in &prepared.plan().trials {
///     println!("{}: {:?} s", trial.choice, trial.seconds);
/// }
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Trial {
    /// What ran.
    pub choice: Choice,
    /// Seconds of a product, both stages: by the device's timestamps where it has them, else by the host. The product is one of a graph
    /// where the device captures graphs and the host repairs nothing. `None` where the layout or the device refused the candidate.
    pub seconds: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_parsed_as_it_is_printed_and_nothing_else_is() {
        for algorithm in Algorithm::ALL.iter().copied().filter(|algorithm| *algorithm != Algorithm::Auto) {
            let choice = Choice { algorithm, tiling: Tiling::new(8, 4, 2, 1).unwrap() };
            assert_eq!(choice.to_string().parse(), Ok(choice));
        }
        let parse = |text: &str| text.parse::<Choice>().unwrap_err().to_string();
        assert_eq!(parse("sell"), "choice 'sell' is not of the form csr_vector T=4,W=1,S=1,B=32");
        assert!(parse("fast T=1,W=1,S=1,B=1").starts_with("unknown algorithm 'fast'"));
        assert_eq!(parse("sell T=1"), "tiling 'T=1' is not of the form T=32,W=8,S=7,B=5");
    }
}
