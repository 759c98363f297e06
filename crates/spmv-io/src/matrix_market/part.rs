//! One of several parts of a file, each read by another process.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use spmv_core::Value;

use super::blocks::{Blocks, HEADER_BYTES, LINE_BYTES};
use super::body;
use super::entries::Entries;
use super::error::{Error, ErrorKind};
use super::header::{self, Format, Header};
use super::options::Options;

/// Some lines of a file, parsed up to the first that is at fault: [`Reader::read_part`](super::Reader::read_part).
#[derive(Debug)]
pub struct Part<T> {
    options: Options,
    header: Header,
    /// Lines up to and including the size line.
    header_lines: u64,
    file_bytes: u64,
    source: Source,
    /// Of an array, values alone.
    entries: Entries<T>,
    stored: u64,
    lines: u64,
    /// The line's number in the part, from 1 on.
    fault: Option<(u64, ErrorKind)>,
}

/// What the other parts need to know of one.
///
/// ```
/// use spmv_io::matrix_market::Summary;
/// let nothing = Summary::default();
/// assert_eq!((nothing.stored, nothing.lines), (0, 0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Entries of its lines, as the header counts them.
    pub stored: u64,
    /// Its lines.
    pub lines: u64,
}

/// Where the lines of a part are.
#[derive(Clone, Debug)]
struct Source {
    path: PathBuf,
    /// Of the file as it is stored; `None` for all of a compressed one.
    bytes: Option<Range<u64>>,
}

pub(super) fn read<T: Value>(
    options: &Options,
    path: &Path,
    part: usize,
    parts: usize,
) -> Result<Part<T>, Error> {
    assert!(part < parts, "part {part} of {parts}");
    let mut file = File::open(path)?;
    let file_bytes = file.metadata()?.len();
    let mut blocks = Blocks::open(&file, HEADER_BYTES)?;
    let (header, header_lines) = header::read(&mut blocks)?;
    let (body, is_gzip) = (blocks.given_bytes(), blocks.is_gzip());
    drop(blocks);
    body::check_header::<T>(options, &header, header_lines)?;
    body::check_rows(options, &header, file_bytes).map_err(|kind| Error::at(header_lines, kind))?;
    let path = path.to_owned();
    let bytes = match is_gzip {
        true if part == 0 => None,
        true => Some(0..0),
        false => {
            let mut bound = |i: usize| -> io::Result<u64> {
                // No product of 64 bits overflows 128.
                let at = u128::from(file_bytes.saturating_sub(body)) * i as u128 / parts as u128;
                line_start(&mut file, body, body + at as u64, file_bytes)
            };
            Some(bound(part)?..bound(part + 1)?)
        }
    };
    let (entries, source) = (Entries::new(), Source { path, bytes });
    let (stored, lines, fault) = (0, 0, None);
    let mut part =
        Part { options: *options, header, header_lines, file_bytes, source, entries, stored, lines, fault };
    part.parse()?;
    Ok(part)
}

/// Where the first line begins that does not begin before `at`. A line that is too long is taken to end where that is known: the part
/// with its beginning finds the fault.
fn line_start(file: &mut File, body: u64, at: u64, end: u64) -> io::Result<u64> {
    if at <= body || at >= end {
        return Ok(at.clamp(body.min(end), end));
    }
    file.seek(SeekFrom::Start(at - 1))?;
    let (mut position, mut bytes) = (at - 1, [0; 4096]);
    while position < end && position < at + LINE_BYTES as u64 {
        let n = file.read(&mut bytes)?;
        if n == 0 {
            break;
        }
        if let Some(i) = bytes[..n].iter().position(|b| *b == b'\n') {
            return Ok(position + i as u64 + 1);
        }
        position += n as u64;
    }
    Ok(position.min(end))
}

