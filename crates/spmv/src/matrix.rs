//! Prepared matrices and their runs.

use std::sync::{Mutex, PoisonError};

use spmv_core::format::Cost;
use spmv_core::{Csr, CsrView, Offset, RowStats, Value, conjugate};
use spmv_exec::{Options, Plan, RunStats};
use spmv_hetero::Partition;

use crate::context::Context;
use crate::erased::{OwnedCsr, Scalar};
use crate::erased_matrix::{AnyGraph, AnyMatrix, AnyPending, AnyWorkspace, Mismatch};
use crate::error::{Error, Result};
use crate::transposed_entries::TransposedEntries;
use crate::vector::Vector;

/// A matrix on a device, ready to multiply. It owns its arrays, never changes, and may be shared.
///
/// ```
/// use spmv::{Context, Csr};
/// let context = Context::auto()?;
/// let a = context.prepare(&Csr::from_coo(2, 2, &[(0, 1, 2.0f32), (1, 0, 3.0)])?)?;
/// let (x, mut y) = (context.upload(&[1.0, 10.0])?, context.upload(&[1.0, 1.0])?);
/// a.apply(1.0, &x, -1.0, &mut y)?;
/// assert_eq!(y.to_vec()?, [19.0, 2.0]);
/// # Ok::<(), spmv::Error>(())
/// ```
#[derive(Debug)]
pub struct Matrix<T: Scalar> {
    context: Context,
    erased: Box<dyn AnyMatrix<T>>,
    transpose: Option<Transpose<T>>,
    /// Workspaces of runs that are over: one for each thread that ever multiplied at the same time.
    idle: Mutex<Vec<Workspace>>,
}

/// What multiplies by the transpose of a matrix, or by its conjugate transpose.
#[derive(Debug)]
pub(crate) struct Transpose<T: Scalar> {
    /// Whether values are conjugate.
    pub(crate) is_conjugate: bool,
    /// None where the matrix is its own transpose.
    pub(crate) stored: Option<Box<Matrix<T>>>,
    pub(crate) entries: TransposedEntries,
}

impl<T: Scalar> Transpose<T> {
    /// Its values, of those of the matrix.
    fn values(&self, vals: &[T]) -> Vec<T> {
        let mut values = self.entries.values(vals);
        if self.is_conjugate {
            conjugate(&mut values);
        }
        values
    }

    /// Refuses values that need a transpose of their own where there is none.
    fn check_values(&self, vals: &[T]) -> Result<()> {
        let is_symmetric = || self.values(vals).iter().zip(vals).all(|(of_mirrored, own)| of_mirrored == own);
        if self.stored.is_some() || is_symmetric() {
            return Ok(());
        }
        Err(Error::Unsupported {
            device: "a matrix that was prepared as its own transpose".into(),
            what: "room for values that are not symmetric".into(),
            way_out: "prepare it anew".into(),
        })
    }

    /// Gives the transpose the values that the matrix has.
    fn set_values(&mut self, vals: &[T]) -> Result<()> {
        if self.stored.is_none() {
            return Ok(());
        }
        let values = self.values(vals);
        self.stored.as_mut().map_or(Ok(()), |stored| stored.set_values(&values))
    }

    fn explain(&self) -> String {
        let on_host = self.entries.bytes();
        let what = if self.is_conjugate { "conjugate transpose" } else { "transpose" };
        match &self.stored {
            None => format!(
                "{what}: the matrix itself, which is symmetric; on the host {on_host} bytes for new values"
            ),
            Some(stored) => {
                let csr = Cost::of(stored.n_rows(), stored.nnz(), T::DTYPE, 0, 0).csr_bytes;
                format!(
                    "{what}: a copy with a plan of its own, {csr} bytes as CSR; on the host {on_host} bytes for new values\n{}",
                    stored.explain()
                )
            }
        }
    }

    fn prepare_s(&self) -> f64 {
        self.stored.as_ref().map_or(0.0, |stored| stored.prepare_s())
    }
}

/// A stream and scratch memory for one matrix; see [`Matrix::enqueue`].
///
/// ```
/// use spmv::{Context, Csr, Workspace};
/// let a = Context::auto()?.prepare(&Csr::from_coo(1, 1, &[(0, 0, 2.0f32)])?)?;
/// let workspace: Workspace = a.workspace()?;
/// # Ok::<(), spmv::Error>(())
/// ```
#[derive(Debug)]
pub struct Workspace {
    erased: Box<dyn AnyWorkspace>,
}

