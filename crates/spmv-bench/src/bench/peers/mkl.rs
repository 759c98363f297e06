//! Intel MKL's inspector-executor through `libmkl_rt`, found at run time.

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{anyhow, bail, ensure};
use libloading::{Library, Symbol};

use ::spmv::{CsrView, Scalar, c32, c64};

use super::{Factor, Peer};

/// SPARSE_OPERATION_NON_TRANSPOSE and SPARSE_OPERATION_TRANSPOSE.
const NO_TRANSPOSE: c_int = 10;
const TRANSPOSE: c_int = 11;
/// Multiplications that MKL is told to expect, so that it optimises for them.
const EXPECTED_CALLS: c_int = 1000;

/// `struct matrix_descr`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct MatrixKind {
    kind: c_int,
    mode: c_int,
    diag: c_int,
}

/// SPARSE_MATRIX_TYPE_GENERAL; fill mode and diagonal are ignored for it.
const GENERAL: MatrixKind = MatrixKind { kind: 20, mode: 40, diag: 50 };

pub(super) type Handle = *mut c_void;
type CreateCsr<T> = unsafe extern "C" fn(
    *mut Handle,
    c_int,
    c_int,
    c_int,
    *mut c_int,
    *mut c_int,
    *mut c_int,
    *mut T,
) -> c_int;
type SetHint = unsafe extern "C" fn(Handle, c_int, MatrixKind, c_int) -> c_int;
type Optimize = unsafe extern "C" fn(Handle) -> c_int;
type Mv<T> = unsafe extern "C" fn(c_int, T, Handle, MatrixKind, *const T, T, *mut T) -> c_int;

/// A value type of MKL.
pub(crate) trait MklValue: Scalar<Accum = Self> {
    const CREATE: &'static [u8];
    const MV: &'static [u8];
    const MM: &'static [u8];
}

impl MklValue for f32 {
    const CREATE: &'static [u8] = b"mkl_sparse_s_create_csr\0";
    const MV: &'static [u8] = b"mkl_sparse_s_mv\0";
    const MM: &'static [u8] = b"mkl_sparse_s_mm\0";
}

impl MklValue for c32 {
    const CREATE: &'static [u8] = b"mkl_sparse_c_create_csr\0";
    const MV: &'static [u8] = b"mkl_sparse_c_mv\0";
    const MM: &'static [u8] = b"mkl_sparse_c_mm\0";
}

impl MklValue for c64 {
    const CREATE: &'static [u8] = b"mkl_sparse_z_create_csr\0";
    const MV: &'static [u8] = b"mkl_sparse_z_mv\0";
    const MM: &'static [u8] = b"mkl_sparse_z_mm\0";
}

impl MklValue for f64 {
    const CREATE: &'static [u8] = b"mkl_sparse_d_create_csr\0";
    const MV: &'static [u8] = b"mkl_sparse_d_mv\0";
    const MM: &'static [u8] = b"mkl_sparse_d_mm\0";
}

/// The hint that MKL gets about the products that follow.
#[derive(Clone, Copy)]
pub(super) struct Hint {
    pub(super) operation: c_int,
    pub(super) kind: MatrixKind,
    pub(super) calls: c_int,
}

impl Hint {
    pub(super) fn of(transposed: bool) -> Self {
        let operation = if transposed { TRANSPOSE } else { NO_TRANSPOSE };
        Self { operation, kind: GENERAL, calls: EXPECTED_CALLS }
    }
}

/// A matrix handed to MKL, which keeps pointers to its arrays.
pub(super) struct Matrix<'a> {
    handle: Handle,
    destroy: Optimize,
    borrowed: PhantomData<&'a ()>,
}

