//! Kernels: PTX that the driver compiles.

use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::path::PathBuf;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use spmv_backend::{Error, KernelId, KernelSpec, Result, Types};

use crate::device_driver::{self as sys, CUfunction, CUmodule, Code, Refusal};
use crate::device_owned::{Owned, Shared};
use crate::error::During;
use crate::options::Options;

/// Bytes of the driver's compiler messages that are kept.
const LOG_BYTES: usize = 4096;

type Module = Arc<Owned<CUmodule>>;

/// What a kernel says that may start while others before it still run: it waits for these by itself.
const WAITS: &str = "griddepcontrol.wait";

/// Drivers from CUDA 12.3 on start kernels early in graphs too.
const STARTS_EARLY: (i32, i32) = (12, 3);

/// A compiled kernel.
#[derive(Debug)]
pub struct Kernel {
    pub(crate) id: KernelId,
    pub(crate) label: &'static str,
    pub(crate) function: CUfunction,
    pub(crate) group_lanes: u32,
    pub(crate) local_bytes: u32,
    /// Whether it may start while what is before it on the stream still runs.
    pub(crate) is_early: bool,
    /// The function is part of it.
    module: Module,
}

impl Kernel {
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.module.shared
    }
}

/// Modules of a device, each loaded at most once, and for one kernel: the driver compiles all that a module has.
#[derive(Debug)]
pub(crate) struct Modules {
    pub(crate) shared: Arc<Shared>,
    /// Compute capability that PTX is chosen for.
    pub(crate) compute: (u32, u32),
    /// Version of CUDA that the driver speaks.
    pub(crate) driver: (i32, i32),
    pub(crate) kernels: Option<PathBuf>,
    /// Whether no kernel starts early.
    in_turn: bool,
    loaded: Mutex<HashMap<(Types, String), Loaded>>,
}

/// A module, and whether its kernels may start early.
type Loaded = (Module, bool);

impl Modules {
    pub(crate) fn new(
        shared: Arc<Shared>,
        compute: (u32, u32),
        driver: (i32, i32),
        options: &Options,
    ) -> Self {
        let in_turn = options.mask.in_turn || driver < STARTS_EARLY;
        Self { shared, compute, driver, kernels: options.kernels.clone(), in_turn, loaded: Mutex::default() }
    }

    /// The kernel of a spec.
    pub(crate) fn kernel(&self, spec: &KernelSpec) -> Result<Kernel> {
        let (stem, tiling) = (spec.id.stem(), &spec.tiling);
        let Some(entry) = spmv_kernels_cuda::entry(stem, tiling.lanes(), tiling.width()) else {
            return Err(self.does_not_compile(spec, "no such tiling was built".into()));
        };
        let _current = self.shared.enter()?;
        let (module, is_early) = self.module(spec, &entry)?;
        let name = CString::new(entry).expect("names of entries are identifiers");
        let mut function = CUfunction::NULL;
        // SAFETY: the module lives; writes a handle that is good as long as it does.
        unsafe { sys::cuModuleGetFunction(&mut function, module.get(), name.as_ptr()) }
            .map_err(|refusal| self.does_not_compile(spec, format!("no entry {name:?}: {refusal}")))?;
        /// `CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK`.
        const MAX_THREADS: i32 = 0;
        let mut most = 0;
        // SAFETY: the function was found above.
        let answer = unsafe { sys::cuFuncGetAttribute(&mut most, MAX_THREADS, function) };
        self.shared.check(During::Kernel(stem), answer)?;
        let lanes = tiling.group_lanes();
        if i64::from(lanes) > i64::from(most) {
            let what = format!("groups of {lanes} lanes for {stem} (at most {most})");
            return Err(Error::unsupported(&*self.shared.name, what, "use a tiling with a smaller T*B"));
        }
        Ok(Kernel {
            id: spec.id,
            label: stem,
            function,
            group_lanes: lanes,
            local_bytes: u32::try_from(spec.local_bytes()).expect("checked by `plan`"),
            is_early,
            module,
        })
    }

    fn module(&self, spec: &KernelSpec, entry: &str) -> Result<Loaded> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (spec.types, entry.to_owned());
        if let Some(found) = loaded.get(&key) {
            return Ok(found.clone());
        }
        let ptx = self.ptx(spec, entry)?;
        let is_early = !self.in_turn && ptx.contains(WAITS);
        let found = (Arc::new(self.load(spec, ptx)?), is_early);
        loaded.insert(key, found.clone());
        Ok(found)
    }

    fn load(&self, spec: &KernelSpec, ptx: String) -> Result<Owned<CUmodule>> {
        let version = ptx.lines().find_map(|line| line.strip_prefix(".version ")).unwrap_or("?").to_owned();
        let text = CString::new(ptx).map_err(|e| self.does_not_compile(spec, e.to_string()))?;
        let mut log = vec![0u8; LOG_BYTES];
        /// `CU_JIT_ERROR_LOG_BUFFER` and `CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`.
        const ERROR_LOG: [i32; 2] = [5, 6];
        let mut options = ERROR_LOG;
        let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), ptr::without_provenance_mut(LOG_BYTES)];
        let mut module = CUmodule::NULL;
        // SAFETY: the text ends with a zero; the options are two, the log has the size given.
        let answer = unsafe {
            sys::cuModuleLoadDataEx(
                &mut module,
                text.as_ptr().cast(),
                2,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        let Err(refusal) = answer else {
            return Ok(Owned::new(module, sys::cuModuleUnload, &self.shared));
        };
        let (driver, revision) = self.driver;
        let log = String::from_utf8_lossy(log.split(|byte| *byte == 0).next().unwrap_or_default());
        let mut said = format!("{refusal} {}", log.trim());
        if let Refusal::Code(Code::UNSUPPORTED_PTX_VERSION | Code::NO_BINARY_FOR_GPU) = refusal {
            said += &format!(
                " (PTX {version} for a driver of CUDA {driver}.{revision}: install a newer driver, or use another \
                 backend)"
            );
        }
        Err(self.does_not_compile(spec, said))
    }

    /// With all entries only if it is of a user's folder: it may be written in any way.
    fn ptx(&self, spec: &KernelSpec, entry: &str) -> Result<String> {
        let (stem, types) = (spec.id.stem(), spec.types);
        let value = match types.is_mixed() {
            true => format!("{}_{}", types.value, types.vector),
            false => types.value.name().to_owned(),
        };
        if let Some(folder) = &self.kernels {
            let path = folder.join(format!("{stem}_{value}.ptx"));
            if path.exists() {
                let read = std::fs::read_to_string(&path);
                return read.map_err(|e| self.does_not_compile(spec, format!("{}: {e}", path.display())));
            }
        }
        let ptx = spmv_kernels_cuda::ptx(stem, &value, self.compute)
            .expect("PTX of every stem and its types is in the crate, for every device that opens");
        Ok(spmv_kernels_cuda::with_one_entry(&ptx, entry))
    }

    fn does_not_compile(&self, spec: &KernelSpec, log: String) -> Error {
        Error::Compile { device: self.shared.name.clone(), kernel: spec.to_string(), log }
    }
}
