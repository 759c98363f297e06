//! Measured times for plans to follow: feature `fit`.
//!
//! A plan predicts times by the *profile* of its device: for each algorithm and type of values the seconds that it takes for what it
//! does (a nonzero, a row, a cache line of `x`, ...). [`Context::fit`] measures these rates on generated matrices and keeps
//! them; from then on every context of the device finds them. Without a profile of the device, plans go by rules, and on
//! CPUs by a profile of another processor.
//!
//! ```
//! use spmv::{BackendKind, Context, Csr, Dtype, Options};
//! # let folder = std::env::temp_dir().join(format!("spmv-fit-{}", std::process::id()));
//! let context = Context::builder().backend(BackendKind::Cpu).profiles(&folder).build()?;
//! // So small a bound keeps nothing worth following: without it a fit takes minutes, and is done once.
//! let fit = context.fit().types(&[Dtype::F32]).max_entries(30).progress(|p| eprintln!("{p}"));
//! let fitted = fit.run()?;
//! fitted.accuracy.iter().for_each(|accuracy| println!("{accuracy}"));
//! let a = Csr::from_coo(2, 2, &[(0, 1, 2.0f32), (1, 0, 3.0)])?;
//! println!("{}", fitted.context.plan(&a, &Options::default())?.explain());
//! # std::fs::remove_dir_all(&folder).unwrap();
//! # Ok::<(), spmv::Error>(())
//! ```

use std::fmt;
use std::path::{Path, PathBuf};

use spmv_backend::DeviceCaps;
use spmv_core::{Csr, Dtype, MatrixStats, by_dtype};
use spmv_exec::{Algorithm, Options, Profile, work_of};
use spmv_io::generate::Family;
use spmv_model::{KernelRates, ProfileError, Rates, Work};

use crate::context::Context;
use crate::erased::Scalar;
use crate::error::{Error, Result};
pub use crate::timing::Runs;

const SEED: u64 = 2019;
/// Rows, and mean entries of a row, of the generated matrices.
const ROWS: [usize; 8] = [10, 30, 100, 500, 4_000, 30_000, 200_000, 1_000_000];
const MEANS: [u32; 6] = [3, 8, 20, 60, 200, 700];
/// Entries of the largest one, and where it is to be quick.
const MAX_ENTRIES: usize = 8_000_000;
const FEW_ENTRIES: usize = 300_000;
/// Types of values that are fitted unless others are asked for.
const TYPES: [Dtype; 2] = [Dtype::F32, Dtype::F64];

impl Context {
    /// Measures the device, so that plans for it predict times: says what to measure, and measures it with [`run`](Fit::run).
    /// Feature `fit`.
    pub fn fit(&self) -> Fit<'_> {
        Fit { context: self, types: vec![], max_entries: MAX_ENTRIES, progress: Box::new(|_| ()) }
    }
}

/// What to measure of a device; see [the module](self).
#[must_use = "measures nothing before `run`"]
pub struct Fit<'a> {
    context: &'a Context,
    /// None: those of [`TYPES`] that the device can do.
    types: Vec<Dtype>,
    max_entries: usize,
    progress: Box<dyn FnMut(&Progress) + 'a>,
}

impl<'a> Fit<'a> {
    /// Types of values; without this, of `f32` and `f64` those that the device can do. Rates of other types stay as they are.
    pub fn types(mut self, types: &[Dtype]) -> Self {
        self.types = types.to_vec();
        self
    }

    /// Whether matrices have at most 300,000 entries: seconds instead of minutes, and predictions for larger ones are
    /// worse. As [`max_entries`](Self::max_entries), of which the last call counts.
    pub fn quick(self, quick: bool) -> Self {
        self.max_entries(if quick { FEW_ENTRIES } else { MAX_ENTRIES })
    }

    /// Entries of the largest matrix; 8 million without this.
    pub fn max_entries(mut self, max_entries: usize) -> Self {
        self.max_entries = max_entries;
        self
    }

    /// Is called after each matrix.
    pub fn progress(mut self, progress: impl FnMut(&Progress) + 'a) -> Self {
        self.progress = Box::new(progress);
        self
    }

