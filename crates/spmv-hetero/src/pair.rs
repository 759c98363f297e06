//! A matrix on two devices.

use std::time::Instant;

use num_traits::Zero;
use spmv_backend::Backend;
use spmv_core::{CsrView, Offset, Value};
use spmv_exec::{Device, DeviceVec, Error, Options, Prepared, Result, Workspace};

use crate::cut::Cut;

/// A matrix cut in two, a part on either device; never changes, and may be shared between threads.
///
/// ```
/// # fn with<B: spmv_backend::Backend>(gpu: spmv_exec::Device<B>) -> Result<(), Box<dyn std::error::Error>> {
/// use spmv_core::Csr;
/// use spmv_cpu::Cpu;
/// use spmv_hetero::{Cut, Pair};
/// let a = Csr::from_coo(2, 2, &[(0, 1, 2.0f32), (1, 0, 3.0)])?;
/// let cores = spmv_exec::Device::new(Cpu::open(Default::default())?)?;
/// let pair = Pair::prepare(&gpu, &cores, a.view(), &Cut::Rows { n_rows: 1 })?;
/// println!("{}", pair.explain());
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Pair<B: Backend, C: Backend, T: Value> {
    cut: Cut,
    device: Prepared<B, T>,
    rest: Prepared<C, T>,
    n_rows: usize,
    n_cols: usize,
    /// Why the device's part is not in the cut's layout.
    refused: Option<String>,
}

/// Streams, vectors and scratch memory for one pair.
///
/// ```
/// # fn with<B: spmv_backend::Backend, T: spmv_core::Value>(pair: spmv_hetero::Pair<B, B, T>) -> spmv_exec::Result<()> {
/// use spmv_hetero::PairWorkspace;
/// let workspace: PairWorkspace<B, B, T> = pair.workspace()?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct PairWorkspace<B: Backend, C: Backend, T: Value> {
    device: Workspace<B, T>,
    rest: Workspace<C, T>,
    x: DeviceVec<B, T>,
    y: DeviceVec<B, T::Accum>,
    /// Of the rest, where both sides have sums for the same rows.
    sums: Vec<T::Accum>,
}

/// Where the time of a run went, in seconds.
///
/// ```
/// use spmv_hetero::PairStats;
/// let stats = PairStats { copies_s: 0.0, device_s: 3e-6, rest_s: 2e-6, join_s: 1e-6 };
/// assert!((stats.imbalance() - 1.0 / 3.0).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct PairStats {
    /// `x`, and `y` if it is read, to the device.
    pub copies_s: f64,
    /// From the device's start until it was waited for, but for what the host repaired; at least as long as the rest took.
    pub device_s: f64,
    /// The rest, in which time the device ran too; with copies of `x` and `y` where the other side cannot use the host's memory.
    pub rest_s: f64,
    /// Repair on the host, sums from the device, and both sides' added.
    pub join_s: f64,
}

impl PairStats {
    /// Share of the time for which the side that was done first waited for the other; 0 where that was the device.
    pub fn imbalance(&self) -> f64 {
        if self.device_s > 0.0 { (self.device_s - self.rest_s).max(0.0) / self.device_s } else { 0.0 }
    }
}

impl<B: Backend, C: Backend, T: Value> Pair<B, C, T> {
    /// Copies the parts of a matrix to their devices. The cost of [`Cut::parts`] and of preparing both.
    ///
    /// The device's part takes the cut's algorithm; where that layout refuses it, what `Auto` stands for, and
    /// [`explain`](Self::explain) says so. The rest takes what `Auto` stands for.
    ///
    /// # Errors
    /// As [`Device::prepare`].
    pub fn prepare<O: Offset>(
        device: &Device<B>,
        other: &Device<C>,
        a: CsrView<'_, T, O>,
        cut: &Cut,
    ) -> Result<Self> {
        let [of_device, rest] = cut.parts(a);
        let asked = Options { algorithm: cut.algorithm(), ..Options::default() };
        let (device, refused) = match device.prepare(of_device.view(), &asked) {
            Err(Error::Format(e)) => {
                (device.prepare(of_device.view(), &Options::default())?, Some(e.to_string()))
            }
            prepared => (prepared?, None),
        };
        let rest = other.prepare(rest.view(), &Options::default())?;
        Ok(Self { cut: *cut, device, rest, n_rows: a.n_rows(), n_cols: a.n_cols(), refused })
    }

    /// Where it was cut, and both plans.
    pub fn explain(&self) -> String {
        let entries = |rows: &spmv_core::RowStats| format!("{} rows, {} entries", rows.n_rows, rows.nnz);
        let (device, rest) = (self.device.row_stats(), self.rest.row_stats());
        let refused = self.refused.as_ref().map_or_else(String::new, |why| format!("\n  not as cut: {why}"));
        format!(
            "{:?}\ndevice: {}; {}{refused}\nrest: {}; {}",
            self.cut,
            entries(device),
            self.device.plan().explain(),
            entries(rest),
            self.rest.plan().explain()
        )
    }

