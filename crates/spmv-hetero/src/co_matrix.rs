//! A matrix on a device and the host.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use num_traits::Zero;
use rayon::prelude::*;
use spmv_backend::Backend;
use spmv_core::{CsrView, Offset, RowStats, Value};
use spmv_exec::{Device, DeviceVec, Error, Options, Pending, Plan, Prepared, Result, Workspace};

use crate::co_devices::CoDevices;
use crate::partition::{Partition, imbalance};
use crate::split::{Parts, Rows, Split};

/// Sums that are added by one thread.
const SERIAL_SUMS: usize = 1 << 15;
/// Columns of `x` that are copied together: some devices copy whole words only.
const COLUMNS: usize = 16;

/// A matrix split between a device and the host; never changes, and may be shared between threads.
///
/// Vectors are the host's: the device works on them in place where its kernels reach the host's memory, else the columns of
/// `x` and the rows of `y` that its part has are copied, while the cores multiply theirs.
///
/// ```
/// # fn with<B: spmv_backend::Backend>(gpu: spmv_exec::Device<B>) -> Result<(), Box<dyn std::error::Error>> {
/// use spmv_core::Csr;
/// use spmv_cpu::Cpu;
/// use spmv_exec::Device;
/// use spmv_hetero::{Split, CoMatrix, CoDevices};
/// let a = Csr::from_coo(2, 2, &[(0, 1, 2.0f64), (1, 0, 3.0)])?;
/// let devices = CoDevices::new(gpu, 4, || Ok(Device::new(Cpu::open(Default::default())?)?))?;
/// let co_matrix = CoMatrix::with_split(&devices, a.view(), &Split::by_rows(1))?;
/// println!("{}", co_matrix.explain());
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct CoMatrix<B: Backend, C: Backend, T: Value> {
    devices: CoDevices<B, C>,
    split: Split,
    rows: RowStats,
    regular: Option<Arc<RegularPart<B, T>>>,
    /// The device's rows of the rest.
    device: Option<Prepared<B, T>>,
    /// The cores' rows, which begin where those end.
    cores: Option<Prepared<C, T>>,
    /// Of `x`, that the device gathers.
    columns: Range<usize>,
    partition: Option<Partition>,
    prepare_s: f64,
}

/// A regular part on the device.
#[derive(Debug)]
pub(crate) struct RegularPart<B: Backend, T: Value> {
    prepared: Prepared<B, T>,
    columns: Range<usize>,
    /// Why it is not in its layout.
    refused: Option<String>,
}

impl<B: Backend, T: Value> RegularPart<B, T> {
    /// In the layout of its kind, or as the split's rows if that refuses it; `None` without entries.
    pub(crate) fn prepare<O: Offset>(
        device: &Device<B>,
        parts: &Parts<'_, T, O>,
        split: &Split,
    ) -> Result<Option<Arc<Self>>> {
        let (Some(a), Some(algorithm)) = (parts.regular(), split.regular.algorithm()) else {
            return Ok(None);
        };
        let asked = Options { algorithm, ..split.options };
        let (prepared, refused) = match device.prepare(a, &asked) {
            Err(Error::Format(e)) => (device.prepare(a, &split.options)?, Some(e.to_string())),
            prepared => (prepared?, None),
        };
        Ok(Some(Arc::new(Self { prepared, columns: columns(a), refused })))
    }
}

/// From the first column with an entry to the last, in whole groups of [`COLUMNS`]. O(entries).
fn columns<T: Value, O: Offset>(a: CsrView<'_, T, O>) -> Range<usize> {
    let (first, last) = a.cols().iter().fold((u32::MAX, 0), |(lo, hi), &c| (lo.min(c), hi.max(c)));
    let (first, past) = (first as usize / COLUMNS * COLUMNS, (last as usize + 1).next_multiple_of(COLUMNS));
    if a.nnz() == 0 { 0..0 } else { first..past.min(a.n_cols()) }
}