    /// Times every algorithm that can be planned on matrices of all shapes, fits rates to the times, and keeps them in the profile of the
    /// device, in the context's [folder](Context::profile_path). What the profile has besides stays.
    ///
    /// A type of values takes some minutes, or, if it is to be quick, less than one; each is saved when it is done. The device
    /// should have nothing else to do meanwhile. Memory: the largest matrix, 100 MB, a few times.
    ///
    /// # Errors
    /// [`Error::NoProfileFolder`]; [`Error::Profile`] if the file cannot be read or written; [`Error::Unsupported`] for types that
    /// the device cannot do, for several devices, and in co-execution: fit the context of the device alone, and add the cores to that of
    /// [`Fitted`], whose own plans follow the profile of a cpu context with [as many threads](crate::ContextBuilder::threads).
    /// Whatever the driver says.
    pub fn run(mut self) -> Result<Fitted> {
        let context = self.context;
        if context.cores().is_some() {
            return Err(Error::Unsupported {
                device: "a device with the host's cores".into(),
                what: "rates of its own".into(),
                way_out:
                    "fit the context of the device alone, and add the cores to the context that it returns"
                        .into(),
            });
        }
        if context.origin.device.is_parts() {
            return Err(Error::Unsupported {
                device: "a context of parts".into(),
                what: "rates of its own".into(),
                way_out: "fit the context of each device, and make parts of the contexts that it returns"
                    .into(),
            });
        }
        let path = context.profile_path().ok_or(Error::NoProfileFolder)?;
        let (mut profile, replaced) = kept(&path, context.caps())?;
        let types = self.types_to_fit()?;
        let matrices: Vec<Shape> = shapes(self.max_entries).collect();
        let (mut done, of) = (0, types.len() * matrices.len());
        let mut accuracy = Vec::new();
        for value in types {
            let mut timed = |shape: &Shape| {
                done += 1;
                (self.progress)(&Progress { done, of, value, matrix: shape.to_string() });
            };
            let samples = by_dtype!(value, T => samples::<T>(context, &matrices, &mut timed))?;
            for (algorithm, samples) in samples {
                let rates = Rates::fit(&samples);
                accuracy.push(Accuracy::of(algorithm, value, &rates, &samples));
                let kernel = algorithm.facts().expect("one that can be planned").rates.into();
                profile.put_rates(KernelRates { kernel, value: value.name().into(), rates });
            }
            // A type takes minutes: what is measured is kept at once.
            profile.save(&path).map_err(|e| error(&path, e))?;
        }
        Ok(Fitted { context: context.following(profile), path, replaced, accuracy })
    }

    /// Those asked for, or those that the device can do.
    fn types_to_fit(&self) -> Result<Vec<Dtype>> {
        let able = |value: &Dtype| by_dtype!(*value, T => can::<T>(self.context));
        if !self.types.is_empty() {
            self.types.iter().try_for_each(able)?;
            return Ok(self.types.clone());
        }
        let types: Vec<Dtype> = TYPES.into_iter().filter(|value| able(value).is_ok()).collect();
        if types.is_empty() {
            TYPES.iter().try_for_each(able)?;
        }
        Ok(types)
    }
}

impl fmt::Debug for Fit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { context, types, max_entries, .. } = self;
        let mut fit = f.debug_struct("Fit");
        fit.field("context", context).field("types", types).field("max_entries", max_entries);
        fit.finish_non_exhaustive()
    }
}

/// How far a fit is.
///
/// ```
/// use spmv::fit::Progress;
/// fn bar(progress: &Progress) -> String {
///     format!("{:.0}%", 100.0 * progress.done as f64 / progress.of as f64)
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// Matrices that were timed, of all types of values.
    pub done: usize,
    /// Matrices that are to be timed.
    pub of: usize,
    /// Type of values of the last one.
    pub value: Dtype,
    /// What that was: its family, rows, and mean entries of a row.
    pub matrix: String,
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { done, of, value, matrix } = self;
        write!(f, "{done}/{of}: {value}, {matrix}")
    }
}

/// What a fit measured; see [the module](self).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Fitted {
    /// The device whose plans follow the new profile. What was made with the context that was fitted can be used with it, and the
    /// reverse.
    pub context: Context,
    /// Where the profile is.
    pub path: PathBuf,
    /// Why the profile that was there before is gone with all that it had, if so: it was damaged, or of another
    /// driver, processor or version.
    pub replaced: Option<String>,
    /// How near the rates come to the times that they are fitted to: by type of values and algorithm.
    pub accuracy: Vec<Accuracy>,
}

/// How near the rates of an algorithm come to the times that they are fitted to.
///
/// ```
/// use spmv::fit::Accuracy;
/// fn worst(all: &[Accuracy]) -> Option<&Accuracy> {
///     all.iter().max_by(|a, b| a.median.total_cmp(&b.median))
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Accuracy {
    /// Never `Auto`.
    pub algorithm: Algorithm,
    /// Type of values.
    pub value: Dtype,
    /// Those that its layout takes; at least one.
    pub n_matrices: usize,
    /// Median of |predicted - measured| / measured.
    pub median: f64,
    /// Ninth decile of the same.
    pub ninth_decile: f64,
}

