//! How to read.

use super::blocks::BLOCK_BYTES;

/// Bytes below which a block is not worth cutting further.
const CHUNK_BYTES: usize = 64 << 10;

/// What a reader was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) real_part: bool,
    pub(super) max_entries: Option<u64>,
    pub(super) max_rows: Option<u64>,
    pub(super) block_bytes: usize,
    pub(super) chunk_bytes: usize,
}

impl Options {
    pub(super) const fn new() -> Self {
        let (block_bytes, chunk_bytes) = (BLOCK_BYTES, CHUNK_BYTES);
        Self { real_part: false, max_entries: None, max_rows: None, block_bytes, chunk_bytes }
    }
}
