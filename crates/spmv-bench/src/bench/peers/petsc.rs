//! PETSc's sequential AIJ matrix through `libpetsc_real`, found at run time. PETSc has no threads: its way to more cores is
//! processes of MPI, so this is one thread.

use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;
use std::thread::ThreadId;

use ::spmv::Dtype;
use anyhow::{Context as _, ensure};
use libloading::Library;

use super::super::comparison::library::{Opened, found, once, symbol};
use super::{Factor, Peer, PeerValue, environment};

/// Newest minor version of PETSc 3 whose library is asked for by name, and the oldest.
const MINORS: std::ops::RangeInclusive<u32> = 10..=30;
/// `PETSC_DOUBLE` of `PetscDataType`.
const DOUBLE: c_int = 1;

/// A `Mat` or a `Vec`.
type Raw = *mut c_void;
/// `MPI_Comm` of Open MPI.
type Comm = *mut c_void;
type Start = unsafe extern "C" fn() -> c_int;
type SetOption = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> c_int;
/// `PetscReturnErrorHandler`, of which only the address matters here.
type ErrorHandler = unsafe extern "C" fn();
type PushErrorHandler = unsafe extern "C" fn(ErrorHandler, *mut c_void) -> c_int;
type TypeOf = unsafe extern "C" fn(*const c_char, *mut c_int, *mut c_int) -> c_int;
type SizeOf = unsafe extern "C" fn(c_int, *mut usize) -> c_int;
type GetVersion = unsafe extern "C" fn(*mut c_int, *mut c_int, *mut c_int, *mut c_int) -> c_int;
type CreateMatrix =
    unsafe extern "C" fn(Comm, c_int, c_int, *mut c_int, *mut c_int, *mut f64, *mut Raw) -> c_int;
type CreateVector = unsafe extern "C" fn(Comm, c_int, c_int, *const f64, *mut Raw) -> c_int;
type Destroy = unsafe extern "C" fn(*mut Raw) -> c_int;
type SetArray = unsafe extern "C" fn(Raw, *const f64) -> c_int;
type ResetArray = unsafe extern "C" fn(Raw) -> c_int;
type Multiply = unsafe extern "C" fn(Raw, Raw, Raw) -> c_int;

/// A matrix handed to PETSc, which keeps pointers to its arrays, and two vectors without arrays.
pub(super) struct SeqAij<'a, T> {
    // Raw pointers: it stays on the thread that made it, the one that started PETSc.
    matrix: Object,
    x: Object,
    y: Object,
    set_array: SetArray,
    reset_array: ResetArray,
    multiply: Multiply,
    name: &'static str,
    version: String,
    factor: Factor<'a, T>,
}

/// Something of PETSc's that is destroyed when it is dropped.
struct Object {
    raw: Raw,
    destroy: Destroy,
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: `raw` was made by PETSc together with `destroy`'s kind, on this thread, and is destroyed only here. A
        // failure leaks memory, no more.
        let _ = unsafe { (self.destroy)(&mut self.raw) };
    }
}

