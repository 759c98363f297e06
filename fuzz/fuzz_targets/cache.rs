//! Any bytes as a file of compiled programs: nothing, or the binary of a whole file of that key.
#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use spmv_backend::Cache;
use spmv_core::fnv1a;

#[derive(Arbitrary, Debug)]
enum Input<'a> {
    /// Bytes as they are.
    Raw { key: &'a str, bytes: &'a [u8] },
    /// With a checksum that is right, which no mutation finds.
    Summed { key: &'a str, bytes: &'a [u8] },
    /// A file as it is stored, and then some bytes of it changed.
    Stored { key: &'a str, asked: &'a str, binary: &'a [u8], changed: Vec<(u16, u8)>, cut: u8, sum: bool },
}

fuzz_target!(|input: Input<'_>| match input {
    Input::Raw { key, bytes } => check(key, bytes),
    Input::Summed { key, bytes } => check(key, &summed(bytes)),
    Input::Stored { key, asked, binary, changed, cut, sum } => {
        let whole = file(key, binary);
        assert_eq!(Cache::decode(key, &whole).as_deref(), Some(binary));
        assert_eq!(Cache::decode(asked, &whole).is_some(), asked == key);
        let mut other = whole.clone();
        other.truncate(whole.len() - usize::from(cut).min(whole.len()));
        for (at, byte) in changed {
            if !other.is_empty() {
                let at = usize::from(at) % other.len();
                other[at] = byte;
            }
        }
        let other = if sum { summed(&other[..other.len().saturating_sub(8)]) } else { other };
        check(key, &other);
    }
});

/// What is taken from a file is a part of it, and the file is the one that is stored of it.
fn check(key: &str, bytes: &[u8]) {
    if let Some(binary) = Cache::decode(key, bytes) {
        assert_eq!(file(key, &binary), bytes);
    }
}

/// The format, written down a second time.
fn file(key: &str, binary: &[u8]) -> Vec<u8> {
    let mut bytes = b"spmv-binary-1\n".to_vec();
    for field in [key.as_bytes(), binary] {
        bytes.extend((field.len() as u64).to_le_bytes());
        bytes.extend(field);
    }
    summed(&bytes)
}

fn summed(bytes: &[u8]) -> Vec<u8> {
    [bytes, &fnv1a(bytes).to_le_bytes()].concat()
}
