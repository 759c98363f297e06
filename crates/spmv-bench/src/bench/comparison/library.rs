//! cuSPARSE, found at run time: its functions as its header declares them.

use std::ffi::{c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context as _, anyhow, bail, ensure};
use libloading::{Library, Symbol};

use super::variant;

/// A handle, a descriptor or a plan.
pub(super) type Raw = *mut c_void;
pub(super) type Create = unsafe extern "C" fn(*mut Raw) -> c_int;
pub(super) type Destroy = unsafe extern "C" fn(Raw) -> c_int;
type GetVersion = unsafe extern "C" fn(Raw, *mut c_int) -> c_int;
pub(super) type SetStream = unsafe extern "C" fn(Raw, Raw) -> c_int;
type SetPointerMode = unsafe extern "C" fn(Raw, c_int) -> c_int;
type CreateDnVec = unsafe extern "C" fn(*mut Raw, i64, *mut c_void, c_int) -> c_int;
type CreateCsr = unsafe extern "C" fn(
    *mut Raw,
    i64,
    i64,
    i64,
    *mut c_void,
    *mut c_void,
    *mut c_void,
    c_int,
    c_int,
    c_int,
    c_int,
) -> c_int;
/// `cusparseSpMV` and `cusparseSpMV_preprocess`, whose last parameter is the buffer, and with a pointer for its size
/// instead `cusparseSpMV_bufferSize`.
pub(super) type SpMv<Last> = unsafe extern "C" fn(
    Raw,
    c_int,
    *const c_void,
    Raw,
    Raw,
    *const c_void,
    Raw,
    c_int,
    c_int,
    *mut Last,
) -> c_int;
/// `cusparseSpMVOp_bufferSize`: operation, matrix, x, y, z, type, algorithm, size.
type OpBufferSize = unsafe extern "C" fn(Raw, c_int, Raw, Raw, Raw, Raw, c_int, c_int, *mut usize) -> c_int;
/// The same parameters, with the new descriptor second and the buffer last.
type OpCreateDescr =
    unsafe extern "C" fn(Raw, *mut Raw, c_int, Raw, Raw, Raw, Raw, c_int, c_int, *mut c_void) -> c_int;
/// The last two are code of the caller's own and its size.
type OpCreatePlan = unsafe extern "C" fn(Raw, Raw, *mut Raw, *const c_void, usize) -> c_int;
/// Plan, alpha, beta, x, y, z.
type OpMultiply = unsafe extern "C" fn(Raw, Raw, *const c_void, *const c_void, Raw, Raw, Raw) -> c_int;

/// The functions in use.
pub(super) struct Functions {
    pub(super) create: Create,
    pub(super) destroy: Destroy,
    pub(super) get_version: GetVersion,
    pub(super) set_stream: SetStream,
    pub(super) set_pointer_mode: SetPointerMode,
    pub(super) create_csr: CreateCsr,
    pub(super) destroy_sp_mat: Destroy,
    pub(super) create_dn_vec: CreateDnVec,
    pub(super) destroy_dn_vec: Destroy,
    pub(super) buffer_size: SpMv<usize>,
    pub(super) multiply: SpMv<c_void>,
    /// Since 12.4.
    pub(super) preprocess: Option<SpMv<c_void>>,
    /// Of use since [`variant::SPMVOP`] alone: before, the same names had other parameters.
    pub(super) op: Option<OpFunctions>,
}

/// Those of SpMVOp: `z <- alpha*A*x + beta*y` by a plan that is made once.
pub(super) struct OpFunctions {
    pub(super) buffer_size: OpBufferSize,
    pub(super) create_descr: OpCreateDescr,
    pub(super) destroy_descr: Destroy,
    pub(super) create_plan: OpCreatePlan,
    pub(super) destroy_plan: Destroy,
    pub(super) multiply: OpMultiply,
}

impl Functions {
    pub(super) fn load() -> anyhow::Result<Self> {
        let library = library()?;
        Ok(Self {
            create: symbol(library, "cusparseCreate")?,
            destroy: symbol(library, "cusparseDestroy")?,
            get_version: symbol(library, "cusparseGetVersion")?,
            set_stream: symbol(library, "cusparseSetStream")?,
            set_pointer_mode: symbol(library, "cusparseSetPointerMode")?,
            create_csr: symbol(library, "cusparseCreateCsr")?,
            destroy_sp_mat: symbol(library, "cusparseDestroySpMat")?,
            create_dn_vec: symbol(library, "cusparseCreateDnVec")?,
            destroy_dn_vec: symbol(library, "cusparseDestroyDnVec")?,
            buffer_size: symbol(library, "cusparseSpMV_bufferSize")?,
            multiply: symbol(library, "cusparseSpMV")?,
            preprocess: symbol(library, "cusparseSpMV_preprocess").ok(),
            op: OpFunctions::of(library).ok(),
        })
    }
}

impl OpFunctions {
    fn of(library: &'static Library) -> anyhow::Result<Self> {
        Ok(Self {
            buffer_size: symbol(library, "cusparseSpMVOp_bufferSize")?,
            create_descr: symbol(library, "cusparseSpMVOp_createDescr")?,
            destroy_descr: symbol(library, "cusparseSpMVOp_destroyDescr")?,
            create_plan: symbol(library, "cusparseSpMVOp_createPlan")?,
            destroy_plan: symbol(library, "cusparseSpMVOp_destroyPlan")?,
            multiply: symbol(library, "cusparseSpMVOp")?,
        })
    }
}

