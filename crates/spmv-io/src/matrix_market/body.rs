//! The entries: parsed by all threads, joined in the order of the file.

use rayon::prelude::*;
use spmv_core::{Csr, Offset, Value};

use super::blocks::{Blocks, LINE_BYTES};
use super::entries::Entries;
use super::error::{Error, ErrorKind};
use super::header::{Field, Format, Header, Symmetry};
use super::options::Options;
use super::token::{Words, count, integer, is_blank, quoted, real};

/// Rows that any file may have: they take 24 MiB while the matrix is assembled.
const PLAUSIBLE_ROWS: u64 = 1 << 20;
/// Rows more for each byte of the file as stored (compressed, if it is). A gzipped file with an entry in each row has a
/// half at most, and each row takes up to 24 bytes.
const ROWS_PER_BYTE: u64 = 1;
/// Entries that any file may have, both triangles counted.
const PLAUSIBLE_ENTRIES: u64 = 1 << 20;
/// Entries more for each byte of the file as stored. Plain files have one at most, gzipped ones of real matrices too.
const ENTRIES_PER_BYTE: u64 = 4;

/// What a chunk of lines held, up to its first fault.
pub(super) struct Chunk<T> {
    pub(super) entries: Entries<T>,
    /// Coordinate: entries stored. Array: values, to be given rows and columns once it is known how many came before.
    pub(super) stored: u64,
    pub(super) lines: u64,
    /// The line's number in the chunk, from 1 on.
    pub(super) fault: Option<(u64, ErrorKind)>,
}

/// Reads the entries after the `line` lines of the header.
pub(super) fn read<T: Value, O: Offset>(
    options: &Options,
    header: &Header,
    mut blocks: Blocks<'_>,
    mut line: u64,
) -> Result<Csr<T, O>, Error> {
    check_header::<T>(options, header, line)?;
    let size_line = line;
    let mut all = Entries::new();
    let mut stored = 0;
    loop {
        let block = blocks.next(line + 1)?;
        if block.is_empty() {
            break;
        }
        for (chunk, piece) in parse_all::<T>(options, header, block) {
            let left = header.entries - stored;
            if chunk.stored > left {
                // Parsed again up to the first entry too many, to find its line.
                let excess = parse::<T>(header, piece, left);
                return Err(Error::at(line + excess.lines, ErrorKind::TooMany(header.entries)));
            }
            if let Some((number, kind)) = chunk.fault {
                return Err(Error::at(line + number, kind));
            }
            all.extend(header, chunk.entries, stored);
            stored += chunk.stored;
            line += chunk.lines;
        }
        check_entries(options, all.vals.len(), blocks.source_bytes())
            .map_err(|kind| Error::at(line, kind))?;
    }
    if stored < header.entries {
        return Err(Error::at(line, ErrorKind::TooFew { found: stored, expected: header.entries }));
    }
    // Not before: how long a pipe is, its end alone says.
    check_rows(options, header, blocks.source_bytes()).map_err(|kind| Error::at(size_line, kind))?;
    // Assembly takes as much memory as the entries themselves, so that nothing else may be left by then.
    drop(blocks);
    all.shrink();
    Ok(Csr::from_triplets(header.rows as usize, header.cols as usize, &all.rows, &all.cols, &all.vals)?)
}

/// Refuses what no entry can make good.
pub(super) fn check_header<T: Value>(options: &Options, header: &Header, line: u64) -> Result<(), Error> {
    if header.field == Field::Complex && !T::DTYPE.is_complex() && !options.real_part {
        return Err(Error::at(1, ErrorKind::Complex));
    }
    if let Some(max) = options.max_entries
        && header.entries > max
    {
        let entries = header.entries;
        return Err(Error::at(line, ErrorKind::TooManyEntries { entries, max }));
    }
    Ok(())
}

/// Refuses more entries than so many bytes justify.
pub(super) fn check_entries(options: &Options, entries: usize, bytes: u64) -> Result<(), ErrorKind> {
    let entries = entries as u64;
    if options.max_entries.is_none() && entries > plausible(PLAUSIBLE_ENTRIES, ENTRIES_PER_BYTE, bytes) {
        return Err(ErrorKind::ImplausibleEntries { entries, bytes });
    }
    Ok(())
}

/// Refuses more rows than so many bytes justify.
pub(super) fn check_rows(options: &Options, header: &Header, bytes: u64) -> Result<(), ErrorKind> {
    let rows = header.rows;
    if rows > options.max_rows.unwrap_or(plausible(PLAUSIBLE_ROWS, ROWS_PER_BYTE, bytes)) {
        return Err(ErrorKind::ImplausibleRows { rows, bytes });
    }
    Ok(())
}