impl<'a, T: PeerValue> SeqAij<'a, T> {
    pub(super) fn new(factor: Factor<'a, T>) -> anyhow::Result<Self> {
        let a = factor.a;
        ensure!(T::DTYPE == Dtype::F64, "no {} values", T::DTYPE);
        let library = library()?;
        super::fits_c_int(a)?;
        let create_matrix: CreateMatrix = symbol(library, "MatCreateSeqAIJWithArrays")?;
        let create_vector: CreateVector = symbol(library, "VecCreateSeqWithArray")?;
        let destroy_matrix: Destroy = symbol(library, "MatDestroy")?;
        let destroy_vector: Destroy = symbol(library, "VecDestroy")?;
        let comm: Comm = symbol(library, "ompi_mpi_comm_self").context("an MPI other than Open MPI")?;

        let (m, n) = (a.n_rows() as c_int, a.n_cols() as c_int);
        let starts = a.row_ptr().as_ptr().cast_mut().cast::<c_int>();
        let cols = a.cols().as_ptr().cast_mut().cast::<c_int>();
        let vals = a.vals().as_ptr().cast_mut().cast::<f64>();
        let mut raw: Raw = std::ptr::null_mut();
        // SAFETY: the arrays are those of a valid matrix of f64 whose counts fit `c_int` (checked above), which is
        // PETSc's integer (checked by `start`). They are borrowed as long as the matrix lives, and products only read them.
        let status = unsafe { create_matrix(comm, m, n, starts, cols, vals, &mut raw) };
        check("MatCreateSeqAIJWithArrays", status)?;
        let matrix = Object { raw, destroy: destroy_matrix };
        let vector = |length: c_int| {
            let mut raw: Raw = std::ptr::null_mut();
            // SAFETY: without an array the vector has its length alone, until it is given one.
            check("VecCreateSeqWithArray", unsafe {
                create_vector(comm, 1, length, std::ptr::null(), &mut raw)
            })?;
            anyhow::Ok(Object { raw, destroy: destroy_vector })
        };
        let (name, from, to) = if factor.transposed { ("MatMultTranspose", m, n) } else { ("MatMult", n, m) };
        Ok(Self {
            matrix,
            x: vector(from)?,
            y: vector(to)?,
            set_array: symbol(library, "VecPlaceArray")?,
            reset_array: symbol(library, "VecResetArray")?,
            multiply: symbol(library, name)?,
            name,
            version: version(library)?,
            factor,
        })
    }
}

impl<T: PeerValue> Peer<T> for SeqAij<'_, T> {
    fn run(&mut self, x: &[T], y: &mut [T]) -> anyhow::Result<()> {
        self.factor.check(x, y)?;
        let (from, to) = (self.x.raw, self.y.raw);
        // SAFETY: all three objects are alive and of this thread. `T` is f64 and the arrays have the vectors' lengths
        // (checked in `new` and above); the vectors lose them again below, before the borrows end.
        let status = unsafe {
            let set =
                [(self.set_array)(from, x.as_ptr().cast()), (self.set_array)(to, y.as_mut_ptr().cast())];
            let product = (self.multiply)(self.matrix.raw, from, to);
            let reset = [(self.reset_array)(from), (self.reset_array)(to)];
            set.into_iter().chain([product]).chain(reset).find(|status| *status != 0).unwrap_or(0)
        };
        check(self.name, status)
    }

    fn y_before(&self) -> T {
        <T as ::spmv::Value>::from_f64(f64::NAN)
    }

    fn about(&self) -> String {
        format!(
            "PETSc {}, `{}` of a SeqAIJ matrix; 1 thread (more cores need MPI processes)",
            self.version, self.name
        )
    }
}

fn check(call: &str, status: c_int) -> anyhow::Result<()> {
    ensure!(status == 0, "{call}: PETSc's error {status}");
    Ok(())
}

fn version(library: &'static Library) -> anyhow::Result<String> {
    let get: GetVersion = symbol(library, "PetscGetVersionNumber")?;
    let [mut major, mut minor, mut patch, mut release] = [0; 4];
    // SAFETY: writes four of PETSc's integers, which are `c_int` (checked by `start`).
    check("PetscGetVersionNumber", unsafe { get(&mut major, &mut minor, &mut patch, &mut release) })?;
    Ok(format!("{major}.{minor}.{patch}"))
}

