//! What a device, its driver and its kernels may do wrong, and what is repaired where.

use std::path::Path;
use std::process::Command;
use std::{fs, thread};

use libtest_mimic::{Failed, Trial};
use spmv_backend::{Backend, Error as DeviceError, KernelId, MemoryModel};
use spmv_conformance::device::{self as shared, Outcome, Sources, expected};
use spmv_conformance::{auto, tests};
use spmv_core::{Csr, Tiling};
use spmv_exec::{Algorithm, Device, Error, Fixup, Options as ExecOptions, RunStats};
use spmv_wgpu::{Mask, Memory, Options, Wgpu, devices};

/// With this variable set the program lists devices, for the test that needs a process of its own.
const LIST: &str = "SPMV_TEST_LIST_DEVICES";

fn main() {
    if std::env::var_os(LIST).is_some() {
        println!("{:?}", devices().map_err(|e| e.to_string()));
        return;
    }
    let tests = tests!(
        mapped_sums_are_repaired_in_place
        staged_sums_are_repaired_on_the_device_or_by_copies
        bytes_that_are_no_words_are_copied_alone
        an_index_that_a_kernel_corrupted_is_an_error
        repair_on_the_device_survives_a_corrupted_index
        a_kernel_that_does_not_compile_says_why
        compiled_pipelines_are_kept_and_damaged_ones_rebuilt
        directives_that_do_not_match_say_so
        an_unknown_device_is_named_with_those_there_are
        memory_that_a_device_lacks_is_refused
        more_than_the_largest_buffer_is_out_of_memory
        a_vector_beyond_the_binding_limit_is_refused
        a_buffer_may_be_dropped_while_a_command_uses_it
        a_forgotten_run_overwrites_nothing_later
        a_panic_while_memory_is_mapped_harms_no_other
        a_submission_that_another_thread_makes_fails_its_own_stream
        a_tile_wider_than_a_word_is_refused
        bunches_that_need_barriers_of_their_own_are_refused
        a_timed_workspace_reports_device_times
        auto_speculates_in_mapped_memory
        a_lost_device_is_an_error_and_another_opens
        vectors_may_come_and_go
        a_vector_is_read_while_others_multiply_by_it
        no_lane_takes_more_steps_than_the_driver_allows
    );
    let mut trials = shared::trials("wgpu", devices().map(drop), tests);
    trials.push(Trial::test("without_a_driver_the_reason_is_given", without_a_driver_the_reason_is_given));
    spmv_conformance::run(trials, None);
}

fn open(change: impl FnOnce(&mut Options)) -> Result<Device<Wgpu>, Error> {
    let mut options = Options::from_env()?;
    change(&mut options);
    Device::new(Wgpu::open(options)?)
}

/// A device of each kind of memory that it offers.
fn each_memory() -> impl Iterator<Item = Device<Wgpu>> {
    Memory::ALL.into_iter().filter_map(offered)
}

/// A device with such a memory, if it offers that; anything else that is wrong is a failure.
fn offered(memory: Memory) -> Option<Device<Wgpu>> {
    shared::if_supported(open(|o| o.memory = Some(memory))).expect("memory that the device offers")
}

fn speculative(fixup: Fixup) -> ExecOptions {
    let tiling = Some(Tiling::new(4, 2, 2, 1).expect("a small tiling"));
    ExecOptions { algorithm: Algorithm::SpeculativeSegmentedSum, tiling, fixup, ..ExecOptions::default() }
}

/// Rows of the matrix that is multiplied.
const ROWS: usize = 400;

fn matrix() -> Csr<f32> {
    shared::matrix(ROWS)
}

fn multiply(device: &Device<Wgpu>, fixup: Fixup) -> Result<(Vec<f32>, RunStats), Error> {
    shared::multiply(device, &matrix(), &speculative(fixup))
}

fn check(device: &Device<Wgpu>, fixup: Fixup) -> Result<RunStats, Error> {
    shared::check(device, &matrix(), &speculative(fixup))
}

