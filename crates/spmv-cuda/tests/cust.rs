//! Products on contexts, streams and buffers of `cust`. Links the driver: see the README for machines without one.

use std::sync::Arc;

use cust::context::{Context, legacy};
use cust::memory::{CopyDestination, DeviceBuffer, DeviceCopy};
use cust::stream::{Stream, StreamFlags};
use libtest_mimic::Failed;
use spmv_backend::{Backend, Error as DeviceError};
use spmv_conformance::device::{self as shared, Outcome};
use spmv_conformance::tests;
use spmv_core::{Csr, Value, oracle};
use spmv_cuda::{Buffer, Cuda, Memory, Options, devices};
use spmv_exec::{Algorithm, Device, Error, Fixup, Options as ExecOptions};
use spmv_io::generate::{self, EmptyRows};

fn main() {
    let tests = tests! {
        every_algorithm_multiplies_buffers_in_place
        products_follow_each_other_on_the_same_buffers
        all_work_goes_to_the_callers_stream
        the_threads_context_stays_as_it_was
        buffers_and_streams_of_another_context_are_refused
        managed_memory_and_captured_runs_are_refused
        a_buffer_is_as_long_as_it_is_and_of_its_own_type
    };
    let trials = shared::trials("cuda", devices().map(drop), tests);
    spmv_conformance::run(trials, Some(1));
}

/// What a program that uses `cust` has. Fields are dropped in their order: a stream does not outlive its context.
struct Theirs {
    stream: Arc<Stream>,
    context: Context,
}

impl Theirs {
    fn new() -> Result<Self, Failed> {
        let context = cust::quick_init()?;
        let stream = Arc::new(Stream::new(StreamFlags::DEFAULT, None)?);
        Ok(Self { stream, context })
    }

    fn open(&self) -> Result<Device<Cuda>, Error> {
        self.open_with(Options::default())
    }

    fn open_with(&self, options: Options) -> Result<Device<Cuda>, Error> {
        Device::new(Cuda::from_cust(&self.context, Arc::clone(&self.stream), options)?)
    }
}

/// The device of the thread's context.
fn current() -> Option<i32> {
    cust::context::CurrentContext::get_device().ok().map(|device| device.as_raw())
}

fn of_cust<T: DeviceCopy + bytemuck::Pod + Send + Sync>(buffer: Buffer) -> Result<DeviceBuffer<T>, Failed> {
    buffer.into_cust().map_err(|_| "the buffer is of another type".into())
}

fn values<T: Value>(n: usize, seed: usize) -> Vec<T> {
    (0..n).map(|i| T::from_f64(((i * 37 + seed) % 19) as f64 - 9.0)).collect()
}

/// `y <- 1.5*A*x - 2*y` in place, against the oracle.
fn check<T>(device: &Device<Cuda>, a: &Csr<T>, options: &ExecOptions) -> Outcome
where
    T: spmv_core::Real + DeviceCopy + bytemuck::Pod,
{
    let prepared = match device.prepare(a.view(), options) {
        // A layout that refuses the matrix.
        Err(Error::Format(_)) => return Ok(()),
        prepared => prepared?,
    };
    let mut workspace = prepared.workspace()?;
    let (x_host, y_host) = (values::<T>(a.n_cols(), 3), values::<T>(a.n_rows(), 5));
    let (x, y) = (DeviceBuffer::from_slice(&x_host)?, DeviceBuffer::from_slice(&y_host)?);
    let addresses = (x.as_device_ptr().as_raw(), y.as_device_ptr().as_raw());

    let backend = device.backend();
    let x = device.adopt::<T>(backend.adopt_cust(x)?, a.n_cols())?;
    let mut y = device.adopt::<T>(backend.adopt_cust(y)?, a.n_rows())?;
    let (alpha, beta) = (T::from_f64(1.5), T::from_f64(-2.0));
    prepared.apply(&mut workspace, alpha, &x, beta, &mut y)?;
    let (x, y) = (of_cust::<T>(x.into_buffer()?)?, of_cust::<T>(y.into_buffer()?)?);

    assert_eq!(addresses, (x.as_device_ptr().as_raw(), y.as_device_ptr().as_raw()), "in place");
    let (mut x_after, mut y_after) = (vec![T::default(); a.n_cols()], vec![T::default(); a.n_rows()]);
    x.copy_to(&mut x_after[..])?;
    y.copy_to(&mut y_after[..])?;
    assert!(x_after == x_host, "x is as it was");
    let expected = oracle::multiply(a.view(), 1.5, &x_host, -2.0, &y_host);
    let error = expected.error_over_bound(&y_after);
    assert!(error <= 1.0, "{}: {error} of the bound", options.algorithm);
    Ok(())
}

