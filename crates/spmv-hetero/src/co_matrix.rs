//! A matrix on a device and the host.

use std::ops::Range;
use std::time::Instant;

use num_traits::Zero;
use rayon::ThreadPool;
use rayon::prelude::*;
use spmv_backend::Backend;
use spmv_core::{Accum, CsrView, Offset, RowStats, Value};
use spmv_exec::{Device, DeviceVec, Error, Options, Plan, Prepared, Result, Workspace};

use crate::co_devices::CoDevices;
use crate::partition::{Partition, imbalance};
use crate::split::{Marks, Parts, Rows, Split};

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
    /// Of the first rows, or with a regular part of all rows.
    device: Option<Share<B, T>>,
    /// The cores' rows, which begin where the device's of the rest end.
    cores: Option<Prepared<C, T>>,
    /// The device's entries, with a regular part; else they are the first.
    marks: Option<Marks>,
    partition: Option<Partition>,
    prepare_s: f64,
}

/// What the device multiplies, in one launch.
#[derive(Debug)]
struct Share<B: Backend, T: Value> {
    prepared: Prepared<B, T>,
    /// Of `x`, that it gathers.
    columns: Range<usize>,
    /// Why a regular part is not in its layout.
    refused: Option<String>,
}

impl<B: Backend, T: Value> Share<B, T> {
    /// With a regular part all rows, by the layout of its kind, or as the split's rows if that refuses them; else the first rows.
    /// `None` where the device has no rows.
    fn prepare<O: Offset>(
        device: &Device<B>,
        parts: &Parts<'_, T, O>,
        split: &Split,
    ) -> Result<Option<Self>> {
        if let (Some(algorithm), Some(share)) = (split.regular.algorithm(), parts.with_rows(split.rows)) {
            let asked = Options { algorithm, regular_width: split.regular.width(), ..split.options };
            let (prepared, refused) = match device.prepare(share.view(), &asked) {
                Err(Error::Format(e)) => (device.prepare(share.view(), &split.options)?, Some(e.to_string())),
                prepared => (prepared?, None),
            };
            return Ok(Some(Self { prepared, columns: columns(share.view()), refused }));
        }
        // Rows without entries are to be scaled nevertheless.
        let rows = 0..split.rows.min(parts.rest().n_rows());
        if rows.is_empty() {
            return Ok(None);
        }
        let rows = Rows::of(parts.rest(), rows);
        let prepared = device.prepare(rows.view(), &split.options)?;
        Ok(Some(Self { prepared, columns: columns(rows.view()), refused: None }))
    }

    fn n_rows(&self) -> usize {
        self.prepared.row_stats().n_rows
    }

    /// Its rows of `y`, on the thread that waits for them.
    fn apply(
        &self,
        on_device: &mut OnDevice<B, T>,
        alpha: T::Accum,
        x: &[T],
        beta: T::Accum,
        y: &mut [T::Accum],
    ) -> Result<()> {
        let OnDevice { workspace, staged } = on_device;
        let Some(Staged { x: device_x, y: device_y }) = staged else {
            return self.prepared.apply_slices(workspace, alpha, x, beta, y).map(drop);
        };
        if (device_x.len(), device_y.len()) != (x.len(), y.len()) {
            return Err(Error::Foreign { what: "the workspace", to: "split matrix" });
        }
        device_x.write_from(self.columns.start, &x[self.columns.clone()])?;
        if !beta.is_zero() {
            device_y.write(y)?;
        }
        self.prepared.apply(workspace, alpha, device_x, beta, device_y)?;
        device_y.read(y)
    }
}

/// From the first column with an entry to the last, in whole groups of [`COLUMNS`]. O(entries).
fn columns<T: Value, O: Offset>(a: CsrView<'_, T, O>) -> Range<usize> {
    let (first, last) = a.cols().iter().fold((u32::MAX, 0), |(lo, hi), &c| (lo.min(c), hi.max(c)));
    let (first, past) = (first as usize / COLUMNS * COLUMNS, (last as usize + 1).next_multiple_of(COLUMNS));
    if a.nnz() == 0 { 0..0 } else { first..past.min(a.n_cols()) }
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
    device: Option<OnDevice<B, T>>,
    cores: Option<Workspace<C, T>>,
    /// Of the cores, for rows that the device has sums of too.
    sums: Vec<T::Accum>,
}

