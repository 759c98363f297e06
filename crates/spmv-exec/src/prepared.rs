//! A matrix on a device, laid out by a plan.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use spmv_backend::{Addressed, Backend, DeviceKind, HostArray};
use spmv_core::format::Cost;
use spmv_core::tiling::{Piece, split_rows};
use spmv_core::{CsrView, Dtype, Footprint, MatrixStats, Offset, RowStats, Runs, Value};

use crate::algorithms::Algorithm;
use crate::blocks::BlockPart;
use crate::device::{Device, DeviceVec, Use};
use crate::error::{Error, Result};
use crate::gather::{self, Gather};
use crate::method::{Limits, Storage};
use crate::narrow::{WithValues, with_values_in};
use crate::options::Options;
use crate::part::{Layout, Prepare, Span};
use crate::plan::{Given, Plan, helpers, planned};
use crate::values::Values;

/// A matrix copied to a device, ready to multiply; never changes, and may be shared between threads.
///
/// It owns its arrays: the matrix it came from may be dropped or changed without any effect.
///
/// ```
/// # fn with<B: spmv_backend::Backend>(device: spmv_exec::Device<B>) -> Result<(), spmv_exec::Error> {
/// use spmv_core::Csr;
/// let a = Csr::from_coo(2, 2, &[(0, 1, 2.0f32)])?;
/// let prepared = device.prepare(a.view(), &Default::default())?;
/// drop(a);
/// println!("{}", prepared.plan().explain());
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Prepared<B: Backend, T: Value> {
    pub(crate) device: Device<B>,
    pub(crate) plan: Plan,
    pub(crate) parts: Vec<Box<dyn Layout<B, T>>>,
    /// Unlike any other of the process, so that a workspace of another matrix is recognised.
    pub(crate) id: u64,
    /// Held by nobody else: whoever keeps something for the matrix sees by it that the matrix is gone.
    pub(crate) alive: Arc<()>,
    /// Whether the last to write a row of `y` knows that.
    pub(crate) finishes_rows: bool,
    /// First entry of each part, and the end.
    entries: Vec<usize>,
    /// From the first new values on, in layouts with an order of their own.
    gather: Option<Gather<B>>,
    /// What products with several right-hand sides take, one for each part.
    pub(crate) blocks: Option<Vec<BlockPart<B>>>,
    /// Queues that multiplied by it.
    pub(crate) readers: Mutex<Vec<Use>>,
    /// Planning and trials included: whoever prepares knows it.
    pub(crate) prepare_s: f64,
}

static NEXT_ID: AtomicU64 = AtomicU64::new(0);

impl<B: Backend> Device<B> {
    /// [`Device::plan`], by whose the arrays are.
    pub(crate) fn planned<V: Value, O: Offset>(
        &self,
        a: CsrView<'_, V, O>,
        vector: Dtype,
        options: &Options,
        given: Given,
    ) -> Result<Plan> {
        let profile = self.profile(vector).filter(|_| options.is_as_measured());
        let stats = match profile {
            None if options.algorithm == Algorithm::Auto && self.caps().kind == DeviceKind::DiscreteGpu => {
                MatrixStats::of_diagonals(a)
            }
            None => {
                let (runs, mirrored) = (Some(Runs::of(a.cols())), Some(spmv_core::mirrored_share(a)));
                let footprint = Footprint::of(a.cols(), a.n_cols());
                MatrixStats { runs, mirrored, footprint, ..MatrixStats::from(&RowStats::of(a)) }
            }
            Some(_) => MatrixStats::of(a),
        };
        planned(&stats, vector, self.caps(), profile, options, given)
    }

    /// Plans, compiles and copies, for an `x` of type `T`; `given` are arrays of the matrix that the device may keep.
    pub(crate) fn lay_out<V: Value, T: Value, O: Offset>(
        &self,
        a: CsrView<'_, V, O>,
        given: &[Arc<dyn HostArray>],
        options: &Options,
    ) -> Result<Prepared<B, T>> {
        let of = if given.is_empty() { Given::Borrowed } else { Given::Owned };
        let mut plan = self.planned(a, T::DTYPE, options, of)?;
        plan.regular_width = plan.known.regular_width(a, options.regular_width);
        let cost = storage_cost(a, &plan);
        if let Some(cost) = &cost {
            cost.check(plan.algorithm.name(), options.max_blow_up)?;
        }
        let limits = Limits { max_entries: plan.max_entries, max_rows: plan.max_rows };
        plan.max_rows = plan.known.rows_of_a_part(cost.as_ref(), &limits, (a.n_rows(), a.n_cols()));
        self.compile(&plan)?;
        let pieces = split_rows(a.row_ptr(), plan.max_entries, plan.max_rows);
        let (entries, mut finishes_rows) = ends(&pieces);
        let mut parts = Vec::with_capacity(pieces.len());
        for piece in &pieces {
            let part: Box<dyn Layout<B, T>> = self.part(a, given, piece, &plan)?;
            finishes_rows &= part.finishes_rows();
            parts.push(part);
        }
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let (device, alive, readers) = (self.clone(), Arc::new(()), Mutex::default());
        Ok(Prepared {
            device,
            plan,
            parts,
            finishes_rows,
            id,
            alive,
            entries,
            gather: None,
            blocks: None,
            readers,
            prepare_s: 0.0,
        })
    }

