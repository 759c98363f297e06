//! The numbers that a paper states, read from `papers/*.toml`.

use serde::Deserialize;

/// A number of a paper, and where it stands there.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Number {
    pub(crate) item: String,
    pub(crate) place: String,
    pub(crate) what: String,
    pub(crate) matrix: Option<String>,
    pub(crate) device: Option<String>,
    pub(crate) precision: Option<String>,
    pub(crate) value: f64,
    pub(crate) unit: String,
}

/// The numbers of a file of this repository.
///
/// # Panics
/// If it is no such file, which a test of each checks.
pub(crate) fn load(text: &str) -> Vec<Number> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        number: Vec<Number>,
    }
    let file: File = toml::from_str(text).expect("numbers, as a test checks");
    file.number
}