#[derive(Debug)]
struct OnDevice<B: Backend, T: Value> {
    workspace: Workspace<B, T>,
    /// Where kernels do not reach the host's memory.
    staged: Option<Staged<B, T>>,
}

#[derive(Debug)]
struct Staged<B: Backend, T: Value> {
    x: DeviceVec<B, T>,
    y: DeviceVec<B, T::Accum>,
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
    /// With a regular part the device multiplies that and its rows of the rest by [`Regular::algorithm`](crate::Regular::algorithm);
    /// where its layout refuses them, by the split's options, and [`explain`](Self::explain) says so. The cores keep values in
    /// the same type, and take what `Auto` stands for.
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
        let co_matrix = Self::with_parts(devices, a, &parts, split)?;
        Ok(Self { prepare_s: start.elapsed().as_secs_f64(), ..co_matrix })
    }

    /// The same of a matrix whose regular part is known.
    pub(crate) fn with_parts<O: Offset>(
        devices: &CoDevices<B, C>,
        a: CsrView<'_, T, O>,
        parts: &Parts<'_, T, O>,
        split: &Split,
    ) -> Result<Self> {
        let split = Split { rows: split.rows.min(a.n_rows()), ..*split };
        let device = Share::prepare(devices.device(), parts, &split)?;
        let (rest, rows) = (parts.rest(), split.rows..a.n_rows());
        // With a regular part the device scales all rows.
        let is_needed = match parts.regular() {
            Some(_) => rest.row_ptr()[rows.start] < rest.row_ptr()[rows.end],
            None => !rows.is_empty() || device.is_none(),
        };
        let options = Options { values: split.options.values, ..Options::default() };
        let of_cores = |cores: &Device<C>| cores.prepare(Rows::of(rest, rows).view(), &options);
        let cores = match (is_needed, &device) {
            (false, _) => None,
            (true, Some(_)) => Some(devices.pool().install(|| of_cores(devices.sharing()))?),
            (true, None) => Some(of_cores(devices.alone())?),
        };
        let (devices, rows, marks) = (devices.clone(), RowStats::of(a), parts.marks(split.rows));
        Ok(Self { devices, split, rows, device, cores, marks, partition: None, prepare_s: 0.0 })
    }

    pub(crate) fn with_partition(self, partition: Partition, prepare_s: f64) -> Self {
        Self { partition: Some(partition), prepare_s, ..self }
    }

    /// Where it was split, why, and what runs on device and host.
    pub fn explain(&self) -> String {
        let part = |rows: &RowStats| format!("{} rows, {} entries", rows.n_rows, rows.nnz);
        let mut lines = vec![self.partition.as_ref().map_or(self.split.to_string(), Partition::to_string)];
        let device = self.device.as_ref().map(|s| ("device", s.prepared.row_stats(), s.prepared.plan()));
        let cores = self.cores.as_ref().map(|p| ("cores", p.row_stats(), p.plan()));
        for (name, rows, plan) in device.into_iter().chain(cores) {
            lines.push(format!("{name}: {}; {}", part(rows), plan.explain()));
        }
        if let Some(why) = self.device.as_ref().and_then(|share| share.refused.as_ref()) {
            lines.push(format!("  the device's share is not in the layout of its regular part: {why}"));
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

    /// What multiplies the device's share; what multiplies on the cores, if they have all.
    pub fn plan(&self) -> &Plan {
        let device = self.device.as_ref().map(|share| share.prepared.plan());
        let plan = device.or_else(|| self.cores.as_ref().map(Prepared::plan));
        plan.expect("without a share of the device the cores have all")
    }

    /// Seconds that preparing took, with the search for the split.
    pub fn prepare_s(&self) -> f64 {
        self.prepare_s
    }

    /// Whether it is split at all: neither has everything.
    pub fn is_split(&self) -> bool {
        self.cores.is_some() && self.device.is_some()
    }

    /// Rows of which device and cores have a piece each.
    fn rows_of_both(&self) -> usize {
        let device = self.device.as_ref().map_or(0, Share::n_rows);
        let cores = self.cores.as_ref().map_or(0, |cores| cores.row_stats().n_rows);
        device + cores - self.rows.n_rows
    }

    /// Gives the entries other values, as [`Prepared::set_values`]; with a regular part, the host first makes a copy of them for device
    /// and cores.
    ///
    /// # Errors
    /// As there; where the device has its new values and the cores do not, products are unspecified.
    pub fn set_values(&mut self, vals: &[T]) -> Result<()> {
        let expected = self.rows.nnz;
        if vals.len() != expected {
            return Err(Error::Length { what: "the slice of values", found: vals.len(), expected });
        }
        let of_device = self.device.as_ref().map_or(0, |share| share.prepared.row_stats().nnz);
        let split = self.marks.as_ref().map(|marks| marks.split(vals));
        let (of_device, of_cores) = match &split {
            Some([of_device, of_cores]) => (&of_device[..], &of_cores[..]),
            None => vals.split_at(of_device),
        };
        self.device.as_mut().map_or(Ok(()), |share| share.prepared.set_values(of_device))?;
        self.cores.as_mut().map_or(Ok(()), |cores| cores.set_values(of_cores))
    }

    /// Opens streams and allocates what runs need; runs then allocate no more than what starting the pool takes, but for the first one where
    /// the cores cannot use the host's memory.
    ///
    /// # Errors
    /// Out of memory.
    pub fn workspace(&self) -> Result<CoWorkspace<B, C, T>> {
        let device = self.devices.device();
        let on_device = |share: &Share<B, T>| -> Result<OnDevice<B, T>> {
            let staged = match device.caps().host_pointers {
                true => None,
                false => {
                    Some(Staged { x: device.zeros(self.rows.n_cols)?, y: device.zeros(share.n_rows())? })
                }
            };
            Ok(OnDevice { workspace: share.prepared.workspace()?, staged })
        };
        Ok(CoWorkspace {
            device: self.device.as_ref().map(on_device).transpose()?,
            cores: self.cores.as_ref().map(Prepared::workspace).transpose()?,
            sums: vec![T::Accum::zero(); self.rows_of_both()],
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
        let rows_of_both = self.rows_of_both();
        let is_own = (self.device.is_some(), self.cores.is_some(), rows_of_both)
            == (on_device.is_some(), on_cores.is_some(), sums.len());
        if !is_own {
            return Err(Error::Foreign { what: "the workspace", to: "split matrix" });
        }
        // Of the cores alone, which are done in less time than it takes to read some timestamps.
        if let (Some(cores), Some(w), None) = (&self.cores, &mut *on_cores, &self.device) {
            let run = cores.apply_slices(w, alpha, x, beta, y)?;
            let total_s = run.stage1_s + run.stage2_s;
            return Ok(CoStats { cores_s: total_s, total_s, ..CoStats::default() });
        }
        let start = Instant::now();
        let since = || start.elapsed().as_secs_f64();
        let mut stats = CoStats::default();
        let (own, others) = y.split_at_mut(self.device.as_ref().map_or(0, Share::n_rows));
        // Sums to be added, or rows of `y` itself.
        let (others, beta_of_others) =
            if rows_of_both > 0 { (&mut sums[..], T::Accum::zero()) } else { (others, beta) };
        let on_the_cores = || match (&self.cores, on_cores) {
            (Some(cores), Some(w)) => {
                cores.apply_slices(w, alpha, x, beta_of_others, others).map(|_| since())
            }
            _ => Ok(0.0),
        };
        let of_device = || match (&self.device, on_device) {
            (Some(share), Some(w)) => share.apply(w, alpha, x, beta, own).map(|()| since()),
            _ => Ok(0.0),
        };
        if self.is_split() {
            let mut of_cores = Ok(0.0);
            let device = self.devices.pool().in_place_scope(|scope| {
                scope.spawn(|_| of_cores = on_the_cores());
                of_device()
            });
            (stats.device_s, stats.cores_s) = (device?, of_cores?);
        } else {
            stats.device_s = of_device()?;
        }
        if rows_of_both > 0 {
            let before = since();
            add(self.devices.pool(), &mut y[self.split.rows..], sums);
            stats.join_s = since() - before;
        }
        stats.total_s = since();
        Ok(stats)
    }
}

/// `y += sums`, by those threads where there are many.
fn add<A: Accum>(pool: &ThreadPool, y: &mut [A], sums: &[A]) {
    let add = |(y, sum): (&mut A, &A)| *y += *sum;
    match y.len() {
        0..=SERIAL_SUMS => y.iter_mut().zip(sums).for_each(add),
        _ => pool.install(|| y.par_iter_mut().with_min_len(SERIAL_SUMS / 4).zip(sums).for_each(add)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use spmv_core::{Csr, bf16, f16, oracle};
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
                let staged = workspace.device.as_mut().and_then(|on_device| on_device.staged.as_mut());
                if let (true, Some(Staged { y, .. })) = (beta == 0.0, staged) {
                    y.write(&vec![nan; y.len()]).unwrap();
                }
                workspace.sums.fill(nan);
                let old = vec![if beta == 0.0 { nan } else { number(1.5) }; n_rows];
                let reference =
                    oracle::multiply(a.view(), T::Wide::from_f64(alpha), &x, T::Wide::from_f64(beta), &old);
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
        // Each entry on a diagonal of its own.
        let n = 40u32;
        let rows = (0..n).map(|r| [(n - 1 - r, f64::from(r) + 0.5)]);
        let a = Csr::<f64>::from_rows(n as usize, rows).unwrap();
        for rows in [0, 9] {
            let band = Split { regular: Regular::Diagonals { half_width: 30 }, ..Split::by_rows(rows) };
            let co_matrix = CoMatrix::with_split(&devices(false), a.view(), &band).unwrap();
            assert_ne!(co_matrix.plan().algorithm, Algorithm::DiaCsr);
            let explained = co_matrix.explain();
            assert!(
                explained.contains("not in the layout of its regular part: dia_csr would take "),
                "{explained}"
            );
            let mut y = vec![f64::NAN; n as usize];
            co_matrix.apply(&mut co_matrix.workspace().unwrap(), 1.0, &[2.0; 40], 0.0, &mut y).unwrap();
            assert!(y.iter().zip(0u32..).all(|(y, r)| *y == 2.0 * f64::from(r) + 1.0), "{y:?}");
        }
    }

    #[test]
    fn a_regular_part_and_the_devices_rows_of_the_rest_are_one_share() {
        // Three entries about the diagonal of each row and one far from it; a stored zero is no trouble.
        let n = 60u32;
        let row = |r: u32| [(r, 1.0), (r + 1, 0.0), (r + 2, 2.0), ((r + 30) % n, 3.0)];
        let a = Csr::<f64>::from_rows(n as usize + 2, (0..n).map(row)).unwrap();
        for (regular, algorithm, width) in [
            (Regular::Slots { width: 3 }, Algorithm::EllCsr, 3),
            (Regular::Diagonals { half_width: 2 }, Algorithm::DiaCsr, 2),
        ] {
            for rows in [0, 20] {
                let split = Split { regular, ..Split::by_rows(rows) };
                let co_matrix = CoMatrix::with_split(&devices(false), a.view(), &split).unwrap();
                let plan = co_matrix.plan();
                assert_eq!((plan.algorithm, plan.regular_width), (algorithm, Some(width)));
                let explained = co_matrix.explain();
                let share = format!("\ndevice: 60 rows, {} entries; {algorithm}", 180 + rows);
                assert!(explained.contains(&share), "{explained}");
                let of_cores = format!("\ncores: {} rows, {} entries; ", 60 - rows, 60 - rows);
                assert!(explained.contains(&of_cores), "{explained}");
                assert!(split.to_string().ends_with(&format!("{rows} rows of the rest by {algorithm}")));
            }
        }
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
        assert_eq!(co_matrix.device.unwrap().columns, 0..9);
        let wide = Csr::<f32>::from_coo(2, 99, &[(0, 40, 1.0), (1, 0, 1.0)]).unwrap();
        let co_matrix = CoMatrix::with_split(&devices(true), wide.view(), &Split::by_rows(1)).unwrap();
        assert_eq!(co_matrix.device.unwrap().columns, 32..48);
    }
}