impl Source {
    fn open(&self, options: &Options) -> Result<Blocks<'static>, Error> {
        let mut file = File::open(&self.path)?;
        let Some(bytes) = &self.bytes else {
            let mut blocks = Blocks::open(file, options.block_bytes)?;
            header::read(&mut blocks)?;
            return Ok(blocks);
        };
        file.seek(SeekFrom::Start(bytes.start))?;
        Ok(Blocks::plain(file.take(bytes.end - bytes.start), options.block_bytes))
    }
}

impl<T: Value> Part<T> {
    fn parse(&mut self) -> Result<(), Error> {
        let options = self.options;
        let mut blocks = self.source.open(&options)?;
        while self.fault.is_none() {
            let block = match blocks.next(self.lines + 1) {
                Ok([]) => break,
                Ok(block) => block,
                Err(e) => {
                    // A line that is too long: all other errors are of reading.
                    let line = e.line().ok_or_else(|| e.clone())?;
                    self.fault = Some((line, e.kind().clone()));
                    break;
                }
            };
            for (chunk, _) in body::parse_all::<T>(&options, &self.header, block) {
                let fault = chunk.fault.map(|(line, kind)| (self.lines + line, kind));
                self.entries.append(chunk.entries);
                self.stored += chunk.stored;
                self.lines += chunk.lines;
                if fault.is_some() {
                    self.fault = fault;
                    break;
                }
            }
            body::check_entries(&options, self.entries.vals.len(), self.file_bytes)?;
        }
        Ok(())
    }

    /// What the file says of itself.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Length of the file as it is stored.
    pub fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// What the other parts need to know of this one.
    pub fn summary(&self) -> Summary {
        Summary { stored: self.stored, lines: self.lines }
    }

    /// Checks part `part` of those with these summaries: its lines, whether its entries are more than the header says, and, of the
    /// last part, whether all parts have too few. If several parts are at fault, the file's first fault is that of the first.
    ///
    /// # Errors
    /// [`Error`], with the line that a reader of the whole file would name.
    pub fn check(&self, part: usize, all: &[Summary]) -> Result<(), Error> {
        let (before, expected) = (of(&all[..part]), self.header.entries);
        let line = self.header_lines + before.lines;
        let left = expected.saturating_sub(before.stored);
        if self.stored > left {
            let number = self.line_after(left)?;
            return Err(Error::at(line + number, ErrorKind::TooMany(expected)));
        }
        if let Some((number, kind)) = &self.fault {
            return Err(Error::at(line + number, kind.clone()));
        }
        let found = before.stored + self.stored;
        if part + 1 == all.len() && found < expected {
            return Err(Error::at(line + self.lines, ErrorKind::TooFew { found, expected }));
        }
        Ok(())
    }

    /// The number in the part of the line with the entry after so many: read again, since nobody counts them for a good file.
    fn line_after(&self, most: u64) -> Result<u64, Error> {
        let mut blocks = self.source.open(&self.options)?;
        let (mut stored, mut lines) = (0, 0);
        loop {
            let block = blocks.next(lines + 1)?;
            let chunk = body::parse::<T>(&self.header, block, most - stored);
            (stored, lines) = (stored + chunk.stored, lines + chunk.lines);
            if block.is_empty() || stored > most {
                return Ok(lines);
            }
        }
    }

    /// The entries of part `part` of those with these summaries: for an array, their rows and columns follow from how many came before.
    pub fn into_entries(self, part: usize, all: &[Summary]) -> Entries<T> {
        let mut entries = self.entries;
        if self.header.format == Format::Array {
            let values = std::mem::replace(&mut entries, Entries::new());
            entries.extend(&self.header, values, of(&all[..part]).stored);
        }
        entries
    }
}

/// All of them together.
fn of(parts: &[Summary]) -> Summary {
    let sum = |f: fn(&Summary) -> u64| parts.iter().map(f).sum();
    Summary { stored: sum(|part| part.stored), lines: sum(|part| part.lines) }
}
