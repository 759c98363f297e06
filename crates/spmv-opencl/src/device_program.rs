//! Building programs, from the cache or from source.

use std::ffi::CString;
use std::fs;
use std::path::Path;
use std::ptr;
use std::sync::Arc;

use opencl3::kernel::{create_kernel, release_kernel};
use opencl3::program::{
    CL_PROGRAM_BINARIES, CL_PROGRAM_BUILD_LOG, build_program, create_program_with_binary,
    create_program_with_source, get_program_build_info, get_program_info, release_program,
};
use opencl3::types::{cl_kernel, cl_program};
use spmv_backend::{Cache, Error, KernelSpec, Result};

use crate::device_memory::Shared;
use crate::device_owned::Owned;
use crate::error::During;
use crate::probe::Shuffle;

/// Turns sources into kernels of one device.
#[derive(Debug)]
pub(crate) struct Builder {
    pub(crate) shared: Arc<Shared>,
    pub(crate) cache: Cache,
    /// Device and driver, as part of each cache key.
    pub(crate) fingerprint: String,
    /// How subgroups shuffle.
    pub(crate) shuffle: Option<Shuffle>,
}

/// The kernel's source, or that of the file that replaces it.
pub(crate) fn source(stem: &str, replaced_in: Option<&Path>) -> Result<String> {
    if let Some(folder) = replaced_in {
        let path = folder.join(format!("{stem}.cl"));
        if path.exists() {
            return fs::read_to_string(&path).map_err(|e| Error::Unavailable {
                backend: "opencl".into(),
                reason: format!("{}: {e}", path.display()),
            });
        }
    }
    let sources = spmv_kernels_opencl::SOURCES;
    let found = sources.iter().find(|(name, _)| *name == stem);
    let (_, text) = found.unwrap_or_else(|| panic!("{stem} is a kernel of this crate"));
    Ok((*text).to_owned())
}

impl Builder {
    /// Options of the compiler for a spec.
    pub(crate) fn options(&self, spec: &KernelSpec) -> String {
        let defines = spec.defines();
        let mut options: Vec<String> =
            defines.iter().map(|(name, value)| format!("-D {name}={value}")).collect();
        // Kernels are OpenCL C 1.2; subgroups came later.
        options.push(match (spec.lanes, self.shuffle) {
            (spmv_backend::Lanes::Subgroup, Some(shuffle)) => {
                let standard = if shuffle == Shuffle::Nv { "CL1.2" } else { "CL3.0" };
                format!("-D {} -cl-std={standard}", shuffle.define())
            }
            _ => "-cl-std=CL1.2".to_owned(),
        });
        if self.joins() {
            options.push("-D JOINS_NV".to_owned());
        }
        options.join(" ")
    }

    /// Whether groups can join: by instructions of NVIDIA, whose lanes then shuffle too.
    pub(crate) fn joins(&self) -> bool {
        self.shuffle == Some(Shuffle::Nv)
    }

    /// A kernel of a program; `label` names it in errors.
    pub(crate) fn kernel(
        &self,
        stem: &str,
        label: &str,
        source: &str,
        options: &str,
    ) -> Result<Owned<cl_kernel>> {
        let key = format!("{}\n{options}\n{source}", self.fingerprint);
        if let Some(binary) = self.cache.load(&key)
            && let Ok(kernel) =
                self.of_binary(&binary, options).and_then(|program| self.entry(&program, stem))
        {
            return Ok(kernel);
        }
        let program = self.of_source(label, source, options)?;
        // The driver may compile once more to answer, so it is asked only for what is kept.
        if self.cache.is_kept()
            && let Some(binary) = self.binary(&program)
        {
            self.cache.store(&key, &binary);
        }
        self.entry(&program, stem).map_err(|code| self.shared.error(During::Kernel(label), code))
    }

    fn entry(&self, program: &Owned<cl_program>, stem: &str) -> Result<Owned<cl_kernel>, i32> {
        let name = CString::new(stem).expect("stems hold no zero byte");
        // The kernel keeps its program.
        Ok(Owned::new(create_kernel(program.get(), &name)?, release_kernel))
    }

    fn of_binary(&self, binary: &[u8], options: &str) -> Result<Owned<cl_program>, i32> {
        let devices = [self.shared.device.id()];
        // SAFETY: the device is the one that the context was made for; a binary that is none is refused.
        let program = unsafe { create_program_with_binary(self.shared.context.get(), &devices, &[binary])? };
        let program = Owned::new(program, release_program);
        self.build(&program, options)?;
        Ok(program)
    }

    fn of_source(&self, label: &str, source: &str, options: &str) -> Result<Owned<cl_program>> {
        let during = During::Kernel(label);
        // One text: the binding passes a list of several as if it were one of C strings.
        let program = create_program_with_source(self.shared.context.get(), &[source])
            .map_err(|code| self.shared.error(during, code))?;
        let program = Owned::new(program, release_program);
        self.build(&program, options).map_err(|code| {
            let log = get_program_build_info(program.get(), self.shared.device.id(), CL_PROGRAM_BUILD_LOG);
            let log = log.map_or_else(|_| String::new(), String::from);
            let log = format!("{} {}", opencl3::error_codes::error_text(code), log.trim());
            Error::Compile { device: self.shared.name.clone(), kernel: label.to_owned(), log }
        })?;
        Ok(program)
    }

    fn build(&self, program: &Owned<cl_program>, options: &str) -> Result<(), i32> {
        let options = CString::new(options).expect("options hold no zero byte");
        build_program(program.get(), &[self.shared.device.id()], &options, None, ptr::null_mut())
    }

    fn binary(&self, program: &Owned<cl_program>) -> Option<Vec<u8>> {
        let binaries: Vec<Vec<u8>> = get_program_info(program.get(), CL_PROGRAM_BINARIES).ok()?.into();
        binaries.into_iter().next().filter(|binary| !binary.is_empty())
    }
}
