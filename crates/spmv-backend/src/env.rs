//! Settings in the environment.

use std::str::FromStr;

use crate::{Error, Result};

/// The value of a variable, unless it is unset, empty, or not Unicode.
///
/// ```
/// assert_eq!(spmv_backend::env::set("SPMV_NO_SUCH_SETTING"), None);
/// ```
pub fn set(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Whether a variable, a list of names with commas, holds a name.
///
/// ```
/// assert!(!spmv_backend::env::lists("SPMV_NO_SUCH_SETTING", "cpu"));
/// ```
pub fn lists(variable: &str, name: &str) -> bool {
    set(variable).is_some_and(|list| list.split(',').any(|listed| listed.trim() == name))
}

/// The value of a variable, parsed; `None` where it is not [`set`].
///
/// ```
/// let threads: Option<usize> = spmv_backend::env::parsed("cpu", "SPMV_NO_SUCH_SETTING")?;
/// assert_eq!(threads, None);
/// # Ok::<(), spmv_backend::Error>(())
/// ```
///
/// # Errors
/// [`Error::Unavailable`] of that backend, with the variable's name, if it does not parse.
pub fn parsed<T: FromStr<Err: ToString>>(backend: &str, name: &str) -> Result<Option<T>> {
    let parse = |text: String| text.parse::<T>().map_err(|e| format!("{name}: {}", e.to_string()));
    let value = set(name).map(parse).transpose();
    value.map_err(|reason| Error::Unavailable { backend: backend.to_owned(), reason })
}

/// The item of that name, among a few.
///
/// ```
/// use spmv_backend::env::named;
/// let name = |even: &bool| if *even { "even" } else { "odd" };
/// assert_eq!(named("parity", &[true, false], name, "odd"), Ok(false));
/// assert_eq!(named("parity", &[true, false], name, "big").unwrap_err(), "unknown parity 'big'; known: even odd");
/// ```
///
/// # Errors
/// Says what there is, if no item has the name.
pub fn named<T: Copy>(
    what: &str,
    all: &[T],
    name: impl Fn(&T) -> &'static str,
    asked: &str,
) -> std::result::Result<T, String> {
    let found = all.iter().find(|item| name(item) == asked);
    found.copied().ok_or_else(|| {
        let known: Vec<_> = all.iter().map(name).collect();
        format!("unknown {what} '{asked}'; known: {}", known.join(" "))
    })
}
