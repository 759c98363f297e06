//! Compiled programs on disk.
//!
//! ```text
//! magic "spmv-binary-1\n", u64 key bytes, key, u64 binary bytes, binary, u64 checksum of all before it
//! ```
//!
//! The key is everything the binary depends on: device and driver, options, sources. It stands in the file
//! whole, so a file is used only for the very same key, and there is no version that one could forget to
//! raise. Numbers are little-endian.
//!
//! A driver executes what is loaded. So on Unix nothing is taken from a folder or a file that another user owns or can
//! write, or that is a symbolic link.

use std::path::{Path, PathBuf};

use crate::files;

const MAGIC: &[u8] = b"spmv-binary-1\n";

/// A folder of compiled programs, or none.
///
/// On Unix a folder that another user owns or can write, or that is a symbolic link, counts as none, and
/// [`refused`](Self::refused) says why. New folders have mode 0700 and files 0600. Other systems have no such checks: there
/// the folder must be one that only the user can write, as the user's cache folder is.
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
        self.folder().is_some()
    }

    /// Why the folder is not used, if it is refused.
    ///
    /// ```
    /// use spmv_backend::Cache;
    /// let file = tempfile::NamedTempFile::new()?;
    /// let cache = Cache::new(Some(file.path().to_owned()));
    /// assert!(cache.refused().unwrap().ends_with("is not a folder; name another"));
    /// assert!(!cache.is_kept());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn refused(&self) -> Option<String> {
        files::refused_folder(self.folder.as_ref()?)
    }

    /// The binary stored for `key`, if it is there and whole, and nobody else can have written it.
    pub fn load(&self, key: &str) -> Option<Vec<u8>> {
        Self::decode(key, &files::read_own(&self.path(key)?).ok()?)
    }

    /// The binary in the bytes of a file, if it is the one of `key`.
    #[doc(hidden)]
    pub fn decode(key: &str, bytes: &[u8]) -> Option<Vec<u8>> {
        let (body, sum) = bytes.split_at_checked(bytes.len().checked_sub(8)?)?;
        if u64::from_le_bytes(*sum.first_chunk()?) != spmv_core::fnv1a(body) {
            return None;
        }
        let rest = body.strip_prefix(MAGIC)?;
        let (found, rest) = field(rest)?;
        let (binary, rest) = field(rest)?;
        (found == key.as_bytes() && rest.is_empty()).then(|| binary.to_vec())
    }

    /// Stores a binary, and replaces a file that [`load`](Self::load) refuses. A cache that cannot be written costs time, not
    /// correctness, so there is no error.
    pub fn store(&self, key: &str, binary: &[u8]) {
        let Some(path) = self.path(key) else { return };
        let mut bytes = MAGIC.to_vec();
        for field in [key.as_bytes(), binary] {
            bytes.extend((field.len() as u64).to_le_bytes());
            bytes.extend(field);
        }
        bytes.extend(spmv_core::fnv1a(&bytes).to_le_bytes());
        let _ = files::replace(&path, &bytes);
    }

    /// The folder, unless it is refused. Its mode can change, so it is checked each time.
    fn folder(&self) -> Option<&Path> {
        self.folder.as_deref().filter(|folder| files::refused_folder(folder).is_none())
    }

    fn path(&self, key: &str) -> Option<PathBuf> {
        Some(self.folder()?.join(format!("{:016x}.bin", spmv_core::fnv1a(key.as_bytes()))))
    }
}

/// A length and as many bytes, and what follows them.
fn field(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)
}

#[cfg(test)]
mod tests {
    use std::fs;

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

    #[test]
    fn what_is_no_file_of_a_cache_has_no_binary() {
        for bytes in [&b""[..], MAGIC, &[0; 8], &[0xff; 64]] {
            assert_eq!(Cache::decode("key", bytes), None);
        }
        // A key that is said to be longer than memory, with the right checksum.
        let mut long = [MAGIC, &u64::MAX.to_le_bytes()].concat();
        long.extend(spmv_core::fnv1a(&long).to_le_bytes());
        assert_eq!(Cache::decode("key", &long), None);
    }
}

