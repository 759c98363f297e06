//! Kernels: compiled, and bound to buffers.

use spmv_backend::{Arg, Backend, Error, KernelId, KernelSpec, Param, ParamKind, Result, Scalar};
use spmv_core::Dtype;
use wgpu::{
    BindGroup, BindGroupDescriptor, BindGroupEntry, BindGroupLayout, BindGroupLayoutDescriptor,
    BindGroupLayoutEntry, BindingType, BufferBindingType, ComputePipeline, ComputePipelineDescriptor, Device,
    PipelineCache, PipelineCacheDescriptor, PipelineCompilationOptions, PipelineLayoutDescriptor,
    ShaderModuleDescriptor, ShaderRuntimeChecks, ShaderSource, ShaderStages,
};

use crate::device_memory::{Buffer, next_id};
use crate::shared::Shared;
use crate::text::GRID;

/// Bytes of all scalars of a kernel at most. Every device allows 64; what takes more has numbers of 64 bits, which Vulkan alone has, and
/// that allows 128.
pub(crate) const MAX_SCALARS: usize = 128;

/// A compiled kernel.
#[derive(Debug)]
pub struct Kernel {
    pub(crate) of: KernelId,
    pub(crate) label: &'static str,
    pub(crate) pipeline: ComputePipeline,
    layout: BindGroupLayout,
    /// Unlike that of any other kernel of the process.
    pub(crate) id: u64,
    params: &'static [Param],
    accum: Dtype,
}

/// Scalars as the kernel's `Params` has them: each at a multiple of its size, the whole too.
#[derive(Debug)]
pub(crate) struct Scalars {
    bytes: [u8; MAX_SCALARS],
    len: usize,
    align: usize,
}

impl Scalars {
    fn new() -> Self {
        Self { bytes: [0; MAX_SCALARS], len: 0, align: 4 }
    }

    fn push<const N: usize>(&mut self, scalar: [u8; N]) {
        self.push_bytes(&scalar);
    }

    /// The parts of a complex number.
    fn push_pair<const N: usize>(&mut self, parts: [[u8; N]; 2]) {
        self.push_bytes(parts.as_flattened());
    }

    fn push_bytes(&mut self, scalar: &[u8]) {
        let start = self.len.next_multiple_of(scalar.len());
        self.bytes[start..][..scalar.len()].copy_from_slice(scalar);
        self.len = start + scalar.len();
        self.align = self.align.max(scalar.len());
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len.next_multiple_of(self.align)]
    }
}

impl Kernel {
    /// Compiles a text for a spec; what the driver refuses is an error.
    pub(crate) fn new(shared: &Shared, spec: &KernelSpec, text: &str) -> Result<Self> {
        let label = spec.to_string();
        let kept = shared.cache.as_ref().map(|(cache, device)| (cache, format!("{device}\n{text}")));
        let known = kept.as_ref().and_then(|(cache, key)| cache.load(key));
        let build = || Self::build(&shared.device, spec, &label, text, kept.is_some(), known.as_deref());
        let (kernel, made) = shared.scoped(build)?.map_err(|e| Error::Compile {
            device: shared.name.clone(),
            kernel: label.clone(),
            log: e.to_string(),
        })?;
        let made = made.filter(|_| known.is_none()).and_then(|made| made.get_data());
        if let (Some((cache, key)), Some(made)) = (kept, made) {
            cache.store(&key, &made);
        }
        Ok(kernel)
    }

