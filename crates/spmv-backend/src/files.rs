//! Files that the library keeps for its user.
//!
//! They are replaced as a whole, so that a reader finds the old contents or the new ones. On Unix only their owner can
//! read or write them, and what is executed is taken only from files and folders that nobody else can write. Other systems
//! have no such checks here: there, the user's cache folder is as safe as the system makes it.

use std::fs::{self, DirBuilder, File, Metadata};
use std::io::{self, Read, Write};
use std::path::Path;

/// Writes a file, and the folders that it is in.
///
/// The bytes go to a file of a random name in the same folder, which then takes the name `path`. A reader never finds half
/// of them, and an error or a crash leaves what was there. On Unix the file has mode 0600 and new folders have 0700; a
/// symbolic link at `path` is replaced, not followed.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("new/numbers.txt");
/// spmv_backend::files::replace(&path, b"1 2 3")?;
/// spmv_backend::files::replace(&path, b"4 5")?;
/// assert_eq!(std::fs::read(&path)?, b"4 5");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// Whatever the system says: a folder that cannot be made or written, no space.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace_by(path, |file| file.write_all(bytes))
}

fn replace_by(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    create_folder(folder)?;
    // Not one that exists, nor one whose name can be guessed. It is removed if what follows fails.
    let mut file = tempfile::Builder::new().prefix(".spmv-").suffix(".tmp").tempfile_in(folder)?;
    write(file.as_file_mut())?;
    // Some file systems rename before they write.
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Why what is in a folder may be someone else's; `None` also if there is no folder yet.
pub(crate) fn refused_folder(folder: &Path) -> Option<String> {
    let why = match fs::symlink_metadata(folder) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return None,
        Err(e) => e.to_string(),
        Ok(found) if found.is_dir() => foreign(&found)?,
        // Its target can be exchanged after it was checked.
        Ok(found) if found.is_symlink() && cfg!(unix) => "is a symbolic link; name the folder itself".into(),
        Ok(found) if found.is_symlink() => return None,
        Ok(_) => "is not a folder; name another".into(),
    };
    Some(format!("{}: {why}", folder.display()))
}

/// Reads a file that only the user can have written. The open file is checked, not its name, so that it cannot be
/// exchanged between check and use.
pub(crate) fn read_own(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = open(path)?;
    let found = file.metadata()?;
    let foreign = if found.is_file() { foreign(&found) } else { Some("is not a file".into()) };
    if let Some(why) = foreign {
        let why = format!("{}: {why}", path.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    // Without NONBLOCK, to open a pipe is to wait for who writes it.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Why another user may have written it.
#[cfg(unix)]
fn foreign(found: &Metadata) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let (owner, user) = (found.uid(), rustix::process::geteuid().as_raw());
    let mode = found.mode() & 0o7777;
    if owner != user {
        return Some(format!("belongs to user {owner}, not to {user}; name one of your own"));
    }
    (mode & 0o022 != 0).then(|| format!("other users can write it (mode {mode:04o}); run chmod go-w on it"))
}

#[cfg(not(unix))]
fn foreign(_: &Metadata) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        fs::read_dir(folder).unwrap().map(name).collect()
    }

    #[test]
    fn a_write_that_fails_half_way_leaves_the_old_file_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        replace(&path, b"old").unwrap();
        let half = |file: &mut File| {
            file.write_all(b"ne")?;
            Err(io::Error::other("no space"))
        };
        assert_eq!(replace_by(&path, half).unwrap_err().to_string(), "no space");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(folder.path()), ["file"]);
    }

    #[test]
    fn where_no_file_can_be_the_error_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        replace(&folder.path().join("file"), b"old").unwrap();
        fs::create_dir(folder.path().join("taken")).unwrap();
        assert!(replace(&folder.path().join("file/inside"), b"new").is_err());
        assert!(replace(&folder.path().join("taken"), b"new").is_err());
        let mut names = names(folder.path());
        names.sort_unstable();
        assert_eq!(names, ["file", "taken"]);
    }

    #[test]
    fn a_reader_never_finds_half_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let contents = [vec![b'a'; 1 << 18], vec![b'b'; 1 << 10]];
        replace(&path, &contents[0]).unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for i in 0..100 {
                    replace(&path, &contents[i % 2]).unwrap();
                }
                is_over.store(true, Ordering::Relaxed);
            });
            while !is_over.load(Ordering::Relaxed) {
                // Windows refuses to open a file while it is being replaced.
                let Ok(found) = fs::read(&path) else { continue };
                assert!(contents.contains(&found), "{} bytes", found.len());
            }
        });
    }

    #[cfg(unix)]
    #[test]
    fn files_and_new_folders_are_for_their_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        let path = folder.path().join("new/deep/file");
        replace(&path, b"1").unwrap();
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(&folder.path().join("new")), 0o700);
        assert_eq!(mode(&folder.path().join("new/deep")), 0o700);
        fs::set_permissions(&path, PermissionsExt::from_mode(0o666)).unwrap();
        replace(&path, b"2").unwrap();
        assert_eq!(mode(&path), 0o600, "one that others could write is not kept");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_replaced_and_its_target_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let [target, link] = ["target", "link"].map(|name| folder.path().join(name));
        replace(&target, b"old").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        replace(&link, b"new").unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"old");
        assert_eq!(fs::read(&link).unwrap(), b"new");
        assert!(!fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}