fn mapped_sums_are_repaired_in_place() -> Outcome {
    let Some(device) = offered(Memory::Mapped) else { return Ok(()) };
    assert_eq!(device.caps().memory, MemoryModel::UnifiedMapped);
    let stats = check(&device, Fixup::Auto)?;
    assert!(stats.dirty_tiles.is_some_and(|n| n >= 100), "{stats:?}");
    assert_eq!(stats.y_bytes_copied, 0, "nothing of y is copied");
    Ok(())
}

/// By the heuristic and by a profile.
fn auto_speculates_in_mapped_memory() -> Outcome {
    let Some(device) = offered(Memory::Mapped) else { return Ok(()) };
    auto::speculates(&device)?;
    let profile = auto::favouring(device.caps(), &[KernelId::SpecSegsum, KernelId::CsrVector]);
    let opened = Wgpu::open(Options { memory: Some(Memory::Mapped), ..Options::from_env()? })?;
    auto::speculates(&Device::with_profiles(opened, vec![profile])?)
}

fn staged_sums_are_repaired_on_the_device_or_by_copies() -> Outcome {
    let device = open(|o| o.memory = Some(Memory::Staged))?;
    assert_eq!(device.caps().memory, MemoryModel::Discrete);
    let stats = check(&device, Fixup::Auto)?;
    assert_eq!((stats.dirty_tiles, stats.y_bytes_copied), (None, 0));
    let stats = check(&device, Fixup::Host)?;
    assert_eq!(stats.y_bytes_copied, 2 * 4 * matrix().n_rows() as u64);
    Ok(())
}

fn bytes_that_are_no_words_are_copied_alone() -> Outcome {
    for device in each_memory() {
        let device = device.backend();
        let (stream, mut buffer) = (device.open_stream(false)?, device.alloc(23)?);
        let mut all: Vec<u8> = (0..23).collect();
        device.write(&stream, &mut buffer, 0, &all)?;
        for (start, end) in [(0, 1), (1, 2), (3, 9), (4, 8), (5, 23), (22, 23), (20, 23), (7, 7)] {
            let bytes: Vec<u8> = (start..end).map(|i| 100 + i as u8).collect();
            device.write(&stream, &mut buffer, start as u64, &bytes)?;
            all[start..end].copy_from_slice(&bytes);
            let mut back = vec![0; end - start];
            device.read(&stream, &buffer, start as u64, &mut back)?;
            assert_eq!(back, bytes);
        }
        let mut back = [0; 23];
        device.read(&stream, &buffer, 0, &mut back)?;
        assert_eq!(back[..], all);
        for n in [1, 6, 23] {
            device.zero(&stream, &mut buffer, n as u64)?;
            all[..n].fill(0);
            device.read(&stream, &buffer, 0, &mut back)?;
            assert_eq!(back[..], all);
        }
        let e = device.write(&stream, &mut buffer, 20, &[0; 4]).expect_err("beyond the end");
        assert!(matches!(e, DeviceError::OutOfBounds { end: 24, len: 23, .. }), "{e}");
    }
    Ok(())
}

fn with_kernels(folder: &Path) -> Result<Device<Wgpu>, Error> {
    open(|o| o.kernels = Some(folder.to_owned()))
}

const SOURCES: Sources = Sources {
    extension: ".wgsl",
    texts: spmv_kernels_wgsl::SOURCES,
    carried: "sync_rows[group] = bunch_row",
    counted: "atomicAdd(&dirty_count[p.turn], 1u)",
    miscounted: "atomicAdd(&dirty_count[p.turn], 0x10000000u)",
};

fn an_index_that_a_kernel_corrupted_is_an_error() -> Outcome {
    SOURCES.corrupted_indices_are_errors(&matrix(), &speculative(Fixup::Host), with_kernels)
}

fn repair_on_the_device_survives_a_corrupted_index() -> Outcome {
    SOURCES.repair_on_the_device_survives_them(&speculative(Fixup::Device), with_kernels)
}

