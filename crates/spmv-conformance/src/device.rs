//! What the tests of a device, its driver and its faults share: a matrix whose tiles are dirty, and trials that are the
//! same for every backend.
//!
//! ```
//! use spmv_conformance::device::{expected, matrix};
//! let a = matrix(8);
//! assert_eq!((a.nnz(), expected(&a).len()), (18, 8));
//! ```

use std::fmt::{Debug, Display};
use std::fs;
use std::path::Path;

use libtest_mimic::{Failed, Trial};
use spmv_backend::{Backend, Error as DeviceError};
use spmv_core::Csr;
use spmv_exec::{Device, Error, Options, RunStats};
use spmv_fixup::FixupError;
use tempfile::TempDir;

/// How a trial ends.
pub type Outcome = Result<(), Failed>;

/// What was opened, or `None` where the device says that it has no such thing: only that is a reason to try nothing.
///
/// # Errors
/// Everything else that was wrong.
pub fn if_supported<D>(opened: Result<D, Error>) -> Result<Option<D>, Error> {
    match opened {
        Err(Error::Device(DeviceError::Unsupported { .. })) => Ok(None),
        opened => opened.map(Some),
    }
}

/// A trial's name, and what it does.
pub type Test = (&'static str, fn() -> Outcome);

/// Functions and their names, as [`trials`](crate::device::trials) takes them.
#[macro_export]
macro_rules! tests {
    ($($name:ident)*) => {
        [$((stringify!($name), $name as fn() -> $crate::device::Outcome)),*]
    };
}

/// Trials of a backend that has devices; ignored ones with the reason where it has none, or a failure where
/// `SPMV_REQUIRE` names it.
pub fn trials<E: Display>(
    backend: &str,
    devices: Result<(), E>,
    tests: impl IntoIterator<Item = Test>,
) -> Vec<Trial> {
    let tests = tests.into_iter();
    match devices.map_err(|e| e.to_string()) {
        Ok(()) => tests.map(|(name, test)| Trial::test(name, test)).collect(),
        Err(e) if crate::is_required(backend) => {
            vec![Trial::test("a_device_is_there", move || Err(e.into()))]
        }
        Err(e) => {
            let ignored = |(name, _)| Trial::test(format!("{name} [{e}]"), || Ok(())).with_ignored_flag(true);
            tests.map(ignored).collect()
        }
    }
}

/// The kernels of a language that is compiled on the device, and texts in `spec_segsum` that trials replace.
#[derive(Clone, Copy, Debug)]
pub struct Sources {
    /// Of their files, with the dot.
    pub extension: &'static str,
    /// Stem and text of each.
    pub texts: &'static [(&'static str, &'static str)],
    /// Where the row of a carry is stored.
    pub carried: &'static str,
    /// Where a dirty tile is counted.
    pub counted: &'static str,
    /// The same, but counting many.
    pub miscounted: &'static str,
}

impl Sources {
    /// Where a dirty tile is stored, in every language.
    const REPORTED: &'static str = "speculator[slot] = tile";

    /// A folder with a kernel in which `from` is replaced by `to`.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn faulty(&self, stem: &str, from: &str, to: &str) -> std::io::Result<TempDir> {
        let folder = tempfile::tempdir()?;
        let (_, text) = self.texts.iter().find(|(name, _)| *name == stem).expect("a stem");
        assert!(text.contains(from), "{stem} contains '{from}'");
        fs::write(folder.path().join(format!("{stem}{}", self.extension)), text.replace(from, to))?;
        Ok(folder)
    }

    /// Repair on the host finds what a kernel reported wrongly. `options` ask for it.
    ///
    /// # Errors
    /// Whatever the device says.
    pub fn corrupted_indices_are_errors<B: Backend>(
        &self,
        a: &Csr<f32>,
        options: &Options,
        open: impl Fn(&Path) -> Result<Device<B>, Error>,
    ) -> Outcome {
        let stem = stem_of(options);
        let fault = |from: &str, to: &str| -> Result<Error, Failed> {
            let folder = self.faulty(stem, from, to)?;
            Ok(multiply(&open(folder.path())?, a, options).expect_err("an index that cannot be"))
        };
        let e = fault(Self::REPORTED, "speculator[slot] = tile + 7777777u")?;
        let is_far = |tile: u32| tile >= 7_777_777;
        assert!(matches!(e, Error::Fixup(FixupError::TileOutOfRange { tile, .. }) if is_far(tile)), "{e}");
        let e = fault(Self::REPORTED, "speculator[slot] = 3u")?;
        assert!(matches!(e, Error::Fixup(_)), "the same tile twice: {e}");
        let carried = self.carried.replace("bunch_row", "0xffffffffu");
        let e = fault(self.carried, &carried)?;
        assert!(matches!(e, Error::Fixup(FixupError::CarryMisplaced { row: u32::MAX, .. })), "{e}");
        let e = fault(self.counted, self.miscounted)?;
        assert!(matches!(e, Error::Fixup(FixupError::TooManyTiles { .. })), "{e}");
        Ok(())
    }

    /// A device cannot return an error: it clips what is out of range. Rows of tiles that need no repair are right, and other
    /// vectors stay as they are.
    ///
    /// # Errors
    /// Whatever the device says.
    pub fn repair_on_the_device_survives_them<B: Backend>(
        &self,
        options: &Options,
        open: impl Fn(&Path) -> Result<Device<B>, Error>,
    ) -> Outcome {
        const CLEAN: usize = 4000;
        let (a, expected) = clean_then_dirty(CLEAN);
        let sevens = [7.0f32; 1000];
        let far = (Self::REPORTED, "speculator[slot] = 0xffffffffu");
        let wrong = (Self::REPORTED, "speculator[slot] = tile ^ 1u");
        let stem = stem_of(options);
        for (from, to) in [far, wrong, (self.counted, self.miscounted)] {
            let folder = self.faulty(stem, from, to)?;
            let device = open(folder.path())?;
            let others = [device.upload(&sevens)?, device.upload(&sevens)?];
            let (y, _) = multiply(&device, &a, options)?;
            assert_eq!(y.len(), expected.len());
            assert_eq!(y[..CLEAN], expected[..CLEAN], "{to}");
            for other in &others {
                assert_eq!(other.to_vec()?, sevens, "{to}");
            }
        }
        Ok(())
    }
}