/// How many rows or entries a file of so many bytes justifies.
fn plausible(always: u64, per_byte: u64, bytes: u64) -> u64 {
    bytes.saturating_mul(per_byte).saturating_add(always)
}

/// The chunks of a block, parsed by all threads.
pub(super) fn parse_all<'a, T: Value>(
    options: &Options,
    header: &Header,
    block: &'a [u8],
) -> impl Iterator<Item = (Chunk<T>, &'a [u8])> {
    let pieces = cut(block, options.chunk_bytes);
    let chunks: Vec<Chunk<T>> = match pieces[..] {
        // Not worth waking a thread for.
        [piece] => vec![parse(header, piece, u64::MAX)],
        _ => pieces.par_iter().map(|piece| parse(header, piece, u64::MAX)).collect(),
    };
    chunks.into_iter().zip(pieces)
}

/// Cuts a block into chunks of whole lines, several for each thread, of `least` bytes or more.
fn cut(block: &[u8], least: usize) -> Vec<&[u8]> {
    let size = block.len().div_ceil(4 * rayon::current_num_threads()).max(least);
    let mut pieces = Vec::new();
    let mut rest = block;
    while !rest.is_empty() {
        let from = size.min(rest.len()) - 1;
        let end = rest[from..].iter().position(|b| *b == b'\n').map_or(rest.len(), |i| from + i + 1);
        let (piece, tail) = rest.split_at(end);
        pieces.push(piece);
        rest = tail;
    }
    pieces
}

/// Parses lines up to the first fault, or up to and including the line of the entry after `most`.
pub(super) fn parse<T: Value>(header: &Header, lines: &[u8], most: u64) -> Chunk<T> {
    let mut chunk = Chunk { entries: Entries::new(), stored: 0, lines: 0, fault: None };
    for line in lines.split_inclusive(|b| *b == b'\n') {
        chunk.lines += 1;
        if line.len() > LINE_BYTES {
            chunk.fault = Some((chunk.lines, ErrorKind::LongLine(LINE_BYTES)));
            break;
        }
        if is_blank(line) {
            continue;
        }
        let parsed = match header.format {
            Format::Coordinate => entry(header, line, &mut chunk.entries),
            Format::Array => value(header, Words::of(line), 0).map(|v| chunk.entries.vals.push(v)),
        };
        if let Err(kind) = parsed {
            chunk.fault = Some((chunk.lines, kind));
            break;
        }
        chunk.stored += 1;
        if chunk.stored > most {
            break;
        }
    }
    chunk
}

/// Row, column and value of a line, and of its mirror image.
fn entry<T: Value>(header: &Header, line: &[u8], entries: &mut Entries<T>) -> Result<(), ErrorKind> {
    let mut words = Words::of(line);
    let missing = |found| ErrorKind::Missing {
        found,
        expected: 2 + header.field.words(),
        what: match header.field {
            Field::Pattern => "row, column",
            Field::Real | Field::Integer => "row, column, value",
            Field::Complex => "row, column, real part, imaginary part",
        },
    };
    let mut index = |found| {
        let word = words.next().ok_or_else(|| missing(found))?;
        count(word).ok_or_else(|| ErrorKind::Index(quoted(word)))
    };
    let (row, column) = (index(0)?, index(1)?);
    let Header { rows, cols, symmetry, .. } = *header;
    if row == 0 || row > rows {
        return Err(ErrorKind::RowOutOfRange { row, rows });
    }
    if column == 0 || column > cols {
        return Err(ErrorKind::ColumnOutOfRange { column, cols });
    }
    if symmetry != Symmetry::General && column > row {
        return Err(ErrorKind::AboveDiagonal { row, column, symmetry: symmetry.name() });
    }
    if symmetry == Symmetry::SkewSymmetric && row == column {
        return Err(ErrorKind::SkewDiagonal(row));
    }
    let value = value(header, words, 2)?;
    entries.push(symmetry, (row - 1) as u32, (column - 1) as u32, value);
    Ok(())
}

/// The value in the words that are left, of which `before` were taken already.
fn value<T: Value>(header: &Header, mut words: Words<'_>, before: usize) -> Result<T, ErrorKind> {
    let expected = before + header.field.words();
    let what = if header.field == Field::Complex { "real and imaginary part" } else { "value" };
    let mut next = |found| words.next().ok_or(ErrorKind::Missing { found, expected, what });
    let value = match header.field {
        Field::Pattern => T::from_f64(1.0),
        Field::Real => T::from_f64(real::<T>(next(before)?)?),
        Field::Integer => T::from_f64(integer::<T>(next(before)?)?),
        Field::Complex => {
            let re = real::<T>(next(before)?)?;
            T::from_parts([re, real::<T>(next(before + 1)?)?])
        }
    };
    words.expect_end()?;
    Ok(value)
}