fn compile_log(folder: &tempfile::TempDir) -> Result<(Device<Wgpu>, String), Failed> {
    let device = with_kernels(folder.path())?;
    let e = multiply(&device, Fixup::Auto).expect_err("no kernel");
    match &e {
        Error::Device(DeviceError::Compile { kernel, log, .. }) => {
            assert!(kernel.starts_with("spec_segsum/f32"), "{kernel}");
            Ok((device, log.clone()))
        }
        other => Err(other.to_string().into()),
    }
}

fn a_kernel_that_does_not_compile_says_why() -> Outcome {
    let folder = SOURCES.faulty("spec_segsum", "fn spec_segsum()", "fn spec_segsum(oops)")?;
    let (device, log) = compile_log(&folder)?;
    assert!(log.contains("fn spec_segsum(oops)"), "{log}");
    // The device is none the worse for it.
    let a = matrix();
    let whole = ExecOptions { algorithm: Algorithm::CsrVector, ..ExecOptions::default() };
    shared::check(&device, &a, &whole)?;
    Ok(())
}

fn compiled_pipelines_are_kept_and_damaged_ones_rebuilt() -> Outcome {
    let folder = tempfile::tempdir()?;
    let fresh = || open(|o| o.cache = Some(folder.path().to_owned()));
    let device = fresh()?;
    check(&device, Fixup::Device)?;
    let kept: Vec<_> =
        fs::read_dir(folder.path())?.map(|file| Ok(file?.path())).collect::<std::io::Result<_>>()?;
    // Not every driver gives them.
    let gives = device.backend().raw().0.features().contains(wgpu::Features::PIPELINE_CACHE);
    assert_eq!(!kept.is_empty(), gives);
    for (i, path) in kept.iter().enumerate() {
        let mut bytes = fs::read(path)?;
        match i % 3 {
            0 => bytes.truncate(bytes.len() / 2),
            1 => bytes.clear(),
            _ => *bytes.last_mut().expect("a file with something in it") ^= 1,
        }
        fs::write(path, bytes)?;
    }
    for _ in 0..2 {
        check(&fresh()?, Fixup::Device)?;
    }
    for path in &kept {
        assert!(fs::read(path)?.len() > 30, "{} was written anew", path.display());
    }
    Ok(())
}

fn directives_that_do_not_match_say_so() -> Outcome {
    let (_, log) = compile_log(&SOURCES.faulty("spec_segsum", "#end", "")?)?;
    assert!(log.contains("#end is missing"), "{log}");
    let (_, log) = compile_log(&SOURCES.faulty("spec_segsum", "#each i WIDTH", "#each i MANY")?)?;
    assert!(log.contains("not a number: #each i MANY"), "{log}");
    let (_, log) = compile_log(&SOURCES.faulty("spec_segsum", "#each i WIDTH", "")?)?;
    assert!(log.contains("nothing to end"), "{log}");
    Ok(())
}

fn an_unknown_device_is_named_with_those_there_are() -> Outcome {
    let n_devices = devices()?.len();
    shared::an_unknown_device_is_named_with_those_there_are(n_devices, |asked| {
        open(|o| o.device = Some(asked.to_owned()))
    })
}

fn memory_that_a_device_lacks_is_refused() -> Outcome {
    let lacks = |m: &Memory| !devices().is_ok_and(|all| all[0].memories.contains(m));
    for memory in Memory::ALL.into_iter().filter(lacks) {
        let e =
            open(|o| (o.device, o.memory) = (Some("0".into()), Some(memory))).expect_err("no such memory");
        assert!(matches!(e, Error::Device(DeviceError::Unsupported { .. })), "{e}");
        assert!(e.to_string().contains("it offers: "), "{e}");
    }
    Ok(())
}

fn more_than_the_largest_buffer_is_out_of_memory() -> Outcome {
    each_memory().try_for_each(|device| shared::more_than_the_largest_buffer_is_out_of_memory(&device))
}

fn a_vector_beyond_the_binding_limit_is_refused() -> Outcome {
    let device = open(|o| o.mask = Mask { max_buffer_bytes: Some(1000), ..Mask::default() })?;
    let e = device.prepare(shared::matrix(300).view(), &ExecOptions::default()).map(|_| ());
    let e = e.expect_err("y has 1200 bytes").to_string();
    assert!(e.contains("1200 bytes"), "{e}");
    Ok(())
}

