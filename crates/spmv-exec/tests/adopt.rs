//! Vectors made of buffers of the backend, and buffers of vectors.

use spmv_backend::{Backend, Error as DeviceError};
use spmv_cpu::{Cpu, Options};
use spmv_exec::{Device, Error};

fn device() -> Device<Cpu> {
    Device::new(Cpu::open(Options::default()).expect("the CPU opens")).expect("a stream")
}

#[test]
fn a_buffer_becomes_a_vector_and_is_given_back_with_its_values() -> Result<(), Error> {
    let device = device();
    let mut x = device.adopt::<f32>(device.backend().alloc(12)?, 3)?;
    x.write(&[1.0, 2.0, 3.0])?;
    // A part of it, too.
    let x = device.adopt::<f32>(x.into_buffer()?, 2)?;
    assert_eq!(x.to_vec()?, [1.0, 2.0]);
    Ok(())
}

#[test]
fn a_vector_longer_than_its_buffer_is_refused() -> Result<(), Error> {
    let device = device();
    for len in [4, usize::MAX] {
        let e = device.adopt::<f32>(device.backend().alloc(12)?, len).expect_err("too long");
        assert!(matches!(e, Error::Device(DeviceError::OutOfBounds { len: 12, .. })), "{e}");
    }
    Ok(())
}
