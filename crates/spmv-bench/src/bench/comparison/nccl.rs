//! The functions of NCCL, found at run time: exchanges and sums of several devices of this process.

use std::ffi::{CStr, c_char, c_int, c_void};

use anyhow::{bail, ensure};
use libloading::Library;
use spmv_backend::Backend as _;
use spmv_cuda::{Cuda, Stream};
use spmv_exec::{Device, DeviceVec};

use super::arrays::on_device;
use super::library::{Object, Opened, Raw, opened, symbol};
use super::variant;

/// `ncclFloat64`.
const F64: c_int = 8;
/// `ncclSum`.
const SUM: c_int = 0;

type Group = unsafe extern "C" fn() -> c_int;
type Send = unsafe extern "C" fn(*const c_void, usize, c_int, c_int, Raw, Raw) -> c_int;
type Receive = unsafe extern "C" fn(*mut c_void, usize, c_int, c_int, Raw, Raw) -> c_int;
type AllReduce = unsafe extern "C" fn(*const c_void, *mut c_void, usize, c_int, c_int, Raw, Raw) -> c_int;
type InitAll = unsafe extern "C" fn(*mut Raw, c_int, *const c_int) -> c_int;
type Destroy = unsafe extern "C" fn(Raw) -> c_int;
type ErrorString = unsafe extern "C" fn(c_int) -> *const c_char;
type GetVersion = unsafe extern "C" fn(*mut c_int) -> c_int;

/// A vector of each device.
pub(crate) type OfEach = Vec<DeviceVec<Cuda, f64>>;

/// A communicator and a stream for each of the first devices.
pub(crate) struct Nccl {
    // The communicators use the streams, which use the devices.
    communicators: Vec<Object>,
    streams: Vec<Stream>,
    devices: Vec<Device<Cuda>>,
    start: Group,
    end: Group,
    send: Send,
    receive: Receive,
    all_reduce: AllReduce,
    error_string: ErrorString,
    version: c_int,
}

impl Nccl {
    /// For devices that are CUDA's first ones, in its order.
    pub(crate) fn open(devices: &[Device<Cuda>]) -> anyhow::Result<Self> {
        let library = library()?;
        let init: InitAll = symbol(library, "ncclCommInitAll")?;
        let destroy: Destroy = symbol(library, "ncclCommDestroy")?;
        let get_version: GetVersion = symbol(library, "ncclGetVersion")?;
        let streams = devices.iter().map(|device| device.backend().open_stream(false));
        let mut nccl = Self {
            communicators: vec![],
            streams: streams.collect::<Result<_, _>>()?,
            devices: devices.to_vec(),
            start: symbol(library, "ncclGroupStart")?,
            end: symbol(library, "ncclGroupEnd")?,
            send: symbol(library, "ncclSend")?,
            receive: symbol(library, "ncclRecv")?,
            all_reduce: symbol(library, "ncclAllReduce")?,
            error_string: symbol(library, "ncclGetErrorString")?,
            version: 0,
        };
        let mut version = 0;
        // SAFETY: writes a number to `version`.
        nccl.check("ncclGetVersion", unsafe { get_version(&mut version) })?;
        nccl.version = version;
        let n = c_int::try_from(devices.len())?;
        let mut raw: Vec<Raw> = vec![std::ptr::null_mut(); devices.len()];
        // SAFETY: writes as many communicators as there is room for; without a list of devices they are of the first ones.
        nccl.check("ncclCommInitAll", unsafe { init(raw.as_mut_ptr(), n, std::ptr::null()) })?;
        nccl.communicators = raw.into_iter().map(|raw| Object::new(raw, destroy)).collect();
        Ok(nccl)
    }

    /// As NCCL counts it: `22803` is 2.28.3.
    pub(crate) fn version(&self) -> String {
        let version = self.version;
        format!("{}.{}.{}", version / 10_000, version / 100 % 100, version % 100)
    }

    /// Each of two devices sends its first `n` values to the other's vector, in one group.
    pub(crate) fn exchange(&self, from: &OfEach, to: &mut OfEach, n: usize) -> anyhow::Result<()> {
        self.check_lengths(from, to, n)?;
        ensure!(self.devices.len() == 2, "{} devices, of two", self.devices.len());
        self.grouped(|| {
            for (rank, (communicator, stream)) in self.communicators.iter().zip(&self.streams).enumerate() {
                let (peer, raw, stream) = (1 - rank as c_int, communicator.raw(), stream.raw());
                let (source, target) = (on_device(from[rank].address()), on_device(to[rank].address()));
                // SAFETY: both vectors are of this communicator's device and hold n values; the streams' work is waited for before they go.
                self.check("ncclSend", unsafe { (self.send)(source, n, F64, peer, raw, stream) })?;
                // SAFETY: as above.
                self.check("ncclRecv", unsafe { (self.receive)(target, n, F64, peer, raw, stream) })?;
            }
            Ok(())
        })
    }

    /// The sums of the devices' first `n` values, in the vector of each.
    pub(crate) fn sums(&self, from: &OfEach, to: &mut OfEach, n: usize) -> anyhow::Result<()> {
        self.check_lengths(from, to, n)?;
        self.grouped(|| {
            for (rank, (communicator, stream)) in self.communicators.iter().zip(&self.streams).enumerate() {
                let (source, target) = (on_device(from[rank].address()), on_device(to[rank].address()));
                // SAFETY: as in `exchange`.
                let status = unsafe {
                    (self.all_reduce)(source, target, n, F64, SUM, communicator.raw(), stream.raw())
                };
                self.check("ncclAllReduce", status)?;
            }
            Ok(())
        })
    }

    /// Waits for the work of all streams.
    pub(crate) fn wait(&self) -> anyhow::Result<()> {
        for (device, stream) in self.devices.iter().zip(&self.streams) {
            device.backend().finish(stream)?;
        }
        Ok(())
    }

    fn check_lengths(&self, from: &OfEach, to: &OfEach, n: usize) -> anyhow::Result<()> {
        let all = [from, to].map(|of| of.len() == self.devices.len() && of.iter().all(|v| v.len() >= n));
        ensure!(
            all == [true; 2],
            "a vector of {n} values or more for each of {} devices",
            self.devices.len()
        );
        Ok(())
    }

    fn grouped(&self, calls: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
        // SAFETY: has no parameters; ended below.
        self.check("ncclGroupStart", unsafe { (self.start)() })?;
        let done = calls();
        // SAFETY: has no parameters.
        let ended = self.check("ncclGroupEnd", unsafe { (self.end)() });
        done.and(ended)
    }

    fn check(&self, call: &str, status: c_int) -> anyhow::Result<()> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: takes any number and returns a text that is never freed.
        let text = unsafe { CStr::from_ptr((self.error_string)(status)) };
        bail!("{call}: {}", text.to_string_lossy())
    }
}

impl Drop for Nccl {
    fn drop(&mut self) {
        // After an error, work may still be on its way; the error was reported.
        let _ = self.wait();
    }
}

fn library() -> anyhow::Result<&'static Library> {
    static LIBRARY: Opened = Opened::new();
    opened(&LIBRARY, &variant::NCCL, "libnccl", "SPMV_NCCL")
}