fn a_buffer_may_be_dropped_while_a_command_uses_it() -> Outcome {
    for device in each_memory() {
        shared::a_buffer_may_be_dropped_while_a_command_uses_it(&device)?;
        check(&device, Fixup::Auto)?;
    }
    Ok(())
}

fn a_forgotten_run_overwrites_nothing_later() -> Outcome {
    each_memory().try_for_each(|device| {
        shared::a_forgotten_run_overwrites_nothing_later(&device, &matrix(), &speculative(Fixup::Auto))
    })
}

fn a_panic_while_memory_is_mapped_harms_no_other() -> Outcome {
    for device in each_memory() {
        shared::a_panic_while_memory_is_mapped_is_passed_on(&device)?;
        check(&device, Fixup::Auto)?;
    }
    Ok(())
}

/// A submission that uses a mapped buffer fails. Whoever makes it, the stream whose work it is reports it.
fn a_submission_that_another_thread_makes_fails_its_own_stream() -> Outcome {
    let opened = open(|o| o.memory = Some(Memory::Mapped));
    let Some(device) = shared::if_supported(opened)? else { return Ok(()) };
    let backend = device.backend();
    let (stream, other) = (backend.open_stream(false)?, backend.open_stream(false)?);
    let mut buffer = backend.alloc(64)?;
    let fail = |buffer: &mut _| -> Result<(), Failed> {
        backend.zero(&stream, buffer, 64)?;
        // The zeroing is encoded, and submitted while its buffer is mapped.
        let waited =
            backend.map(&other, buffer, 64, |_| thread::scope(|s| s.spawn(|| backend.wait_all()).join()))?;
        waited.expect("no panic")?;
        Ok(())
    };
    fail(&mut buffer)?;
    let event = backend.record(&stream)?;
    let e = backend.wait(&event).expect_err("the submission failed");
    assert!(matches!(e, DeviceError::Launch { .. }), "{e}");
    backend.wait(&backend.record(&stream)?)?;
    fail(&mut buffer)?;
    let e = backend.read(&stream, &buffer, 0, &mut [0; 64]).expect_err("the submission failed");
    assert!(matches!(e, DeviceError::Launch { .. }), "{e}");
    backend.wait(&backend.record(&other)?)?;
    check(&device, Fixup::Auto)?;
    Ok(())
}

fn refusal(tiling: Tiling) -> Result<String, Failed> {
    let options = ExecOptions { tiling: Some(tiling), ..speculative(Fixup::Auto) };
    let e = open(|_| ())?.prepare(matrix().view(), &options).map(|_| ()).expect_err("refused");
    Ok(e.to_string())
}

fn a_tile_wider_than_a_word_is_refused() -> Outcome {
    let e = refusal(Tiling::new(4, 33, 1, 1).expect("a tiling"))?;
    assert!(e.contains("33 entries a lane (at most 32)"), "{e}");
    Ok(())
}

fn bunches_that_need_barriers_of_their_own_are_refused() -> Outcome {
    let e = refusal(Tiling::new(4, 2, 1, 2).expect("a tiling"))?;
    assert!(e.contains("use a tiling with B=1"), "{e}");
    Ok(())
}

fn a_timed_workspace_reports_device_times() -> Outcome {
    for fixup in [Fixup::Host, Fixup::Device] {
        shared::a_timed_workspace_reports_device_times(&open(|_| ())?, &matrix(), &speculative(fixup))?;
    }
    Ok(())
}

fn a_lost_device_is_an_error_and_another_opens() -> Outcome {
    for device in each_memory() {
        let a = matrix();
        let prepared = device.prepare(a.view(), &speculative(Fixup::Auto))?;
        let mut workspace = prepared.workspace()?;
        let mut y = vec![0.0; a.n_rows()];
        prepared.apply_slices(&mut workspace, 1.0, &[1.0], 0.0, &mut y)?;
        device.backend().raw().0.destroy();
        let e = prepared.apply_slices(&mut workspace, 1.0, &[1.0], 0.0, &mut y).expect_err("gone");
        assert!(matches!(e, Error::Device(DeviceError::DeviceLost { .. })), "{e}");
        let e = device.backend().alloc(64).expect_err("gone");
        assert!(matches!(e, DeviceError::DeviceLost { .. }), "{e}");
        check(&open(|_| ())?, Fixup::Auto)?;
    }
    Ok(())
}

