//! Emptying a device's caches right before a time is taken.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::ensure;
use spmv::{
    Dtype, Options,
    plan::{Algorithm, RowStats, Tiling},
};
use spmv_backend::arguments::{Arguments, CsrVector, Finish};
use spmv_backend::{Args, Backend, Memory, Scalar};

/// A backend that can read more memory than the device's caches hold, at one point of any stream: right before the
/// next event on it.
///
/// Captured runs have a stream of their own and mark its events themselves, so this is where other work can
/// come before the first of them. It must come on the same stream: a host that waited for it would then start an
/// idle device, and the time of that start would be in every time. All other verbs are passed on (`cusparse.rs`).
#[derive(Debug)]
pub(super) struct Flushing<B: Backend> {
    pub(super) inner: B,
    flush: OnceLock<Flush<B>>,
    due: AtomicBool,
}

/// A product that reads much and writes little: [`ROW`] zeros in a row, all in column 0.
#[derive(Debug)]
pub(super) struct Flush<B: Backend> {
    pub(super) kernel: B::Kernel,
    tiling: Tiling,
    n_rows: u32,
    row_ptr: B::Buffer,
    cols: B::Buffer,
    vals: B::Buffer,
    x: B::Buffer,
    y: B::Buffer,
}

/// Entries of a row.
const ROW: u32 = 1024;
/// Bytes of a column and an `f64`.
const ENTRY_BYTES: u64 = 12;

impl<B: Backend> Flushing<B> {
    pub(super) fn new(inner: B) -> Self {
        Self { inner, flush: OnceLock::new(), due: AtomicBool::new(false) }
    }

    /// Allocates at least `bytes` bytes to be read, if that was not done before; returns how many there are.
    pub(super) fn equip(&self, bytes: u64) -> anyhow::Result<u64> {
        if self.flush.get().is_none() {
            // Set by another thread since then, it would serve as well.
            let _ = self.flush.set(Flush::new(&self.inner, bytes)?);
        }
        Ok(self.flush.get().map_or(0, Flush::bytes))
    }

    /// Has the caches emptied before the next event, once. What was started on other streams before is waited for, by
    /// contract: all flushes write the same few sums.
    pub(super) fn flush_before_next_event(&self) {
        self.due.store(true, Ordering::Relaxed);
    }

    /// The product to be started now, if one is due.
    pub(super) fn take_due(&self) -> Option<&Flush<B>> {
        if self.due.swap(false, Ordering::Relaxed) { self.flush.get() } else { None }
    }
}

impl<B: Backend> Flush<B> {
    fn new(backend: &B, bytes: u64) -> anyhow::Result<Self> {
        let n_rows = bytes.div_ceil(u64::from(ROW) * ENTRY_BYTES).max(1);
        let nnz = n_rows * u64::from(ROW);
        let rows = RowStats {
            n_rows: n_rows as usize,
            n_cols: 1,
            nnz: nnz as usize,
            min: ROW as usize,
            mean: f64::from(ROW),
            max: ROW as usize,
            ..RowStats::default()
        };
        let options = Options { algorithm: Algorithm::CsrVector, ..Options::default() };
        let plan = spmv_exec::plan(&rows, Dtype::F64, backend.caps(), None, &options)?;
        ensure!(
            rows.nnz <= plan.max_entries && rows.n_rows <= plan.max_rows,
            "a launch on {} cannot read {bytes} bytes",
            backend.caps().name
        );
        let n_rows = n_rows as u32;
        let row_ptr: Vec<u8> = (0..=n_rows).flat_map(|row| (row * ROW).to_ne_bytes()).collect();
        let mut this = Self {
            kernel: backend.compile(&plan.kernel)?,
            tiling: plan.kernel.tiling,
            n_rows,
            row_ptr: backend.alloc(row_ptr.len() as u64)?,
            cols: backend.alloc(nnz * 4)?,
            vals: backend.alloc(nnz * 8)?,
            x: backend.alloc(8)?,
            y: backend.alloc(u64::from(n_rows) * 8)?,
        };
        let stream = backend.open_stream(false)?;
        backend.write(&stream, &mut this.row_ptr, 0, &row_ptr)?;
        for (buffer, bytes) in [(&mut this.cols, nnz * 4), (&mut this.vals, nnz * 8), (&mut this.x, 8)] {
            backend.zero(&stream, buffer, bytes)?;
        }
        backend.wait(&backend.record(&stream)?)?;
        Ok(this)
    }

