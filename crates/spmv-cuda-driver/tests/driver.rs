//! What a program that uses `cust` sees without a driver, and with one that is older or newer than the bindings.
//!
//! A process loads one library, so each case is a process of its own: this program again, with `SPMV_TEST_REPORT` set.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Barrier;
use std::{env, thread};

use cust::device::Device;
use cust::error::CudaError;
use cust::{CudaApiVersion, CudaFlags};
use libtest_mimic::{Arguments, Failed, Trial};

type Outcome = Result<(), Failed>;
type Test = (&'static str, fn() -> Outcome);

/// With this variable set the program reports what it sees.
const REPORT: &str = "SPMV_TEST_REPORT";

const N_THREADS: usize = 32;

fn main() {
    if env::var_os(REPORT).is_some() {
        report();
        return;
    }
    let arguments = Arguments::from_args();
    let tests: [Test; 4] = [
        ("without_a_library_every_call_finds_no_device", without_a_library_every_call_finds_no_device),
        ("a_library_that_is_no_driver_is_none", a_library_that_is_no_driver_is_none),
        (
            "calls_are_forwarded_and_strange_answers_are_errors",
            calls_are_forwarded_and_strange_answers_are_errors,
        ),
        ("first_calls_of_many_threads_find_the_same", first_calls_of_many_threads_find_the_same),
    ];
    let trials = tests.into_iter().map(|(name, test)| Trial::test(name, test)).collect();
    libtest_mimic::run(&arguments, trials).exit();
}

fn without_a_library_every_call_finds_no_device() -> Outcome {
    let folder = tempfile::tempdir()?;
    let missing = folder.path().join("missing.so");
    let seen = seen_with(&missing)?;
    let reason = &seen["available"];
    assert!(reason.contains("no CUDA driver") && reason.contains("SPMV_CUDA_DRIVER"), "{reason}");
    assert!(reason.contains("missing.so"), "the file that was tried: {reason}");
    for call in ["init", "count", "version", "device"] {
        assert_eq!(seen[call], "Err(NoDevice)", "{call}");
    }
    assert_eq!(seen["text 1"], r#""CUDA_ERROR_INVALID_VALUE""#);
    assert!(seen["text 100"].contains("missing.so"), "{}", seen["text 100"]);
    assert_eq!(seen["symbol"], "false");
    Ok(())
}

fn a_library_that_is_no_driver_is_none() -> Outcome {
    let folder = tempfile::tempdir()?;
    let seen = seen_with(&fake(folder.path(), &["--cfg", "without_init"])?)?;
    assert!(seen["available"].contains("it has no function cuInit"), "{}", seen["available"]);
    assert_eq!(seen["version"], "Err(NoDevice)");
    assert_eq!(seen["symbol"], "false");
    Ok(())
}

fn calls_are_forwarded_and_strange_answers_are_errors() -> Outcome {
    let folder = tempfile::tempdir()?;
    let seen = seen_with(&fake(folder.path(), &[])?)?;
    for (what, expected) in [
        ("available", "ok"),
        ("count before init", "Err(NotInitialized)"),
        ("init", "Ok(())"),
        ("count", "Ok(2)"),
        ("version", "Ok((12, 34))"),
        ("device", "Ok(())"),
        // 70000, which the bindings lack.
        ("name", "Err(UnknownError)"),
        // The library lacks the function.
        ("memory", "Err(NotSupported)"),
        ("text 1", r#""words of the fake""#),
        // The library does not know the code.
        ("text 100", r#""CUDA_ERROR_NO_DEVICE""#),
        ("text 999", r#""CUDA_ERROR_UNKNOWN""#),
        ("symbol", "true"),
    ] {
        assert_eq!(seen[what], expected, "{what}");
    }
    Ok(())
}

fn first_calls_of_many_threads_find_the_same() -> Outcome {
    let folder = tempfile::tempdir()?;
    for (library, expected) in
        [(fake(folder.path(), &[])?, "Ok((12, 34))"), (folder.path().join("missing.so"), "Err(NoDevice)")]
    {
        let seen = seen_with(&library)?;
        for thread in 0..N_THREADS {
            assert_eq!(seen[&format!("thread {thread}")], expected, "thread {thread}");
        }
    }
    Ok(())
}

/// The library of `tests/fake/driver.rs`, built into `folder`.
fn fake(folder: &Path, options: &[&str]) -> Result<PathBuf, Box<dyn Error>> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let library = folder.join(format!("{}fake{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake/driver.rs");
    let output = Command::new(rustc)
        .args(["--edition=2021", "--crate-type=cdylib", "--crate-name=fake", "--check-cfg=cfg(without_init)"])
        .args(options)
        .arg("-o")
        .args([&library, &source])
        .output()?;
    match output.status.success() {
        true => Ok(library),
        false => Err(format!("rustc: {}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

/// What a process reports that `SPMV_CUDA_DRIVER` sends to `library`.
fn seen_with(library: &Path) -> Result<BTreeMap<String, String>, Box<dyn Error>> {
    let output =
        Command::new(env::current_exe()?).env(REPORT, "1").env("SPMV_CUDA_DRIVER", library).output()?;
    let text = String::from_utf8(output.stdout)?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {text} {stderr}", output.status).into());
    }
    let pairs = text.lines().filter_map(|line| line.split_once(" = "));
    Ok(pairs.map(|(what, seen)| (what.to_owned(), seen.to_owned())).collect())
}

/// Prints `what = answer` lines.
fn report() {
    assert!(!driver_is_loaded(), "the driver was loaded before any call");
    // First of all, so that these calls are the first of the process.
    let barrier = Barrier::new(N_THREADS);
    let first_call = || {
        barrier.wait();
        version()
    };
    let versions: Vec<String> = thread::scope(|scope| {
        let threads: Vec<_> = (0..N_THREADS).map(|_| scope.spawn(first_call)).collect();
        threads.into_iter().map(|t| t.join().unwrap_or_else(|_| "panicked".into())).collect()
    });
    for (thread, version) in versions.iter().enumerate() {
        println!("thread {thread} = {version}");
    }
    println!("version = {}", version());
    println!(
        "available = {}",
        spmv_cuda_driver::available().map_or_else(|e| e.to_string(), |()| "ok".into())
    );
    println!("count before init = {:?}", Device::num_devices());
    println!("init = {:?}", cust::init(CudaFlags::empty()));
    println!("count = {:?}", Device::num_devices());
    let device = Device::get_device(1);
    println!("device = {:?}", device.map(drop));
    if let Ok(device) = device {
        println!("name = {:?}", device.name());
        println!("memory = {:?}", device.total_memory());
    }
    for error in
        [CudaError::InvalidValue, CudaError::NoDevice, CudaError::NotSupported, CudaError::UnknownError]
    {
        println!("text {} = {error}", error as u32);
    }
    println!("symbol = {}", spmv_cuda_driver::symbol(c"cuNewerThanTheBindings").is_some());
}

fn version() -> String {
    format!("{:?}", CudaApiVersion::get().map(|version| (version.major(), version.minor())))
}

/// Whether a library of the driver's name is mapped, where the system tells.
fn driver_is_loaded() -> bool {
    std::fs::read_to_string("/proc/self/maps").is_ok_and(|maps| maps.contains("libcuda.so"))
}