impl<'a> Matrix<'a> {
    /// Optimised for what `hint` says, which returns MKL's status.
    pub(super) fn new<T: MklValue>(
        a: CsrView<'a, T>,
        hint: &dyn Fn(Handle, Hint) -> c_int,
        transposed: bool,
    ) -> anyhow::Result<Self> {
        let library = library()?;
        super::fits_c_int(a)?;
        let create: CreateCsr<T> = symbol(library, T::CREATE)?;
        let optimize: Optimize = symbol(library, b"mkl_sparse_optimize\0")?;
        let destroy: Optimize = symbol(library, b"mkl_sparse_destroy\0")?;
        let starts = a.row_ptr().as_ptr().cast_mut().cast::<c_int>();
        let cols = a.cols().as_ptr().cast_mut().cast::<c_int>();
        let mut handle: Handle = std::ptr::null_mut();
        let (m, n) = (a.n_rows() as c_int, a.n_cols() as c_int);
        // SAFETY: the arrays are those of a valid matrix whose counts fit `c_int` (checked above), borrowed as
        // long as the handle lives; MKL only reads them. Row ends are the starts from the second on.
        let status = unsafe {
            create(&mut handle, 0, m, n, starts, starts.add(1), cols, a.vals().as_ptr().cast_mut())
        };
        check("mkl_sparse_create_csr", status)?;
        let this = Self { handle, destroy, borrowed: PhantomData };
        check("mkl_sparse_set_hint", hint(handle, Hint::of(transposed)))?;
        // SAFETY: the handle was just made.
        check("mkl_sparse_optimize", unsafe { optimize(handle) })?;
        Ok(this)
    }

    pub(super) fn handle(&self) -> Handle {
        self.handle
    }
}

impl Drop for Matrix<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle was made in `new` and is given back once. A failure leaks memory, no more.
        let _ = unsafe { (self.destroy)(self.handle) };
    }
}

/// Products with one vector.
pub(super) struct InspectorExecutor<'a, T> {
    matrix: Matrix<'a>,
    mv: Mv<T>,
    factor: Factor<'a, T>,
}

impl<'a, T: MklValue> InspectorExecutor<'a, T> {
    pub(super) fn new(factor: Factor<'a, T>) -> anyhow::Result<Self> {
        let library = library()?;
        let set_hint: SetHint = symbol(library, b"mkl_sparse_set_mv_hint\0")?;
        let mv: Mv<T> = symbol(library, T::MV)?;
        let hint = |handle, Hint { operation, kind, calls }: Hint| {
            // SAFETY: the handle was just made; the rest are numbers of mkl_spblas.h.
            unsafe { set_hint(handle, operation, kind, calls) }
        };
        let matrix = Matrix::new(factor.a, &hint, factor.transposed)?;
        Ok(Self { matrix, mv, factor })
    }
}

impl<T: MklValue> Peer<T> for InspectorExecutor<'_, T> {
    fn run(&mut self, x: &[T], y: &mut [T]) -> anyhow::Result<()> {
        self.factor.check(x, y)?;
        let (zero, one) = (<T as ::spmv::Value>::from_f64(0.0), <T as ::spmv::Value>::from_f64(1.0));
        let (Hint { operation, kind, .. }, handle) = (Hint::of(self.factor.transposed), self.matrix.handle());
        // SAFETY: the handle is alive; x and y have the lengths of this operation, checked above.
        let status = unsafe { (self.mv)(operation, one, handle, kind, x.as_ptr(), zero, y.as_mut_ptr()) };
        check("mkl_sparse_mv", status)
    }

    fn y_before(&self) -> T {
        <T as ::spmv::Value>::from_f64(f64::NAN)
    }

    fn about(&self) -> String {
        let threads = super::threads(rayon::current_num_threads());
        let by = if self.factor.transposed { " by the transpose" } else { "" };
        format!("MKL's inspector-executor, told to expect {EXPECTED_CALLS} calls{by}; {threads}")
    }
}

pub(super) fn check(call: &str, status: c_int) -> anyhow::Result<()> {
    const MESSAGES: [&str; 7] = [
        "success",
        "not initialized",
        "allocation failed",
        "invalid value",
        "execution failed",
        "internal error",
        "not supported",
    ];
    match status {
        0 => Ok(()),
        status => bail!("{call}: {}", MESSAGES.get(status as usize).unwrap_or(&"unknown status")),
    }
}

/// A function of the library.
pub(super) fn symbol<F: Copy + 'static>(library: &'static Library, name: &'static [u8]) -> anyhow::Result<F> {
    // SAFETY: `F` is the function's type as MKL's header mkl_spblas.h declares it (the aliases above), and the
    // library is never unloaded.
    let symbol: Symbol<'static, F> = unsafe { library.get(name) }?;
    Ok(*symbol)
}

