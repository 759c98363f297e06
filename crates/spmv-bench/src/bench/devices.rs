//! The devices of a run, and what reports call them.

use std::time::Instant;

use spmv::{BackendKind, Context, DeviceCaps, DeviceKind, Dtype, fit::Runs};

use super::report::{Cache, Device};

/// An opened device, or several as one, and its label.
pub(crate) struct Target {
    pub(crate) context: Context,
    pub(crate) label: String,
    /// What it is made of, if it is several.
    several: Vec<Context>,
    /// How many of these are devices of their own.
    n_distinct: usize,
}

/// Every device of the backends asked for, or of all that open.
pub(crate) fn open(asked: &[BackendKind]) -> anyhow::Result<Vec<Target>> {
    let contexts = contexts(asked)?;
    let labels = labels(&contexts.iter().map(|c| c.backend().name()).collect::<Vec<_>>());
    Ok(contexts.into_iter().zip(labels).map(|(context, label)| Target::new(context, label)).collect())
}

/// For each backend of the targets, so many of its devices as one: the first ones, if there are as many, else the first so many times.
pub(crate) fn several(targets: &[Target], n: usize) -> anyhow::Result<Vec<Target>> {
    let mut several: Vec<Target> = Vec::new();
    for backend in targets.iter().map(|target| target.context.backend()) {
        if several.iter().any(|target| target.context.backend() == backend) {
            continue;
        }
        let of_it = targets.iter().map(|target| &target.context).filter(|c| c.backend() == backend);
        let n_distinct = if of_it.clone().count() >= n { n } else { 1 };
        let contexts: Vec<Context> = of_it.take(n_distinct).cycle().take(n).cloned().collect();
        let (context, label) = (Context::devices(&contexts)?, format!("{backend} x{n}"));
        several.push(Target { several: contexts, n_distinct, ..Target::new(context, label) });
    }
    Ok(several)
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
    pub(crate) fn new(context: Context, label: impl Into<String>) -> Self {
        Self { context, label: label.into(), several: vec![], n_distinct: 1 }
    }

    /// The same device or devices. Several cut vectors anew, whose lengths matrices of earlier measurements had decided on.
    pub(crate) fn anew(&self) -> spmv::Result<Self> {
        let context = match &self.several[..] {
            [] => self.context.clone(),
            several => Context::devices(several)?,
        };
        Ok(Self { context, label: self.label.clone(), several: self.several.clone(), ..*self })
    }

    /// Whether it is several devices, or one that simulates them.
    pub(crate) fn is_several(&self) -> bool {
        !self.several.is_empty()
    }

    pub(crate) fn device(&self) -> Device {
        let device = Device::of(&self.label, self.context.caps());
        let n = self.several.len();
        match self.n_distinct {
            _ if n == 0 => device,
            1 => Device { name: format!("the same device {n} times: simulated; {}", device.name), ..device },
            _ => {
                let names: Vec<&str> = self.several.iter().map(|context| &*context.caps().name).collect();
                Device { name: format!("{n} devices: {}", names.join(", ")), ..device }
            }
        }
    }

    /// Why this device is left out of a measurement, if it is.
    pub(crate) fn obstacle(&self, precision: Dtype, cache: Cache) -> Option<String> {
        let caps = std::iter::once(&self.context).chain(&self.several).map(Context::caps);
        let why = caps.filter_map(|caps| obstacle(caps, precision, cache)).next();
        why.map(|why| format!("{} is left out {why}", self.label))
    }

    /// Whether the memory whose bandwidth was measured is the device's.
    pub(crate) fn is_in_host_memory(&self) -> bool {
        self.context.caps().kind == DeviceKind::Cpu
    }

    /// GB/s that its memory was measured to read: that of the host where it is the host's, else by a dot product, which reads two vectors
    /// and nothing else. `None` where it cannot run one.
    pub(crate) fn read_gbs(&self, host_gbs: f64) -> Option<f64> {
        if self.is_in_host_memory() {
            return Some(host_gbs);
        }
        // Small devices have no room for the longest.
        READ.into_iter().find_map(|n| read_gbs(&self.context, n).ok())
    }

    /// Whether it is the cores of the CPU themselves.
    pub(crate) fn is_cores(&self) -> bool {
        self.context.backend() == BackendKind::Cpu
    }

    /// Whether the device has timestamps. The cpu backend's would be the caller's time; several devices have no common ones.
    pub(crate) fn has_timestamps(&self) -> bool {
        !self.is_several() && Runs::by_device(&self.context)
    }
}

/// Numbers in each of two vectors: 512 MiB together, beyond any cache; and fewer.
const READ: [usize; 3] = [1 << 26, 1 << 24, 1 << 22];
/// Dot products in a queue.
const DOTS: u32 = 16;

/// The best of several queues. What a queue costs by itself is told by an empty vector, and taken off.
fn read_gbs(context: &Context, n: usize) -> spmv::Result<f64> {
    let mut queue = context.queue()?;
    let product = queue.scalar::<f32>()?;
    let mut shortest = |n: usize| -> spmv::Result<f64> {
        let (x, z) = (context.zeros::<f32>(n)?, context.zeros::<f32>(n)?);
        let mut turn = || -> spmv::Result<f64> {
            let start = Instant::now();
            (0..DOTS).try_for_each(|_| queue.dot(&x, &z, product))?;
            queue.wait()?;
            Ok(start.elapsed().as_secs_f64())
        };
        (0..5).try_fold(f64::INFINITY, |best, _| Ok(best.min(turn()?)))
    };
    let (seconds, idle) = (shortest(n)?, shortest(1)?);
    let bytes = f64::from(DOTS) * (2 * n * size_of::<f32>()) as f64;
    Ok(bytes / (seconds - idle).max(seconds / 2.0) / 1e9)
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
    fn one_device_that_simulates_several_is_named_so() {
        let target = |label| Target::new(Context::with(BackendKind::Cpu).unwrap(), label);
        let simulated = several(&[target("cpu")], 3).unwrap();
        assert_eq!((simulated.len(), &*simulated[0].label), (1, "cpu x3"));
        assert!(simulated[0].device().name.starts_with("the same device 3 times: simulated; "));
        let distinct = several(&[target("cpu#0"), target("cpu#1"), target("cpu#2")], 2).unwrap();
        assert!(distinct[0].device().name.starts_with("2 devices: "), "{:?}", distinct[0].device());
        assert!(distinct[0].is_several() && distinct[0].anew().unwrap().is_several());
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
