//! Input in blocks of whole lines.

use std::io::{BufReader, Cursor, Read};

use flate2::read::MultiGzDecoder;

use super::error::{Error, ErrorKind};

/// Bytes read at a time: enough lines to keep all threads busy, little enough to keep in memory.
pub(super) const BLOCK_BYTES: usize = 16 << 20;
/// Longest line: no entry comes near, few comments do.
pub(super) const LINE_BYTES: usize = 1 << 20;
/// First bytes of a gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The source itself, or what it inflates to if its first bytes say gzip.
pub(super) fn plain<'a>(mut source: impl Read + 'a) -> Result<Box<dyn Read + 'a>, Error> {
    let mut magic = Vec::new();
    source.by_ref().take(GZIP.len() as u64).read_to_end(&mut magic)?;
    let is_gzip = magic == GZIP;
    let whole = Cursor::new(magic).chain(source);
    Ok(if is_gzip {
        Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, whole)))
    } else {
        Box::new(whole)
    })
}

/// Cuts a source into blocks that end at a line's end.
pub(super) struct Blocks<'a> {
    source: Box<dyn Read + 'a>,
    block_bytes: usize,
    buffer: Vec<u8>,
    /// Bytes of `buffer` that were given out.
    used: usize,
    /// Bytes read so far.
    bytes: u64,
    ended: bool,
}

impl<'a> Blocks<'a> {
    pub(super) fn new(source: Box<dyn Read + 'a>, block_bytes: usize) -> Self {
        Self { source, block_bytes, buffer: Vec::new(), used: 0, bytes: 0, ended: false }
    }

    /// Bytes read so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The next block of whole lines; empty at the end. `line` is the block's first, for errors.
    pub(super) fn next(&mut self, line: u64) -> Result<&[u8], Error> {
        self.take(line, |lines| lines.iter().rposition(|b| *b == b'\n').map(|i| i + 1))
    }

    /// The next line with its end; empty at the end.
    pub(super) fn next_line(&mut self, line: u64) -> Result<&[u8], Error> {
        self.take(line, |lines| lines.iter().position(|b| *b == b'\n').map(|i| i + 1))
    }

    /// Gives out as much as `end` says of the bytes at hand; reads on while it finds no end.
    fn take(&mut self, line: u64, end: impl Fn(&[u8]) -> Option<usize>) -> Result<&[u8], Error> {
        loop {
            if let Some(n) = end(&self.buffer[self.used..]) {
                return Ok(self.give(n));
            }
            let left = self.buffer.len() - self.used;
            if self.ended {
                return Ok(self.give(left));
            }
            if left > LINE_BYTES {
                return Err(Error::at(line, ErrorKind::LongLine(LINE_BYTES)));
            }
            self.buffer.drain(..self.used);
            self.used = 0;
            let got = self.source.by_ref().take(self.block_bytes as u64).read_to_end(&mut self.buffer)?;
            self.bytes += got as u64;
            self.ended = got == 0;
        }
    }

    fn give(&mut self, n: usize) -> &[u8] {
        let start = self.used;
        self.used += n;
        &self.buffer[start..self.used]
    }
}