/// Both ranges and what is between them; empty ones count for nothing.
fn joined(one: Range<usize>, other: Range<usize>) -> Range<usize> {
    match (one.is_empty(), other.is_empty()) {
        (true, _) => other,
        (_, true) => one,
        _ => one.start.min(other.start)..one.end.max(other.end),
    }
}

/// Streams, vectors and scratch memory for one [`CoMatrix`].
///
/// ```
/// # fn with<B: spmv_backend::Backend, T: spmv_core::Value>(co_matrix: spmv_hetero::CoMatrix<B, B, T>) -> spmv_exec::Result<()> {
/// use spmv_hetero::CoWorkspace;
/// let workspace: CoWorkspace<B, B, T> = co_matrix.workspace()?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct CoWorkspace<B: Backend, C: Backend, T: Value> {
    device: OnDevice<B, T>,
    cores: Option<Workspace<C, T>>,
    /// Of the rest, where the regular part has sums for the same rows.
    sums: Vec<T::Accum>,
}

#[derive(Debug)]
struct OnDevice<B: Backend, T: Value> {
    regular: Option<Workspace<B, T>>,
    rows: Option<Workspace<B, T>>,
    /// Where kernels do not reach the host's memory.
    staged: Option<Staged<B, T>>,
}

#[derive(Debug)]
struct Staged<B: Backend, T: Value> {
    x: DeviceVec<B, T>,
    /// Sums of the regular part.
    regular: DeviceVec<B, T::Accum>,
    rows: DeviceVec<B, T::Accum>,
}

/// Where the time of a run went, in seconds.
///
/// ```
/// use spmv_hetero::CoStats;
/// let stats = CoStats { device_s: 3e-6, cores_s: 2e-6, join_s: 1e-6, total_s: 4e-6 };
/// assert!((stats.imbalance() - 1.0 / 3.0).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct CoStats {
    /// From the start until the device's sums were there, with all copies; 0 if it has no part.
    pub device_s: f64,
    /// From the start until those of the cores were; 0 if they have no part, and what their device says of itself if they have all.
    pub cores_s: f64,
    /// Adding the sums of device and host.
    pub join_s: f64,
    /// The whole run.
    pub total_s: f64,
}

impl CoStats {
    /// |T_GPU - T_CPU| / max: the share of the time for which the one that was done first waited for the other.
    pub fn imbalance(&self) -> f64 {
        imbalance(self.device_s, self.cores_s)
    }
}

impl<B: Backend, C: Backend, T: Value> CoMatrix<B, C, T> {
    /// Copies the parts of a matrix to their devices. O(rows + entries), and the cost of preparing both.
    ///
    /// A regular part takes its layout; where that refuses it, what its rows take, and [`explain`](Self::explain) says so. The
    /// cores take what `Auto` stands for.
    ///
    /// # Errors
    /// As [`Device::prepare`].
    pub fn with_split<O: Offset>(
        devices: &CoDevices<B, C>,
        a: CsrView<'_, T, O>,
        split: &Split,
    ) -> Result<Self> {
        let start = Instant::now();
        let parts = Parts::of(a, split.regular);
        let regular = RegularPart::prepare(devices.device(), &parts, split)?;
        let co_matrix = Self::with_regular(devices, a, &parts, regular, split)?;
        Ok(Self { prepare_s: start.elapsed().as_secs_f64(), ..co_matrix })
    }