/// A run on its way. Keeps `y` borrowed, so that sums cannot be read before they are repaired; dropping
/// it waits too.
///
/// ```
/// use spmv::{Context, Csr};
/// let context = Context::auto()?;
/// let a = context.prepare(&Csr::from_coo(1, 1, &[(0, 0, 2.0f64)])?)?;
/// let (x, mut y, mut workspace) = (context.upload(&[4.0])?, context.zeros(1)?, a.workspace()?);
/// let pending = a.enqueue(&mut workspace, 1.0, &x, 0.0, &mut y)?;
/// // Other work of the host goes here.
/// let stats = pending.wait()?;
/// assert_eq!(y.to_vec()?, [8.0]);
/// # Ok::<(), spmv::Error>(())
/// ```
#[must_use = "y is repaired only when the run is waited for"]
pub struct Pending<'a> {
    erased: Box<dyn AnyPending + 'a>,
}

impl std::fmt::Debug for Pending<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pending").finish_non_exhaustive()
    }
}

/// Runs on the same vectors with the same scalars, captured: started by one call, which costs less than starting their
/// kernels one by one. Keeps `x`, `y` and the workspace borrowed.
///
/// ```
/// use spmv::{Context, Csr};
/// let context = Context::auto()?;
/// let a = context.prepare(&Csr::from_coo(1, 1, &[(0, 0, 2.0f64)])?)?;
/// let (x, mut y, mut workspace) = (context.upload(&[4.0])?, context.zeros(1)?, a.workspace()?);
/// match a.capture(&mut workspace, 1, 1.0, &x, 0.0, &mut y) {
///     Ok(mut graph) => {
///         graph.replay()?;
///     }
///     Err(e) => println!("{e}"),
/// }
/// # Ok::<(), spmv::Error>(())
/// ```
#[must_use]
pub struct Graph<'a> {
    erased: Box<dyn AnyGraph + 'a>,
}

impl std::fmt::Debug for Graph<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Graph").finish_non_exhaustive()
    }
}

impl Graph<'_> {
    /// Runs what was captured, and waits. Times are those of one run, the mean of all that were captured.
    ///
    /// # Errors
    /// Failures of the device, or a report of it that cannot be.
    pub fn replay(&mut self) -> Result<RunStats> {
        Ok(self.erased.replay()?)
    }
}

impl Pending<'_> {
    /// Waits for the device, does what is left of stage 2, and gives `y` back.
    ///
    /// # Errors
    /// Failures of the device, or a report of it that cannot be.
    pub fn wait(self) -> Result<RunStats> {
        Ok(self.erased.wait()?)
    }
}