#[cfg(all(test, unix))]
mod unix_tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    /// Nobody's, on every Unix that the tests run on.
    const ANOTHER_USER: u32 = 65534;

    fn filled() -> (tempfile::TempDir, Cache) {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(Some(folder.path().join("kept")));
        cache.store("key", b"code");
        assert_eq!((cache.load("key").as_deref(), cache.refused()), (Some(&b"code"[..]), None));
        (folder, cache)
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    /// Loads nothing, stores nothing, and says why.
    #[track_caller]
    fn is_refused(cache: &Cache, why: &str) {
        let folder = cache.folder.clone().unwrap();
        let n_files = || fs::read_dir(&folder).unwrap().count();
        let before = n_files();
        assert_eq!(cache.load("key"), None);
        cache.store("another", b"code");
        assert_eq!((n_files(), cache.is_kept()), (before, false));
        let refused = cache.refused().unwrap();
        assert!(refused.contains(why) && refused.starts_with(&*folder.to_string_lossy()), "{refused}");
    }

    #[test]
    fn a_folder_that_others_can_write_is_refused() {
        let (_folder, cache) = filled();
        let kept = cache.folder.clone().unwrap();
        for (bad, why) in [(0o777, "mode 0777"), (0o720, "mode 0720"), (0o702, "mode 0702")] {
            set_mode(&kept, bad);
            is_refused(&cache, why);
        }
        set_mode(&kept, 0o755);
        assert_eq!(cache.load("key").unwrap(), b"code", "others may read");
    }

    #[test]
    fn a_folder_that_is_a_link_is_refused() {
        let (folder, cache) = filled();
        let link = folder.path().join("link");
        symlink(cache.folder.unwrap(), &link).unwrap();
        is_refused(&Cache::new(Some(link)), "symbolic link");
    }

    #[test]
    fn a_file_that_others_can_write_is_not_loaded_but_replaced() {
        let (_folder, cache) = filled();
        let path = cache.path("key").unwrap();
        for bad in [0o666, 0o620, 0o602] {
            set_mode(&path, bad);
            assert_eq!(cache.load("key"), None, "{bad:o}");
        }
        cache.store("key", b"newer");
        assert_eq!((cache.load("key").unwrap(), mode(&path)), (b"newer".to_vec(), 0o600));
    }

    #[test]
    fn a_file_that_is_a_link_is_not_loaded_but_replaced() {
        let (folder, cache) = filled();
        let (path, target) = (cache.path("key").unwrap(), folder.path().join("target"));
        fs::rename(&path, &target).unwrap();
        symlink(&target, &path).unwrap();
        assert_eq!(cache.load("key"), None);
        cache.store("key", b"newer");
        assert_eq!(cache.load("key").unwrap(), b"newer");
        assert_eq!(
            Cache::decode("key", &fs::read(&target).unwrap()).unwrap(),
            b"code",
            "the target is as it was"
        );
    }

    #[test]
    fn a_pipe_is_no_file_and_not_waited_for() {
        let (_folder, cache) = filled();
        let path = cache.path("key").unwrap();
        fs::remove_file(&path).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert_eq!(cache.load("key"), None);
    }

    #[test]
    fn new_folders_and_files_are_for_their_owner_alone() {
        let (_folder, cache) = filled();
        assert_eq!(mode(cache.folder.as_ref().unwrap()), 0o700);
        assert_eq!(mode(&cache.path("key").unwrap()), 0o600);
    }

    /// Only root can give files away: for other users this checks nothing.
    #[test]
    fn what_another_user_owns_is_refused() {
        let (_folder, cache) = filled();
        let (kept, path) = (cache.folder.clone().unwrap(), cache.path("key").unwrap());
        if chown(&path, Some(ANOTHER_USER), None).is_err() {
            eprintln!("needs the right to give files to another user");
            return;
        }
        assert_eq!(cache.load("key"), None);
        cache.store("key", b"newer");
        assert_eq!(cache.load("key").unwrap(), b"newer");
        chown(&kept, Some(ANOTHER_USER), None).unwrap();
        is_refused(&cache, "belongs to user 65534");
    }
}