    /// The same, with a regular part that is prepared already.
    pub(crate) fn with_regular<O: Offset>(
        devices: &CoDevices<B, C>,
        a: CsrView<'_, T, O>,
        parts: &Parts<'_, T, O>,
        regular: Option<Arc<RegularPart<B, T>>>,
        split: &Split,
    ) -> Result<Self> {
        let (rest, split_at) = (parts.rest(), split.rows.min(a.n_rows()));
        // Without a regular part, rows without entries are to be scaled nevertheless.
        let is_needed = |rows: &Range<usize>| match &regular {
            Some(_) => rest.row_ptr()[rows.start] < rest.row_ptr()[rows.end],
            None => !rows.is_empty(),
        };
        let (device, columns_of_rows) = match Some(0..split_at).filter(is_needed) {
            Some(rows) => {
                let rows = Rows::of(rest, rows);
                (Some(devices.device().prepare(rows.view(), &split.options)?), columns(rows.view()))
            }
            None => (None, 0..0),
        };
        let has_device = device.is_some() || regular.is_some();
        let cores = match Some(split_at..a.n_rows()).filter(|rows| !has_device || is_needed(rows)) {
            Some(rows) => {
                let rows = Rows::of(rest, rows);
                let prepare = |cores: &Device<C>| cores.prepare(rows.view(), &Options::default());
                Some(match has_device {
                    true => devices.pool().install(|| prepare(devices.sharing()))?,
                    false => prepare(devices.alone())?,
                })
            }
            None => None,
        };
        let columns_of_regular = regular.as_ref().map_or(0..0, |regular| regular.columns.clone());
        Ok(Self {
            devices: devices.clone(),
            split: Split { rows: split_at, ..*split },
            rows: RowStats::of(a),
            regular,
            device,
            cores,
            columns: joined(columns_of_regular, columns_of_rows),
            partition: None,
            prepare_s: 0.0,
        })
    }

    pub(crate) fn with_partition(self, partition: Partition, prepare_s: f64) -> Self {
        Self { partition: Some(partition), prepare_s, ..self }
    }

    /// Where it was split, why, and what runs on device and host.
    pub fn explain(&self) -> String {
        let part = |rows: &RowStats| format!("{} rows, {} entries", rows.n_rows, rows.nnz);
        let mut lines = vec![self.partition.as_ref().map_or(self.split.to_string(), Partition::to_string)];
        if let Some(regular) = &self.regular {
            let prepared = &regular.prepared;
            lines.push(format!("device: {}; {}", part(prepared.row_stats()), prepared.plan().explain()));
            lines.extend(regular.refused.as_ref().map(|why| format!("  not in its layout: {why}")));
        }
        let device = self.device.as_ref().map(|p| ("device", p.row_stats(), p.plan()));
        let cores = self.cores.as_ref().map(|p| ("cores", p.row_stats(), p.plan()));
        for (name, rows, plan) in device.into_iter().chain(cores) {
            lines.push(format!("{name}: {}; {}", part(rows), plan.explain()));
        }
        lines.join("\n")
    }

    /// Where it was split.
    pub fn split(&self) -> Split {
        self.split
    }

    /// How that was found; `None` if it was given.
    pub fn partition(&self) -> Option<&Partition> {
        self.partition.as_ref()
    }

    /// Row statistics of the whole matrix.
    pub fn row_stats(&self) -> &RowStats {
        &self.rows
    }

    /// What multiplies the device's part: its regular one if it has one; what multiplies on the cores, if they have all.
    pub fn plan(&self) -> &Plan {
        let regular = self.regular.as_ref().map(|regular| regular.prepared.plan());
        let device = || self.device.as_ref().map(Prepared::plan);
        let cores = || self.cores.as_ref().map(Prepared::plan);
        regular
            .or_else(device)
            .or_else(cores)
            .expect("a matrix without a regular part has rows on the device or the host")
    }

    /// Seconds that preparing took, with the search for the split.
    pub fn prepare_s(&self) -> f64 {
        self.prepare_s
    }

    /// Whether it is split at all: neither has everything.
    pub fn is_split(&self) -> bool {
        self.cores.is_some() && (self.regular.is_some() || self.device.is_some())
    }

