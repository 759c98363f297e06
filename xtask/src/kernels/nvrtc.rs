//! NVRTC, the compiler of CUDA C++ as a library, found at run time; the one FFI of `cargo xtask kernels`.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;

use anyhow::{Context, bail, ensure};
use libloading::{Library, Symbol};

/// `nvrtcProgram`.
type Program = *mut c_void;

type Create = unsafe extern "C" fn(
    *mut Program,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;
type Destroy = unsafe extern "C" fn(*mut Program) -> c_int;
type AddName = unsafe extern "C" fn(Program, *const c_char) -> c_int;
type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int;
type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;
type Text = unsafe extern "C" fn(Program, *mut c_char) -> c_int;
type Lowered = unsafe extern "C" fn(Program, *const c_char, *mut *const c_char) -> c_int;
type Message = unsafe extern "C" fn(c_int) -> *const c_char;

/// The functions of the library that are used. They may be called from several threads at once, each with a
/// program of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nvrtc {
    create: Create,
    destroy: Destroy,
    add_name: AddName,
    compile: Compile,
    log_size: Size,
    log: Text,
    ptx_size: Size,
    ptx: Text,
    lowered: Lowered,
    message: Message,
}

/// What comes out of a compilation that succeeded.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) ptx: String,
    /// Name of each instantiation in the PTX, in the order of the names asked for.
    pub(super) lowered: Vec<String>,
    /// What the compiler said.
    pub(super) log: String,
}

impl Nvrtc {
    /// Opens the library, which is never closed.
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        // SAFETY: loading runs the library's constructors; the path is that of NVRTC in NVIDIA's package.
        let library = unsafe { Library::new(path) }.with_context(|| path.display().to_string())?;
        let library: &'static Library = Box::leak(Box::new(library));
        Ok(Self {
            create: symbol(library, b"nvrtcCreateProgram\0")?,
            destroy: symbol(library, b"nvrtcDestroyProgram\0")?,
            add_name: symbol(library, b"nvrtcAddNameExpression\0")?,
            compile: symbol(library, b"nvrtcCompileProgram\0")?,
            log_size: symbol(library, b"nvrtcGetProgramLogSize\0")?,
            log: symbol(library, b"nvrtcGetProgramLog\0")?,
            ptx_size: symbol(library, b"nvrtcGetPTXSize\0")?,
            ptx: symbol(library, b"nvrtcGetPTX\0")?,
            lowered: symbol(library, b"nvrtcGetLoweredName\0")?,
            message: symbol(library, b"nvrtcGetErrorString\0")?,
        })
    }

    /// Compiles `source` with an instantiation for each of `names`, such as `spec_segsum<32, 8>`.
    ///
    /// # Errors
    /// What the compiler says of the source.
    pub(super) fn compile(
        &self,
        source: &str,
        options: &[String],
        names: &[String],
    ) -> anyhow::Result<Compiled> {
        let (options, names) = (c_strings(options)?, c_strings(names)?);
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let source = CString::new(source)?;
        let unit = self.unit(&source)?;
        for name in &names {
            // SAFETY: the program is alive and not compiled yet; the name is a C string.
            self.check("nvrtcAddNameExpression", unsafe { (self.add_name)(unit.program, name.as_ptr()) })?;
        }
        // SAFETY: the program is alive; as many C strings as said, alive during the call.
        let status =
            unsafe { (self.compile)(unit.program, c_int::try_from(pointers.len())?, pointers.as_ptr()) };
        let log = unit.text(self.log_size, self.log)?;
        if status != 0 {
            bail!("{}\n{}", self.message(status), log.trim_end());
        }
        let ptx = unit.text(self.ptx_size, self.ptx)?;
        let lowered = names.iter().map(|name| unit.lowered(name)).collect::<anyhow::Result<_>>()?;
        Ok(Compiled { ptx, lowered, log })
    }

    fn unit(&self, source: &CStr) -> anyhow::Result<Unit<'_>> {
        let mut program: Program = std::ptr::null_mut();
        let none = std::ptr::null();
        // SAFETY: source and name are C strings, copied by the call; there are no headers.
        let status = unsafe {
            (self.create)(&mut program, source.as_ptr(), c"kernel.cu".as_ptr(), 0, none, std::ptr::null())
        };
        self.check("nvrtcCreateProgram", status)?;
        Ok(Unit { nvrtc: self, program })
    }

    fn check(&self, call: &str, status: c_int) -> anyhow::Result<()> {
        ensure!(status == 0, "{call}: {}", self.message(status));
        Ok(())
    }

    fn message(&self, status: c_int) -> String {
        // SAFETY: the library has a constant string for every number.
        unsafe { CStr::from_ptr((self.message)(status)) }.to_string_lossy().into_owned()
    }
}

/// A program of the library, destroyed in the end.
struct Unit<'a> {
    nvrtc: &'a Nvrtc,
    program: Program,
}

impl Unit<'_> {
    /// A text of the program, by the functions for its size and for itself.
    fn text(&self, size: Size, text: Text) -> anyhow::Result<String> {
        let mut n_bytes = 0;
        // SAFETY: the program is alive.
        self.nvrtc.check("nvrtcGet...Size", unsafe { size(self.program, &mut n_bytes) })?;
        let mut bytes = vec![0_u8; n_bytes];
        // SAFETY: the buffer has the size that the library asked for, the end of the string included.
        self.nvrtc.check("nvrtcGet...", unsafe { text(self.program, bytes.as_mut_ptr().cast()) })?;
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(n_bytes);
        bytes.truncate(end);
        Ok(String::from_utf8(bytes)?)
    }

    fn lowered(&self, name: &CStr) -> anyhow::Result<String> {
        let mut lowered = std::ptr::null();
        // SAFETY: the program was compiled with this name.
        let status = unsafe { (self.nvrtc.lowered)(self.program, name.as_ptr(), &mut lowered) };
        self.nvrtc.check("nvrtcGetLoweredName", status)?;
        // SAFETY: a C string that lives as long as the program.
        Ok(unsafe { CStr::from_ptr(lowered) }.to_str()?.to_owned())
    }
}

impl Drop for Unit<'_> {
    fn drop(&mut self) {
        // SAFETY: the program was created in `unit` and is destroyed once. A failure leaks memory, no more.
        let _ = unsafe { (self.nvrtc.destroy)(&mut self.program) };
    }
}

fn c_strings(texts: &[String]) -> anyhow::Result<Vec<CString>> {
    texts.iter().map(|text| CString::new(text.as_str()).map_err(Into::into)).collect()
}

/// A function of the library.
fn symbol<F: Copy + 'static>(library: &'static Library, name: &'static [u8]) -> anyhow::Result<F> {
    // SAFETY: `F` is the function's type as nvrtc.h declares it (the aliases above), and the library is never
    // unloaded.
    let symbol: Symbol<'static, F> = unsafe { library.get(name) }?;
    Ok(*symbol)
}
