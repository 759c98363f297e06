//! Archives of PTX: all texts of one target, one after the other, in one lzip file of one member for each stem.
//!
//! Texts of one kernel for different types of values are much alike, so that together they take a twentieth of their bytes, and those of other
//! kernels need not be unpacked before them. `lzip -dc` prints an archive, and so does `xz -dc` from version 5.4 on.

use std::io::{self, BufRead, BufReader};

use lzma_rust2::LzipReader;

/// What the first line of each text begins with ([`first_line`](crate::recipe::first_line)), and no other line.
pub const MARK: &str = "// spmv: ";

/// The texts of an archive, in its order.
///
/// They are unpacked as they are asked for, so that no more than one is in memory, besides the 4 MiB of the decoder.
///
/// # Errors
/// An item is an error if the archive is damaged, or does not begin with [`MARK`].
///
/// ```
/// use spmv_kernels_cuda::{TARGETS, archive};
/// let texts = archive::texts(TARGETS[0].archive().unwrap());
/// assert!(texts.map(Result::unwrap).all(|text| text.contains(".target sm_60\n")));
/// ```
pub fn texts(archive: &[u8]) -> impl Iterator<Item = io::Result<String>> {
    let mut lines = BufReader::new(LzipReader::new(archive));
    // A line that was read and belongs to the next text.
    let mut line = String::new();
    std::iter::from_fn(move || text(&mut lines, &mut line).transpose())
}

/// The members of an archive: the texts of each stem, packed, in the order of the archive. Nothing is unpacked.
///
/// # Errors
/// If the archive is damaged at the ends of members.
///
/// ```
/// use spmv_kernels_cuda::{TARGETS, VARIANTS, archive};
/// let members = archive::members(TARGETS[0].archive().unwrap())?;
/// assert_eq!(members.len(), VARIANTS.len());
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn members(archive: &[u8]) -> io::Result<Vec<&[u8]>> {
    let (mut members, mut rest) = (Vec::new(), archive);
    // A member's last eight bytes say how long it is (the manual of lzip, "File format").
    while let Some(bytes) = rest.last_chunk() {
        let start = usize::try_from(u64::from_le_bytes(*bytes)).ok().and_then(|n| rest.len().checked_sub(n));
        let Some(start) = start.filter(|start| *start < rest.len()) else { break };
        members.push(&rest[start..]);
        rest = &rest[..start];
    }
    if !rest.is_empty() {
        let reason = format!("no member ends at byte {} of the archive", rest.len());
        return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
    }
    members.reverse();
    Ok(members)
}

/// Whether a text is that of a stem for a type of values.
///
/// ```
/// use spmv_kernels_cuda::{archive::is_of, recipe::first_line};
/// let text = first_line("axpby", "f32", "sm_60", "").unwrap();
/// assert!(is_of(&text, "axpby", "f32") && !is_of(&text, "axpby", "f64"));
/// ```
pub fn is_of(text: &str, stem: &str, value: &str) -> bool {
    let mut words = text.strip_prefix(MARK).unwrap_or_default().split(' ');
    words.next() == Some(stem) && words.next() == Some(value)
}

/// The next text; `None` at the end.
fn text(lines: &mut impl BufRead, line: &mut String) -> io::Result<Option<String>> {
    let mut text = std::mem::take(line);
    while lines.read_line(line)? > 0 {
        match (text.is_empty(), line.starts_with(MARK)) {
            (false, true) => return Ok(Some(text)),
            (true, false) => {
                let reason = format!("the archive begins with '{}', not with '{MARK}'", line.trim_end());
                return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
            }
            _ => text.push_str(line),
        }
        line.clear();
    }
    Ok((!text.is_empty()).then_some(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TARGETS, VARIANTS};

    fn split(plain: &str) -> io::Result<Vec<String>> {
        let (mut lines, mut line) = (plain.as_bytes(), String::new());
        std::iter::from_fn(|| text(&mut lines, &mut line).transpose()).collect()
    }

    #[test]
    fn texts_are_split_at_their_first_lines() {
        let [a, b] =
            ["// spmv: a f32 x\n.version 6.0\n\n// other\n", "// spmv: b f64 x\nend without a newline"];
        assert_eq!(split(&format!("{a}{b}")).unwrap(), [a, b]);
        assert_eq!(split("").unwrap(), [""; 0]);
        assert!(split(".version 6.0\n").unwrap_err().to_string().contains("begins with '.version 6.0'"));
    }

    #[test]
    fn each_member_has_the_texts_of_one_stem() {
        let archive = TARGETS[0].archive().unwrap();
        let members = members(archive).unwrap();
        assert_eq!(members.concat(), archive);
        for (member, variants) in members.into_iter().zip(VARIANTS) {
            let first = texts(member).next().unwrap().unwrap();
            assert_eq!(first[MARK.len()..].split(' ').next(), Some(variants.stem));
        }
    }

    #[test]
    fn bytes_that_end_no_member_are_named() {
        let archive = TARGETS[0].archive().unwrap();
        let error = |bytes: &[u8]| members(bytes).unwrap_err().to_string();
        let first = members(archive).unwrap()[0].len();
        assert_eq!(error(&archive[1..]), format!("no member ends at byte {} of the archive", first - 1));
        assert_eq!(error(&[0; 40]), "no member ends at byte 40 of the archive");
        assert_eq!(error(&[1]), "no member ends at byte 1 of the archive");
        assert_eq!(members(&[]).unwrap(), [&[0u8; 0]; 0]);
    }

    #[test]
    fn a_damaged_archive_is_an_error() {
        let archive = TARGETS[0].archive().unwrap();
        let all = |bytes: &[u8]| texts(bytes).collect::<io::Result<Vec<_>>>();
        assert!(all(archive).is_ok());
        assert!(all(&archive[..archive.len() - 1]).is_err());
        for at in [0, archive.len() / 2, archive.len() - 1] {
            let mut bytes = archive.to_vec();
            bytes[at] ^= 1;
            assert!(all(&bytes).is_err(), "byte {at}");
        }
    }
}