/// The kernel of the algorithm that `options` ask for.
fn stem_of(options: &Options) -> &'static str {
    options.algorithm.facts().expect("options name an algorithm").kernel.stem()
}

/// A device is named by part of its name or by its index among `n_devices`; what is neither is refused with a list. `open`
/// opens by name.
///
/// # Errors
/// None; it panics.
pub fn an_unknown_device_is_named_with_those_there_are<D: Debug>(
    n_devices: usize,
    open: impl Fn(&str) -> Result<D, Error>,
) -> Outcome {
    // Names of devices hold digits, too.
    for asked in ["abacus".to_owned(), n_devices.to_string(), u64::MAX.to_string() + "0"] {
        let e = open(&asked).expect_err("no such device").to_string();
        assert!(e.contains(&format!("no device '{asked}'; there are 0: ")), "{e}");
    }
    open("0")?;
    Ok(())
}

/// What the driver cannot hold is refused with its size.
///
/// # Errors
/// None; it panics.
pub fn more_than_the_largest_buffer_is_out_of_memory<B: Backend>(device: &Device<B>) -> Outcome {
    let bytes = device.caps().max_buffer_bytes + 1;
    let e = device.backend().alloc(bytes).expect_err("too much");
    assert!(matches!(e, DeviceError::OutOfMemory { bytes: b, .. } if b == bytes), "{e}");
    // Bytes that 64 bits do not count are no small number of them.
    let e = device.zeros::<f64>(1 << 61).map(drop).expect_err("too much");
    assert!(matches!(e, Error::Device(DeviceError::OutOfMemory { .. })), "{e}");
    Ok(())
}

