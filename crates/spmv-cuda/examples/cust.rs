//! Multiplies buffers of `cust` in place, on a stream of the caller.
//!
//! `cargo run -p spmv-cuda --features cust --example cust`; needs a driver, and a CUDA toolkit or `cuda-stub/build.sh` to
//! link.

use std::error::Error;
use std::sync::Arc;

use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::{Stream, StreamFlags};
use spmv_core::Csr;
use spmv_cuda::{Cuda, Options};
use spmv_exec::Device;

fn main() -> Result<(), Box<dyn Error>> {
    // What the program has already.
    let context = cust::quick_init()?;
    let stream = Arc::new(Stream::new(StreamFlags::DEFAULT, None)?);
    let x = DeviceBuffer::from_slice(&[1.0f32, 10.0, 100.0])?;
    let y = DeviceBuffer::<f32>::zeroed(2)?;

    let device = Device::new(Cuda::from_cust(&context, Arc::clone(&stream), Options::default())?)?;
    let a = Csr::from_coo(2, 3, &[(0, 0, 1.0f32), (0, 2, 2.0), (1, 1, 3.0)])?;
    let a = device.prepare(a.view(), &spmv_exec::Options::default())?;
    let mut workspace = a.workspace()?;

    // The buffers move into vectors, and out of them again: nothing is copied.
    let x = device.adopt::<f32>(device.backend().adopt_cust(x)?, 3)?;
    let mut y = device.adopt::<f32>(device.backend().adopt_cust(y)?, 2)?;
    a.apply(&mut workspace, 1.0, &x, 0.0, &mut y)?;
    let y: DeviceBuffer<f32> = y.into_buffer()?.into_cust().map_err(|_| "not a buffer of f32")?;

    let mut sums = [0.0; 2];
    y.copy_to(&mut sums)?;
    assert_eq!(sums, [201.0, 30.0]);
    println!("{sums:?} on {}", device.caps().name);
    Ok(())
}