impl Context {
    /// Copies a matrix to the device, laid out by the plan that is expected to be fastest.
    /// O(rows + entries).
    ///
    /// # Errors
    /// What the device cannot hold or compute, and out of memory.
    pub fn prepare<'a, T: Scalar, O: Offset>(&self, a: impl Into<CsrView<'a, T, O>>) -> Result<Matrix<T>> {
        self.prepare_with(a, &Options::default())
    }

    /// As [`prepare`](Self::prepare), with algorithm, tiling and where sums are repaired chosen.
    ///
    /// ```
    /// use spmv::{Context, Csr, Options, plan::Algorithm};
    /// let a = Csr::from_coo(1, 1, &[(0, 0, 2.0f64)])?;
    /// let options = Options { algorithm: Algorithm::SpeculativeSegmentedSum, ..Options::default() };
    /// let a = Context::auto()?.prepare_with(&a, &options)?;
    /// println!("{}", a.plan().explain());
    /// assert_eq!(a.multiply(&[3.0])?, [6.0]);
    /// # Ok::<(), spmv::Error>(())
    /// ```
    ///
    /// [`Options::tune`] has candidates timed on the matrix. What is taken can be saved, and given again for the same bits in every run:
    ///
    /// ```
    /// use spmv::{BackendKind, Context, Csr, Options, plan::Tune};
    /// let a = Csr::from_coo(2, 2, &[(0, 1, 2.0f32), (1, 0, 3.0)])?;
    /// let context = Context::with(BackendKind::Cpu)?;
    /// let tuned = context.prepare_with(&a, &Options { tune: Tune::Quick, ..Options::default() })?;
    /// println!("{}", tuned.explain());
    /// let saved = tuned.plan().choice().to_string();
    /// let again = context.prepare_with(&a, &Options::default().with_choice(saved.parse()?))?;
    /// assert_eq!(again.plan().choice(), tuned.plan().choice());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// [`Options::values`] keeps values in a narrower type than vectors, which takes less memory and time. Here the residual of a system is
    /// found in `f64`, while products of the inner solver would read half of the bytes:
    ///
    /// ```
    /// use spmv::{BackendKind, Context, Csr, Dtype, Options};
    /// let a = Csr::from_coo(2, 2, &[(0, 0, 1.0 / 3.0), (1, 1, 0.5)])?;
    /// let context = Context::with(BackendKind::Cpu)?;
    /// let exact = context.prepare(&a)?;
    /// let rounded = context.prepare_with(&a, &Options { values: Some(Dtype::F32), ..Options::default() })?;
    /// let [y, of_rounded] = [&exact, &rounded].map(|a| a.multiply(&[3.0f64, 2.0]).unwrap());
    /// assert_eq!(y, [1.0, 1.0]);
    /// assert_eq!(of_rounded, [3.0 * f64::from(1.0f32 / 3.0), 1.0]);
    /// # Ok::<(), spmv::Error>(())
    /// ```
    ///
    /// On several devices each part is tuned for itself. A choice that is given is for all parts; [`plan`](Matrix::plan) has that of the
    /// first. In co-execution only [a split that is given](crate::hetero::Steering::split) is tuned: the search times splits.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare), and options that the device cannot follow.
    pub fn prepare_with<'a, T: Scalar, O: Offset>(
        &self,
        a: impl Into<CsrView<'a, T, O>>,
        options: &Options,
    ) -> Result<Matrix<T>> {
        self.check_blocks(options)?;
        let erased = T::device(&*self.origin.device).prepare(a.into().erase(), options)?;
        Ok(Matrix::new(self.clone(), erased))
    }

    /// As [`prepare_with`](Self::prepare_with), of a matrix that is given away. Where kernels can use the host's memory, as on the
    /// CPU, its arrays are kept instead of copied, and no algorithm with a layout of its own runs that was not asked for; elsewhere it
    /// is freed once it is copied. So it is the cheapest to prepare, while what [`prepare`](Self::prepare) takes may multiply faster.
    ///
    /// ```
    /// use spmv::{Context, Csr, Options};
    /// let a = Csr::from_coo(1, 1, &[(0, 0, 2.0f64)])?;
    /// let a = Context::auto()?.prepare_owned(a, &Options::default())?;
    /// assert_eq!(a.multiply(&[3.0])?, [6.0]);
    /// # Ok::<(), spmv::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`prepare_with`](Self::prepare_with); the matrix is lost then.
    pub fn prepare_owned<T: Scalar, O: Offset>(&self, a: Csr<T, O>, options: &Options) -> Result<Matrix<T>> {
        self.check_blocks(options)?;
        let erased = T::device(&*self.origin.device).prepare_owned(OwnedCsr::of(a), options)?;
        Ok(Matrix::new(self.clone(), erased))
    }
}

impl<T: Scalar> Matrix<T> {
    pub(crate) fn new(context: Context, erased: Box<dyn AnyMatrix<T>>) -> Self {
        Self { context, erased, transpose: None, idle: Mutex::default() }
    }

    pub(crate) fn transpose(&self) -> Option<&Transpose<T>> {
        self.transpose.as_ref()
    }

    pub(crate) fn set_transpose(&mut self, transpose: Transpose<T>) {
        self.transpose = Some(transpose);
    }

    pub(crate) fn erased(&self) -> &dyn AnyMatrix<T> {
        &*self.erased
    }

    /// The context that it was prepared by.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Number of rows: the length of `y`.
    pub fn n_rows(&self) -> usize {
        self.row_stats().n_rows
    }

    /// Number of columns: the length of `x`.
    pub fn n_cols(&self) -> usize {
        self.row_stats().n_cols
    }

    /// Number of stored entries.
    pub fn nnz(&self) -> usize {
        self.row_stats().nnz
    }

    /// A vector of zeros as long as `x`, where the matrix is.
    ///
    /// ```
    /// use spmv::{Csr, Scalar, Value};
    /// fn ones<T: Scalar>(a: &spmv::Matrix<T>) -> spmv::Result<Vec<T::Accum>> {
    ///     let (mut x, mut y) = (a.zeros_x()?, a.zeros_y()?);
    ///     x.write(&vec![T::from_f64(1.0); a.n_cols()])?;
    ///     a.apply(T::Accum::from_f64(1.0), &x, T::Accum::from_f64(0.0), &mut y)?;
    ///     y.to_vec()
    /// }
    /// let a = Csr::from_coo(2, 2, &[(0, 0, 1.0f32), (0, 1, 2.0)])?;
    /// assert_eq!(ones(&spmv::Context::auto()?.prepare(&a)?)?, [3.0, 0.0]);
    /// # Ok::<(), spmv::Error>(())
    /// ```
    ///
    /// # Errors
    /// Out of memory.
    pub fn zeros_x(&self) -> Result<Vector<T>> {
        self.context.zeros(self.n_cols())
    }