    /// Opens streams and allocates what runs need; runs then allocate no more than what starting the pool takes, but for the first one where
    /// the cores cannot use the host's memory.
    ///
    /// # Errors
    /// Out of memory.
    pub fn workspace(&self) -> Result<CoWorkspace<B, C, T>> {
        let device = self.devices.device();
        let (n_rows, split_at) = (self.rows.n_rows, self.split.rows);
        let has_regular = self.regular.is_some();
        let staged = match (has_regular || self.device.is_some()) && !device.caps().host_pointers {
            true => Some(Staged {
                x: device.zeros(self.rows.n_cols)?,
                regular: device.zeros(if has_regular { n_rows } else { 0 })?,
                rows: device.zeros(if self.device.is_some() { split_at } else { 0 })?,
            }),
            false => None,
        };
        let regular = self.regular.as_ref().map(|regular| regular.prepared.workspace()).transpose()?;
        let rows = self.device.as_ref().map(Prepared::workspace).transpose()?;
        Ok(CoWorkspace {
            device: OnDevice { regular, rows, staged },
            cores: self.cores.as_ref().map(Prepared::workspace).transpose()?,
            sums: vec![T::Accum::zero(); if has_regular { n_rows } else { 0 }],
        })
    }

    /// `y <- alpha*A*x + beta*y` by device and host at the same time. `x` has `n_cols` values, `y` has `n_rows` sums, which are not read
    /// if `beta == 0`.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Foreign`] for the workspace of another split matrix, and failures of device and host; `y` is
    /// unspecified then.
    pub fn apply(
        &self,
        workspace: &mut CoWorkspace<B, C, T>,
        alpha: T::Accum,
        x: &[T],
        beta: T::Accum,
        y: &mut [T::Accum],
    ) -> Result<CoStats> {
        let (n_rows, n_cols) = (self.rows.n_rows, self.rows.n_cols);
        for (what, found, expected) in [("x", x.len(), n_cols), ("y", y.len(), n_rows)] {
            if found != expected {
                return Err(Error::Length { what, found, expected });
            }
        }
        let CoWorkspace { device: on_device, cores: on_cores, sums } = workspace;
        let has_regular = self.regular.is_some();
        let n_sums = if has_regular { n_rows } else { 0 };
        if (self.cores.is_some(), n_sums) != (on_cores.is_some(), sums.len()) {
            return Err(Error::Foreign { what: "the workspace", to: "split matrix" });
        }
        // Of the cores alone, which are done in less time than it takes to read some timestamps.
        if let (Some(cores), Some(w), true) =
            (&self.cores, &mut *on_cores, self.device.is_none() && !has_regular)
        {
            let run = cores.apply_slices(w, alpha, x, beta, y)?;
            let total_s = run.stage1_s + run.stage2_s;
            return Ok(CoStats { cores_s: total_s, total_s, ..CoStats::default() });
        }
        let start = Instant::now();
        let since = || start.elapsed().as_secs_f64();
        let mut stats = CoStats::default();
        // The device's rows and those of the cores: of sums to be added, or of `y` itself.
        let (whole, rows) = if has_regular { (&mut y[..], &mut sums[..]) } else { (&mut [][..], &mut y[..]) };
        let (own, others) = rows.split_at_mut(self.split.rows);
        let beta_of_rows = if has_regular { T::Accum::zero() } else { beta };
        let on_the_cores = || match (&self.cores, on_cores) {
            (Some(cores), Some(w)) => cores.apply_slices(w, alpha, x, beta_of_rows, others).map(|_| since()),
            _ => Ok(0.0),
        };
        let mut of_device = |whole: &mut [T::Accum], own: &mut [T::Accum]| {
            self.on_device(on_device, alpha, x, beta, whole, own).map(|()| since())
        };
        if self.is_split() {
            let mut of_cores = Ok(0.0);
            let device = self.devices.pool().in_place_scope(|scope| {
                scope.spawn(|_| of_cores = on_the_cores());
                of_device(whole, own)
            });
            (stats.device_s, stats.cores_s) = (device?, of_cores?);
        } else {
            stats.device_s = of_device(whole, own)?;
        }
        if has_regular {
            let before = since();
            let from = if self.device.is_some() { 0 } else { self.split.rows };
            let to = if self.cores.is_some() { n_rows } else { self.split.rows };
            if from < to {
                self.add(&mut y[from..to], &sums[from..to]);
            }
            stats.join_s = since() - before;
        }
        stats.total_s = since();
        Ok(stats)
    }