/// The library, opened and started once, never finalized: it ends with the process. MPI may be called by the thread that
/// started it alone, so others are refused.
pub(super) fn library() -> anyhow::Result<&'static Library> {
    static LIBRARY: Opened = Opened::new();
    static STARTED: OnceLock<(ThreadId, Result<(), String>)> = OnceLock::new();
    let library = once(&LIBRARY, || {
        let unnumbered = ["libpetsc_real.so", "libpetsc.so", "libpetsc.dylib"].map(String::from);
        let numbered = MINORS.rev().map(|minor| format!("libpetsc_real.so.3.{minor}"));
        let names: Vec<String> = unnumbered.into_iter().chain(numbered).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        found(&names, "libpetsc_real", "SPMV_PETSC").context("`apt-get install libpetsc-real-dev`")
    })?;
    // Without it, MPI would start a daemon and take signals.
    ensure!(environment::is_entered(), "libpetsc_real needs the environment of `bench --peers`");
    let this = std::thread::current().id();
    let (thread, started) = STARTED.get_or_init(|| (this, start(library).map_err(|e| format!("{e:#}"))));
    ensure!(*thread == this, "another thread has started PETSc");
    started.clone().map_err(anyhow::Error::msg)?;
    Ok(library)
}

/// Starts PETSc, and MPI with it, so that neither takes signals nor prints; the rest is in the
/// [environment].
fn start(library: &'static Library) -> anyhow::Result<()> {
    let set: SetOption = symbol(library, "PetscOptionsSetValue")?;
    let initialize: Start = symbol(library, "PetscInitializeNoArguments")?;
    let push: PushErrorHandler = symbol(library, "PetscPushErrorHandler")?;
    let handler: ErrorHandler = symbol(library, "PetscReturnErrorHandler")?;
    let type_of: TypeOf = symbol(library, "PetscDataTypeFromString")?;
    let size_of: SizeOf = symbol(library, "PetscDataTypeGetSize")?;
    for option in [c"-no_signal_handler", c"-skip_petscrc"] {
        // SAFETY: may be called before the start; copies both strings, of the default options where the first is null.
        let status = unsafe { set(std::ptr::null_mut(), option.as_ptr(), c"true".as_ptr()) };
        check("PetscOptionsSetValue", status)?;
    }
    // SAFETY: called once, by `library`; MPI was not started in this process.
    check("PetscInitializeNoArguments", unsafe { initialize() })?;
    // SAFETY: the handler is PETSc's own, and needs no context. It returns the code and prints nothing.
    check("PetscPushErrorHandler", unsafe { push(handler, std::ptr::null_mut()) })?;
    let kind = |name: &std::ffi::CStr| {
        let (mut kind, mut found, mut bytes) = (0, 0, 0);
        // SAFETY: both write to what they are given; `kind` is one of the library's types where the first succeeds.
        let status = unsafe {
            match type_of(name.as_ptr(), &mut kind, &mut found) {
                0 if found != 0 => size_of(kind, &mut bytes),
                status => status,
            }
        };
        check("PetscDataTypeFromString", status).map(|()| (kind, bytes))
    };
    let (scalar, int) = (kind(c"scalar")?, kind(c"int")?);
    ensure!(scalar == (DOUBLE, 8), "its scalars are not f64: it was built with another type");
    ensure!(int.1 == 4, "its indices have {} bytes: it was built with 64-bit ones", int.1);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::first_and_second_product;
    use super::*;

    #[test]
    fn a_product_replaces_y_where_there_is_petsc() {
        environment::tested("bench::peers::petsc::tests::a_product_replaces_y_where_there_is_petsc", || {
            match library() {
                Ok(_) => {
                    let by = |transposed| {
                        first_and_second_product::<f64>(transposed, |a| Ok(Box::new(SeqAij::new(a)?)))
                    };
                    assert_eq!(by(false), [6.0, 0.0, 3.0, 6.0, 0.0, 3.0]);
                    assert_eq!(by(true), [2.0, 7.0, 2.0, 7.0]);
                    let a = ::spmv::Csr::from_coo(1, 1, &[(0, 0, 1.0f32)]).unwrap();
                    let a = Factor { a: a.view(), transposed: false };
                    assert!(SeqAij::new(a).err().unwrap().to_string().contains("no f32"));
                    let other = std::thread::spawn(|| library().map(drop).unwrap_err().to_string());
                    assert!(other.join().unwrap().contains("another thread"));
                }
                Err(e) => assert!(format!("{e:#}").contains("libpetsc"), "{e:#}"),
            }
        });
    }
}