    /// The kernel, and the pipeline cache that it was built with, if there is to be one; begun with what is `known`. Says
    /// no errors.
    fn build(
        device: &Device,
        spec: &KernelSpec,
        label: &str,
        text: &str,
        caches: bool,
        known: Option<&[u8]>,
    ) -> (Self, Option<PipelineCache>) {
        let source = ShaderSource::Wgsl(text.into());
        let descriptor = ShaderModuleDescriptor { label: Some(label), source };
        // SAFETY: without checks, an index out of range is undefined. Indices of the kernels of this workspace follow
        // from the arguments that `Backend::launch` promises; those that a device wrote are clipped. Who replaces a
        // kernel's text (`Options::kernels`) is told that it is his.
        let module =
            unsafe { device.create_shader_module_trusted(descriptor, ShaderRuntimeChecks::unchecked()) };
        let params = spec.id.params();
        let buffers = params.iter().filter_map(|param| match param.kind {
            ParamKind::Read(_) => Some(true),
            ParamKind::Write(_) => Some(false),
            _ => None,
        });
        let entries: Vec<BindGroupLayoutEntry> = (0u32..)
            .zip(buffers)
            .map(|(binding, read_only)| BindGroupLayoutEntry {
                binding,
                visibility: ShaderStages::COMPUTE,
                ty: BindingType::Buffer {
                    ty: BufferBindingType::Storage { read_only },
                    has_dynamic_offset: false,
                    min_binding_size: None,
                },
                count: None,
            })
            .collect();
        let layout =
            device.create_bind_group_layout(&BindGroupLayoutDescriptor { label: None, entries: &entries });
        let mut kernel_params = Scalars::new();
        for param in params {
            match (param.kind, spec.types.accum) {
                (ParamKind::U32, _) => kernel_params.push([0; 4]),
                (ParamKind::Accum, Dtype::C64) => kernel_params.push([0; 16]),
                (ParamKind::Accum, Dtype::F64 | Dtype::C32) => kernel_params.push([0; 8]),
                (ParamKind::Accum, _) => kernel_params.push([0; 4]),
                _ => {}
            }
        }
        GRID.iter().for_each(|_| kernel_params.push([0; 4]));
        let pipeline_layout = device.create_pipeline_layout(&PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&layout)],
            immediate_size: kernel_params.bytes().len() as u32,
        });
        let cache = caches.then(|| {
            let descriptor = PipelineCacheDescriptor { label: None, data: known, fallback: true };
            // SAFETY: what is known came from `get_data` in `new`, for the same driver and device (part of the key), and
            // is whole (its checksum).
            unsafe { device.create_pipeline_cache(&descriptor) }
        });
        let pipeline = device.create_compute_pipeline(&ComputePipelineDescriptor {
            label: Some(label),
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some("main"),
            // Kernels write local memory before they read it.
            compilation_options: PipelineCompilationOptions {
                zero_initialize_workgroup_memory: false,
                ..Default::default()
            },
            cache: cache.as_ref(),
        });
        let (of, label, id, accum) = (spec.id, spec.id.stem(), next_id(), spec.types.accum);
        (Self { of, label, pipeline, layout, id, params, accum }, cache)
    }

    pub(crate) fn bind_group(&self, device: &Device, buffers: &[&Buffer]) -> BindGroup {
        let entries: Vec<BindGroupEntry<'_>> = (0u32..)
            .zip(buffers)
            .map(|(binding, buffer)| BindGroupEntry { binding, resource: buffer.raw.as_entire_binding() })
            .collect();
        device.create_bind_group(&BindGroupDescriptor {
            label: None,
            layout: &self.layout,
            entries: &entries,
        })
    }

    /// The scalars of a launch: the kernel's own, then those of the grid.
    pub(crate) fn scalars<B: Backend>(&self, args: &[Arg<'_, B>], grid: [u32; 2]) -> Scalars {
        debug_assert_eq!(args.len(), self.params.len(), "arguments of {}", self.label);
        let mut scalars = Scalars::new();
        for arg in args {
            match arg {
                Arg::U32(v) => scalars.push(v.to_ne_bytes()),
                Arg::Accum(Scalar::F32(v)) => scalars.push(v.to_ne_bytes()),
                Arg::Accum(Scalar::F64(v)) => scalars.push(v.to_ne_bytes()),
                Arg::Accum(Scalar::C32(v)) => scalars.push_pair([v.re, v.im].map(f32::to_ne_bytes)),
                Arg::Accum(Scalar::C64(v)) => scalars.push_pair([v.re, v.im].map(f64::to_ne_bytes)),
                _ => {}
            }
        }
        debug_assert!(scalars.align.max(4) <= self.accum.bytes(), "scalars of {}", self.label);
        grid.into_iter().for_each(|v| scalars.push(v.to_ne_bytes()));
        scalars
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_stand_at_multiples_of_their_sizes() {
        let mut scalars = Scalars::new();
        scalars.push(1u32.to_le_bytes());
        scalars.push(2u32.to_le_bytes());
        scalars.push(3u32.to_le_bytes());
        assert_eq!(scalars.bytes().len(), 12);
        scalars.push(0.5f64.to_le_bytes());
        assert_eq!(scalars.bytes().len(), 24);
        scalars.push(4u32.to_le_bytes());
        assert_eq!(scalars.bytes().len(), 32, "the whole is a multiple of the greatest too");
        assert_eq!(scalars.bytes()[16..24], 0.5f64.to_le_bytes());
    }
}
