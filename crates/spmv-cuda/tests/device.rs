//! What a device, its driver and its kernels may do wrong, and what is repaired where.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, thread};

use libtest_mimic::Failed;
use spmv_backend::{Backend, Error as DeviceError, MemoryModel};
use spmv_conformance::device::{self as shared, Outcome, expected};
use spmv_conformance::tests;
use spmv_core::{Csr, Tiling};
use spmv_cuda::{Cuda, Mask, Memory, Options, devices};
use spmv_exec::{Algorithm, Device, Error, Fixup, Options as ExecOptions, RunStats};
use spmv_fixup::FixupError;
use spmv_io::generate::{self, EmptyRows};

/// With this variable set the program does what loses a device, for the test that needs a process of its own.
const LOSE: &str = "SPMV_TEST_LOSE_A_DEVICE";

fn main() {
    if std::env::var_os(LOSE).is_some() {
        if let Err(e) = lose_a_device() {
            println!("{}", e.message().unwrap_or_default());
            std::process::exit(1);
        }
        return;
    }
    let tests = tests! {
        managed_memory_is_repaired_in_place
        device_memory_is_repaired_on_the_device_or_by_copies
        an_index_that_a_kernel_corrupted_is_an_error
        repair_on_the_device_survives_a_corrupted_index
        a_kernel_that_does_not_compile_says_why
        ptx_that_is_too_new_asks_for_a_newer_driver
        a_kernel_that_fails_loses_the_device_alone
        a_tiling_that_is_not_built_is_refused
        an_unknown_device_is_named_with_those_there_are
        more_than_the_largest_buffer_is_out_of_memory
        more_than_the_memory_is_out_of_memory
        copies_of_any_size_come_back
        a_buffer_may_be_dropped_while_a_command_uses_it
        a_forgotten_run_overwrites_nothing_later
        a_panic_while_memory_is_mapped_harms_no_other
        a_panic_while_launches_are_captured_ends_the_capture
        memory_dropped_while_launches_are_captured_comes_back
        work_of_any_opening_waits_until_the_host_has_left_managed_memory
        a_timed_workspace_reports_device_times
        runs_are_captured
        every_run_has_the_same_bits
    };
    let trials = shared::trials("cuda", devices().map(drop), tests);
    spmv_conformance::run(trials, Some(1));
}

fn open(change: impl FnOnce(&mut Options)) -> Result<Device<Cuda>, Error> {
    let mut options = Options::from_env()?;
    change(&mut options);
    Device::new(Cuda::open(options)?)
}

fn in_memory(memory: Memory) -> Result<Device<Cuda>, Error> {
    open(|o| o.memory = Some(memory))
}

fn speculative(fixup: Fixup) -> ExecOptions {
    let tiling = Some(Tiling::new(32, 1, 2, 1).expect("a small tiling"));
    ExecOptions { algorithm: Algorithm::SpeculativeSegmentedSum, tiling, fixup, ..ExecOptions::default() }
}

/// Rows of the matrix that is multiplied.
const ROWS: usize = 4000;

fn matrix() -> Csr<f32> {
    shared::matrix(ROWS)
}

fn multiply(device: &Device<Cuda>, options: &ExecOptions) -> Result<(Vec<f32>, RunStats), Error> {
    shared::multiply(device, &matrix(), options)
}

fn check(device: &Device<Cuda>, fixup: Fixup) -> Result<RunStats, Error> {
    shared::check(device, &matrix(), &speculative(fixup))
}

fn managed_memory_is_repaired_in_place() -> Outcome {
    for no_concurrent_access in [false, true] {
        let device = open(|o| {
            o.memory = Some(Memory::Managed);
            o.mask.no_concurrent_access = no_concurrent_access;
        })?;
        assert!(device.caps().memory.host_can_map());
        if no_concurrent_access {
            assert_eq!(device.caps().memory, MemoryModel::UnifiedMapped);
        }
        let stats = check(&device, Fixup::Auto)?;
        assert!(stats.dirty_tiles.is_some_and(|n| n >= 200), "{stats:?}");
        assert_eq!(stats.y_bytes_copied, 0, "nothing of y is copied");
    }
    Ok(())
}