    /// Where it was cut.
    pub fn cut(&self) -> Cut {
        self.cut
    }

    /// Opens streams and allocates what runs need; runs then allocate nothing, but for the first one where the other side
    /// cannot use the host's memory.
    ///
    /// # Errors
    /// Out of memory.
    pub fn workspace(&self) -> Result<PairWorkspace<B, C, T>> {
        let device = self.device.device();
        let of_rest = if self.cut.is_by_rows() { 0 } else { self.n_rows };
        Ok(PairWorkspace {
            device: self.device.workspace()?,
            rest: self.rest.workspace()?,
            x: device.zeros(self.n_cols)?,
            y: device.zeros(self.device.row_stats().n_rows)?,
            sums: vec![T::Accum::zero(); of_rest],
        })
    }

    /// `y <- alpha*A*x + beta*y` by both, at the same time unless the device's runs are done when they are started, as those
    /// of the cpu backend: that is for the other side. `x` has `n_cols` values, `y` has `n_rows` sums, which are not read if `beta == 0`.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Foreign`] for another pair's workspace, and failures of either device; `y` is
    /// unspecified then.
    pub fn apply(
        &self,
        workspace: &mut PairWorkspace<B, C, T>,
        alpha: T::Accum,
        x: &[T],
        beta: T::Accum,
        y: &mut [T::Accum],
    ) -> Result<PairStats> {
        for (what, found, expected) in [("x", x.len(), self.n_cols), ("y", y.len(), self.n_rows)] {
            if found != expected {
                return Err(Error::Length { what, found, expected });
            }
        }
        let PairWorkspace { device, rest, x: device_x, y: device_y, sums } = workspace;
        let of_device = self.device.row_stats().n_rows;
        if device_x.len() != self.n_cols || device_y.len() != of_device {
            return Err(Error::Foreign { what: "the workspace", to: "pair" });
        }
        let by_rows = self.cut.is_by_rows();
        let (own, others) = y.split_at_mut(of_device);
        let mut stats = PairStats::default();
        let start = Instant::now();
        device_x.write(x)?;
        if !beta.is_zero() {
            device_y.write(own)?;
        }
        let mut lap = Lap(start);
        stats.copies_s = lap.next();
        let pending = self.device.enqueue(device, alpha, device_x, beta, device_y)?;
        let started = Instant::now();
        if by_rows {
            self.rest.apply_slices(rest, alpha, x, beta, others)?;
        } else {
            self.rest.apply_slices(rest, alpha, x, T::Accum::zero(), sums)?;
        }
        stats.rest_s = started.elapsed().as_secs_f64();
        let of_run = pending.wait()?;
        let repaired_s = if of_run.dirty_tiles.is_some() { of_run.stage2_s } else { 0.0 };
        stats.device_s = (lap.next() - repaired_s).max(stats.rest_s);
        device_y.read(own)?;
        // Empty where each side has rows of its own.
        own.iter_mut().zip(sums).for_each(|(own, sum)| *own += *sum);
        stats.join_s = lap.next() + repaired_s;
        Ok(stats)
    }
}

/// A stopwatch.
struct Lap(Instant);

