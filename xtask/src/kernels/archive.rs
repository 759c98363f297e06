//! Archives of PTX: packed, and compared with the committed ones.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use lzma_rust2::{LzipOptions, LzipWriter};
use rayon::prelude::*;
use spmv_kernels_cuda::archive::{MARK, texts};
use spmv_kernels_cuda::{TARGETS, Target};

use super::{Built, FOLDER, jobs};

/// Bytes that the packer keeps to find repetitions in: more than most stems' texts take, no more than users' memory should.
const LOOK_BACK: u32 = 4 << 20;

/// The longest repetition that the packer looks for; the format allows no longer one.
const LONGEST: u32 = 273;

/// A target's archive as the sources have it now.
#[derive(Debug)]
pub(super) struct Archive {
    path: PathBuf,
    bytes: Vec<u8>,
    /// How the file differs from `bytes`: no line if it does not.
    pub(super) differences: Vec<String>,
}

/// What the archives of the folder shall hold: what was built, and what they hold already of other kernels.
///
/// # Errors
/// If an archive is damaged and not all of its texts were built.
pub(super) fn all(folder: &Path, built: &[Built]) -> anyhow::Result<Vec<Archive>> {
    TARGETS.par_iter().map(|target| Archive::new(folder, target, built)).collect()
}

impl Archive {
    fn new(folder: &Path, target: &Target, built: &[Built]) -> anyhow::Result<Self> {
        let path = folder.join(file_name(target));
        let file = std::fs::read(&path).ok();
        let names: Vec<String> =
            jobs(&[])?.iter().filter(|job| job.target == target).map(|job| job.name()).collect();
        let built: Vec<&Built> = built.iter().filter(|built| built.job.target == target).collect();
        let unpacked: std::io::Result<Vec<String>> = file.iter().flat_map(|file| texts(file)).collect();
        let found = match unpacked {
            Ok(found) => found,
            Err(_) if built.len() == names.len() => Vec::new(),
            Err(e) => Err(e).with_context(|| format!("{}: run without --only", path.display()))?,
        };

        let (mut wanted, mut differences) = (Vec::new(), Vec::new());
        for name in &names {
            let old = found.iter().find(|text| name_of(text) == name).map(String::as_str);
            let new = built.iter().find(|built| built.job.name() == *name).map(|built| built.text.as_str());
            if new.is_some_and(|new| Some(new) != old) {
                differences.push(format!("{name}: is not what the sources build"));
            }
            wanted.extend(new.or(old));
        }
        let strangers =
            found.iter().map(|text| name_of(text)).filter(|name| !names.iter().any(|n| n == name));
        differences.extend(strangers.map(|name| format!("{name}: is of no kernel")));
        let bytes = pack(&wanted)?;
        if differences.is_empty() && file.as_ref() != Some(&bytes) {
            differences.push(format!(
                "{}: has its texts in another order, or is packed otherwise than lzma-rust2 does now",
                file_name(target)
            ));
        }
        Ok(Self { path, bytes, differences })
    }
}

/// Writes the archives that differ, and removes files of targets that are no more.
pub(super) fn write(folder: &Path, archives: &[Archive]) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    for archive in archives.iter().filter(|archive| !archive.differences.is_empty()) {
        std::fs::write(&archive.path, &archive.bytes).with_context(|| archive.path.display().to_string())?;
    }
    for name in strangers(folder) {
        std::fs::remove_file(folder.join(&name)).with_context(|| name.clone())?;
        println!("removed {FOLDER}/{name}, which is of no target");
    }
    Ok(())
}

/// Names what [`write()`] would change, as an error.
pub(super) fn compare(folder: &Path, archives: &[Archive]) -> anyhow::Result<()> {
    let mut problems: Vec<String> =
        archives.iter().flat_map(|archive| archive.differences.iter().cloned()).collect();
    problems.extend(strangers(folder).iter().map(|name| format!("{name}: is of no target")));
    ensure!(problems.is_empty(), "{FOLDER}: {}\nrun `cargo xtask kernels` and commit", problems.join("\n"));
    Ok(())
}

/// Bytes of the archives together.
pub(super) fn n_bytes(archives: &[Archive]) -> usize {
    archives.iter().map(|archive| archive.bytes.len()).sum()
}

fn file_name(target: &Target) -> String {
    format!("{}.ptx.lz", target.name)
}

