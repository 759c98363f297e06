//! What happens without a driver, with a library that is none, and with one that lacks functions or answers what no
//! driver does, and which calls runs cost: needs no device. `SPMV_CUDA_DRIVER` is read once a process, so each case is a process of its
//! own.

use std::collections::BTreeMap;
use std::error::Error;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Barrier;
use std::{env, fs, thread};

use libtest_mimic::{Arguments, Failed, Trial};
use spmv_backend::{Backend, Error as DeviceError};
use spmv_core::Csr;
use spmv_cuda::{Cuda, Options, devices};
use spmv_exec::{Algorithm, Device, Lane, Options as ExecOptions};

type Outcome = Result<(), Failed>;
type Test = (&'static str, fn() -> Outcome);

/// With this variable set the program reports what it sees.
const REPORT: &str = "SPMV_TEST_REPORT";

/// The file in which the fake keeps the names of the functions that were called.
const CALLS: &str = "SPMV_FAKE_CALLS";
/// With this variable set other code has made the context the thread's.
const CURRENT: &str = "SPMV_FAKE_CURRENT";

const N_THREADS: usize = 32;

fn main() {
    if env::var_os(REPORT).is_some() {
        match env::var_os(CALLS) {
            None => report(),
            Some(calls) => report_calls(calls.as_ref()).expect("the fake refuses nothing"),
        }
        return;
    }
    let arguments = Arguments::from_args();
    let tests: [Test; 6] = [
        ("without_a_library_the_reason_is_given", without_a_library_the_reason_is_given),
        ("a_library_that_is_no_driver_is_none", a_library_that_is_no_driver_is_none),
        ("codes_are_errors_whether_known_or_not", codes_are_errors_whether_known_or_not),
        (
            "a_function_that_the_driver_lacks_is_an_error_when_it_is_used",
            a_function_that_the_driver_lacks_is_an_error_when_it_is_used,
        ),
        (
            "verbs_call_the_driver_once_and_push_no_context_twice",
            verbs_call_the_driver_once_and_push_no_context_twice,
        ),
        ("kernels_start_in_turn_where_that_is_asked_for", kernels_start_in_turn_where_that_is_asked_for),
    ];
    let trials = tests.into_iter().map(|(name, test)| Trial::test(name, test)).collect();
    libtest_mimic::run(&arguments, trials).exit();
}

fn without_a_library_the_reason_is_given() -> Outcome {
    let folder = tempfile::tempdir()?;
    let seen = seen_with(&folder.path().join("missing.so"), &[])?;
    let reason = &seen["open"];
    assert!(reason.starts_with("cuda: no CUDA driver: ") && reason.contains("missing.so"), "{reason}");
    assert!(
        reason.ends_with("; install NVIDIA's driver, or name its library in SPMV_CUDA_DRIVER"),
        "{reason}"
    );
    assert_eq!(seen["devices"], *reason);
    Ok(())
}

fn a_library_that_is_no_driver_is_none() -> Outcome {
    let folder = tempfile::tempdir()?;
    let seen = seen_with(&fake(folder.path(), &["--cfg", "without_init"])?, &[])?;
    assert!(seen["open"].contains("it has no function cuInit"), "{}", seen["open"]);
    Ok(())
}

fn codes_are_errors_whether_known_or_not() -> Outcome {
    let folder = tempfile::tempdir()?;
    let seen = seen_with(&fake(folder.path(), &[])?, &[])?;
    // The second device answers 70000 when it is asked for its name.
    assert_eq!(seen["devices"], r#"[("Fake", (9, 0), Some(4194304))]"#);
    assert_eq!(seen["open"], "cuda/Fake/sm_90/driver 12.34");
    for (what, expected) in [
        ("alloc 1", "kernel memory failed on Fake: words of the fake (1)"),
        ("alloc 2", "kernel memory failed on Fake: unknown CUDA error (70000)"),
        ("alloc 3", "Fake cannot allocate 3 bytes; use a smaller matrix or another backend"),
    ] {
        assert_eq!(seen[what], expected, "{what}");
    }
    Ok(())
}

fn a_function_that_the_driver_lacks_is_an_error_when_it_is_used() -> Outcome {
    let folder = tempfile::tempdir()?;
    let seen = seen_with(&fake(folder.path(), &[])?, &[])?;
    for (what, function) in [("capture", "cuStreamBeginCapture_v2"), ("record", "cuEventCreate")] {
        let expected = format!("Fake has no function {function} in its driver; install a newer driver");
        assert_eq!(seen[what], expected, "{what}");
    }
    Ok(())
}

/// Runs record no event, and marks create none where one was dropped before.
fn verbs_call_the_driver_once_and_push_no_context_twice() -> Outcome {
    let folder = tempfile::tempdir()?;
    let library = fake(folder.path(), &["--cfg", "working"])?;
    let verbs: [(&str, &[&str]); 7] = [
        ("enqueue", &["cuLaunchKernelEx"]),
        ("wait", &["cuStreamSynchronize"]),
        ("apply", &["cuLaunchKernelEx", "cuStreamSynchronize"]),
        ("queue", &["cuLaunchKernelEx"]),
        ("mark", &["cuEventRecord"]),
        ("after", &["cuStreamWaitEvent"]),
        ("copy", &["cuMemcpyPeerAsync"]),
    ];
    for (is_current, before, after) in [
        (false, &["cuCtxGetCurrent", "cuCtxPushCurrent_v2"][..], &["cuCtxPopCurrent_v2"][..]),
        (true, &["cuCtxGetCurrent"], &[]),
    ] {
        let calls = folder.path().join(format!("calls {is_current}"));
        let mut variables = vec![(CALLS, calls.as_os_str())];
        if is_current {
            variables.push((CURRENT, "1".as_ref()));
        }
        let seen = seen_with(&library, &variables)?;
        for (verb, functions) in verbs {
            let around = |function: &&'static str| [before, &[*function], after].concat();
            let expected: Vec<_> = functions.iter().flat_map(around).collect();
            assert_eq!(seen[verb], expected.join(" "), "{verb}");
        }
    }
    Ok(())
}

fn kernels_start_in_turn_where_that_is_asked_for() -> Outcome {
    let folder = tempfile::tempdir()?;
    let library = fake(folder.path(), &["--cfg", "working"])?;
    let calls = folder.path().join("calls");
    let variables =
        [(CALLS, calls.as_os_str()), (CURRENT, "1".as_ref()), ("SPMV_CUDA_IN_TURN", "1".as_ref())];
    let seen = seen_with(&library, &variables)?;
    for verb in ["enqueue", "queue"] {
        assert_eq!(seen[verb], "cuCtxGetCurrent cuLaunchKernel", "{verb}");
    }
    Ok(())
}

/// The library of `tests/fake/driver.rs`, built into `folder`.
fn fake(folder: &Path, options: &[&str]) -> Result<PathBuf, Box<dyn Error>> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let library = folder.join(format!("{}fake{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake/driver.rs");
    let output = Command::new(rustc)
        .args([
            "--edition=2021",
            "--crate-type=cdylib",
            "--crate-name=fake",
            "--check-cfg=cfg(without_init, working)",
        ])
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
fn seen_with(
    library: &Path,
    variables: &[(&str, &OsStr)],
) -> Result<BTreeMap<String, String>, Box<dyn Error>> {
    let output = Command::new(env::current_exe()?)
        .envs(variables.iter().copied())
        .env(REPORT, "1")
        .env("SPMV_CUDA_DRIVER", library)
        .env_remove("SPMV_CUDA_DEVICE")
        .output()?;
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
        listed()
    };
    let seen: Vec<String> = thread::scope(|scope| {
        let threads: Vec<_> = (0..N_THREADS).map(|_| scope.spawn(first_call)).collect();
        threads.into_iter().map(|t| t.join().unwrap_or_else(|_| "panicked".into())).collect()
    });
    assert!(seen.iter().all(|one| *one == listed()), "first calls of many threads find the same: {seen:?}");
    println!("devices = {}", listed());
    let device = match Cuda::open(Options::default()) {
        Err(e) => {
            println!("open = {e}");
            return;
        }
        Ok(device) => device,
    };
    println!("open = {}", device.caps().fingerprint);
    for bytes in [1, 2, 3] {
        println!("alloc {bytes} = {}", said(device.alloc(bytes)));
    }
    let stream = device.open_stream(false);
    let capture = stream.as_ref().map_err(Clone::clone).and_then(|s| device.capture(s, || Ok(())));
    println!("capture = {}", said(capture));
    println!("record = {}", said(stream.and_then(|stream| device.record(&stream))));
}

/// Prints `what = functions` lines, of a second time: the first one takes memory, events and kernels.
fn report_calls(calls: &Path) -> Result<(), Box<dyn Error>> {
    let device = || -> Result<_, spmv_exec::Error> { Device::new(Cuda::open(Options::from_env()?)?) };
    let (device, other) = (device()?, device()?);
    let so_far = || fs::read_to_string(calls).unwrap_or_default();
    let show = |what: &str, before: &str| {
        let after = so_far();
        println!("{what} = {}", after[before.len()..].lines().collect::<Vec<_>>().join(" "));
    };
    let a = Csr::from_coo(2, 2, &[(0, 1, 2.0f64), (1, 0, 3.0)])?;
    let a = device
        .prepare(a.view(), &ExecOptions { algorithm: Algorithm::CsrVector, ..ExecOptions::default() })?;
    let mut workspace = a.workspace()?;
    let (x, mut y, mut z) = (device.upload(&[1.0; 2])?, device.zeros(2)?, other.zeros(2)?);
    let (mut queue, mut peer) = (device.queue()?, other.queue()?);
    for _ in 0..2 {
        let before = so_far();
        let pending = a.enqueue(&mut workspace, 1.0, &x, 0.0, &mut y)?;
        show("enqueue", &before);
        let before = so_far();
        pending.wait()?;
        show("wait", &before);
        let before = so_far();
        a.apply(&mut workspace, 1.0, &x, 0.0, &mut y)?;
        show("apply", &before);
    }
    for _ in 0..2 {
        let before = so_far();
        queue.apply(&a, 1.0, &x, 0.0, &mut y)?;
        show("queue", &before);
        let before = so_far();
        let mark = peer.mark(Lane::Operations)?;
        show("mark", &before);
        queue.after(Lane::Copies, &mark)?;
        let before = so_far();
        queue.after(Lane::Copies, &mark)?;
        show("after", &before);
        let before = so_far();
        queue.copy_to_peer(&x, 0..2, &mut peer, &mut z, 0)?;
        show("copy", &before);
        drop(mark);
    }
    Ok(())
}

fn listed() -> String {
    let shown = |all: Vec<spmv_cuda::DeviceInfo>| -> Vec<_> {
        all.into_iter().map(|device| (device.name, device.compute, device.l2_bytes)).collect()
    };
    devices().map_or_else(|e| e.to_string(), |all| format!("{:?}", shown(all)))
}

fn said<R>(result: Result<R, DeviceError>) -> String {
    result.map_or_else(|e| e.to_string(), |_| "ok".into())
}

/// Whether a library of the driver's name is mapped, where the system says so.
fn driver_is_loaded() -> bool {
    fs::read_to_string("/proc/self/maps").is_ok_and(|maps| maps.contains("libcuda.so"))
}