fn device_memory_is_repaired_on_the_device_or_by_copies() -> Outcome {
    let device = in_memory(Memory::Device)?;
    assert_eq!(device.caps().memory, MemoryModel::Discrete);
    let stats = check(&device, Fixup::Auto)?;
    assert_eq!((stats.dirty_tiles, stats.y_bytes_copied), (None, 0));
    let stats = check(&device, Fixup::Host)?;
    assert_eq!(stats.y_bytes_copied, 2 * 4 * matrix().n_rows() as u64);
    Ok(())
}

/// PTX of one entry that takes `params`, letters of `u` (32 bits), `f` (32 bits) and `p` (pointers), and does `body`.
fn ptx(entry: &str, params: &str, body: &str) -> String {
    let kind = |letter| match letter {
        'u' => ".u32",
        'f' => ".f32",
        _ => ".u64",
    };
    let params: Vec<String> =
        params.chars().enumerate().map(|(i, letter)| format!(".param {} p{i}", kind(letter))).collect();
    format!(
        ".version 6.0\n.target sm_60\n.address_size 64\n.visible .entry {entry}({})\n{{\n.reg .pred %q;\n.reg .u32 %r<4>;\n\
         .reg .u64 %rd<4>;\n{body}\nret;\n}}\n",
        params.join(", ")
    )
}

/// A folder with one kernel instead of the crate's.
fn replaced(stem: &str, ptx: &str) -> Result<(tempfile::TempDir, Device<Cuda>), Failed> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join(format!("{stem}_f32.ptx")), ptx)?;
    let device = open(|o| o.kernels = Some(folder.path().to_owned()))?;
    Ok((folder, device))
}

/// A `spec_segsum` that reports one dirty tile of this number, or this many of them, and no sums.
fn reporting(count: u32, tile: u32) -> String {
    let body = format!(
        "ld.param.u64 %rd0, [p13];\nmov.u32 %r0, {count};\nst.global.u32 [%rd0], %r0;\nld.param.u64 %rd1, [p14];\n\
         mov.u32 %r1, {tile};\nst.global.u32 [%rd1], %r1;"
    );
    ptx("spec_segsum_32x1", "uuuuupppppppppp", &body)
}

fn an_index_that_a_kernel_corrupted_is_an_error() -> Outcome {
    let n_tiles = matrix().nnz().div_ceil(32);
    let fault = |count, tile| -> Result<Error, Failed> {
        let (_folder, device) = replaced("spec_segsum", &reporting(count, tile))?;
        Ok(multiply(&device, &speculative(Fixup::Host)).expect_err("an index that cannot be"))
    };
    let e = fault(1, 7_777_777)?;
    assert!(matches!(e, Error::Fixup(FixupError::TileOutOfRange { tile: 7_777_777, .. })), "{e}");
    let e = fault(0x1000_0000, 3)?;
    let too_many = matches!(e, Error::Fixup(FixupError::TooManyTiles { n_tiles: n, .. }) if n == n_tiles);
    assert!(too_many, "{e}");
    Ok(())
}

/// A device cannot return an error: it clips what is out of range, and the rest stays well.
fn repair_on_the_device_survives_a_corrupted_index() -> Outcome {
    for (count, tile) in [(1, u32::MAX), (0x1000_0000, 3)] {
        let (_folder, device) = replaced("spec_segsum", &reporting(count, tile))?;
        multiply(&device, &speculative(Fixup::Device))?;
    }
    check(&open(|_| ())?, Fixup::Device)?;
    Ok(())
}