fn every_algorithm_multiplies_buffers_in_place() -> Outcome {
    let device = Theirs::new()?.open()?;
    let matrices = [
        generate::empty_rows(3000, 2000, EmptyRows::Random(0.3), 6, 1)?,
        generate::power_law_rows(2000, 3000, 1, 900, 1.8, 2)?,
        generate::uniform_rows(1000, 1000, 3, 3, 3)?,
    ];
    for a in &matrices {
        for &algorithm in spmv_conformance::ALGORITHMS {
            for fixup in [Fixup::Auto, Fixup::Host] {
                let options = ExecOptions { algorithm, fixup, ..ExecOptions::default() };
                check::<f64>(&device, a, &options)?;
                check::<f32>(&device, &a.map_values(|v| v as f32), &options)?;
            }
        }
    }
    Ok(())
}

/// Power iteration: `cust` reads and writes the buffers between products.
fn products_follow_each_other_on_the_same_buffers() -> Outcome {
    const N: usize = 500;
    let theirs = Theirs::new()?;
    let device = theirs.open()?;
    let a: Csr<f64> = generate::uniform_rows(N, N, 1, 9, 7)?;
    let prepared = device.prepare(a.view(), &ExecOptions::default())?;
    let mut workspace = prepared.workspace()?;
    let (mut x_host, mut y_host) = (vec![1.0; N], vec![0.0; N]);
    let (mut x, mut y) = (DeviceBuffer::from_slice(&x_host)?, DeviceBuffer::<f64>::zeroed(N)?);
    for _ in 0..5 {
        let expected = oracle::multiply(a.view(), 1.0, &x_host, 0.0, &y_host);
        let backend = device.backend();
        let ours = device.adopt::<f64>(backend.adopt_cust(x)?, N)?;
        let mut sums = device.adopt::<f64>(backend.adopt_cust(y)?, N)?;
        prepared.apply(&mut workspace, 1.0, &ours, 0.0, &mut sums)?;
        (x, y) = (of_cust(ours.into_buffer()?)?, of_cust(sums.into_buffer()?)?);
        y.copy_to(&mut y_host[..])?;
        assert!(expected.error_over_bound(&y_host) <= 1.0);
        let norm = y_host.iter().map(|v| v * v).sum::<f64>().sqrt();
        x_host = y_host.iter().map(|v| v / norm).collect();
        x.copy_from(&x_host[..])?;
    }
    // What the backend had of them is gone; the buffers are not.
    drop((workspace, prepared, device));
    theirs.stream.synchronize()?;
    y.copy_from(&x)?;
    y.copy_to(&mut y_host[..])?;
    assert!(x_host == y_host, "copied by cust");
    Ok(())
}

fn all_work_goes_to_the_callers_stream() -> Outcome {
    let theirs = Theirs::new()?;
    let device = theirs.open()?;
    for timed in [false, true] {
        let stream = device.backend().open_stream(timed)?;
        assert_eq!(stream.raw(), theirs.stream.as_inner().cast());
    }
    drop(device);
    // It was not destroyed with the backend's.
    theirs.stream.synchronize()?;
    assert_eq!(Arc::strong_count(&theirs.stream), 1);
    Ok(())
}