    /// The device's part, on the thread that waits for it.
    fn on_device(
        &self,
        on_device: &mut OnDevice<B, T>,
        alpha: T::Accum,
        x: &[T],
        beta: T::Accum,
        whole: &mut [T::Accum],
        own: &mut [T::Accum],
    ) -> Result<()> {
        let foreign = || Error::Foreign { what: "the workspace", to: "split matrix" };
        let OnDevice { regular: of_regular, rows: of_rows, staged } = on_device;
        let regular =
            self.regular.as_ref().map(|r| of_regular.as_mut().map(|w| (&r.prepared, w)).ok_or_else(foreign));
        let rows = self.device.as_ref().map(|p| of_rows.as_mut().map(|w| (p, w)).ok_or_else(foreign));
        let (regular, rows) = (regular.transpose()?, rows.transpose()?);
        let beta_of_rows = if regular.is_some() { T::Accum::zero() } else { beta };
        let Some(staged) = staged else {
            if let Some((prepared, w)) = regular {
                prepared.apply_slices(w, alpha, x, beta, whole)?;
            }
            if let Some((prepared, w)) = rows {
                prepared.apply_slices(w, alpha, x, beta_of_rows, own)?;
            }
            return Ok(());
        };
        if staged.x.len() != x.len() || staged.regular.len() != whole.len() {
            return Err(foreign());
        }
        staged.x.write_from(self.columns.start, &x[self.columns.clone()])?;
        if !beta.is_zero() {
            let kept =
                if regular.is_some() { (&mut staged.regular, &*whole) } else { (&mut staged.rows, &*own) };
            kept.0.write(kept.1)?;
        }
        // Both are on their way before either is waited for.
        let regular = match regular {
            Some((prepared, w)) => Some(prepared.enqueue(w, alpha, &staged.x, beta, &mut staged.regular)?),
            None => None,
        };
        let rows = match rows {
            Some((prepared, w)) => {
                Some(prepared.enqueue(w, alpha, &staged.x, beta_of_rows, &mut staged.rows)?)
            }
            None => None,
        };
        // Those waited for are over, and lend their vectors no longer.
        regular.map(Pending::wait).transpose()?;
        rows.map(Pending::wait).transpose()?;
        if self.regular.is_some() {
            staged.regular.read(whole)?;
        }
        if self.device.is_some() {
            staged.rows.read(own)?;
        }
        Ok(())
    }