fn a_kernel_that_does_not_compile_says_why() -> Outcome {
    let (_folder, device) = replaced("spec_segsum", &ptx("spec_segsum_32x1", "u", "oops;"))?;
    let e = multiply(&device, &speculative(Fixup::Auto)).expect_err("no kernel");
    let Error::Device(DeviceError::Compile { kernel, log, .. }) = &e else {
        return Err(e.to_string().into());
    };
    assert!(kernel.starts_with("spec_segsum/f32"), "{kernel}");
    assert!(log.contains("CUDA_ERROR_INVALID_PTX") && log.contains("line"), "{log}");
    // The device is none the worse for it.
    let whole = ExecOptions { algorithm: Algorithm::CsrVector, ..ExecOptions::default() };
    assert_eq!(multiply(&device, &whole)?.0, expected(&matrix()));
    let (_folder, device) = replaced("spec_segsum", &ptx("another", "u", ""))?;
    let e = multiply(&device, &speculative(Fixup::Auto)).expect_err("no entry").to_string();
    assert!(e.contains("spec_segsum_32x1"), "{e}");
    Ok(())
}

fn ptx_that_is_too_new_asks_for_a_newer_driver() -> Outcome {
    let text = ptx("spec_segsum_32x1", "u", "").replace(".version 6.0", ".version 99.0");
    let (_folder, device) = replaced("spec_segsum", &text)?;
    let e = multiply(&device, &speculative(Fixup::Auto)).expect_err("too new").to_string();
    assert!(e.contains("PTX 99.0") && e.contains("install a newer driver"), "{e}");
    Ok(())
}

/// This very program once more, since a context that is lost may take others of the process with it.
fn a_kernel_that_fails_loses_the_device_alone() -> Outcome {
    for how in ["trap", "stray"] {
        let output = Command::new(std::env::current_exe()?).env(LOSE, how).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{how}: {} {text}", output.status);
    }
    Ok(())
}

fn lose_a_device() -> Outcome {
    let whole = ExecOptions { algorithm: Algorithm::CsrScalar, ..ExecOptions::default() };
    let body = match std::env::var(LOSE)?.as_str() {
        "trap" => "trap;",
        _ => "mov.u32 %r0, 0;\nmov.u64 %rd0, 64;\nst.global.u32 [%rd0], %r0;",
    };
    let (_folder, device) = replaced("csr_scalar", &ptx("csr_scalar_32x1", "uuuffppppp", body))?;
    let e = multiply(&device, &whole).expect_err("a kernel that fails");
    let Error::Device(DeviceError::DeviceLost { .. }) = &e else { return Err(e.to_string().into()) };
    assert!(e.to_string().contains("use another backend"), "{e}");
    // All that is left of it answers so, and hangs nowhere.
    let e = device.upload(&[1.0f32]).expect_err("lost");
    assert!(matches!(e, Error::Device(DeviceError::DeviceLost { .. })), "{e}");
    drop(device);
    // The driver may give the process no device any more; then it says so, and others may be opened.
    if let Err(e) = open(|_| ()).and_then(|device| check(&device, Fixup::Auto)) {
        assert!(matches!(e, Error::Device(DeviceError::Unavailable { .. })), "{e}");
    }
    Ok(())
}

fn a_tiling_that_is_not_built_is_refused() -> Outcome {
    let device = open(|_| ())?;
    for (t, w) in [(32, 5), (8, 4), (64, 4)] {
        let tiling = Some(Tiling::new(t, w, 1, 1).expect("a tiling"));
        let options = ExecOptions { tiling, ..speculative(Fixup::Auto) };
        let e = device.prepare(matrix().view(), &options).map(|_| ()).expect_err("not built").to_string();
        assert!(e.contains(&format!("T={t}, W={w}")) && e.contains("T=4,32 W=1,4,6,8,16"), "{e}");
    }
    Ok(())
}

fn an_unknown_device_is_named_with_those_there_are() -> Outcome {
    let n_devices = devices()?.len();
    shared::an_unknown_device_is_named_with_those_there_are(n_devices, |asked| {
        open(|o| o.device = Some(asked.to_owned()))
    })
}

fn more_than_the_largest_buffer_is_out_of_memory() -> Outcome {
    Memory::ALL
        .into_iter()
        .try_for_each(|memory| shared::more_than_the_largest_buffer_is_out_of_memory(&in_memory(memory)?))
}