/// Stem, type of values and target, as [`super::Job::name`] writes them.
fn name_of(text: &str) -> &str {
    text.strip_prefix(MARK).and_then(|rest| rest.split(',').next()).unwrap_or_default()
}

/// One lzip member for the texts of each stem, which follow each other: no names, no times, so that the same texts give the same bytes.
fn pack(texts: &[&str]) -> std::io::Result<Vec<u8>> {
    let member = |texts: &&[&str]| {
        let mut options = LzipOptions::with_preset(9);
        options.lzma_options.dict_size = LOOK_BACK;
        options.lzma_options.nice_len = LONGEST;
        let mut writer = LzipWriter::new(Vec::new(), options);
        texts.iter().try_for_each(|text| writer.write_all(text.as_bytes()))?;
        writer.finish()
    };
    let stems: Vec<&[&str]> = texts.chunk_by(|a, b| stem_of(a) == stem_of(b)).collect();
    Ok(stems.par_iter().map(member).collect::<std::io::Result<Vec<_>>>()?.concat())
}

fn stem_of(text: &str) -> Option<&str> {
    name_of(text).split(' ').next()
}

/// Files of the folder that are the archive of no target, by name.
fn strangers(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.path().is_file());
    let mut names: Vec<String> = files.map(|file| file.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| !TARGETS.iter().any(|target| file_name(target) == *name));
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use spmv_kernels_cuda::archive::members;

    use super::super::tests::built;
    use super::*;

    fn committed() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(FOLDER)
    }

    #[test]
    fn texts_come_back_as_they_were_packed() {
        let wanted = [
            "// spmv: a f32 x, sources 0\n.version 6.0\n",
            "// spmv: b f32 x, sources 1\n",
            "// spmv: b f64 x, sources 1\n",
        ];
        let bytes = pack(&wanted).unwrap();
        assert_eq!(bytes, pack(&wanted).unwrap());
        assert_eq!(texts(&bytes).map(Result::unwrap).collect::<Vec<_>>(), wanted);
        assert_eq!(wanted.map(name_of), ["a f32 x", "b f32 x", "b f64 x"]);
        let of_members = members(&bytes).unwrap().into_iter().map(|member| texts(member).count());
        assert_eq!(of_members.collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn what_differs_is_named_and_what_was_not_built_stays() {
        // Those that are committed take half a minute to pack. The others are their first texts, packed again.
        let (committed, short) = (committed(), tempfile::tempdir().unwrap());
        let is_full = spmv_backend::env::set("SPMV_FULL").is_some();
        for target in TARGETS {
            let file = std::fs::read(committed.join(file_name(target))).unwrap();
            let first: Vec<_> = texts(&file).take(5).map(Result::unwrap).collect();
            let first: Vec<_> = first.iter().map(String::as_str).collect();
            std::fs::write(short.path().join(file_name(target)), pack(&first).unwrap()).unwrap();
        }
        let folder = if is_full { &committed } else { short.path() };
        let archives = all(folder, &[built("f32", Default::default())]).unwrap();
        let of = |name: &str| archives.iter().find(|a| a.path.ends_with(format!("{name}.ptx.lz"))).unwrap();
        assert_eq!(of("sm_60").differences, ["axpby f32 sm_60: is not what the sources build"]);
        assert_eq!(of("sm_90").differences, [""; 0]);
        assert!(of("sm_90").bytes == std::fs::read(&of("sm_90").path).unwrap(), "as it is packed");
        let error = compare(folder, &archives).unwrap_err().to_string();
        assert!(error.ends_with("run `cargo xtask kernels` and commit"), "{error}");
        let texts: Vec<_> = texts(&of("sm_60").bytes).map(Result::unwrap).collect();
        assert_eq!(texts.len(), if is_full { jobs(&[]).unwrap().len() / TARGETS.len() } else { 5 });
        assert!(texts.iter().any(|text| text == "// spmv: axpby f32 sm_60, sources\n"));
    }

    #[test]
    fn an_archive_that_is_not_there_differs_and_a_file_of_no_target_is_named() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let archives = all(folder, &[built("f32", Default::default())]).unwrap();
        assert_eq!(archives[0].differences.len(), 1);
        assert!(strangers(folder).contains(&"Cargo.toml".to_owned()));
        let error = compare(folder, &[]).unwrap_err().to_string();
        assert!(error.contains("Cargo.toml: is of no target"), "{error}");
    }
}