    /// Bytes that it reads.
    fn bytes(&self) -> u64 {
        u64::from(self.n_rows) * (u64::from(ROW) * ENTRY_BYTES + 4)
    }

    pub(super) fn groups(&self) -> u32 {
        Tiling::n_row_groups(&self.tiling.vector_rows(0, self.n_rows), self.n_rows)
    }

    /// Arguments for `y <- A*x`.
    pub(super) fn args(&self) -> Args<'_, B> {
        let [zero, one] = [0.0, 1.0].map(Scalar::F64);
        let x = Memory::Device(&self.x);
        CsrVector {
            n_rows: self.n_rows,
            row_base: 0,
            tiles: self.tiling.tiles(),
            finish: Finish::scaled(one, zero, x),
            row_ptr: Memory::Device(&self.row_ptr),
            cols: Memory::Device(&self.cols),
            vals: Memory::Device(&self.vals),
            x,
            y: Memory::Device(&self.y),
        }
        .list()
    }
}

#[cfg(test)]
mod tests {
    use spmv::Csr;
    use spmv_cpu::Cpu;
    use spmv_exec::Device;

    use super::*;

    const BYTES: u64 = 1 << 20;

    fn flushing() -> Flushing<Cpu> {
        Flushing::new(Cpu::open(spmv_cpu::Options::default()).unwrap())
    }

    /// The sums of the flush, all ones bits before anything wrote them.
    fn sums(backend: &Flushing<Cpu>) -> Vec<u8> {
        let flush = backend.flush.get().unwrap();
        let mut sums = vec![0; flush.n_rows as usize * 8];
        let stream = backend.open_stream(false).unwrap();
        backend.read(&stream, &flush.y, 0, &mut sums).unwrap();
        sums
    }

    #[test]
    fn a_flush_comes_before_the_next_event_and_only_once() {
        let mut backend = flushing();
        assert!(backend.equip(BYTES).unwrap() >= BYTES);
        let stream = backend.open_stream(true).unwrap();
        let spoil = |Flushing { inner, flush, .. }: &mut Flushing<Cpu>| {
            let flush = flush.get_mut().unwrap();
            let bytes = vec![0xff; flush.n_rows as usize * 8];
            inner.write(&stream, &mut flush.y, 0, &bytes).unwrap();
        };
        spoil(&mut backend);
        backend.record(&stream).unwrap();
        assert!(sums(&backend).iter().all(|byte| *byte == 0xff), "none was due");
        backend.flush_before_next_event();
        backend.wait(&backend.record(&stream).unwrap()).unwrap();
        assert!(sums(&backend).iter().all(|byte| *byte == 0), "every sum of zeros is zero");
        spoil(&mut backend);
        backend.wait(&backend.record(&stream).unwrap()).unwrap();
        assert!(sums(&backend).iter().all(|byte| *byte == 0xff), "it was due once");
    }

    #[test]
    fn products_are_those_of_the_backend_itself() {
        let device = Device::new(flushing()).unwrap();
        device.backend().equip(BYTES).unwrap();
        let a = Csr::from_coo(2, 3, &[(0, 1, 2.0f64), (1, 0, 3.0), (1, 2, 4.0)]).unwrap();
        let x = device.upload(&[1.0, 10.0, 100.0]).unwrap();
        for &algorithm in Algorithm::ALL {
            let prepared = device.prepare(a.view(), &Options { algorithm, ..Options::default() }).unwrap();
            let mut workspace = prepared.workspace().unwrap();
            let mut y = device.upload(&[f64::NAN; 2]).unwrap();
            device.backend().flush_before_next_event();
            prepared.apply(&mut workspace, 1.0, &x, 0.0, &mut y).unwrap();
            assert_eq!(y.to_vec().unwrap(), [20.0, 403.0], "{algorithm}");
        }
    }
}
