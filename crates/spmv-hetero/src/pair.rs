//! A matrix on two sides.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use num_traits::Zero;
use rayon::prelude::*;
use spmv_backend::Backend;
use spmv_core::{CsrView, Offset, RowStats, Value};
use spmv_exec::{Device, DeviceVec, Error, Options, Pending, Plan, Prepared, Result, Workspace};

use crate::cut::{Cut, Halves, Rows};
use crate::partition::{Partition, imbalance};
use crate::sides::Sides;

/// Sums that are added by one thread.
const SERIAL_SUMS: usize = 1 << 15;
/// Columns of `x` that are copied together: some devices copy whole words only.
const COLUMNS: usize = 16;

/// A matrix cut in two, a part on either side; never changes, and may be shared between threads.
///
/// Vectors are the host's: the device works on them in place where its kernels reach the host's memory, else the columns of
/// `x` and the rows of `y` that its part has are copied, while the cores multiply theirs.
///
/// ```
/// # fn with<B: spmv_backend::Backend>(gpu: spmv_exec::Device<B>) -> Result<(), Box<dyn std::error::Error>> {
/// use spmv_core::Csr;
/// use spmv_cpu::Cpu;
/// use spmv_exec::Device;
/// use spmv_hetero::{Cut, Pair, Sides};
/// let a = Csr::from_coo(2, 2, &[(0, 1, 2.0f64), (1, 0, 3.0)])?;
/// let sides = Sides::new(gpu, 4, || Ok(Device::new(Cpu::open(Default::default())?)?))?;
/// let pair = Pair::with_cut(&sides, a.view(), &Cut::by_rows(1))?;
/// println!("{}", pair.explain());
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Pair<B: Backend, C: Backend, T: Value> {
    sides: Sides<B, C>,
    cut: Cut,
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
    /// In the layout of its kind, or as the cut's rows if that refuses it; `None` without entries.
    pub(crate) fn prepare<O: Offset>(
        device: &Device<B>,
        halves: &Halves<'_, T, O>,
        cut: &Cut,
    ) -> Result<Option<Arc<Self>>> {
        let (Some(a), Some(algorithm)) = (halves.regular(), cut.regular.algorithm()) else { return Ok(None) };
        let asked = Options { algorithm, ..cut.options };
        let (prepared, refused) = match device.prepare(a, &asked) {
            Err(Error::Format(e)) => (device.prepare(a, &cut.options)?, Some(e.to_string())),
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
/// use spmv_hetero::PairStats;
/// let stats = PairStats { device_s: 3e-6, cores_s: 2e-6, join_s: 1e-6, total_s: 4e-6 };
/// assert!((stats.imbalance() - 1.0 / 3.0).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct PairStats {
    /// From the start until the device's sums were there, with all copies; 0 if it has no part.
    pub device_s: f64,
    /// From the start until those of the cores were; 0 if they have no part, and what their device says of itself if they have all.
    pub cores_s: f64,
    /// Both sides' sums added.
    pub join_s: f64,
    /// The whole run.
    pub total_s: f64,
}

impl PairStats {
    /// |T_GPU - T_CPU| / max: the share of the time for which the side that was done first waited for the other.
    pub fn imbalance(&self) -> f64 {
        imbalance(self.device_s, self.cores_s)
    }
}

impl<B: Backend, C: Backend, T: Value> Pair<B, C, T> {
    /// Copies the parts of a matrix to their sides. O(rows + entries), and the cost of preparing both.
    ///
    /// A regular part takes its layout; where that refuses it, what its rows take, and [`explain`](Self::explain) says so. The
    /// cores take what `Auto` stands for.
    ///
    /// # Errors
    /// As [`Device::prepare`].
    pub fn with_cut<O: Offset>(sides: &Sides<B, C>, a: CsrView<'_, T, O>, cut: &Cut) -> Result<Self> {
        let start = Instant::now();
        let halves = Halves::of(a, cut.regular);
        let regular = RegularPart::prepare(sides.device(), &halves, cut)?;
        let pair = Self::with_regular(sides, a, &halves, regular, cut)?;
        Ok(Self { prepare_s: start.elapsed().as_secs_f64(), ..pair })
    }

    /// The same, with a regular part that is prepared already.
    pub(crate) fn with_regular<O: Offset>(
        sides: &Sides<B, C>,
        a: CsrView<'_, T, O>,
        halves: &Halves<'_, T, O>,
        regular: Option<Arc<RegularPart<B, T>>>,
        cut: &Cut,
    ) -> Result<Self> {
        let (rest, cut_at) = (halves.rest(), cut.rows.min(a.n_rows()));
        // Without a regular part, rows without entries are to be scaled nevertheless.
        let is_needed = |rows: &Range<usize>| match &regular {
            Some(_) => rest.row_ptr()[rows.start] < rest.row_ptr()[rows.end],
            None => !rows.is_empty(),
        };
        let (device, columns_of_rows) = match Some(0..cut_at).filter(is_needed) {
            Some(rows) => {
                let rows = Rows::of(rest, rows);
                (Some(sides.device().prepare(rows.view(), &cut.options)?), columns(rows.view()))
            }
            None => (None, 0..0),
        };
        let has_device = device.is_some() || regular.is_some();
        let cores = match Some(cut_at..a.n_rows()).filter(|rows| !has_device || is_needed(rows)) {
            Some(rows) => {
                let rows = Rows::of(rest, rows);
                let prepare = |cores: &Device<C>| cores.prepare(rows.view(), &Options::default());
                Some(match has_device {
                    true => sides.pool().install(|| prepare(sides.beside()))?,
                    false => prepare(sides.alone())?,
                })
            }
            None => None,
        };
        let columns_of_regular = regular.as_ref().map_or(0..0, |regular| regular.columns.clone());
        Ok(Self {
            sides: sides.clone(),
            cut: Cut { rows: cut_at, ..*cut },
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

    /// Where it was cut, why, and what runs on either side.
    pub fn explain(&self) -> String {
        let part = |rows: &RowStats| format!("{} rows, {} entries", rows.n_rows, rows.nnz);
        let mut lines = vec![self.partition.as_ref().map_or(self.cut.to_string(), Partition::to_string)];
        if let Some(regular) = &self.regular {
            let prepared = &regular.prepared;
            lines.push(format!("device: {}; {}", part(prepared.row_stats()), prepared.plan().explain()));
            lines.extend(regular.refused.as_ref().map(|why| format!("  not in its layout: {why}")));
        }
        let device = self.device.as_ref().map(|p| ("device", p.row_stats(), p.plan()));
        let cores = self.cores.as_ref().map(|p| ("cores", p.row_stats(), p.plan()));
        for (side, rows, plan) in device.into_iter().chain(cores) {
            lines.push(format!("{side}: {}; {}", part(rows), plan.explain()));
        }
        lines.join("\n")
    }

    /// Where it was cut.
    pub fn cut(&self) -> Cut {
        self.cut
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
            .expect("a matrix without a regular part has rows on one side at least")
    }

    /// Seconds that preparing took, with the search for the cut.
    pub fn prepare_s(&self) -> f64 {
        self.prepare_s
    }

    /// Whether it is cut at all, and no side has everything.
    pub fn is_cut(&self) -> bool {
        self.cores.is_some() && (self.regular.is_some() || self.device.is_some())
    }

    /// Opens streams and allocates what runs need; runs then allocate no more than what wakes the pool, but for the first one where
    /// the cores cannot use the host's memory.
    ///
    /// # Errors
    /// Out of memory.
    pub fn workspace(&self) -> Result<PairWorkspace<B, C, T>> {
        let device = self.sides.device();
        let (n_rows, cut_at) = (self.rows.n_rows, self.cut.rows);
        let has_regular = self.regular.is_some();
        let staged = match (has_regular || self.device.is_some()) && !device.caps().host_pointers {
            true => Some(Staged {
                x: device.zeros(self.rows.n_cols)?,
                regular: device.zeros(if has_regular { n_rows } else { 0 })?,
                rows: device.zeros(if self.device.is_some() { cut_at } else { 0 })?,
            }),
            false => None,
        };
        let regular = self.regular.as_ref().map(|regular| regular.prepared.workspace()).transpose()?;
        let rows = self.device.as_ref().map(Prepared::workspace).transpose()?;
        Ok(PairWorkspace {
            device: OnDevice { regular, rows, staged },
            cores: self.cores.as_ref().map(Prepared::workspace).transpose()?,
            sums: vec![T::Accum::zero(); if has_regular { n_rows } else { 0 }],
        })
    }

    /// `y <- alpha*A*x + beta*y` by both sides at the same time. `x` has `n_cols` values, `y` has `n_rows` sums, which are not read
    /// if `beta == 0`.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Foreign`] for another pair's workspace, and failures of either side; `y` is
    /// unspecified then.
    pub fn apply(
        &self,
        workspace: &mut PairWorkspace<B, C, T>,
        alpha: T::Accum,
        x: &[T],
        beta: T::Accum,
        y: &mut [T::Accum],
    ) -> Result<PairStats> {
        let (n_rows, n_cols) = (self.rows.n_rows, self.rows.n_cols);
        for (what, found, expected) in [("x", x.len(), n_cols), ("y", y.len(), n_rows)] {
            if found != expected {
                return Err(Error::Length { what, found, expected });
            }
        }
        let PairWorkspace { device: on_device, cores: on_cores, sums } = workspace;
        let has_regular = self.regular.is_some();
        let n_sums = if has_regular { n_rows } else { 0 };
        if (self.cores.is_some(), n_sums) != (on_cores.is_some(), sums.len()) {
            return Err(Error::Foreign { what: "the workspace", to: "pair" });
        }
        // Of the cores alone, which are done in less time than some clocks are read in.
        if let (Some(cores), Some(w), true) =
            (&self.cores, &mut *on_cores, self.device.is_none() && !has_regular)
        {
            let run = cores.apply_slices(w, alpha, x, beta, y)?;
            let total_s = run.stage1_s + run.stage2_s;
            return Ok(PairStats { cores_s: total_s, total_s, ..PairStats::default() });
        }
        let start = Instant::now();
        let since = || start.elapsed().as_secs_f64();
        let mut stats = PairStats::default();
        // The device's rows and those of the cores: of sums to be added, or of `y` itself.
        let (whole, rows) = if has_regular { (&mut y[..], &mut sums[..]) } else { (&mut [][..], &mut y[..]) };
        let (own, others) = rows.split_at_mut(self.cut.rows);
        let beta_of_rows = if has_regular { T::Accum::zero() } else { beta };
        let on_the_cores = || match (&self.cores, on_cores) {
            (Some(cores), Some(w)) => cores.apply_slices(w, alpha, x, beta_of_rows, others).map(|_| since()),
            _ => Ok(0.0),
        };
        let mut of_device = |whole: &mut [T::Accum], own: &mut [T::Accum]| {
            self.on_device(on_device, alpha, x, beta, whole, own).map(|()| since())
        };
        if self.is_cut() {
            let mut of_cores = Ok(0.0);
            let device = self.sides.pool().in_place_scope(|scope| {
                scope.spawn(|_| of_cores = on_the_cores());
                of_device(whole, own)
            });
            (stats.device_s, stats.cores_s) = (device?, of_cores?);
        } else {
            stats.device_s = of_device(whole, own)?;
        }
        if has_regular {
            let before = since();
            let from = if self.device.is_some() { 0 } else { self.cut.rows };
            let to = if self.cores.is_some() { n_rows } else { self.cut.rows };
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
        let foreign = || Error::Foreign { what: "the workspace", to: "pair" };
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
            _ => self.sides.pool().install(|| {
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
    use crate::cut::Regular;

    fn open(discrete: bool) -> Result<Device<Cpu>> {
        let mask = Mask { discrete, ..Mask::default() };
        Device::new(Cpu::open(CpuOptions { mask, ..CpuOptions::default() })?)
    }

    fn sides(discrete: bool) -> Sides<Cpu, Cpu> {
        Sides::new(open(discrete).unwrap(), 2, || open(discrete)).unwrap()
    }

    fn cuts(n_rows: usize) -> Vec<Cut> {
        let widths = [0, 2, 1000];
        let diagonals = widths.map(|half_width| Regular::Diagonals { half_width });
        let places = widths.map(|width| Regular::Places { width });
        let regular = [Regular::None].into_iter().chain(diagonals).chain(places);
        let of_rows = |regular| [0, n_rows / 3, n_rows + 5].map(|rows| Cut { regular, ..Cut::by_rows(rows) });
        let options = Options { algorithm: Algorithm::SpeculativeSegmentedSum, ..Options::default() };
        let speculative = Cut { options, ..Cut::by_rows(n_rows / 2) };
        regular.flat_map(of_rows).chain([speculative]).collect()
    }

    /// Every cut, on devices with memory in one part and in two; what must not be read is no number on the device either.
    fn check<T: Value>(sides: &[Sides<Cpu, Cpu>], entries: &[(u32, u32, f64)], n_rows: usize, n_cols: usize)
    where
        T::Accum: Accum,
    {
        let entries: Vec<_> = entries.iter().map(|(r, c, v)| (*r, *c, T::from_f64(*v))).collect();
        let a = Csr::<T>::from_coo(n_rows, n_cols, &entries).unwrap();
        let x: Vec<T> = (0..n_cols).map(|i| T::from_f64(0.25 + (i % 7) as f64)).collect();
        let number = <T::Accum as Value>::from_f64;
        for (sides, cut) in sides.iter().flat_map(|s| cuts(n_rows).into_iter().map(move |c| (s, c))) {
            let pair = Pair::with_cut(sides, a.view(), &cut).unwrap();
            let mut workspace = pair.workspace().unwrap();
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
                let stats = pair.apply(&mut workspace, number(alpha), &x, number(beta), &mut y).unwrap();
                assert!(reference.error_over_bound(&y) <= 1.0, "{cut} {alpha} {beta}: {}", pair.explain());
                assert_eq!(pair.is_cut(), stats.device_s > 0.0 && stats.cores_s > 0.0, "{cut} {stats:?}");
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
            let sides = [sides(false), sides(true)];
            let is_in = |(r, c, _): &&(u32, u32, f64)| (*r as usize) < n_rows && (*c as usize) < n_cols;
            let entries: Vec<_> = entries.iter().filter(is_in).copied().collect();
            check::<f64>(&sides, &entries, n_rows, n_cols);
            check::<f32>(&sides, &entries, n_rows, n_cols);
            check::<f16>(&sides, &entries, n_rows, n_cols);
            check::<bf16>(&sides, &entries, n_rows, n_cols);
        }
    }

    #[test]
    fn a_part_that_its_layout_refuses_is_multiplied_all_the_same_and_told() {
        // A stored zero, which no diagonal holds.
        let a = Csr::<f32>::new(2, 2, vec![0u32, 2, 3], vec![0, 1, 1], vec![1.0, 0.0, 3.0]).unwrap();
        let all = Cut { regular: Regular::Diagonals { half_width: 9 }, ..Cut::by_rows(0) };
        let pair = Pair::with_cut(&sides(false), a.view(), &all).unwrap();
        assert_ne!(pair.plan().algorithm, Algorithm::Dia);
        assert!(pair.explain().contains("not in its layout: "), "{}", pair.explain());
        let mut y = vec![f32::NAN; 2];
        pair.apply(&mut pair.workspace().unwrap(), 1.0, &[2.0, 1.0], 0.0, &mut y).unwrap();
        assert_eq!(y, [2.0, 3.0]);
    }

    #[test]
    fn lengths_and_workspaces_of_others_are_refused() {
        let a = Csr::<f64>::from_coo(2, 3, &[(0, 1, 2.0), (1, 0, 3.0)]).unwrap();
        for sides in [sides(false), sides(true)] {
            let with =
                |regular, rows| Pair::with_cut(&sides, a.view(), &Cut { regular, ..Cut::by_rows(rows) });
            let pair = with(Regular::None, 1).unwrap();
            let mut workspace = pair.workspace().unwrap();
            let mut y = vec![0.0; 2];
            let e = pair.apply(&mut workspace, 1.0, &[1.0; 2], 0.0, &mut y).unwrap_err();
            assert_eq!(e, Error::Length { what: "x", found: 2, expected: 3 });
            let places = Regular::Places { width: 1 };
            let small = Csr::<f64>::from_coo(1, 3, &[(0, 1, 2.0), (0, 2, 3.0)]).unwrap();
            let of_small = Pair::with_cut(&sides, small.view(), &Cut { regular: places, ..Cut::by_rows(0) });
            let mut of_small = of_small.unwrap().workspace().unwrap();
            let e = with(places, 1).unwrap().apply(&mut of_small, 1.0, &[1.0; 3], 0.0, &mut y).unwrap_err();
            assert!(matches!(e, Error::Foreign { .. }), "{e}");
            for (regular, rows) in [(Regular::None, 1), (Regular::None, 0), (Regular::None, 2), (places, 0)] {
                let other = with(regular, rows).unwrap();
                let e = other.apply(&mut workspace, 1.0, &[1.0; 3], 0.0, &mut y).unwrap_err();
                assert!(matches!(e, Error::Foreign { .. }), "{rows}: {e}");
            }
        }
    }

    #[test]
    fn large_offsets_are_cut_too() {
        let a = Csr::<f64, u64>::new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![1.0, 2.0, 3.0]).unwrap();
        let first = Cut { regular: Regular::Places { width: 1 }, ..Cut::by_rows(1) };
        let pair = Pair::with_cut(&sides(true), a.view(), &first).unwrap();
        let mut y = vec![f64::NAN; 2];
        pair.apply(&mut pair.workspace().unwrap(), 1.0, &[10.0, 1.0], 0.0, &mut y).unwrap();
        assert_eq!(y, [12.0, 3.0]);
    }

    #[test]
    fn only_columns_that_the_device_gathers_are_its() {
        let a = Csr::<f32>::from_coo(3, 9, &[(0, 4, 1.0), (1, 6, 1.0), (2, 0, 1.0)]).unwrap();
        let pair = Pair::with_cut(&sides(true), a.view(), &Cut::by_rows(2)).unwrap();
        assert_eq!(pair.columns, 0..9);
        let wide = Csr::<f32>::from_coo(2, 99, &[(0, 40, 1.0), (1, 0, 1.0)]).unwrap();
        let pair = Pair::with_cut(&sides(true), wide.view(), &Cut::by_rows(1)).unwrap();
        assert_eq!(pair.columns, 32..48);
    }
}