    /// A vector of zeros as long as `y`, where the matrix is.
    ///
    /// # Errors
    /// Out of memory.
    pub fn zeros_y(&self) -> Result<Vector<T::Accum>> {
        self.context.zeros(self.n_rows())
    }

    /// What runs, and why; in co-execution, what multiplies the device share, or all if the cores have it.
    pub fn plan(&self) -> &Plan {
        self.erased.plan()
    }

    /// What runs, and why; in co-execution, also where the matrix is split; and what multiplies by the transpose, if it was prepared.
    pub fn explain(&self) -> String {
        let of_transpose = self.transpose.as_ref().map(|transpose| format!("\n{}", transpose.explain()));
        self.erased.explain() + &of_transpose.unwrap_or_default()
    }

    /// How the split was found, in co-execution where none was given.
    pub fn partition(&self) -> Option<&Partition> {
        self.erased.partition()
    }

    /// Row statistics of the matrix.
    pub fn row_stats(&self) -> &RowStats {
        self.erased.row_stats()
    }

    /// Seconds that preparing took: planning, compiling, copying. With a [transpose](Context::prepare_with_transpose), of both.
    pub fn prepare_s(&self) -> f64 {
        self.erased.prepare_s() + self.transpose.as_ref().map_or(0.0, Transpose::prepare_s)
    }

    /// Gives the entries other values, in the order of the arrays that the matrix was prepared from: plan, structure, buffers,
    /// workspaces and what queues recorded stay. Waits for what multiplies, then copies `vals` to the device. On `dia`, a value of zero is
    /// no entry any more: it makes no NaN of an infinite `x`. Values that are kept in a narrower type ([`Options::values`]) are rounded.
    ///
    /// In a layout of its own the device brings each value to its slot. For that the first call makes a list of entries, of 4 bytes a slot,
    /// and memory for a copy of `vals`, none where kernels use the host's memory. Both stay with the matrix.
    ///
    /// ```
    /// use spmv::{Context, Csr};
    /// let mut a = Csr::from_coo(2, 2, &[(0, 0, 1.0f64), (1, 1, 2.0)])?;
    /// let mut on_device = Context::auto()?.prepare(&a)?;
    /// a.vals_mut()[1] = 5.0;
    /// on_device.set_values(a.vals())?;
    /// assert_eq!(on_device.multiply(&[1.0, 1.0])?, [1.0, 5.0]);
    /// # Ok::<(), spmv::Error>(())
    /// ```
    ///
    /// # Errors
    /// Another number of values, one that the type they are kept in makes infinite, operations that a queue still records, out of memory in the first call, `Unsupported` on more than
    /// 65,534 diagonals: the old values stay. Failures of the device, and in co-execution, on several devices and with a stored transpose
    /// those of one share or matrix after another has its new values; products are unspecified then. `Unsupported` for values that are not symmetric, of a matrix that is
    /// [its own transpose](Context::prepare_with_transpose).
    pub fn set_values(&mut self, vals: &[T]) -> Result<()> {
        let transpose = self.transpose.as_mut().filter(|_| vals.len() == self.erased.row_stats().nnz);
        if let Some(transpose) = &transpose {
            transpose.check_values(vals)?;
        }
        self.erased.set_values(vals)?;
        transpose.map_or(Ok(()), |transpose| transpose.set_values(vals))
    }

    /// `y <- alpha*A*x + beta*y` on device vectors: `x` of `n_cols` values, `y` of `n_rows` sums.
    ///
    /// As in BLAS, `beta == 0` does not read `y`, and with `alpha == 0` no value of the matrix or of `x` reaches it, not even
    /// NaN. After the first call no memory of the device is allocated, nothing on the host that grows with the matrix, and
    /// nothing is compiled.
    ///
    /// ```
    /// use spmv::{BackendKind, Context, Csr};
    /// let context = Context::with(BackendKind::Cpu)?;
    /// let a = context.prepare(&Csr::from_coo(1, 1, &[(0, 0, f32::NAN)])?)?;
    /// let (x, mut y) = (context.upload(&[1.0])?, context.upload(&[f32::INFINITY])?);
    /// a.apply(0.0, &x, 0.0, &mut y)?;
    /// assert_eq!(y.to_vec()?, [0.0]);
    /// # Ok::<(), spmv::Error>(())
    /// ```
    ///
    /// # Errors
    /// Vectors of another length or backend, sums that were never repaired, failures of the device.
    pub fn apply(
        &self,
        alpha: T::Accum,
        x: &Vector<T>,
        beta: T::Accum,
        y: &mut Vector<T::Accum>,
    ) -> Result<RunStats> {
        self.with_workspace(|w| self.erased.apply(&mut *w.erased, alpha, &*x.erased, beta, &mut *y.erased))
    }

