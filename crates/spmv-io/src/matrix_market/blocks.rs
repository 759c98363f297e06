//! Input in blocks of whole lines.

use std::cell::Cell;
use std::io::{self, BufReader, Cursor, Read};
use std::rc::Rc;

use flate2::read::MultiGzDecoder;

use super::error::{Error, ErrorKind};

/// Bytes read at a time: enough lines to keep all threads busy, little enough to keep in memory.
pub(super) const BLOCK_BYTES: usize = 16 << 20;
/// Bytes read at a time until the source has given more: what a block takes is then no more than a multiple of the
/// source's bytes, though a few of them inflate to a full block.
const FIRST_BLOCK_BYTES: usize = 1 << 20;
/// Bytes read at a time where the header alone is wanted.
pub(super) const HEADER_BYTES: usize = 64 << 10;
/// Longest line: no entry comes near, few comments do.
pub(super) const LINE_BYTES: usize = 1 << 20;
/// First bytes of a gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Cuts a source into blocks that end at a line's end.
pub(super) struct Blocks<'a> {
    source: Box<dyn Read + 'a>,
    source_bytes: Rc<Cell<u64>>,
    block_bytes: usize,
    buffer: Vec<u8>,
    /// Bytes of `buffer` that were given out.
    used: usize,
    /// Bytes that were given out.
    given: u64,
    is_gzip: bool,
    ended: bool,
}

impl<'a> Blocks<'a> {
    /// Opens the source itself, or what it inflates to if its first bytes say gzip.
    pub(super) fn open(source: impl Read + 'a, block_bytes: usize) -> Result<Self, Error> {
        let source_bytes = Rc::new(Cell::new(0));
        let mut source = Counted { source, bytes: Rc::clone(&source_bytes) };
        let mut magic = Vec::new();
        source.by_ref().take(GZIP.len() as u64).read_to_end(&mut magic)?;
        let is_gzip = magic == GZIP;
        let whole = Cursor::new(magic).chain(source);
        let source: Box<dyn Read + 'a> = if is_gzip {
            Box::new(Inflated(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, whole))))
        } else {
            Box::new(whole)
        };
        let buffer = Vec::new();
        Ok(Self { source, source_bytes, block_bytes, buffer, used: 0, given: 0, is_gzip, ended: false })
    }

    /// Opens what is not compressed, whatever its first bytes are.
    pub(super) fn plain(source: impl Read + 'a, block_bytes: usize) -> Self {
        let source_bytes = Rc::new(Cell::new(0));
        let source = Box::new(Counted { source, bytes: Rc::clone(&source_bytes) });
        let buffer = Vec::new();
        Self { source, source_bytes, block_bytes, buffer, used: 0, given: 0, is_gzip: false, ended: false }
    }

    /// Bytes read so far, before any inflating: a few of them inflate to as many as one likes.
    pub(super) fn source_bytes(&self) -> u64 {
        self.source_bytes.get()
    }

    /// Bytes that were given out, inflated if the source is compressed.
    pub(super) fn given_bytes(&self) -> u64 {
        self.given
    }

    /// Whether the source is compressed.
    pub(super) fn is_gzip(&self) -> bool {
        self.is_gzip
    }

    /// The next block of whole lines; empty at the end. `line` is the block's first, for errors.
    pub(super) fn next(&mut self, line: u64) -> Result<&[u8], Error> {
        self.take(line, |lines| lines.iter().rposition(|b| *b == b'\n').map(|i| i + 1))
    }

    /// The next line with its end; empty at the end.
    pub(super) fn next_line(&mut self, line: u64) -> Result<&[u8], Error> {
        let bytes = self.take(line, |lines| lines.iter().position(|b| *b == b'\n').map(|i| i + 1))?;
        // Where the line ended inside a block, `take` had no cause to look at its length.
        if bytes.len() > LINE_BYTES {
            return Err(Error::at(line, ErrorKind::LongLine(LINE_BYTES)));
        }
        Ok(bytes)
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
            let justified = self.source_bytes().max(FIRST_BLOCK_BYTES as u64);
            let most = justified.min(self.block_bytes as u64);
            let got = self.source.by_ref().take(most).read_to_end(&mut self.buffer)?;
            self.ended = got == 0;
        }
    }

    fn give(&mut self, n: usize) -> &[u8] {
        let start = self.used;
        self.used += n;
        self.given += n as u64;
        &self.buffer[start..self.used]
    }
}

/// A source that counts its bytes.
struct Counted<R> {
    source: R,
    bytes: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.source.read(buffer)?;
        self.bytes.set(self.bytes.get() + got as u64);
        Ok(got)
    }
}

/// A gzip decoder whose errors say that gzip is what they are about.
struct Inflated<R>(R);

impl<R: Read> Read for Inflated<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
        self.0.read(buffer).map_err(|e| match e.kind() {
            kind @ (InvalidData | InvalidInput | UnexpectedEof) => {
                io::Error::new(kind, format!("the gzip data is truncated or damaged: {e}"))
            }
            _ => e,
        })
    }
}
