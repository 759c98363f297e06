//! The functions of the CUDA driver that the crate calls, in a library that is loaded at the first call.
//!
//! Nothing of it is linked: programs build without a CUDA toolkit and start without a driver. Results are integers,
//! because a driver may be newer than any list of its codes. A function that the loaded library lacks is an error when it
//! is called, not before.

use std::error::Error;
use std::ffi::{CStr, CString, OsString, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;
use std::{env, fmt, ptr};

use libloading::Library;

/// Names a library file other than the system's.
const VARIABLE: &str = "SPMV_CUDA_DRIVER";

const FILES: &[&str] = if cfg!(windows) {
    &["nvcuda.dll"]
} else if cfg!(target_vendor = "apple") {
    &["libcuda.dylib"]
} else {
    // The second comes with development packages, and may be a toolkit's stub.
    &["libcuda.so.1", "libcuda.so"]
};

/// A device of the driver.
pub(crate) type CUdevice = c_int;
/// An address in device memory.
pub(crate) type CUdeviceptr = u64;

macro_rules! handles {
    ($($name:ident)*) => {$(
        #[doc = concat!("A `", stringify!($name), "`, or null for none.")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(transparent)]
        pub(crate) struct $name(pub(crate) *mut c_void);

        impl $name {
            pub(crate) const NULL: Self = Self(ptr::null_mut());
        }

        // SAFETY: a handle is an address that is passed to the driver and never followed here; the driver takes it from
        // any thread (CUDA driver API, "Initialization").
        unsafe impl Send for $name {}
        // SAFETY: as above.
        unsafe impl Sync for $name {}
    )*};
}

handles! { CUcontext CUstream CUevent CUmodule CUfunction CUgraph CUgraphExec CUmemoryPool }

/// `CUmemLocation`.
#[repr(C)]
struct MemLocation {
    kind: c_int,
    id: c_int,
}

impl MemLocation {
    fn of(device: CUdevice) -> Self {
        /// `CU_MEM_LOCATION_TYPE_DEVICE`.
        const DEVICE: c_int = 1;
        Self { kind: DEVICE, id: device }
    }
}

/// `CUmemPoolProps`, as large as in every version: what newer ones say, zeros leave to the driver.
#[repr(C)]
pub(crate) struct MemPoolProps {
    alloc_type: c_int,
    handle_types: c_int,
    location: MemLocation,
    security_attributes: *mut c_void,
    _rest: [u64; 8],
}

impl MemPoolProps {
    /// Of memory of a device that other processes do not open.
    pub(crate) fn of(device: CUdevice) -> Self {
        /// `CU_MEM_ALLOCATION_TYPE_PINNED`, the only type that pools of all versions have.
        const PINNED: c_int = 1;
        let location = MemLocation::of(device);
        Self {
            alloc_type: PINNED,
            handle_types: 0,
            location,
            security_attributes: ptr::null_mut(),
            _rest: [0; 8],
        }
    }
}

/// `CUmemAccessDesc`.
#[repr(C)]
pub(crate) struct MemAccess {
    location: MemLocation,
    flags: c_int,
}

impl MemAccess {
    /// A device may read and write.
    pub(crate) fn of(device: CUdevice) -> Self {
        /// `CU_MEM_ACCESS_FLAGS_PROT_READWRITE`.
        const READ_AND_WRITE: c_int = 3;
        Self { location: MemLocation::of(device), flags: READ_AND_WRITE }
    }
}

/// `CUlaunchConfig`.
#[repr(C)]
pub(crate) struct LaunchConfig {
    pub(crate) grid: [c_uint; 3],
    pub(crate) block: [c_uint; 3],
    pub(crate) local_bytes: c_uint,
    pub(crate) stream: CUstream,
    pub(crate) attributes: *const LaunchAttribute,
    pub(crate) n_attributes: c_uint,
}

/// `CUlaunchAttribute`, of those whose value begins with an integer.
#[repr(C, align(8))]
pub(crate) struct LaunchAttribute {
    id: c_int,
    _pad: c_int,
    value: c_int,
    _rest: [c_int; 15],
}

impl LaunchAttribute {
    /// `CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`, allowed: the launch may start before those before it on the stream are
    /// done.
    pub(crate) const EARLY: Self = Self { id: 6, _pad: 0, value: 1, _rest: [0; 15] };
}

/// Page-locked host memory.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct Pinned(pub(crate) *mut c_void);

// SAFETY: an address alone; who may read and write what it begins, and when, is for `Staging` to say.
unsafe impl Send for Pinned {}
// SAFETY: as above.
unsafe impl Sync for Pinned {}

/// A result code of the driver: any integer, known or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code(pub(crate) c_int);

macro_rules! codes {
    ($($name:ident = $code:literal)*) => {
        impl Code {
            $(pub(crate) const $name: Self = Self($code);)*

            /// The name of a code that the crate knows without asking.
            fn known(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => Some(concat!("CUDA_ERROR_", stringify!($name))),)*
                    _ => None,
                }
            }
        }
    };
}

