//! Where a command computes.

use spmv::{BackendKind, Context};

/// A device.
#[derive(Debug, clap::Args)]
pub(crate) struct DeviceArgs {
    /// Backend: cuda, opencl, wgpu or cpu; without it, the first of them with a GPU, or else cpu.
    #[arg(long)]
    backend: Option<BackendKind>,
    /// Index of a device among those of the backend, or a part of its name.
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
}

impl DeviceArgs {
    /// Opens it.
    pub(crate) fn open(&self) -> anyhow::Result<Context> {
        let mut builder = Context::builder();
        if let Some(backend) = self.backend {
            builder = builder.backend(backend);
        }
        if let Some(device) = &self.device {
            builder = builder.device(device);
        }
        let context = builder.build()?;
        if let Some(problem) = context.profile_problem() {
            eprintln!("{}: {problem}", context.backend());
        }
        Ok(context)
    }
}

/// Backend and name, for a line of output.
pub(crate) fn named(context: &Context) -> String {
    format!("{} ({})", context.backend(), context.caps().name)
}