/// Of device memory alone: the driver may promise more managed memory than there is.
fn more_than_the_memory_is_out_of_memory() -> Outcome {
    let device = in_memory(Memory::Device)?;
    let bytes = device.caps().max_buffer_bytes;
    let e = device.backend().alloc(bytes).map(|_| ()).expect_err("the driver itself takes some");
    assert_eq!(e, DeviceError::OutOfMemory { device: device.caps().name.clone(), bytes });
    check(&device, Fixup::Auto)?;
    Ok(())
}

fn copies_of_any_size_come_back() -> Outcome {
    const MIB: usize = 1 << 20;
    for memory in Memory::ALL {
        let device = in_memory(memory)?;
        let backend = device.backend();
        let stream = backend.open_stream(false)?;
        for bytes in [0, 1, 5, MIB - 1, MIB, MIB + 1, 2 * MIB, 7 * MIB + 3] {
            let mut buffer = backend.alloc(bytes as u64 + 3)?;
            let sent: Vec<u8> = (0..bytes).map(|i| (i * 31 + i / 4099) as u8).collect();
            backend.write(&stream, &mut buffer, 3, &sent)?;
            let mut back = vec![0; bytes];
            backend.read(&stream, &buffer, 3, &mut back)?;
            assert!(sent == back, "{memory:?} {bytes}");
            let e = backend.write(&stream, &mut buffer, 4, &sent).err();
            assert!(bytes == 0 || matches!(e, Some(DeviceError::OutOfBounds { .. })), "{bytes}");
        }
    }
    Ok(())
}

fn a_buffer_may_be_dropped_while_a_command_uses_it() -> Outcome {
    for memory in Memory::ALL {
        let device = in_memory(memory)?;
        shared::a_buffer_may_be_dropped_while_a_command_uses_it(&device)?;
        check(&device, Fixup::Auto)?;
    }
    Ok(())
}

fn a_forgotten_run_overwrites_nothing_later() -> Outcome {
    for memory in Memory::ALL {
        let device = in_memory(memory)?;
        shared::a_forgotten_run_overwrites_nothing_later(&device, &matrix(), &speculative(Fixup::Auto))?;
    }
    Ok(())
}

fn a_panic_while_memory_is_mapped_harms_no_other() -> Outcome {
    for no_concurrent_access in [false, true] {
        let mask = Mask { no_concurrent_access, ..Mask::default() };
        let device = open(|o| (o.memory, o.mask) = (Some(Memory::Managed), mask))?;
        assert!(device.caps().memory.host_can_map());
        shared::a_panic_while_memory_is_mapped_is_passed_on(&device)?;
        check(&device, Fixup::Auto)?;
    }
    Ok(())
}

fn a_panic_while_launches_are_captured_ends_the_capture() -> Outcome {
    shared::a_panic_while_launches_are_captured_ends_the_capture(&open(|_| ())?)
}

fn memory_dropped_while_launches_are_captured_comes_back() -> Outcome {
    let device = in_memory(Memory::Device)?;
    let backend = device.backend();
    let (stream, most) = (backend.open_stream(false)?, device.caps().max_buffer_bytes / 5 * 3);
    let (large, mut zeroed) = (backend.alloc(most)?, backend.alloc(64)?);
    backend.capture(&stream, || {
        drop(large);
        backend.zero(&stream, &mut zeroed, 64)
    })?;
    drop(backend.alloc(most)?);
    check(&device, Fixup::Auto)?;
    Ok(())
}

