//! Our kernels against cuSPARSE on one CUDA device: the same arrays, in the same process, by the same events.
//!
//! Every time is of a graph of multiplications between two events of the device. Warm, a graph holds
//! [`RUNS`](measurement::RUNS) of them, and each timed replay follows an untimed one; cold, it holds one, and on the same
//! stream right before it a kernel reads several times what the device's cache holds. All warm times of the process are
//! taken before the cache is emptied for the first time. Contestants take turns (`race`); every result is checked.
//! `bench` has a process for each matrix and library (`process`).
//!
//! The set-up time of ours is that of preparing the matrix, its copy to the device included; cuSPARSE uses that copy,
//! and its set-up time is that of descriptors, buffer and preprocessing, or of SpMVOp its plan.

mod arrays;
#[allow(unsafe_code)]
mod cublas;
#[allow(unsafe_code)]
mod cusparse;
#[allow(unsafe_code)]
mod cusparse_blocks;
mod facade;
mod flush;
mod isolated;
#[allow(unsafe_code)]
pub(super) mod library;
mod matrix_cache;
mod measurement;
#[allow(unsafe_code)]
mod nccl;
pub(crate) mod process;
mod race;
mod solve;
mod table;
mod variant;

pub(crate) use arrays::GpuValue;
pub(crate) use matrix_cache::MatrixCache;
pub(crate) use nccl::{Nccl, OfEach};
pub(crate) use solve::CudaSolver;
pub(crate) use table::text;

use anyhow::{Context as _, anyhow, ensure};
use indicatif::ProgressBar;
use spmv::{BackendKind, Context, Csr, Dtype, c32, c64, plan::Algorithm};
use spmv_backend::Backend as _;
use spmv_cuda::Cuda;
use spmv_exec::Device;

use super::block_product::{Contestant, Problem};
use super::devices::Target;
use super::inputs::{Input, Loaded};
use super::live::Live;
use super::report::{Cache, ComparisonRun, Report};
use super::stop::{Stop, Stopped};
use super::tiling;
use arrays::OnGpu;
use cusparse::Cusparse;
use flush::Flushing;
use isolated::Isolated;
use measurement::Measurement;

/// Name of the comparison among the peers.
pub(crate) const CUSPARSE: &str = "cusparse";

/// Least bytes that are read to empty the cache.
const FLUSH_BYTES: u64 = 256 << 20;
/// The same in sizes of the cache, and the size where the driver does not report it.
const FLUSH_CACHES: u64 = 4;
const UNKNOWN_CACHE_BYTES: u64 = 128 << 20;
/// Times that reading so much is timed.
const FLUSH_ROUNDS: usize = 5;

/// An opened CUDA device.
pub(crate) struct Gpu {
    device: Device<OnGpu>,
    /// The same device as a user opens it.
    context: Context,
    /// Its index in CUDA's list.
    target: usize,
}

/// What to compare, and how.
pub(crate) struct Comparison<'a> {
    pub(crate) inputs: &'a [Input],
    pub(crate) matrix_cache: &'a MatrixCache,
    pub(crate) algorithms: &'a [Algorithm],
    pub(crate) tiling: Option<tiling::Asked>,
    /// Whether products are by the transpose, of each that is compared.
    pub(crate) products: &'a [bool],
    pub(crate) precisions: &'a [Dtype],
    pub(crate) caches: &'a [Cache],
    pub(crate) repeat: Option<usize>,
    /// SpMVOp takes part if this process may crash.
    pub(crate) isolated: Option<&'a Isolated<'a>>,
    pub(crate) bar: &'a ProgressBar,
    pub(crate) stop: &'a Stop,
    pub(crate) live: &'a Live,
}

impl Gpu {
    /// Opens the device that `SPMV_CUDA_DEVICE` names, or the first; plans are those of its context among the opened ones.
    ///
    /// # Errors
    /// The reason, if there is no comparison: no such backend asked for, no driver, no device.
    pub(crate) fn open(asked: &[BackendKind], opened: &[Target]) -> anyhow::Result<Self> {
        ensure!(
            asked.is_empty() || asked.contains(&BackendKind::Cuda),
            "it runs on CUDA devices, and the cuda backend was not asked for"
        );
        Self::with(spmv_cuda::Options::from_env()?, opened)
    }