fn the_threads_context_stays_as_it_was() -> Outcome {
    let theirs = Theirs::new()?;
    let before = current();
    assert!(before.is_some());
    let a = shared::matrix(300);
    check(&theirs.open()?, &a, &ExecOptions::default())?;
    assert_eq!(current(), before);
    // Of a thread that has none, too.
    let elsewhere = std::thread::scope(|scope| {
        let other = scope.spawn(|| -> Result<(Vec<f32>, Option<i32>), Error> {
            let device = theirs.open()?;
            let (y, _) = shared::multiply(&device, &a, &ExecOptions::default())?;
            drop(device);
            Ok((y, current()))
        });
        other.join()
    });
    let (y, after) = elsewhere.map_err(|_| "the thread panicked")??;
    assert_eq!((y, after), (shared::expected(&a), None));
    Ok(())
}

fn buffers_and_streams_of_another_context_are_refused() -> Outcome {
    let theirs = Theirs::new()?;
    let device = theirs.open()?;
    let other = cust::device::Device::get_device(0)?;
    let other = legacy::Context::create_and_push(legacy::ContextFlags::SCHED_AUTO, other)?;
    let stream = Arc::new(Stream::new(StreamFlags::DEFAULT, None)?);
    let refused = device.backend().adopt_cust(DeviceBuffer::from_slice(&[1.0f32])?).map(drop);
    let e = Cuda::from_cust(&theirs.context, Arc::clone(&stream), Options::default()).map(drop);
    drop(stream);
    legacy::ContextStack::pop()?;
    drop(other);
    for e in [refused.expect_err("of another context"), e.expect_err("of another context")] {
        assert!(
            matches!(&e, DeviceError::Unsupported { what, .. } if what.contains("primary context")),
            "{e}"
        );
    }
    Ok(())
}

fn managed_memory_and_captured_runs_are_refused() -> Outcome {
    let theirs = Theirs::new()?;
    let refused = |e: &DeviceError| matches!(e, DeviceError::Unsupported { .. });
    let device = theirs.open_with(Options { memory: Some(Memory::Managed), ..Options::default() });
    if let Some(device) = shared::if_supported(device)? {
        let e = device.backend().adopt_cust(DeviceBuffer::from_slice(&[1.0f32])?).expect_err("managed");
        assert!(refused(&e), "{e}");
    }
    let device = theirs.open()?;
    let a = shared::matrix(300);
    let options = ExecOptions { algorithm: Algorithm::CsrVector, ..ExecOptions::default() };
    let prepared = device.prepare(a.view(), &options)?;
    let mut workspace = prepared.workspace()?;
    let (x, mut y) = (device.upload(&[1.0])?, device.zeros(a.n_rows())?);
    let graph = prepared.capture(&mut workspace, 2, 1.0, &x, 0.0, &mut y).map(drop);
    assert!(matches!(&graph, Err(Error::Device(e)) if refused(e)), "{graph:?}");
    Ok(())
}

fn a_buffer_is_as_long_as_it_is_and_of_its_own_type() -> Outcome {
    let device = Theirs::new()?.open()?;
    let adopt =
        || device.backend().adopt_cust(DeviceBuffer::from_slice(&[1.0f32, 2.0])?).map_err(Failed::from);
    let e = device.adopt::<f32>(adopt()?, 3).map(drop).expect_err("too long");
    assert!(matches!(e, Error::Device(DeviceError::OutOfBounds { end: 12, len: 8, .. })), "{e}");
    assert_eq!(device.adopt::<f32>(adopt()?, 1)?.to_vec()?, [1.0]);
    let buffer = adopt()?.into_cust::<u32>().expect_err("another type");
    assert_eq!(of_cust::<f32>(buffer)?.len(), 2);
    let none: DeviceBuffer<f32> = DeviceBuffer::from_slice(&[])?;
    let empty = device.adopt::<f32>(device.backend().adopt_cust(none)?, 0)?;
    assert!(empty.to_vec()?.is_empty());
    Ok(())
}