    /// As [`apply`](Self::apply) on host slices: in place where the device can use host memory, else through
    /// device copies that are kept for the next call.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub fn apply_slices(
        &self,
        alpha: T::Accum,
        x: &[T],
        beta: T::Accum,
        y: &mut [T::Accum],
    ) -> Result<RunStats> {
        self.with_workspace(|w| self.erased.apply_slices(&mut *w.erased, alpha, x, beta, y))
    }

    /// `A*x` as a new `Vec`.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub fn multiply(&self, x: &[T]) -> Result<Vec<T::Accum>> {
        let mut y = vec![T::Accum::default(); self.row_stats().n_rows];
        self.apply_slices(T::Accum::from_f64(1.0), x, T::Accum::default(), &mut y)?;
        Ok(y)
    }

    /// A stream and scratch memory of its own, for [`enqueue`](Self::enqueue).
    ///
    /// # Errors
    /// Out of memory.
    pub fn workspace(&self) -> Result<Workspace> {
        Ok(Workspace { erased: self.erased.workspace(false)? })
    }

    /// As [`workspace`](Self::workspace), with [`RunStats`] by the device's timestamps. Some drivers then take
    /// several microseconds more for each run. In co-execution it is a plain one.
    ///
    /// # Errors
    /// Out of memory.
    pub fn timed_workspace(&self) -> Result<Workspace> {
        Ok(Workspace { erased: self.erased.workspace(true)? })
    }

    /// Starts `y <- alpha*A*x + beta*y` and returns while the device works. Allocates one small handle.
    ///
    /// # Errors
    /// As [`apply`](Self::apply), and a workspace of another matrix; `Unsupported` in co-execution.
    pub fn enqueue<'a>(
        &'a self,
        workspace: &'a mut Workspace,
        alpha: T::Accum,
        x: &'a Vector<T>,
        beta: T::Accum,
        y: &'a mut Vector<T::Accum>,
    ) -> Result<Pending<'a>> {
        let pending = self.erased.enqueue(&mut *workspace.erased, alpha, &*x.erased, beta, &mut *y.erased);
        Ok(Pending { erased: pending.map_err(|e| self.error(e))? })
    }

    /// Captures `runs` runs of `y <- alpha*A*x + beta*y`, one after the other; starts none. On CUDA they become a graph.
    ///
    /// # Errors
    /// As [`enqueue`](Self::enqueue); `Unsupported` where the device cannot capture, in co-execution, for no runs, and for
    /// several runs that the host must repair.
    pub fn capture<'a>(
        &'a self,
        workspace: &'a mut Workspace,
        runs: u32,
        alpha: T::Accum,
        x: &'a Vector<T>,
        beta: T::Accum,
        y: &'a mut Vector<T::Accum>,
    ) -> Result<Graph<'a>> {
        let (workspace, x, y) = (&mut *workspace.erased, &*x.erased, &mut *y.erased);
        let graph = self.erased.capture(workspace, runs, alpha, x, beta, y);
        Ok(Graph { erased: graph.map_err(|e| self.error(e))? })
    }

    /// Tiles that the device repaired in the last run with this workspace; see [`RunStats::dirty_tiles`].
    ///
    /// # Errors
    /// A workspace of another matrix, and whatever the driver says; `Unsupported` in co-execution.
    pub fn dirty_tiles(&self, workspace: &Workspace) -> Result<u32> {
        self.erased.dirty_tiles(&*workspace.erased).map_err(|e| self.error(e))
    }

    fn with_workspace<R>(&self, run: impl FnOnce(&mut Workspace) -> Result<R, Mismatch>) -> Result<R> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut workspace = idle.map_or_else(|| self.workspace(), Ok)?;
        let result = run(&mut workspace).map_err(|e| self.error(e));
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(workspace);
        result
    }

    fn error(&self, e: Mismatch) -> Error {
        e.into()
    }
}