    fn with(options: spmv_cuda::Options, opened: &[Target]) -> anyhow::Result<Self> {
        let names: Vec<String> = spmv_cuda::devices()?.into_iter().map(|device| device.name).collect();
        let target = index(options.device.as_deref(), &names);
        let backend = Flushing::new(Cuda::open(options)?);
        let mut contexts = opened.iter().map(|target| &target.context);
        let is_it = |c: &&Context| c.backend() == BackendKind::Cuda && c.caps().name == backend.caps().name;
        let context = contexts.find(is_it).cloned();
        let context = context.ok_or_else(|| anyhow!("no context was opened on {}", backend.caps().name))?;
        let device = facade::device(backend, &context)?;
        Ok(Self { device, context, target })
    }

    /// Adds a row to the report for each matrix, precision, cache state and contestant.
    ///
    /// # Errors
    /// If a matrix cannot be read again, or the run is to end; whatever the device does wrong is in the rows.
    pub(crate) fn compare(&self, comparison: &Comparison<'_>, report: &mut Report) -> anyhow::Result<()> {
        let cusparse = self.cusparse();
        match &cusparse {
            Err(e) => {
                report.absent.insert(CUSPARSE.into(), format!("{e:#}"));
            }
            Ok(cusparse) if !cusparse.can_preprocess() => report.left_out.push(format!(
                "cusparse {} has no cusparseSpMV_preprocess (since 12.4): its variants without are compared alone",
                cusparse.version()
            )),
            Ok(_) => {}
        }
        for precision in comparison.precisions.iter().filter(|p| !is_compared(**p)) {
            report
                .left_out
                .push(format!("cusparse is left out of {precision}: f32 and f64 are compared alone"));
        }
        let cusparse = cusparse.ok();
        let mut run = ComparisonRun {
            device: self.device.caps().name.clone(),
            cusparse: cusparse.as_ref().map(|c| c.version().to_owned()),
            graph_runs: measurement::RUNS,
            empty_us: None,
            flush_bytes: None,
            flush_gbs: None,
        };
        let ended = self.race(comparison, cusparse.as_ref(), &mut run, report);
        report.comparison = Some(run);
        ended
    }

    /// Everything warm, then everything cold.
    fn race(
        &self,
        comparison: &Comparison<'_>,
        cusparse: Option<&Cusparse>,
        run: &mut ComparisonRun,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        for cache in [Cache::Warm, Cache::Cold] {
            if !comparison.caches.contains(&cache) {
                continue;
            }
            comparison.bar.set_message(format!("{CUSPARSE}: {cache:?}").to_lowercase());
            match cache {
                // A roof alone: without it the times are as good.
                Cache::Warm => {
                    run.empty_us = measurement::empty_us(&self.device, &self.context, comparison.stop).ok()
                }
                Cache::Cold => match self.equip() {
                    Ok((bytes, gbs)) => (run.flush_bytes, run.flush_gbs) = (Some(bytes), Some(gbs)),
                    Err(e) => {
                        report.left_out.push(format!("cusparse is left out of cold measurements: {e:#}"));
                        continue;
                    }
                },
            }
            let measurement = Measurement {
                device: &self.device,
                context: &self.context,
                cusparse,
                algorithms: comparison.algorithms,
                tiling: comparison.tiling,
                cache,
                repeat: comparison.repeat,
                isolated: comparison.isolated,
                stop: comparison.stop,
            };
            for (at, input) in comparison.inputs.iter().enumerate() {
                comparison.stop.check()?;
                comparison
                    .matrix_cache
                    .with(at, input, |loaded| comparison.rows(&measurement, loaded, report))
                    .with_context(|| input.name().to_owned())??;
            }
        }
        Ok(())
    }

    /// Makes ready to solve a system by cuSPARSE and cuBLAS.
    ///
    /// # Errors
    /// Why they are absent.
    pub(crate) fn solver(self, a: &Csr<f64>, b: &[f64]) -> anyhow::Result<CudaSolver> {
        let cusparse = self.cusparse()?;
        CudaSolver::new(self.device, cusparse, a, b)
    }

