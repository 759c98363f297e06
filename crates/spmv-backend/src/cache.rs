//! Compiled programs on disk.
//!
//! ```text
//! magic "spmv-binary-1\n", u64 key bytes, key, u64 binary bytes, binary, u64 checksum of all before it
//! ```
//!
//! The key is everything the binary depends on: device and driver, options, sources. It stands in the file
//! whole, so a file is used only for the very same key, and there is no version that one could forget to
//! raise. Numbers are little-endian.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

const MAGIC: &[u8] = b"spmv-binary-1\n";

/// A folder of compiled programs, or none.
///
/// ```
/// use spmv_backend::Cache;
/// let nowhere = Cache::new(None);
/// nowhere.store("device, options, source", b"code");
/// assert_eq!(nowhere.load("device, options, source"), None);
/// ```
#[derive(Clone, Debug)]
pub struct Cache {
    folder: Option<PathBuf>,
}

impl Cache {
    /// Programs in that folder, or in none.
    pub fn new(folder: Option<PathBuf>) -> Self {
        Self { folder }
    }

    /// The folder that is asked for, or else the backend's in the user's cache folder, where there is one.
    pub fn of(backend: &str, asked: Option<&Path>) -> Self {
        let of_user = || {
            let folders = directories::ProjectDirs::from("", "", "spmv");
            folders.map(|folders| folders.cache_dir().join(backend))
        };
        Self { folder: asked.map(Path::to_owned).or_else(of_user) }
    }

    /// Whether there is a folder that binaries are stored in.
    pub fn is_kept(&self) -> bool {
        self.folder.is_some()
    }

    /// The binary stored for `key`, if it is there and whole.
    pub fn load(&self, key: &str) -> Option<Vec<u8>> {
        let bytes = fs::read(self.path(key)?).ok()?;
        let (body, sum) = bytes.split_at_checked(bytes.len().checked_sub(8)?)?;
        if u64::from_le_bytes(*sum.first_chunk()?) != spmv_core::fnv1a(body) {
            return None;
        }
        let rest = body.strip_prefix(MAGIC)?;
        let (found, rest) = field(rest)?;
        let (binary, rest) = field(rest)?;
        (found == key.as_bytes() && rest.is_empty()).then(|| binary.to_vec())
    }

    /// Stores a binary. A cache that cannot be written costs time, not correctness, so there is no error.
    pub fn store(&self, key: &str, binary: &[u8]) {
        let Some(path) = self.path(key) else { return };
        let mut bytes = MAGIC.to_vec();
        for field in [key.as_bytes(), binary] {
            bytes.extend((field.len() as u64).to_le_bytes());
            bytes.extend(field);
        }
        bytes.extend(spmv_core::fnv1a(&bytes).to_le_bytes());
        let _ = replace(&path, &bytes);
    }

    fn path(&self, key: &str) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(format!("{:016x}.bin", spmv_core::fnv1a(key.as_bytes()))))
    }
}

/// A length and as many bytes, and what follows them.
fn field(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)
}

/// Writes a file next to `path` and renames it, so that no reader ever meets half a file.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    static SERIAL: AtomicU32 = AtomicU32::new(0);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
    let temporary = path.with_extension(format!("{}-{serial}.tmp", std::process::id()));
    let written = fs::write(&temporary, bytes).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The first error is the one that counts.
        let _ = fs::remove_file(&temporary);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binary_comes_back_only_for_its_own_key() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(Some(folder.path().join("new")));
        assert_eq!(cache.load("key"), None);
        cache.store("key", b"code");
        assert_eq!(cache.load("key").unwrap(), b"code");
        assert_eq!(cache.load("kez"), None);
        let other = cache.path("other").unwrap();
        fs::copy(cache.path("key").unwrap(), other).unwrap();
        assert_eq!(cache.load("other"), None, "the key in the file decides");
        cache.store("key", b"newer");
        assert_eq!(cache.load("key").unwrap(), b"newer");
    }

    #[test]
    fn a_damaged_file_is_no_binary() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(Some(folder.path().to_owned()));
        cache.store("key", &[7; 100]);
        let path = cache.path("key").unwrap();
        let good = fs::read(&path).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            fs::write(&path, &bad).unwrap();
            assert_eq!(cache.load("key"), None, "byte {at} changed");
            fs::write(&path, &good[..at]).unwrap();
            assert_eq!(cache.load("key"), None, "cut to {at} bytes");
        }
    }

    #[test]
    fn without_a_folder_nothing_is_stored() {
        let cache = Cache::new(None);
        cache.store("key", b"code");
        assert_eq!(cache.load("key"), None);
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_no_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let cache = Cache::new(Some(file.path().join("inside a file")));
        cache.store("key", b"code");
        assert_eq!(cache.load("key"), None);
    }
}