impl Accuracy {
    fn of(algorithm: Algorithm, value: Dtype, rates: &Rates, samples: &[Sample]) -> Self {
        let off = |(work, s): &Sample| (rates.seconds(work) - s).abs() / s.max(1e-12);
        let mut errors: Vec<f64> = samples.iter().map(off).collect();
        errors.sort_by(f64::total_cmp);
        let n_matrices = errors.len();
        let (median, ninth_decile) = (errors[n_matrices / 2], errors[n_matrices * 9 / 10]);
        Self { algorithm, value, n_matrices, median, ninth_decile }
    }
}

impl fmt::Display for Accuracy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { algorithm, value, n_matrices, median, ninth_decile } = self;
        let (median, ninth_decile) = (100.0 * median, 100.0 * ninth_decile);
        write!(
            f,
            "{value} {algorithm}: {n_matrices} matrices; off by {median:.0}% at the median, {ninth_decile:.0}% at the ninth decile"
        )
    }
}

/// What a multiplication does, and the seconds that it takes.
type Sample = (Work, f64);

/// A matrix to generate.
#[derive(Clone, Copy, Debug)]
struct Shape {
    family: Family,
    n: usize,
    mean: u32,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { family, n, mean } = self;
        write!(f, "{family}, {n} rows of {mean} entries")
    }
}

/// All that are to be timed.
fn shapes(max_entries: usize) -> impl Iterator<Item = Shape> {
    let sizes = ROWS.into_iter().flat_map(|n| MEANS.map(|mean| (n, mean)));
    let fits = move |(n, mean): &(usize, u32)| n * *mean as usize <= max_entries && 2 * *mean as usize <= *n;
    sizes.filter(fits).flat_map(|(n, mean)| Family::ALL.map(|family| Shape { family, n, mean }))
}

/// The profile that is kept, or an empty one and why what was kept is of no use.
fn kept(path: &Path, caps: &DeviceCaps) -> Result<(Profile, Option<String>)> {
    let empty = || Profile::new(caps);
    match spmv_model::kept(Some(path.to_owned()), |path| Profile::load(path, caps)) {
        Ok(kept) => Ok((kept.unwrap_or_else(empty), None)),
        Err(e @ ProfileError::Io { .. }) => Err(error(path, e)),
        Err(e) => Ok((empty(), Some(e.to_string()))),
    }
}

fn error(path: &Path, e: ProfileError) -> Error {
    let reason = match e {
        ProfileError::Io { error, .. } => error.to_string(),
        other => other.to_string(),
    };
    Error::Profile { path: path.to_owned(), reason }
}

/// Whether plans can be made for values of a type, and if not, why.
fn can<T: Scalar>(context: &Context) -> Result<()> {
    let a = Csr::from_coo(1, 1, &[(0, 0, T::from_f64(1.0))])?;
    context.plan(&a, &Options::default()).map(drop)
}

/// Samples of each algorithm, as it is planned, on every matrix that its layout takes; none without samples.
fn samples<T: Scalar>(
    context: &Context,
    matrices: &[Shape],
    timed: &mut dyn FnMut(&Shape),
) -> Result<Vec<(Algorithm, Vec<Sample>)>> {
    let planned = Algorithm::ALL.iter().filter(|algorithm| algorithm.facts().is_some());
    let mut all: Vec<_> = planned.map(|algorithm| (*algorithm, Vec::new())).collect();
    for shape in matrices {
        let a = shape.family.matrix(shape.n, shape.mean, SEED);
        let a: Csr<T> = a.expect("sizes that each family has").map_values(T::from_f64);
        let stats = MatrixStats::of(a.view());
        for (algorithm, samples) in &mut all {
            let options = Options { algorithm: *algorithm, ..Options::default() };
            let runs = match Runs::of(context, &a, &options) {
                // Smaller matrices have to do, as on a device with less memory than this one takes.
                Ok(None) | Err(Error::OutOfMemory { .. }) => continue,
                Ok(Some(runs)) => runs,
                Err(e) => return Err(e),
            };
            // No rates can be fitted to what statistics do not say.
            let work = work_of(*algorithm, &runs.kernel, &stats, context.caps());
            samples.extend(work.map(|work| (work, runs.median())));
        }
        timed(shape);
    }
    all.retain(|(_, samples)| !samples.is_empty());
    Ok(all)
}