impl Lap {
    fn next(&mut self) -> f64 {
        let now = Instant::now();
        let seconds = now.duration_since(self.0).as_secs_f64();
        self.0 = now;
        seconds
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use spmv_core::{Accum, Csr, bf16, f16, oracle};
    use spmv_cpu::{Cpu, Mask, Options as CpuOptions};
    use spmv_exec::Algorithm;

    use super::*;

    fn device(discrete: bool) -> Device<Cpu> {
        let mask = Mask { discrete, ..Mask::default() };
        Device::new(Cpu::open(CpuOptions { mask, ..CpuOptions::default() }).unwrap()).unwrap()
    }

    fn cuts(n_rows: usize) -> Vec<Cut> {
        let of_rows = [0, n_rows / 3, n_rows, n_rows + 5].map(|n_rows| Cut::Rows { n_rows });
        let mut cuts = of_rows.to_vec();
        cuts.extend([0, 2, 1000].map(|half_width| Cut::Diagonals { half_width }));
        cuts.extend([0, 2, 1000].map(|width| Cut::Places { width }));
        cuts
    }

    /// Every cut on devices with memory in one part and in two; what must not be read is no number on the device either.
    fn check<T: Value>(entries: &[(u32, u32, f64)], n_rows: usize, n_cols: usize)
    where
        T::Accum: Accum,
    {
        let entries: Vec<_> = entries.iter().map(|(r, c, v)| (*r, *c, T::from_f64(*v))).collect();
        let a = Csr::<T>::from_coo(n_rows, n_cols, &entries).unwrap();
        let x: Vec<T> = (0..n_cols).map(|i| T::from_f64(0.25 + (i % 7) as f64)).collect();
        let number = <T::Accum as Value>::from_f64;
        for (discrete, cut) in
            [false, true].into_iter().flat_map(|d| cuts(n_rows).into_iter().map(move |c| (d, c)))
        {
            let pair = Pair::prepare(&device(discrete), &device(discrete), a.view(), &cut).unwrap();
            let mut workspace = pair.workspace().unwrap();
            for (alpha, beta) in [(1.0, 0.0), (-2.0, 3.0), (0.5, 1.0), (1.0, 0.0)] {
                if beta == 0.0 {
                    let n_rows = workspace.y.len();
                    workspace.y.write(&vec![number(f64::NAN); n_rows]).unwrap();
                }
                let first = if beta == 0.0 { f64::NAN } else { 1.5 };
                let old = vec![number(first); n_rows];
                let reference = oracle::multiply(a.view(), alpha, &x, beta, &old);
                let mut y = old;
                pair.apply(&mut workspace, number(alpha), &x, number(beta), &mut y).unwrap();
                assert!(reference.error_over_bound(&y) <= 1.0, "{cut:?} {alpha} {beta}: {}", pair.explain());
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn both_sides_together_are_the_oracle(
            n_rows in 0usize..40,
            n_cols in 0usize..40,
            entries in prop::collection::vec((0u32..40, 0u32..40, -2.0..2.0f64), 0..300),
        ) {
            let is_in = |(r, c, _): &&(u32, u32, f64)| (*r as usize) < n_rows && (*c as usize) < n_cols;
            let entries: Vec<_> = entries.iter().filter(is_in).copied().collect();
            check::<f64>(&entries, n_rows, n_cols);
            check::<f32>(&entries, n_rows, n_cols);
            check::<f16>(&entries, n_rows, n_cols);
            check::<bf16>(&entries, n_rows, n_cols);
        }
    }

    #[test]
    fn a_part_that_its_layout_refuses_is_multiplied_all_the_same_and_told() {
        // A stored zero, which no diagonal holds.
        let a = Csr::<f32>::new(2, 2, vec![0u32, 2, 3], vec![0, 1, 1], vec![1.0, 0.0, 3.0]).unwrap();
        let (device, other) = (device(false), device(false));
        let pair = Pair::prepare(&device, &other, a.view(), &Cut::Diagonals { half_width: 9 }).unwrap();
        assert_ne!(pair.device.plan().algorithm, Algorithm::Dia);
        assert!(pair.explain().contains("not as cut: "), "{}", pair.explain());
        let mut y = vec![f32::NAN; 2];
        pair.apply(&mut pair.workspace().unwrap(), 1.0, &[2.0, 1.0], 0.0, &mut y).unwrap();
        assert_eq!(y, [2.0, 3.0]);
    }

    #[test]
    fn lengths_and_workspaces_of_others_are_refused() {
        let a = Csr::<f64>::from_coo(2, 3, &[(0, 1, 2.0), (1, 0, 3.0)]).unwrap();
        let (device, other) = (device(false), device(false));
        let pair = Pair::prepare(&device, &other, a.view(), &Cut::Rows { n_rows: 1 }).unwrap();
        let again = Pair::prepare(&device, &other, a.view(), &Cut::Rows { n_rows: 1 }).unwrap();
        let mut workspace = pair.workspace().unwrap();
        let mut y = vec![0.0; 2];
        let e = pair.apply(&mut workspace, 1.0, &[1.0; 2], 0.0, &mut y).unwrap_err();
        assert_eq!(e, Error::Length { what: "x", found: 2, expected: 3 });
        let e = again.apply(&mut workspace, 1.0, &[1.0; 3], 0.0, &mut y).unwrap_err();
        assert!(matches!(e, Error::Foreign { .. }), "{e}");
        let wider = Csr::<f64>::from_coo(2, 4, &[(0, 1, 2.0), (1, 0, 3.0)]).unwrap();
        let wider = Pair::prepare(&device, &other, wider.view(), &Cut::Rows { n_rows: 1 }).unwrap();
        let e = wider.apply(&mut workspace, 1.0, &[1.0; 4], 0.0, &mut y).unwrap_err();
        assert!(matches!(e, Error::Foreign { .. }), "{e}");
    }

    #[test]
    fn large_offsets_are_cut_too() {
        let a = Csr::<f64, u64>::new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![1.0, 2.0, 3.0]).unwrap();
        let pair = Pair::prepare(&device(false), &device(true), a.view(), &Cut::Places { width: 1 }).unwrap();
        let mut y = vec![f64::NAN; 2];
        pair.apply(&mut pair.workspace().unwrap(), 1.0, &[10.0, 1.0], 0.0, &mut y).unwrap();
        assert_eq!(y, [12.0, 3.0]);
    }
}