/// Bytes of a buffer that takes a device a while to fill.
const LARGE: u64 = 64 << 20;

/// Rows of 3, 0, 5 and 1 entries over and over: every tile of eight entries or more is dirty.
pub fn matrix(n_rows: usize) -> Csr<f32> {
    let lens = (0..n_rows).map(|r| [3, 0, 5, 1][r % 4]);
    let mut row_ptr = vec![0u32];
    row_ptr.extend(lens.scan(0, |sum, len| {
        *sum += len;
        Some(*sum)
    }));
    let nnz = row_ptr[n_rows] as usize;
    Csr::new(n_rows, 1, row_ptr, vec![0; nnz], (0..nnz).map(|e| (e % 5) as f32).collect()).expect("valid")
}

/// As many rows of two entries, whose tiles are clean, then rows as in [`matrix`]; and the product with one.
fn clean_then_dirty(n_clean: usize) -> (Csr<f32>, Vec<f32>) {
    let dirty = matrix(n_clean);
    let first = 2 * n_clean as u32;
    let clean_ptr = (0..n_clean as u32).map(|row| 2 * row);
    let row_ptr = clean_ptr.chain(dirty.row_ptr().iter().map(|offset| first + offset)).collect();
    let clean_vals = (0..first).map(|e| (e % 5) as f32);
    let vals: Vec<f32> = clean_vals.chain(dirty.vals().iter().copied()).collect();
    let a = Csr::new(n_clean + dirty.n_rows(), 1, row_ptr, vec![0; vals.len()], vals).expect("valid");
    let expected = expected(&a);
    (a, expected)
}

/// The matrix times one.
pub fn expected(a: &Csr<f32>) -> Vec<f32> {
    let rows = a.row_ptr().windows(2);
    rows.map(|r| a.vals()[r[0] as usize..r[1] as usize].iter().sum()).collect()
}

/// The matrix times one by a device, from poison.
///
/// # Errors
/// Whatever preparing or running says.
pub fn multiply<B: Backend>(
    device: &Device<B>,
    a: &Csr<f32>,
    options: &Options,
) -> Result<(Vec<f32>, RunStats), Error> {
    let prepared = device.prepare(a.view(), options)?;
    let mut workspace = prepared.workspace()?;
    let (x, mut y) = (device.upload(&[1.0])?, device.upload(&vec![f32::NAN; a.n_rows()])?);
    let stats = prepared.apply(&mut workspace, 1.0, &x, 0.0, &mut y)?;
    Ok((y.to_vec()?, stats))
}

/// As [`multiply`], and panics if the result is wrong.
///
/// # Errors
/// As [`multiply`].
pub fn check<B: Backend>(device: &Device<B>, a: &Csr<f32>, options: &Options) -> Result<RunStats, Error> {
    let (y, stats) = multiply(device, a, options)?;
    assert_eq!(y, expected(a));
    Ok(stats)
}

/// Buffers and streams are dropped, in either order, while the device fills the buffer.
///
/// # Errors
/// Whatever the driver says.
pub fn a_buffer_may_be_dropped_while_a_command_uses_it<B: Backend>(device: &Device<B>) -> Outcome {
    for keep_stream in [true, false, true] {
        let stream = device.backend().open_stream(false)?;
        let mut buffer = device.backend().alloc(LARGE)?;
        device.backend().zero(&stream, &mut buffer, LARGE)?;
        device.backend().submit(&stream)?;
        if keep_stream {
            drop(buffer);
        } else {
            drop(stream);
            drop(buffer);
        }
    }
    Ok(())
}