codes! {
    OUT_OF_MEMORY = 2
    DEINITIALIZED = 4
    NO_DEVICE = 100
    INVALID_CONTEXT = 201
    NO_BINARY_FOR_GPU = 209
    ECC_UNCORRECTABLE = 214
    UNSUPPORTED_PTX_VERSION = 222
    ILLEGAL_ADDRESS = 700
    LAUNCH_OUT_OF_RESOURCES = 701
    LAUNCH_TIMEOUT = 702
    CONTEXT_IS_DESTROYED = 709
    ASSERT = 710
    HARDWARE_STACK_ERROR = 714
    ILLEGAL_INSTRUCTION = 715
    MISALIGNED_ADDRESS = 716
    INVALID_ADDRESS_SPACE = 717
    INVALID_PC = 718
    LAUNCH_FAILED = 719
    UNKNOWN = 999
}

impl Code {
    /// Its name: the driver's, else ours.
    fn name(self) -> String {
        let driver = self.asked(cuGetErrorName);
        driver.or_else(|| self.known().map(Into::into)).unwrap_or_else(|| "unknown CUDA error".into())
    }

    /// What one of the driver's two functions on codes says of it.
    fn asked(self, function: unsafe fn(c_int, *mut *const c_char) -> Answer) -> Option<String> {
        let mut text = ptr::null();
        // SAFETY: both functions take any code and write an address, or null, to `text`.
        unsafe { function(self.0, &mut text) }.ok()?;
        if text.is_null() {
            return None;
        }
        // SAFETY: on success the driver points to a text of its own, which stays as long as the library: for good.
        Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    }
}

/// Why a call did not do what it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The driver's code, which is not zero.
    Code(Code),
    /// The loaded library lacks the function.
    Missing(&'static str),
}

/// What a call answers.
pub(crate) type Answer = Result<(), Refusal>;

impl Refusal {
    /// What it means, in the driver's words where there are some.
    pub(crate) fn meaning(self) -> String {
        match self {
            Self::Code(code) => code.asked(cuGetErrorString).unwrap_or_else(|| self.to_string()),
            Self::Missing(_) => self.to_string(),
        }
    }
}

impl fmt::Display for Refusal {
    /// The name of the code, and the code.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "{} ({})", code.name(), code.0),
            Self::Missing(function) => write!(f, "the driver lacks {function}"),
        }
    }
}

/// There is no CUDA driver library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NoDriver {
    /// Each file that was tried, and why it did not serve, in the loader's words.
    tried: Vec<(String, String)>,
}

impl fmt::Display for NoDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let attempt = |(file, reason): &(String, String)| match reason.strip_prefix(file.as_str()) {
            Some(rest) => format!("{file}{rest}"),
            None => format!("{file}: {reason}"),
        };
        let tried: Vec<String> = self.tried.iter().map(attempt).collect();
        let way_out = "install NVIDIA's driver, or name its library in SPMV_CUDA_DRIVER";
        write!(f, "no CUDA driver: {}; {way_out}", tried.join("; "))
    }
}

/// Whether there is a driver library; loads it if nothing did so before. `Ok` promises no device.
pub(crate) fn available() -> Result<(), NoDriver> {
    driver().map(drop).map_err(Clone::clone)
}

