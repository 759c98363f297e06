//! What a device, its driver, its kernels and its cache may do wrong, and what is repaired where.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use libtest_mimic::Trial;
use spmv_backend::{Backend, Error as DeviceError, KernelId, MemoryModel};
use spmv_conformance::device::{self as shared, Outcome, Sources, expected};
use spmv_conformance::{auto, tests};
use spmv_core::{Csr, Tiling};
use spmv_exec::{Algorithm, Device, Error, Fixup, Options as ExecOptions, RunStats};
use spmv_opencl::{Mask, Memory, OpenCl, Options, devices};

/// With this variable set the program lists devices, for the test that needs a process of its own.
const LIST: &str = "SPMV_TEST_LIST_DEVICES";

fn main() {
    let tests = tests!(
        sums_are_repaired_in_place_where_memory_is_shared
        auto_speculates_in_shared_memory_where_a_profile_says_so
        auto_speculates_on_an_integrated_gpu_without_a_profile
        compiled_programs_are_kept_and_damaged_ones_rebuilt
        buffers_are_repaired_on_the_device_or_by_copies
        an_index_that_a_kernel_corrupted_is_an_error
        repair_on_the_device_survives_a_corrupted_index
        a_kernel_that_does_not_compile_says_why
        an_unknown_device_is_named_with_those_there_are
        memory_that_a_device_lacks_is_refused
        more_than_the_largest_buffer_is_out_of_memory
        a_buffer_may_be_dropped_while_a_command_uses_it
        a_buffer_is_dropped_without_waiting_for_queues_that_never_used_it
        a_forgotten_run_overwrites_nothing_later
        a_panic_while_memory_is_mapped_harms_no_other
        a_tile_wider_than_a_word_is_refused
        a_timed_workspace_reports_device_times
    );
    let mut trials = shared::trials("opencl", devices().map(drop), tests);
    trials.push(Trial::test("without_a_driver_the_reason_is_given", without_a_driver_the_reason_is_given));
    if std::env::var_os(LIST).is_some() {
        println!("{:?}", devices().map_err(|e| e.to_string()));
        return;
    }
    spmv_conformance::run(trials, Some(1));
}

fn open(change: impl FnOnce(&mut Options)) -> Result<Device<OpenCl>, Error> {
    let mut options = Options::from_env()?;
    change(&mut options);
    Device::new(OpenCl::open(options)?)
}