/// A handle, descriptor or plan that is destroyed when it is dropped.
pub(super) struct Object {
    raw: Raw,
    destroy: Destroy,
}

impl Object {
    /// What a library made, with the function of the library for its kind.
    pub(super) fn new(raw: Raw, destroy: Destroy) -> Self {
        Self { raw, destroy }
    }

    pub(super) fn raw(&self) -> Raw {
        self.raw
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: `raw` was made by the library together with `destroy`'s kind, and is destroyed only here. A failure
        // leaks memory, no more.
        let _ = unsafe { (self.destroy)(self.raw) };
    }
}

pub(super) fn check(call: &str, status: c_int) -> anyhow::Result<()> {
    ensure!(status == 0, "{call}: {} ({status})", variant::status(status));
    Ok(())
}

/// A function of the library.
pub(in super::super) fn symbol<F: Copy + 'static>(
    library: &'static Library,
    name: &str,
) -> anyhow::Result<F> {
    // SAFETY: `F` is the function's type as the library's header declares it (the aliases of the caller), and the library is never
    // unloaded.
    let symbol: Symbol<'static, F> =
        unsafe { library.get(name) }.with_context(|| format!("the library has no {name}"))?;
    Ok(*symbol)
}

/// A function of `libcusparse`.
pub(super) fn of_library<F: Copy + 'static>(name: &str) -> anyhow::Result<F> {
    symbol(library()?, name)
}

/// `libcusparse`, opened once and never closed: the first that `SPMV_CUSPARSE` names. A process never loads two, which
/// would share the names of their symbols.
fn library() -> anyhow::Result<&'static Library> {
    static LIBRARY: Opened = Opened::new();
    once(&LIBRARY, || {
        let given = variant::libraries(std::env::var_os(variant::LIBRARIES).as_deref()).swap_remove(0);
        let candidates = variant::candidates(&variant::CUSPARSE, given.as_deref());
        load(&candidates, "libcusparse", variant::LIBRARIES)
    })
}

/// A library, or why there is none.
pub(in super::super) type Opened = OnceLock<Result<Library, String>>;

/// A library that is opened once and never closed: where the variable says, or else where the loader and toolkits have it.
pub(super) fn opened(
    library: &'static Opened,
    names: &[&str],
    name: &str,
    variable: &str,
) -> anyhow::Result<&'static Library> {
    once(library, || found(names, name, variable))
}

/// A library that is opened once and never closed, or why it was not.
pub(in super::super) fn once(
    library: &'static Opened,
    open: impl FnOnce() -> anyhow::Result<Library>,
) -> anyhow::Result<&'static Library> {
    library.get_or_init(|| open().map_err(|e| format!("{e:#}"))).as_ref().map_err(|e| anyhow!("{e}"))
}

/// A library where the variable says, or else where the loader and toolkits have it.
pub(in super::super) fn found(names: &[&str], name: &str, variable: &str) -> anyhow::Result<Library> {
    let given = std::env::var_os(variable).filter(|value| !value.is_empty());
    load(&variant::candidates(names, given.as_deref().map(Path::new)), name, variable)
}

/// The first that loads.
fn load(candidates: &[PathBuf], name: &str, variable: &str) -> anyhow::Result<Library> {
    let mut failures = Vec::new();
    for path in candidates {
        load_linker(path);
        // SAFETY: loading runs the library's constructors; the path is one that the user, the loader or a toolkit has
        // for it.
        match unsafe { Library::new(path) } {
            Ok(library) => return Ok(library),
            // Most candidates are merely not there; one that is there and does not load is worth a word.
            Err(e) if path.is_file() => {
                failures.push(format!("{}: {:#}", path.display(), anyhow::Error::from(e)));
            }
            Err(_) => {}
        }
    }
    ensure!(failures.is_empty(), "does not load: {}", failures.join("; "));
    let tried = candidates.first().map_or_else(String::new, |first| format!(" ({}, ...)", first.display()));
    bail!("{name} is not where it was looked for{tried}; {variable} may name it or its folder")
}

/// Loads the nvJitLink that lies next to a library, where cuSPARSE since 13.1 asks the loader for it.
#[cfg(unix)]
fn load_linker(library: &Path) {
    use libloading::os::unix;

    let Some(linker) = library.parent().filter(|_| library.is_file()).and_then(variant::linker_in) else {
        return;
    };
    // SAFETY: loading runs the library's constructors; the user has it next to the one that was named.
    if let Ok(linker) = unsafe { unix::Library::open(Some(linker), unix::RTLD_LAZY | unix::RTLD_GLOBAL) } {
        // Never closed, as the library that uses it.
        std::mem::forget(linker);
    }
}

#[cfg(not(unix))]
fn load_linker(_library: &Path) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_the_library_gets_the_reason_and_the_way_out() {
        let e = load(&["/nowhere/libcusparse.so.12".into()], "libcusparse", "SPMV_CUSPARSE")
            .err()
            .unwrap()
            .to_string();
        assert!(e.contains("/nowhere") && e.contains("SPMV_CUSPARSE"), "{e}");
    }

    #[test]
    fn a_file_that_is_no_library_is_named() {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let e = load(&[manifest], "libcusparse", "SPMV_CUSPARSE").err().unwrap().to_string();
        assert!(e.contains("does not load") && e.contains("Cargo.toml"), "{e}");
    }

    #[test]
    fn a_failed_call_is_named_with_its_status() {
        assert!(check("cusparseSpMV", 0).is_ok());
        assert_eq!(check("cusparseSpMV", 10).unwrap_err().to_string(), "cusparseSpMV: not supported (10)");
    }
}