/// Writes a new stream of the thread's context; the default stream's work is no concern of this one's.
pub(crate) fn new_stream(stream: &mut CUstream) -> Answer {
    /// `CU_STREAM_NON_BLOCKING`.
    const ALONE: c_uint = 1;
    // SAFETY: writes a handle to `stream`.
    unsafe { cuStreamCreate(stream, ALONE) }
}

struct Driver {
    functions: Functions,
    /// Never unloaded: `functions` point into it.
    _library: Library,
}

/// The library of the process, loaded at the first call.
fn driver() -> Result<&'static Driver, &'static NoDriver> {
    static DRIVER: OnceLock<Result<Driver, NoDriver>> = OnceLock::new();
    DRIVER.get_or_init(load).as_ref()
}

fn load() -> Result<Driver, NoDriver> {
    let files: Vec<OsString> = match env::var_os(VARIABLE).filter(|file| !file.is_empty()) {
        Some(file) => vec![file],
        None => FILES.iter().map(OsString::from).collect(),
    };
    let mut tried = Vec::new();
    for file in files {
        match open(&file) {
            Ok(driver) => return Ok(driver),
            Err(reason) => tried.push((file.to_string_lossy().into_owned(), reason)),
        }
    }
    Err(NoDriver { tried })
}

fn open(file: &OsString) -> Result<Driver, String> {
    // SAFETY: what runs on loading is the driver's, made for any moment, or that of a file which the user named.
    let library = unsafe { Library::new(file) };
    // The error alone says "dlopen failed"; the loader's words are its source.
    let library = library.map_err(|e| e.source().map_or_else(|| e.to_string(), ToString::to_string))?;
    let functions = Functions::of(&library);
    match functions.cuInit {
        Some(_) => Ok(Driver { functions, _library: library }),
        None => Err("it has no function cuInit".into()),
    }
}