    /// What does not compile is found before anything is copied.
    fn compile(&self, plan: &Plan) -> Result<()> {
        let helpers = helpers(plan.known, &plan.kernel, plan.types, self.caps(), plan.repair);
        Ok(helpers.iter().chain([&plan.kernel]).try_for_each(|spec| self.kernel(spec).map(drop))?)
    }

    fn part<V: Value, T: Value, O: Offset>(
        &self,
        a: CsrView<'_, V, O>,
        given: &[Arc<dyn HostArray>],
        piece: &Piece,
        plan: &Plan,
    ) -> Result<Box<dyn Layout<B, T>>> {
        let built = self.with_piece(a, given, piece, plan, |to, a| plan.known.build(to, a));
        built.map_err(|e| e.in_rows_from(piece.rows.start))
    }

    /// Gives `build` a piece of a matrix, with offsets of its own.
    pub(crate) fn with_piece<V: Value, O: Offset, R>(
        &self,
        a: CsrView<'_, V, O>,
        given: &[Arc<dyn HostArray>],
        piece: &Piece,
        plan: &Plan,
        build: impl FnOnce(&Prepare<'_, B>, CsrView<'_, V, u32>) -> Result<R>,
    ) -> Result<R> {
        let Piece { rows, entries, continues } = piece;
        let row_ptr = rebased(a.row_ptr(), rows, entries);
        let (row_base, n_rows, nnz) = (rows.start as u32, rows.len() as u32, entries.len() as u32);
        let span = Span { row_base, n_rows, nnz, continues: *continues };
        let helpers = helpers(plan.known, &plan.kernel, plan.types, self.caps(), plan.repair);
        let regular_width = plan.regular_width.unwrap_or(0);
        let (kernel, repair) = (plan.kernel, plan.repair);
        let to = Prepare { device: self, kernel, helpers, repair, span, regular_width, given };
        build(&to, a.piece(piece, &row_ptr)?)
    }
}

/// The first entry of each piece, and the end; and whether each row is in one piece.
fn ends(pieces: &[Piece]) -> (Vec<usize>, bool) {
    let entries = std::iter::once(0).chain(pieces.iter().map(|piece| piece.entries.end)).collect();
    (entries, !pieces.iter().any(|piece| piece.continues))
}

/// What the algorithm's layout of a matrix takes, if it has one of its own.
fn storage_cost<T: Value, O: Offset>(a: CsrView<'_, T, O>, plan: &Plan) -> Option<Cost> {
    match plan.storage {
        Storage::Csr => None,
        Storage::Own(cost) => Some(cost),
        Storage::Unknown => plan.known.cost(a, plan.regular_width.unwrap_or(0)),
    }
}

/// The row offsets of a piece, from 0 on and in 32 bits; borrowed where they are that already.
fn rebased<'a, O: Offset>(
    row_ptr: &'a [O],
    rows: &std::ops::Range<usize>,
    entries: &std::ops::Range<usize>,
) -> Cow<'a, [u32]> {
    let offsets = &row_ptr[rows.start..=rows.end];
    match bytemuck::try_cast_slice::<O, u32>(offsets) {
        Ok(same) if size_of::<O>() == 4 && *entries == (0..same[rows.len()] as usize) => Cow::Borrowed(same),
        _ => {
            let clip = |o: &O| (o.to_usize().clamp(entries.start, entries.end) - entries.start) as u32;
            Cow::Owned(offsets.iter().map(clip).collect())
        }
    }
}

impl<B: Backend, T: Value> Prepared<B, T> {
    /// What runs, and why.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The matrix's row statistics.
    pub fn row_stats(&self) -> &RowStats {
        &self.plan.rows
    }

    /// The device it lives on.
    pub fn device(&self) -> &Device<B> {
        &self.device
    }