/// More vectors than a stream keeps bindings for, some of which are gone when the next comes.
fn vectors_may_come_and_go() -> Outcome {
    let (device, a) = (open(|_| ())?, matrix());
    let prepared = device.prepare(a.view(), &speculative(Fixup::Auto))?;
    let mut workspace = prepared.workspace()?;
    let mut kept = Vec::new();
    for i in 0..100 {
        let x = device.upload(&[i as f32])?;
        let mut y = device.zeros(a.n_rows())?;
        prepared.apply(&mut workspace, 1.0, &x, 0.0, &mut y)?;
        let wanted: Vec<f32> = expected(&a).iter().map(|v| v * i as f32).collect();
        assert_eq!(y.to_vec()?, wanted);
        if i % 3 == 0 {
            kept.push((x, y));
        }
    }
    Ok(())
}

/// Reading takes no more than a shared reference, in any kind of memory.
fn a_vector_is_read_while_others_multiply_by_it() -> Outcome {
    for device in each_memory() {
        let a = matrix();
        let prepared = device.prepare(a.view(), &speculative(Fixup::Auto))?;
        let x = device.upload(&[1.0])?;
        let run = || -> Result<(), Error> {
            let (mut workspace, mut y) = (prepared.workspace()?, device.zeros(a.n_rows())?);
            for _ in 0..50 {
                prepared.apply(&mut workspace, 1.0, &x, 0.0, &mut y)?;
                assert_eq!(y.to_vec()?, expected(&a));
            }
            Ok(())
        };
        let read =
            || -> Result<(), Error> { (0..50).try_for_each(|_| x.to_vec().map(|x| assert_eq!(x, [1.0]))) };
        std::thread::scope(|scope| {
            let threads = [scope.spawn(run), scope.spawn(read), scope.spawn(run), scope.spawn(read)];
            threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
        })?;
    }
    Ok(())
}

/// Runs of empty rows between single entries, which take a search each; then many short rows.
fn no_lane_takes_more_steps_than_the_driver_allows() -> Outcome {
    let lens = (0..1_003_520).map(|r| u32::from(r % 140 == 0)).chain(std::iter::repeat_n(8, 60_000));
    let mut row_ptr = vec![0u32];
    row_ptr.extend(lens.scan(0, |sum, len| {
        *sum += len;
        Some(*sum)
    }));
    let (n_rows, nnz) = (row_ptr.len() - 1, row_ptr[row_ptr.len() - 1] as usize);
    let a = Csr::new(n_rows, 1, row_ptr, vec![0; nnz], vec![1.0f32; nnz])?;
    for no_subgroups in [true, false] {
        let device = open(|o| o.mask = Mask { no_subgroups, ..Mask::default() })?;
        for algorithm in [Algorithm::Auto, Algorithm::CsrScalar, Algorithm::MergePath] {
            for fixup in [Fixup::Host, Fixup::Device] {
                shared::check(&device, &a, &ExecOptions { algorithm, fixup, ..ExecOptions::default() })?;
            }
        }
    }
    Ok(())
}

/// This very program, started where the loader finds no driver.
fn without_a_driver_the_reason_is_given() -> Outcome {
    if !cfg!(target_os = "linux") {
        return Ok(());
    }
    let mut again = Command::new(std::env::current_exe()?);
    let none = "/nonexistent.json";
    again.env(LIST, "1").env("VK_DRIVER_FILES", none).env("VK_ICD_FILENAMES", none);
    let output = again.output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{} {text}", output.status);
    assert!(text.contains("wgpu: no Vulkan") && text.contains("install a driver"), "{text}");
    Ok(())
}