    /// Products with several right-hand sides by every algorithm of the library.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn blocks<'a, T: GpuValue>(
        &self,
        problem: &Problem<'a, T>,
    ) -> anyhow::Result<Vec<Contestant<'a, T>>> {
        cusparse_blocks::blocks(self.cusparse()?, problem)
    }

    /// The library, or why it is absent.
    fn cusparse(&self) -> anyhow::Result<Cusparse> {
        ensure!(
            self.target == 0,
            "it is compared on CUDA's first device alone, and SPMV_CUDA_DEVICE chose number {}",
            self.target
        );
        Cusparse::open(&self.device)
    }

    /// Makes ready to empty the cache. Bytes that are read for it, and 10^9 of them a second.
    fn equip(&self) -> anyhow::Result<(u64, f64)> {
        let cache = spmv_cuda::devices()?.get(self.target).and_then(|device| device.l2_bytes);
        let backend = self.device.backend();
        let bytes = backend.equip(flush_bytes(cache.unwrap_or(UNKNOWN_CACHE_BYTES)))?;
        let stream = backend.open_stream(true)?;
        let mut best = f64::INFINITY;
        for _ in 0..FLUSH_ROUNDS {
            let begin = backend.record(&stream)?;
            backend.flush_before_next_event();
            let end = backend.record(&stream)?;
            backend.wait(&end)?;
            best = best.min(backend.elapsed_s(&begin, &end)?);
        }
        ensure!(best > 0.0 && best.is_finite(), "the device's events reported no time");
        Ok((bytes, bytes as f64 / best / 1e9))
    }
}

impl Comparison<'_> {
    /// Adds rows of one matrix in every precision.
    fn rows(
        &self,
        measurement: &Measurement<'_>,
        loaded: &Loaded,
        report: &mut Report,
    ) -> Result<(), Stopped> {
        for &precision in self.precisions.iter().filter(|p| is_compared(**p)) {
            self.bar.set_message(
                format!("{} {precision} {:?}, {CUSPARSE}", loaded.name, measurement.cache).to_lowercase(),
            );
            for &transposed in self.products {
                report.comparisons.extend(match precision {
                    Dtype::F32 => measurement.hold::<f32>(loaded, transposed)?,
                    Dtype::C32 => measurement.hold::<c32>(loaded, transposed)?,
                    Dtype::C64 => measurement.hold::<c64>(loaded, transposed)?,
                    _ => measurement.hold::<f64>(loaded, transposed)?,
                });
                self.live.show(report);
            }
            self.bar.inc(1);
        }
        Ok(())
    }
}

/// Whether both sides know the type.
fn is_compared(precision: Dtype) -> bool {
    precision.accum() == precision
}

/// The index of the device that is named by it or by a part of its name, as `spmv_cuda` reads it.
fn index(asked: Option<&str>, names: &[String]) -> usize {
    let Some(asked) = asked else { return 0 };
    let lower = asked.to_lowercase();
    let index = asked.parse::<usize>().ok().filter(|index| *index < names.len());
    index.or_else(|| names.iter().position(|name| name.to_lowercase().contains(&lower))).unwrap_or(0)
}

fn flush_bytes(cache_bytes: u64) -> u64 {
    (FLUSH_CACHES * cache_bytes).max(FLUSH_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_such_a_device_gets_the_reason() {
        // With a driver the device is the reason, without one the driver.
        let options =
            spmv_cuda::Options { device: Some("no such device".into()), ..spmv_cuda::Options::default() };
        let e = Gpu::with(options, &[]).err().unwrap().to_string();
        assert!(e.starts_with("cuda: "), "{e}");
    }

    #[test]
    fn a_run_on_other_backends_compares_nothing() {
        let e = Gpu::open(&[BackendKind::Cpu], &[]).err().unwrap().to_string();
        assert!(e.contains("cuda backend was not asked for"), "{e}");
    }

    #[test]
    fn a_device_is_named_by_its_index_or_a_part_of_its_name() {
        let names = ["NVIDIA H200", "NVIDIA A2"].map(String::from);
        let of = |asked| index(asked, &names);
        assert_eq!([of(None), of(Some("1")), of(Some("a2")), of(Some("nvidia"))], [0, 1, 1, 0]);
        // `2` is no index here, but part of a name.
        assert_eq!(of(Some("2")), 0);
    }

    #[test]
    fn a_flush_reads_four_caches_and_256_mib_at_least() {
        assert_eq!(flush_bytes(60 << 20), 256 << 20);
        assert_eq!(flush_bytes(126 << 20), 504 << 20);
    }
}