    /// Addresses of row offsets (`u32`, one more than rows), columns (`u32`) and values (in the plan's type) on the device, for
    /// other libraries' calls on the same memory; `None` if the matrix was split or is not in CSR form.
    pub fn addresses(&self) -> Option<[u64; 3]>
    where
        B::Buffer: Addressed,
    {
        let [part] = &self.parts[..] else { return None };
        part.csr().map(|a| [&a.row_ptr, &a.cols, &*a.vals.get()].map(Addressed::address))
    }

    /// Gives the entries of the matrix other values, in the order in which it was prepared: plan, structure, buffers, workspaces
    /// and recorded operations stay. Waits for what multiplies, then copies `vals` to the device. On `dia`, a value of zero is no entry
    /// any more: it makes no NaN of an infinite `x`. On `sss` each entry stands for itself again. Values that are kept in a narrower type ([`Options::values`]) are rounded.
    ///
    /// In a layout of its own the device brings each value to its slot. For that the first call makes a list of entries, of 4 bytes a slot,
    /// and memory for a copy of `vals` (of a part, where the matrix was split; none where kernels use the host's memory). Both stay with
    /// the matrix.
    ///
    /// ```
    /// # fn with<B: spmv_backend::Backend>(a: &mut spmv_exec::Prepared<B, f64>, newton: &[f64]) -> Result<(), spmv_exec::Error> {
    /// a.set_values(newton)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Recorded`], [`Error::Narrow`], out of memory in the first call, and `Unsupported` on more than 65,534
    /// diagonals: the old values stay. Whatever else the driver says; products are unspecified then.
    pub fn set_values(&mut self, vals: &[T]) -> Result<()> {
        if vals.len() != self.plan.rows.nnz {
            let (what, expected) = ("the slice of values", self.plan.rows.nnz);
            return Err(Error::Length { what, found: vals.len(), expected });
        }
        let readers = self.readers.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.device.stretches().includes(readers.iter().copied())?;
        // Runs that were forgotten are waited for too.
        self.device.backend().wait_all()?;
        readers.clear();
        let values = self.plan.types.value;
        with_values_in(Some(values), vals, NewValues(self))
    }

    /// Launches that a run takes, one for each part that the device's limits cut the matrix into.
    pub fn n_parts(&self) -> usize {
        self.parts.len()
    }

    /// Seconds that preparing took: planning, compiling, copying, and trials.
    pub fn prepare_s(&self) -> f64 {
        self.prepare_s
    }

    /// New values wait for that use.
    pub(crate) fn read_by(&self, new: Use) {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        self.device.note(&mut readers, new);
    }

    pub(crate) fn check_lengths(&self, x: usize, y: usize) -> Result<()> {
        for (what, found, expected) in [("x", x, self.plan.rows.n_cols), ("y", y, self.plan.rows.n_rows)] {
            if found != expected {
                return Err(Error::Length { what, found, expected });
            }
        }
        Ok(())
    }

    pub(crate) fn check_device<U: Value>(&self, what: &'static str, vec: &DeviceVec<B, U>) -> Result<()> {
        vec.is_on(what, &self.device)
    }
}

/// New values of a matrix, in the type in which it keeps them.
struct NewValues<'a, B: Backend, T: Value>(&'a mut Prepared<B, T>);

impl<B: Backend, T: Value> WithValues for NewValues<'_, B, T> {
    type Output = ();

    fn run<V: Value>(self, vals: &[V]) -> Result<()> {
        let a = self.0;
        a.list_slots::<V>()?;
        for (part, entries) in a.parts.iter().zip(a.entries.windows(2)) {
            let vals = &vals[entries[0]..entries[1]];
            gather::set_values(&a.device, a.gather.as_mut(), &**part, vals)?;
        }
        for (part, entries) in a.blocks.iter().flatten().zip(a.entries.windows(2)) {
            let (device, vals) = (&a.device, &vals[entries[0]..entries[1]]);
            let Some(own) = &part.own else { continue };
            device.copies(|stream| own.vals.write(device, stream, vals))?;
        }
        Ok(())
    }
}

impl<B: Backend, T: Value> Prepared<B, T> {
    /// Makes what new values need, all of it before the first is written.
    fn list_slots<V: Value>(&mut self) -> Result<()> {
        let values = || self.parts.iter().flat_map(|part| part.values());
        values().try_for_each(|values| values.list(&self.device))?;
        self.parts.iter().try_for_each(|part| part.forget_values(&self.device))?;
        if self.gather.is_none() && values().any(Values::has_slots) {
            let most_entries = self.entries.windows(2).map(|part| part[1] - part[0]).max();
            self.gather = Some(Gather::new::<V>(&self.device, most_entries.unwrap_or(0))?);
        }
        Ok(())
    }
}
