//! The devices of a run, and what reports call them.

use spmv::{BackendKind, Context, DeviceCaps, DeviceKind, Dtype, fit::Runs};

use super::report::{Cache, Device};

/// An opened device and its label.
pub(crate) struct Target {
    pub(crate) context: Context,
    pub(crate) label: String,
}

/// Every device of the backends asked for, or of all that open.
pub(crate) fn open(asked: &[BackendKind]) -> anyhow::Result<Vec<Target>> {
    let contexts = contexts(asked)?;
    let labels = labels(&contexts.iter().map(|c| c.backend().name()).collect::<Vec<_>>());
    Ok(contexts.into_iter().zip(labels).map(|(context, label)| Target { context, label }).collect())
}

/// Every device that opens, of the backends asked for or of all; one that was asked for and does not open is an error.
fn contexts(asked: &[BackendKind]) -> anyhow::Result<Vec<Context>> {
    let (contexts, tried) = Context::every(if asked.is_empty() { &BackendKind::ALL } else { asked });
    for tried in tried {
        anyhow::ensure!(!asked.contains(&tried.backend), "{}: {}", tried.backend, tried.reason);
        eprintln!("{} is left out: {}", tried.backend, tried.reason);
    }
    for context in &contexts {
        if let Some(problem) = context.profile_problem() {
            eprintln!("{}: {problem}", context.backend());
        }
    }
    Ok(contexts)
}

/// Names of backends, told apart by an index where there are several devices of one.
fn labels(backends: &[&str]) -> Vec<String> {
    let label = |(at, name): (usize, &&str)| {
        let count = |names: &[&str]| names.iter().filter(|n| *n == name).count();
        if count(backends) == 1 { (*name).to_owned() } else { format!("{name}#{}", count(&backends[..at])) }
    };
    backends.iter().enumerate().map(label).collect()
}

impl Target {
    pub(crate) fn device(&self) -> Device {
        Device::of(&self.label, self.context.caps())
    }

    /// Why this device is left out of a measurement, if it is.
    pub(crate) fn obstacle(&self, precision: Dtype, cache: Cache) -> Option<String> {
        obstacle(self.context.caps(), precision, cache).map(|why| format!("{} is left out {why}", self.label))
    }

    /// Whether the memory whose bandwidth was measured is the device's.
    pub(crate) fn is_in_host_memory(&self) -> bool {
        self.context.caps().kind == DeviceKind::Cpu
    }

    /// Whether it is the cores of the CPU themselves.
    pub(crate) fn is_cores(&self) -> bool {
        self.context.backend() == BackendKind::Cpu
    }

    /// Whether the device has timestamps. The cpu backend's would be the caller's time.
    pub(crate) fn has_timestamps(&self) -> bool {
        Runs::by_device(&self.context)
    }
}

fn obstacle(caps: &DeviceCaps, precision: Dtype, cache: Cache) -> Option<String> {
    if cache == Cache::Cold && caps.kind != DeviceKind::Cpu {
        return Some("of cold measurements: caches of the host can be emptied, its own cannot yet".into());
    }
    if !caps.storage.contains(precision) {
        return Some(format!("of {precision}: it cannot store {precision} values"));
    }
    let accum = precision.accum();
    (!caps.arithmetic.contains(accum)).then(|| format!("of {precision}: it has no {accum} arithmetic"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use spmv::MemoryModel;

    fn gpu() -> DeviceCaps {
        DeviceCaps::new("some GPU", DeviceKind::DiscreteGpu, MemoryModel::Discrete)
    }

    #[test]
    fn an_index_distinguishes_devices_of_one_backend() {
        assert_eq!(labels(&["opencl", "cpu", "opencl"]), ["opencl#0", "cpu", "opencl#1"]);
    }

    #[test]
    fn a_device_of_its_own_is_left_out_of_cold_measurements_alone() {
        assert!(obstacle(&gpu(), Dtype::F32, Cache::Cold).unwrap().contains("cold"));
        assert_eq!(obstacle(&gpu(), Dtype::F32, Cache::Warm), None);
        let cpu = DeviceCaps::new("some CPU", DeviceKind::Cpu, MemoryModel::UnifiedCoherent);
        assert_eq!(obstacle(&cpu, Dtype::F32, Cache::Cold), None);
    }

    #[test]
    fn a_device_is_left_out_of_types_that_it_cannot_store_or_sum() {
        let mut narrow = gpu();
        narrow.storage = narrow.storage.without(Dtype::Bf16);
        narrow.arithmetic = narrow.arithmetic.without(Dtype::F64);
        let why = |precision| obstacle(&narrow, precision, Cache::Warm);
        assert_eq!(why(Dtype::F64).unwrap(), "of f64: it has no f64 arithmetic");
        assert_eq!(why(Dtype::Bf16).unwrap(), "of bf16: it cannot store bf16 values");
        assert_eq!(why(Dtype::F16), None);
    }
}