/// `libmkl_rt`, opened once, with as many threads as rayon.
pub(super) fn library() -> anyhow::Result<&'static Library> {
    static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
    let library = LIBRARY.get_or_init(|| open().map_err(|e| format!("{e:#}")));
    library.as_ref().map_err(|e| anyhow!("{e}"))
}

fn open() -> anyhow::Result<Library> {
    let mut failures = Vec::new();
    let library = candidates().iter().find_map(|path| match load(path) {
        Ok(library) => Some(library),
        Err(e) => {
            // Most candidates are merely not there; one that is there and does not load is worth a word.
            if path.is_file() {
                failures.push(format!("{}: {e:#}", path.display()));
            }
            None
        }
    });
    let Some(library) = library else {
        ensure!(failures.is_empty(), "does not load: {}", failures.join("; "));
        bail!("libmkl_rt is neither on the loader's path nor in MKLROOT; SPMV_MKL may name it or its folder");
    };
    // SAFETY: declared by mkl_service.h as taking an int and returning nothing.
    let set_threads: Symbol<'_, unsafe extern "C" fn(c_int)> =
        unsafe { library.get(b"MKL_Set_Num_Threads\0") }?;
    // SAFETY: any number of threads is allowed.
    unsafe { set_threads(rayon::current_num_threads() as c_int) };
    Ok(library)
}

/// Where the library may be, the user's word first.
fn candidates() -> Vec<PathBuf> {
    let names = [
        "libmkl_rt.so.3",
        "libmkl_rt.so.2",
        "libmkl_rt.so",
        "libmkl_rt.1.so",
        "libmkl_rt.dylib",
        "libmkl_rt.2.dylib",
        "mkl_rt.2.dll",
    ];
    let mut candidates = Vec::new();
    if let Some(given) = std::env::var_os("SPMV_MKL").map(PathBuf::from) {
        candidates.push(given.clone());
        candidates.extend(names.map(|n| given.join(n)));
    }
    if let Some(root) = std::env::var_os("MKLROOT").map(PathBuf::from) {
        let folders = ["lib", "lib/intel64"].map(|f| root.join(f));
        candidates.extend(folders.iter().flat_map(|f| names.map(|n| f.join(n))));
    }
    candidates.extend(names.map(PathBuf::from));
    candidates
}

#[cfg(unix)]
fn load(path: &Path) -> anyhow::Result<Library> {
    use libloading::os::unix;
    let open = |path: &Path| {
        // SAFETY: loading runs the library's constructors; the path is one the user or the loader chose for MKL.
        unsafe { unix::Library::open(Some(path), unix::RTLD_NOW | unix::RTLD_GLOBAL) }
    };
    let library = open(path)?;
    // MKL looks for its OpenMP runtime by name alone; its own folder is where PyPI's packages put it. Without one
    // its first call ends the process, unless another threading layer was asked for.
    let folder = path.parent().unwrap_or(Path::new(""));
    let names = ["libiomp5.so", "libiomp5.dylib"].map(Path::new);
    let runtime = names.iter().find_map(|n| open(&folder.join(n)).or_else(|_| open(n)).ok());
    ensure!(
        runtime.is_some() || std::env::var_os("MKL_THREADING_LAYER").is_some(),
        "libiomp5, its OpenMP runtime, is neither in its folder nor on the loader's path"
    );
    if let Some(runtime) = runtime {
        let_threads_sleep(&runtime);
        std::mem::forget(runtime);
    }
    Ok(library.into())
}

/// Lets MKL's threads sleep soon after a call: by default they spin for 200 ms and take a core from whoever
/// is timed next. `measure` pauses for longer than this between contestants.
#[cfg(unix)]
fn let_threads_sleep(runtime: &libloading::os::unix::Library) {
    const MILLISECONDS: c_int = 5;
    // SAFETY: declared by omp.h of Intel's runtime as taking an int and returning nothing.
    let set = unsafe { runtime.get::<unsafe extern "C" fn(c_int)>(b"kmp_set_blocktime\0") };
    if let Ok(set) = set {
        // SAFETY: any number of milliseconds is allowed.
        unsafe { set(MILLISECONDS) };
    }
}

#[cfg(not(unix))]
fn load(path: &Path) -> anyhow::Result<Library> {
    // SAFETY: as for unix.
    Ok(unsafe { Library::new(path) }?)
}