/// Fifty runs are forgotten, and what is written after each stays written.
///
/// # Errors
/// Whatever the device says.
pub fn a_forgotten_run_overwrites_nothing_later<B: Backend>(
    device: &Device<B>,
    a: &Csr<f32>,
    options: &Options,
) -> Outcome {
    let prepared = device.prepare(a.view(), options)?;
    let mut workspace = prepared.workspace()?;
    let (mut x, mut y) = (device.upload(&[1.0])?, device.zeros(a.n_rows())?);
    let sevens = vec![7.0; a.n_rows()];
    for _ in 0..50 {
        std::mem::forget(prepared.enqueue(&mut workspace, 1.0, &x, 0.0, &mut y)?);
        assert!(matches!(y.to_vec(), Err(Error::Unrepaired)));
        x.write(&[1.0])?;
        y.write(&sevens)?;
        assert_eq!(y.to_vec()?, sevens, "{}", device.caps().name);
    }
    prepared.apply(&mut workspace, 1.0, &x, 0.0, &mut y)?;
    assert_eq!(y.to_vec()?, expected(a));
    Ok(())
}

/// A panic while memory is mapped reaches the caller, if the device maps at all, and the memory may be mapped again.
///
/// # Errors
/// Whatever the device says.
pub fn a_panic_while_memory_is_mapped_is_passed_on<B: Backend>(device: &Device<B>) -> Outcome {
    let mut vec = device.upload(&[1.0f32; 8])?;
    let panics = || vec.map(|_| std::panic::panic_any("on purpose"));
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics));
    // Where the host cannot map there is nothing to panic in.
    assert_eq!(caught.is_err(), device.caps().memory.host_can_map());
    if caught.is_err() {
        vec.map(|values| values[3] = 2.0)?;
        assert_eq!(vec.to_vec()?, [1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0, 1.0]);
    }
    Ok(())
}

/// A panic while launches are captured reaches the caller, if the device captures at all, and the stream works again.
///
/// # Errors
/// Whatever the device says.
pub fn a_panic_while_launches_are_captured_ends_the_capture<B: Backend>(device: &Device<B>) -> Outcome {
    let backend = device.backend();
    let stream = backend.open_stream(false)?;
    let mut buffer = backend.alloc(4)?;
    backend.write(&stream, &mut buffer, 0, &[7; 4])?;
    let panics = || {
        backend.capture::<DeviceError>(&stream, || {
            backend.zero(&stream, &mut buffer, 4)?;
            std::panic::panic_any("on purpose")
        })
    };
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics));
    assert!(matches!(caught, Err(_) | Ok(Err(DeviceError::Unsupported { .. }))));
    let mut bytes = [0; 4];
    backend.read(&stream, &buffer, 0, &mut bytes)?;
    assert_eq!(bytes, [7; 4], "what was captured did not run");
    backend.zero(&stream, &mut buffer, 4)?;
    backend.read(&stream, &buffer, 0, &mut bytes)?;
    assert_eq!(bytes, [0; 4]);
    Ok(())
}

/// Both stages of speculative segmented sum take time by the device's timestamps, and no more than the caller measures.
///
/// # Errors
/// Whatever the device says.
pub fn a_timed_workspace_reports_device_times<B: Backend>(
    device: &Device<B>,
    a: &Csr<f32>,
    options: &Options,
) -> Outcome {
    let prepared = device.prepare(a.view(), options)?;
    let mut workspace = prepared.timed_workspace()?;
    let (x, mut y) = (device.upload(&[1.0])?, device.zeros(a.n_rows())?);
    for _ in 0..3 {
        let wall = std::time::Instant::now();
        let stats = prepared.apply(&mut workspace, 1.0, &x, 0.0, &mut y)?;
        let wall = wall.elapsed().as_secs_f64();
        assert!(stats.stage1_s > 0.0 && stats.stage2_s > 0.0, "{stats:?}");
        assert!(stats.stage1_s + stats.stage2_s <= wall, "{stats:?} within {wall} s");
        assert_eq!(y.to_vec()?, expected(a));
    }
    Ok(())
}