/// A row for each function, with the name that the library gives it (the header's `cuMemAlloc` is `cuMemAlloc_v2` there).
macro_rules! functions {
    ($($(#[$meta:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?);)*) => {
        #[allow(non_snake_case)]
        struct Functions {
            $($(#[$meta])* $name: Option<unsafe extern "system" fn($($type),*) -> c_int>,)*
        }

        impl Functions {
            fn of(library: &Library) -> Self {
                Self {$(
                    $(#[$meta])*
                    $name: {
                        let name = CString::new(stringify!($name)).expect("identifiers hold no zero");
                        // SAFETY: the CUDA headers declare these parameters for the function of this name, and a 32-bit
                        // code as its result; an address or null is what the `Option` of a function is.
                        let found = unsafe { library.get(&name) };
                        found.ok().and_then(|function| *function)
                    },
                )*}
            }
        }

        $(
            $(#[$meta])*
            /// Calls the driver's function of this name.
            ///
            /// # Safety
            /// What the CUDA driver API says of that function.
            #[allow(non_snake_case, clippy::too_many_arguments)]
            pub(crate) unsafe fn $name($($arg: $type),*) -> Answer {
                let Ok(driver) = driver() else { return Err(Refusal::Code(Code::NO_DEVICE)) };
                let Some(function) = driver.functions.$name else {
                    return Err(Refusal::Missing(stringify!($name)));
                };
                // SAFETY: the library is never unloaded, the parameters are those of `Functions::of`, and the caller
                // keeps the function's contract.
                match unsafe { function($($arg),*) } {
                    0 => Ok(()),
                    code => Err(Refusal::Code(Code(code))),
                }
            }
        )*
    };
}

functions! {
    fn cuInit(flags: c_uint);
    fn cuDriverGetVersion(version: *mut c_int);
    fn cuGetErrorName(code: c_int, name: *mut *const c_char);
    fn cuGetErrorString(code: c_int, text: *mut *const c_char);

    fn cuDeviceGetCount(count: *mut c_int);
    fn cuDeviceGet(device: *mut CUdevice, ordinal: c_int);
    fn cuDeviceGetName(name: *mut c_char, bytes: c_int, device: CUdevice);
    fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: CUdevice);
    fn cuDeviceTotalMem_v2(bytes: *mut usize, device: CUdevice);

    fn cuDeviceCanAccessPeer(can: *mut c_int, device: CUdevice, peer: CUdevice);

    fn cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice);
    fn cuDevicePrimaryCtxRelease_v2(device: CUdevice);
    fn cuCtxGetCurrent(context: *mut CUcontext);
    fn cuCtxPushCurrent_v2(context: CUcontext);
    fn cuCtxPopCurrent_v2(context: *mut CUcontext);
    fn cuCtxSynchronize();
    fn cuCtxEnablePeerAccess(peer: CUcontext, flags: c_uint);
    #[cfg(feature = "cust")]
    fn cuCtxGetDevice(device: *mut CUdevice);

    fn cuMemAlloc_v2(start: *mut CUdeviceptr, bytes: usize);
    fn cuMemAllocManaged(start: *mut CUdeviceptr, bytes: usize, flags: c_uint);
    fn cuMemFree_v2(start: CUdeviceptr);
    fn cuMemPoolCreate(pool: *mut CUmemoryPool, props: *const MemPoolProps);
    fn cuMemPoolDestroy(pool: CUmemoryPool);
    fn cuMemPoolSetAttribute(pool: CUmemoryPool, attribute: c_int, value: *mut c_void);
    fn cuMemPoolSetAccess(pool: CUmemoryPool, access: *const MemAccess, n: usize);
    fn cuMemAllocFromPoolAsync(start: *mut CUdeviceptr, bytes: usize, pool: CUmemoryPool, stream: CUstream);
    fn cuMemFreeAsync(start: CUdeviceptr, stream: CUstream);
    fn cuMemHostAlloc(start: *mut Pinned, bytes: usize, flags: c_uint);
    fn cuMemFreeHost(start: Pinned);
    fn cuMemAdvise(start: CUdeviceptr, bytes: usize, advice: c_int, device: CUdevice);
    fn cuMemPrefetchAsync(start: CUdeviceptr, bytes: usize, device: CUdevice, stream: CUstream);
    fn cuMemsetD8Async(start: CUdeviceptr, value: u8, bytes: usize, stream: CUstream);
    fn cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream);
    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream);
    fn cuMemcpyPeerAsync(
        to: CUdeviceptr, to_context: CUcontext, from: CUdeviceptr, from_context: CUcontext, bytes: usize,
        stream: CUstream,
    );
    fn cuPointerGetAttribute(value: *mut c_void, attribute: c_int, pointer: CUdeviceptr);

    fn cuStreamCreate(stream: *mut CUstream, flags: c_uint);
    fn cuStreamDestroy_v2(stream: CUstream);
    fn cuStreamSynchronize(stream: CUstream);
    fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint);
    fn cuStreamGetCtx(stream: CUstream, context: *mut CUcontext);

    fn cuEventCreate(event: *mut CUevent, flags: c_uint);
    fn cuEventDestroy_v2(event: CUevent);
    fn cuEventRecord(event: CUevent, stream: CUstream);
    fn cuEventSynchronize(event: CUevent);
    fn cuEventElapsedTime(ms: *mut f32, from: CUevent, to: CUevent);

    fn cuModuleLoadDataEx(
        module: *mut CUmodule, image: *const c_void, n_options: c_uint, options: *mut c_int,
        values: *mut *mut c_void,
    );
    fn cuModuleUnload(module: CUmodule);
    fn cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char);
    fn cuFuncGetAttribute(value: *mut c_int, attribute: c_int, function: CUfunction);
    fn cuLaunchKernel(
        function: CUfunction, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint,
        block_z: c_uint, local_bytes: c_uint, stream: CUstream, params: *mut *mut c_void, extra: *mut *mut c_void,
    );

    fn cuLaunchKernelEx(
        config: *const LaunchConfig, function: CUfunction, params: *mut *mut c_void, extra: *mut *mut c_void,
    );

    fn cuStreamBeginCapture_v2(stream: CUstream, mode: c_int);
    fn cuStreamEndCapture(stream: CUstream, graph: *mut CUgraph);
    fn cuGraphInstantiateWithFlags(ready: *mut CUgraphExec, graph: CUgraph, flags: u64);
    fn cuGraphLaunch(graph: CUgraphExec, stream: CUstream);
    fn cuGraphDestroy(graph: CUgraph);
    fn cuGraphExecDestroy(graph: CUgraphExec);
}