fn offers(memory: Memory) -> bool {
    let opened = shared::if_supported(open(|o| o.memory = Some(memory)));
    opened.expect("memory that the device offers").is_some()
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

fn multiply(device: &Device<OpenCl>, fixup: Fixup) -> Result<(Vec<f32>, RunStats), Error> {
    shared::multiply(device, &matrix(), &speculative(fixup))
}

fn check(device: &Device<OpenCl>, fixup: Fixup) -> Result<RunStats, Error> {
    shared::check(device, &matrix(), &speculative(fixup))
}

fn sums_are_repaired_in_place_where_memory_is_shared() -> Outcome {
    for memory in [Memory::Fine, Memory::Coarse] {
        if !offers(memory) {
            continue;
        }
        let device = open(|o| o.memory = Some(memory))?;
        if device.caps().memory == MemoryModel::Discrete {
            continue;
        }
        let stats = check(&device, Fixup::Auto)?;
        assert!(stats.dirty_tiles.is_some_and(|n| n >= 100), "{memory:?}: {stats:?}");
        assert_eq!(stats.y_bytes_copied, 0, "{memory:?}: nothing of y is copied");
    }
    Ok(())
}

fn auto_speculates_in_shared_memory_where_a_profile_says_so() -> Outcome {
    for memory in [Memory::Fine, Memory::Coarse] {
        if !offers(memory) {
            continue;
        }
        let opened = OpenCl::open(Options { memory: Some(memory), ..Options::from_env()? })?;
        if opened.caps().memory == MemoryModel::Discrete {
            continue;
        }
        let profile = auto::favouring(opened.caps(), &[KernelId::SpecSegsum, KernelId::MergePath]);
        auto::speculates(&Device::with_profiles(opened, vec![profile])?)?;
    }
    Ok(())
}

/// The device stands for one, if it shares the host's memory.
fn auto_speculates_on_an_integrated_gpu_without_a_profile() -> Outcome {
    if offers(Memory::Fine) {
        let device = open(|o| {
            (o.memory, o.mask) = (Some(Memory::Fine), Mask { as_gpu: true, ..Mask::default() });
        })?;
        assert!(device.caps().is_integrated(), "{:?}", device.caps());
        auto::speculates(&device)?;
    }
    Ok(())
}

fn buffers_are_repaired_on_the_device_or_by_copies() -> Outcome {
    let device = open(|o| o.memory = Some(Memory::Buffers))?;
    assert_eq!(device.caps().memory, MemoryModel::Discrete);
    let stats = check(&device, Fixup::Auto)?;
    assert_eq!((stats.dirty_tiles, stats.y_bytes_copied), (None, 0));
    let stats = check(&device, Fixup::Host)?;
    assert_eq!(stats.y_bytes_copied, 2 * 4 * matrix().n_rows() as u64);
    Ok(())
}

fn with_kernels(folder: &Path) -> Result<Device<OpenCl>, Error> {
    open(|o| o.kernels = Some(folder.to_owned()))
}

const SOURCES: Sources = Sources {
    extension: ".cl",
    texts: spmv_kernels_opencl::SOURCES,
    carried: "sync_rows[bunch] = bunch_row",
    counted: "atomic_inc(&dirty_count[turn])",
    miscounted: "atomic_add(&dirty_count[turn], 0x10000000)",
};

fn an_index_that_a_kernel_corrupted_is_an_error() -> Outcome {
    SOURCES.corrupted_indices_are_errors(&matrix(), &speculative(Fixup::Host), with_kernels)
}

fn repair_on_the_device_survives_a_corrupted_index() -> Outcome {
    SOURCES.repair_on_the_device_survives_them(&speculative(Fixup::Device), with_kernels)
}

fn a_kernel_that_does_not_compile_says_why() -> Outcome {
    let folder = SOURCES.faulty("spec_segsum", "KERNEL void spec_segsum", "KERNEL void spec_segsum (oops")?;
    let device = with_kernels(folder.path())?;
    let e = multiply(&device, Fixup::Auto).expect_err("no kernel");
    let Error::Device(DeviceError::Compile { kernel, log, .. }) = &e else {
        return Err(e.to_string().into());
    };
    assert!(kernel.starts_with("spec_segsum/f32"), "{kernel}");
    assert!(log.contains("BUILD_PROGRAM_FAILURE"), "{log}");
    // The device is none the worse for it.
    let a = matrix();
    let whole = ExecOptions { algorithm: Algorithm::CsrVector, ..ExecOptions::default() };
    let mut y = vec![0.0; a.n_rows()];
    let prepared = device.prepare(a.view(), &whole)?;
    prepared.apply_slices(&mut prepared.workspace()?, 1.0, &[1.0], 0.0, &mut y)?;
    assert_eq!(y, expected(&a));
    Ok(())
}

fn compiled_programs_are_kept_and_damaged_ones_rebuilt() -> Outcome {
    let folder = tempfile::tempdir()?;
    let fresh = || open(|o| o.cache = Some(folder.path().to_owned()));
    let files = || -> std::io::Result<Vec<_>> {
        let files = fs::read_dir(folder.path())?.map(|file| Ok(file?.path()));
        files.collect()
    };
    check(&fresh()?, Fixup::Device)?;
    let kept = files()?;
    assert!(kept.len() >= 3, "spec_segsum, fixup_apply and axpby: {kept:?}");
    let before: Vec<_> = kept.iter().map(fs::read).collect::<Result<_, _>>()?;
    check(&fresh()?, Fixup::Device)?;
    assert_eq!(files()?.len(), kept.len(), "nothing was compiled anew");
    // Damaged, cut short, and a well-formed entry whose binary is none.
    for (i, (path, bytes)) in kept.iter().zip(&before).enumerate() {
        let mut damaged = bytes.clone();
        match i % 3 {
            0 => damaged[bytes.len() / 2] ^= 0xff,
            1 => damaged.truncate(bytes.len() / 2),
            _ => damaged.clear(),
        }
        fs::write(path, damaged)?;
    }
    check(&fresh()?, Fixup::Device)?;
    for path in &kept {
        assert!(fs::read(path)?.len() > 100, "{} was written anew", path.display());
    }
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
    for memory in Memory::ALL.into_iter().filter(|m| offers(*m)) {
        shared::more_than_the_largest_buffer_is_out_of_memory(&open(|o| o.memory = Some(memory))?)?;
    }
    Ok(())
}

fn a_buffer_may_be_dropped_while_a_command_uses_it() -> Outcome {
    for memory in Memory::ALL.into_iter().filter(|m| offers(*m)) {
        let device = open(|o| o.memory = Some(memory))?;
        shared::a_buffer_may_be_dropped_while_a_command_uses_it(&device)?;
        check(&device, Fixup::Auto)?;
    }
    Ok(())
}

fn a_forgotten_run_overwrites_nothing_later() -> Outcome {
    for memory in Memory::ALL.into_iter().filter(|m| offers(*m)) {
        let device = open(|o| o.memory = Some(memory))?;
        shared::a_forgotten_run_overwrites_nothing_later(&device, &matrix(), &speculative(Fixup::Auto))?;
    }
    Ok(())
}

fn a_panic_while_memory_is_mapped_harms_no_other() -> Outcome {
    for memory in [Memory::Fine, Memory::Coarse].into_iter().filter(|m| offers(*m)) {
        let device = open(|o| o.memory = Some(memory))?;
        shared::a_panic_while_memory_is_mapped_is_passed_on(&device)?;
        check(&device, Fixup::Auto)?;
    }
    Ok(())
}

fn a_buffer_is_dropped_without_waiting_for_queues_that_never_used_it() -> Outcome {
    const BYTES: u64 = 16 << 20;
    // NVIDIA's driver waits for the device by itself.
    if devices()?[0].platform.contains("NVIDIA") {
        return Ok(());
    }
    for memory in [Memory::Fine, Memory::Coarse].into_iter().filter(|m| offers(*m)) {
        let device = open(|o| o.memory = Some(memory))?;
        let backend = device.backend();
        let (busy, idle) = (backend.open_stream(false)?, backend.open_stream(false)?);
        let (mut large, mut small) = (backend.alloc(BYTES)?, backend.alloc(8)?);
        backend.write(&idle, &mut small, 0, &[0; 8])?;
        let start = Instant::now();
        for _ in 0..50 {
            backend.zero(&busy, &mut large, BYTES)?;
        }
        let event = backend.record(&busy)?;
        backend.submit(&busy)?;
        let queued = start.elapsed();
        drop(small);
        let dropped = start.elapsed() - queued;
        backend.wait(&event)?;
        let all = start.elapsed();
        assert!(4 * dropped < all - queued, "{dropped:?} of {all:?}, {queued:?} of which to queue");
    }
    Ok(())
}

fn a_tile_wider_than_a_word_is_refused() -> Outcome {
    let device = open(|_| ())?;
    let tiling = Some(Tiling::new(4, 33, 1, 1).expect("a tiling"));
    let options = ExecOptions { tiling, ..speculative(Fixup::Auto) };
    let e = device.prepare(matrix().view(), &options).map(|_| ()).expect_err("33 bits");
    assert!(e.to_string().contains("33 entries a lane (at most 32)"), "{e}");
    Ok(())
}

fn a_timed_workspace_reports_device_times() -> Outcome {
    for fixup in [Fixup::Host, Fixup::Device] {
        shared::a_timed_workspace_reports_device_times(&open(|_| ())?, &matrix(), &speculative(fixup))?;
    }
    Ok(())
}

/// This very program, started where the loader finds no driver.
fn without_a_driver_the_reason_is_given() -> Outcome {
    let empty = tempfile::tempdir()?;
    let mut again = Command::new(std::env::current_exe()?);
    let output = again.env(LIST, "1").env("OCL_ICD_VENDORS", empty.path()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{} {text}", output.status);
    if text.contains("Ok([") {
        eprintln!("this loader ignores OCL_ICD_VENDORS (Khronos' own does so for root): not tried");
        return Ok(());
    }
    assert!(text.contains("opencl: no OpenCL") && text.contains("install"), "{text}");
    Ok(())
}
