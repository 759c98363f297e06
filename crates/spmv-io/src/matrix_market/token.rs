//! Words and numbers.

use spmv_core::{Dtype, Value};

use super::error::ErrorKind;

/// Longest number that is looked at; longer ones are no numbers.
const NUMBER_BYTES: usize = 512;
/// Bytes of a word that an error quotes.
const QUOTED_BYTES: usize = 40;

/// The words of a line.
#[derive(Clone)]
pub(super) struct Words<'a> {
    rest: &'a [u8],
}

impl<'a> Words<'a> {
    pub(super) fn of(line: &'a [u8]) -> Self {
        Self { rest: line }
    }

    /// What no word has been taken of.
    pub(super) fn expect_end(mut self) -> Result<(), ErrorKind> {
        self.next().map_or(Ok(()), |word| Err(ErrorKind::LeftOver(quoted(word))))
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let start = self.rest.iter().position(|b| !b.is_ascii_whitespace())?;
        let rest = &self.rest[start..];
        let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        self.rest = rest;
        Some(word)
    }
}

/// Whether a line holds nothing but white space or a comment.
pub(super) fn is_blank(line: &[u8]) -> bool {
    line.iter().find(|b| !b.is_ascii_whitespace()).is_none_or(|b| *b == b'%')
}

/// A word as an error shows it: cut short, and readable whatever its bytes.
pub(super) fn quoted(word: &[u8]) -> String {
    let cut = &word[..word.len().min(QUOTED_BYTES)];
    let dots = if cut.len() < word.len() { "..." } else { "" };
    format!("{}{dots}", cut.escape_ascii())
}

/// A decimal count that fits 64 bits.
pub(super) fn count(word: &[u8]) -> Option<u64> {
    if word.is_empty() {
        return None;
    }
    word.iter().try_fold(0u64, |n, b| {
        let digit = b.wrapping_sub(b'0');
        if digit > 9 { None } else { n.checked_mul(10)?.checked_add(u64::from(digit)) }
    })
}

/// A real number, or a part of a complex one, that values of a type hold after one rounding: decimal, with an exponent of `e` or Fortran's
/// `d`, or NaN or an infinity.
pub(super) fn real<T: Value>(word: &[u8]) -> Result<f64, ErrorKind> {
    let no_number = || ErrorKind::Number(quoted(word), "real number");
    let text = str::from_utf8(word).ok().filter(|t| t.len() <= NUMBER_BYTES).ok_or_else(no_number)?;
    let value = nearest::<T>(text).or_else(|| {
        // Fortran writes 1.5D+03, and may leave the letter out where the exponent has three digits; the
        // latter is no Matrix Market number.
        let mut bytes = [0; NUMBER_BYTES];
        let bytes = &mut bytes[..word.len()];
        bytes.copy_from_slice(word);
        *bytes.iter_mut().find(|b| matches!(b, b'd' | b'D'))? = b'e';
        nearest::<T>(str::from_utf8(bytes).ok()?)
    });
    value.ok_or_else(no_number)
}

/// The number nearest to a decimal: an `f32` where parts are. By way of `f64` it would be rounded twice.
fn nearest<T: Value>(text: &str) -> Option<f64> {
    match T::DTYPE {
        Dtype::F32 | Dtype::C32 => text.parse::<f32>().ok().map(f64::from),
        _ => text.parse().ok(),
    }
}

/// An integer of any size, rounded to the nearest value.
pub(super) fn integer<T: Value>(word: &[u8]) -> Result<f64, ErrorKind> {
    let digits = word.strip_prefix(b"-").or_else(|| word.strip_prefix(b"+")).unwrap_or(word);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(ErrorKind::Number(quoted(word), "integer"));
    }
    real::<T>(word)
}