    /// `y += sums`.
    fn add(&self, y: &mut [T::Accum], sums: &[T::Accum]) {
        let add = |(y, sum): (&mut T::Accum, &T::Accum)| *y += *sum;
        match y.len() {
            0..=SERIAL_SUMS => y.iter_mut().zip(sums).for_each(add),
            _ => self.devices.pool().install(|| {
                y.par_iter_mut().with_min_len(SERIAL_SUMS / 4).zip(sums).for_each(add);
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use spmv_core::{Accum, Csr, bf16, f16, oracle};
    use spmv_cpu::{Cpu, Mask, Options as CpuOptions};
    use spmv_exec::Algorithm;

    use super::*;
    use crate::split::Regular;

    fn open(discrete: bool) -> Result<Device<Cpu>> {
        let mask = Mask { discrete, ..Mask::default() };
        Device::new(Cpu::open(CpuOptions { mask, ..CpuOptions::default() })?)
    }

    fn devices(discrete: bool) -> CoDevices<Cpu, Cpu> {
        CoDevices::new(open(discrete).unwrap(), 2, || open(discrete)).unwrap()
    }

    fn splits(n_rows: usize) -> Vec<Split> {
        let widths = [0, 2, 1000];
        let diagonals = widths.map(|half_width| Regular::Diagonals { half_width });
        let slots = widths.map(|width| Regular::Slots { width });
        let regular = [Regular::None].into_iter().chain(diagonals).chain(slots);
        let of_rows =
            |regular| [0, n_rows / 3, n_rows + 5].map(|rows| Split { regular, ..Split::by_rows(rows) });
        let options = Options { algorithm: Algorithm::SpeculativeSegmentedSum, ..Options::default() };
        let speculative = Split { options, ..Split::by_rows(n_rows / 2) };
        regular.flat_map(of_rows).chain([speculative]).collect()
    }

    /// Every split, on devices with memory in one part and in two; what must not be read is no number on the device either.
    fn check<T: Value>(
        devices: &[CoDevices<Cpu, Cpu>],
        entries: &[(u32, u32, f64)],
        n_rows: usize,
        n_cols: usize,
    ) where
        T::Accum: Accum,
    {
        let entries: Vec<_> = entries.iter().map(|(r, c, v)| (*r, *c, T::from_f64(*v))).collect();
        let a = Csr::<T>::from_coo(n_rows, n_cols, &entries).unwrap();
        let x: Vec<T> = (0..n_cols).map(|i| T::from_f64(0.25 + (i % 7) as f64)).collect();
        let number = <T::Accum as Value>::from_f64;
        for (devices, split) in devices.iter().flat_map(|s| splits(n_rows).into_iter().map(move |c| (s, c))) {
            let co_matrix = CoMatrix::with_split(devices, a.view(), &split).unwrap();
            let mut workspace = co_matrix.workspace().unwrap();
            for (alpha, beta) in [(1.0, 0.0), (-2.0, 3.0), (0.5, 1.0), (1.0, 0.0)] {
                let nan = number(f64::NAN);
                if let (true, Some(staged)) = (beta == 0.0, &mut workspace.device.staged) {
                    for y in [&mut staged.regular, &mut staged.rows] {
                        y.write(&vec![nan; y.len()]).unwrap();
                    }
                }
                workspace.sums.fill(nan);
                let old = vec![if beta == 0.0 { nan } else { number(1.5) }; n_rows];
                let reference = oracle::multiply(a.view(), alpha, &x, beta, &old);
                let mut y = old;
                let stats = co_matrix.apply(&mut workspace, number(alpha), &x, number(beta), &mut y).unwrap();
                assert!(
                    reference.error_over_bound(&y) <= 1.0,
                    "{split} {alpha} {beta}: {}",
                    co_matrix.explain()
                );
                assert_eq!(
                    co_matrix.is_split(),
                    stats.device_s > 0.0 && stats.cores_s > 0.0,
                    "{split} {stats:?}"
                );
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn device_and_host_together_are_the_oracle(
            n_rows in 0usize..40,
            n_cols in 0usize..40,
            entries in prop::collection::vec((0u32..40, 0u32..40, -2.0..2.0f64), 0..300),
        ) {
            let devices = [devices(false), devices(true)];
            let is_in = |(r, c, _): &&(u32, u32, f64)| (*r as usize) < n_rows && (*c as usize) < n_cols;
            let entries: Vec<_> = entries.iter().filter(is_in).copied().collect();
            check::<f64>(&devices, &entries, n_rows, n_cols);
            check::<f32>(&devices, &entries, n_rows, n_cols);
            check::<f16>(&devices, &entries, n_rows, n_cols);
            check::<bf16>(&devices, &entries, n_rows, n_cols);
        }
    }

    #[test]
    fn a_part_that_its_layout_refuses_is_multiplied_all_the_same_and_told() {
        // A stored zero, which no diagonal holds.
        let a = Csr::<f32>::new(2, 2, vec![0u32, 2, 3], vec![0, 1, 1], vec![1.0, 0.0, 3.0]).unwrap();
        let all = Split { regular: Regular::Diagonals { half_width: 9 }, ..Split::by_rows(0) };
        let co_matrix = CoMatrix::with_split(&devices(false), a.view(), &all).unwrap();
        assert_ne!(co_matrix.plan().algorithm, Algorithm::Dia);
        assert!(co_matrix.explain().contains("not in its layout: "), "{}", co_matrix.explain());
        let mut y = vec![f32::NAN; 2];
        co_matrix.apply(&mut co_matrix.workspace().unwrap(), 1.0, &[2.0, 1.0], 0.0, &mut y).unwrap();
        assert_eq!(y, [2.0, 3.0]);
    }

    #[test]
    fn lengths_and_workspaces_of_others_are_refused() {
        let a = Csr::<f64>::from_coo(2, 3, &[(0, 1, 2.0), (1, 0, 3.0)]).unwrap();
        for devices in [devices(false), devices(true)] {
            let with = |regular, rows| {
                CoMatrix::with_split(&devices, a.view(), &Split { regular, ..Split::by_rows(rows) })
            };
            let co_matrix = with(Regular::None, 1).unwrap();
            let mut workspace = co_matrix.workspace().unwrap();
            let mut y = vec![0.0; 2];
            let e = co_matrix.apply(&mut workspace, 1.0, &[1.0; 2], 0.0, &mut y).unwrap_err();
            assert_eq!(e, Error::Length { what: "x", found: 2, expected: 3 });
            let slots = Regular::Slots { width: 1 };
            let small = Csr::<f64>::from_coo(1, 3, &[(0, 1, 2.0), (0, 2, 3.0)]).unwrap();
            let of_small =
                CoMatrix::with_split(&devices, small.view(), &Split { regular: slots, ..Split::by_rows(0) });
            let mut of_small = of_small.unwrap().workspace().unwrap();
            let e = with(slots, 1).unwrap().apply(&mut of_small, 1.0, &[1.0; 3], 0.0, &mut y).unwrap_err();
            assert!(matches!(e, Error::Foreign { .. }), "{e}");
            for (regular, rows) in [(Regular::None, 1), (Regular::None, 0), (Regular::None, 2), (slots, 0)] {
                let other = with(regular, rows).unwrap();
                let e = other.apply(&mut workspace, 1.0, &[1.0; 3], 0.0, &mut y).unwrap_err();
                assert!(matches!(e, Error::Foreign { .. }), "{rows}: {e}");
            }
        }
    }

    #[test]
    fn large_offsets_are_split_too() {
        let a = Csr::<f64, u64>::new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![1.0, 2.0, 3.0]).unwrap();
        let first = Split { regular: Regular::Slots { width: 1 }, ..Split::by_rows(1) };
        let co_matrix = CoMatrix::with_split(&devices(true), a.view(), &first).unwrap();
        let mut y = vec![f64::NAN; 2];
        co_matrix.apply(&mut co_matrix.workspace().unwrap(), 1.0, &[10.0, 1.0], 0.0, &mut y).unwrap();
        assert_eq!(y, [12.0, 3.0]);
    }

    #[test]
    fn only_columns_that_the_device_gathers_are_its() {
        let a = Csr::<f32>::from_coo(3, 9, &[(0, 4, 1.0), (1, 6, 1.0), (2, 0, 1.0)]).unwrap();
        let co_matrix = CoMatrix::with_split(&devices(true), a.view(), &Split::by_rows(2)).unwrap();
        assert_eq!(co_matrix.columns, 0..9);
        let wide = Csr::<f32>::from_coo(2, 99, &[(0, 40, 1.0), (1, 0, 1.0)]).unwrap();
        let co_matrix = CoMatrix::with_split(&devices(true), wide.view(), &Split::by_rows(1)).unwrap();
        assert_eq!(co_matrix.columns, 32..48);
    }
}