/// Where a device at work must not meet the host in managed memory, it is no matter who gave it the work.
fn work_of_any_opening_waits_until_the_host_has_left_managed_memory() -> Outcome {
    let mask = Mask { no_concurrent_access: true, ..Mask::default() };
    let one = open(|o| (o.memory, o.mask) = (Some(Memory::Managed), mask))?;
    for memory in Memory::ALL {
        let other = in_memory(memory)?;
        let mut vec = one.upload(&[1.0f32; 8])?;
        let zeroed = AtomicBool::new(false);
        thread::scope(|scope| -> Result<(), Error> {
            vec.map(|_| {
                scope.spawn(|| {
                    other.zeros::<f32>(8).expect("eight zeros");
                    zeroed.store(true, Ordering::SeqCst);
                });
                thread::sleep(Duration::from_millis(200));
                assert!(!zeroed.load(Ordering::SeqCst), "{memory:?}: it did not wait");
            })
        })?;
        assert!(zeroed.load(Ordering::SeqCst), "and then it ran");
    }
    Ok(())
}

fn a_timed_workspace_reports_device_times() -> Outcome {
    for fixup in [Fixup::Host, Fixup::Device] {
        shared::a_timed_workspace_reports_device_times(&open(|_| ())?, &matrix(), &speculative(fixup))?;
    }
    Ok(())
}

/// The conformance suite tries captured runs where a device has them; this one must.
fn runs_are_captured() -> Outcome {
    for (memory, runs) in [(Memory::Device, 3), (Memory::Managed, 1)] {
        let device = in_memory(memory)?;
        let a = matrix();
        let prepared = device.prepare(a.view(), &speculative(Fixup::Auto))?;
        let mut workspace = prepared.workspace()?;
        let (x, mut y) = (device.upload(&[1.0])?, device.upload(&vec![f32::NAN; a.n_rows()])?);
        let mut graph = prepared.capture(&mut workspace, runs, 1.0, &x, 0.0, &mut y)?;
        for _ in 0..3 {
            graph.replay()?;
        }
        drop(graph);
        assert_eq!(y.to_vec()?, expected(&a), "{memory:?}");
    }
    Ok(())
}

/// Every algorithm on five matrices a thousand times, some of them with dirty tiles.
fn every_run_has_the_same_bits() -> Outcome {
    const RUNS: usize = 1000;
    let device = open(|_| ())?;
    let matrices = [
        ("empty rows", generate::empty_rows(20_000, 20_000, EmptyRows::Random(0.3), 6, 1)?),
        ("power law", generate::power_law_rows(20_000, 20_000, 1, 5000, 1.8, 2)?),
        ("dense row", generate::dense_row(30_000, 30_000, 777, 3, 3)?),
        ("uniform", generate::uniform_rows(10_000, 10_000, 0, 40, 4)?),
        ("fem", generate::fem(3_000, 3, 20, 60, 5)?),
    ];
    let (mut n_dirty, mut n_tried) = (0, 0);
    for (name, a) in &matrices {
        for &algorithm in spmv_conformance::ALGORITHMS {
            let prepared =
                match device.prepare(a.view(), &ExecOptions { algorithm, ..ExecOptions::default() }) {
                    Err(Error::Format(_)) => continue,
                    prepared => prepared?,
                };
            n_tried += 1;
            let mut workspace = prepared.workspace()?;
            let x: Vec<f64> = (0..a.n_cols()).map(|i| ((i * 37 % 1009) as f64).sqrt() - 15.0).collect();
            let (x, mut y) = (device.upload(&x)?, device.zeros(a.n_rows())?);
            let mut run = || -> Result<Vec<u64>, Error> {
                prepared.apply(&mut workspace, 1.5, &x, 0.0, &mut y)?;
                Ok(y.to_vec()?.into_iter().map(f64::to_bits).collect())
            };
            let first = run()?;
            for i in 1..RUNS {
                assert!(run()? == first, "{name}, {algorithm}: run {i} differs");
            }
            if algorithm == Algorithm::SpeculativeSegmentedSum {
                n_dirty += workspace.dirty_tiles(&prepared)?;
            }
        }
    }
    assert!(n_dirty > 0, "some tiles were dirty");
    // Layouts refuse some: `dia` all of them, `ell` those of very uneven rows.
    assert!(n_tried >= matrices.len() * 7 + 2, "{n_tried} pairs of matrix and algorithm");
    Ok(())
}
