//! Co-execution: a device together with the host's cores.
//!
//! [`Context::with_host_cores`](crate::Context::with_host_cores) adds the cores to a device. Each matrix is then split into a device share
//! and a host share; a [`Steering`] says how the split is found, and a [`Partition`] reports it.
//!
//! ```
//! use spmv::hetero::Steering;
//! use spmv::{BackendKind, Context, Csr};
//! let context = Context::with(BackendKind::Cpu)?.with_host_cores()?;
//! let context = context.steered(Steering { budget_s: 0.1, ..Steering::default() });
//! let a = context.prepare(&Csr::from_coo(2, 2, &[(0, 1, 2.0f32), (1, 0, 3.0)])?)?;
//! println!("{}", a.explain());
//! if let Some(partition) = a.partition() {
//!     println!("{partition:?}");
//! }
//! # Ok::<(), spmv::Error>(())
//! ```

use std::sync::Arc;

use spmv_backend::{Backend, DeviceCaps};
use spmv_core::{AnyCsr, Dtype, RowStats, Value};
use spmv_cpu::Cpu;
use spmv_exec::{Device, Error, Options, Plan, Profile, Result, RunStats};
pub use spmv_hetero::{By, Choice, Models, Partition, Pattern, Regular, Regularity, Split, Steering, Step};
use spmv_hetero::{CoDevices, CoMatrix, CoWorkspace};

use crate::erased::{AnyDevice, DeviceOf, Opened};
use crate::erased_matrix::{
    AnyGraph, AnyMatrix, AnyPending, AnyVector, AnyWorkspace, Mismatch, own, own_mut,
};
use crate::erased_queue::AnyQueue;
use crate::profiles::{cores, problem};

/// How models that cannot be used are made anew.
const ANEW: &str =
    "by the bench of this project's repository, or remove it: without models, runs find the split";

/// Device and host, and how they find their splits.
#[derive(Debug)]
pub(crate) struct Hetero<B: Backend> {
    devices: CoDevices<B, Cpu>,
    steering: Steering,
}

impl<B: Backend> Hetero<B> {
    /// With all cores but one, which waits for the device, and the models that were trained on both, if there are any.
    pub(crate) fn open(device: &Device<B>) -> Opened {
        let threads = rayon::current_num_threads() - 1;
        let devices = CoDevices::new(device.clone(), threads, cores)?;
        let (models, problem) = match Models::kept(B::NAME, device.caps(), devices.sharing().caps()) {
            Ok(kept) => (kept.map(Arc::new), None),
            Err(e) => (None, Some(problem(&e, ANEW))),
        };
        let steering = Steering { models, ..Steering::default() };
        Ok((Arc::new(Self { devices, steering }), problem))
    }
}

fn unsupported(what: &str, way_out: &str) -> Error {
    spmv_backend::Error::unsupported("a device with the host's cores", what, way_out).into()
}

impl<B: Backend> AnyDevice for Hetero<B> {
    fn caps(&self) -> &DeviceCaps {
        self.devices.device().caps()
    }

    fn profile(&self, value: Dtype) -> Option<&Profile> {
        self.devices.device().profile(value)
    }

    fn queue(&self) -> Result<Box<dyn AnyQueue>> {
        Err(unsupported("queues of operations", "use a context of one device"))
    }

    fn with_host_cores(&self) -> Opened {
        let Self { devices, steering } = self;
        Ok((Arc::new(Self { devices: devices.clone(), steering: steering.clone() }), None))
    }

    fn cores(&self) -> Option<&DeviceCaps> {
        Some(self.devices.sharing().caps())
    }

    fn steering(&self) -> Option<&Steering> {
        Some(&self.steering)
    }

    fn steered(&self, steering: Steering) -> Option<Arc<dyn AnyDevice>> {
        Some(Arc::new(Self { devices: self.devices.clone(), steering }))
    }
}

impl<B: Backend, T: Value> DeviceOf<T> for Hetero<B> {
    fn plan(&self, a: AnyCsr<'_, T>, options: &Options) -> Result<Plan> {
        DeviceOf::plan(self.devices.device(), a, options)
    }

    fn prepare(&self, a: AnyCsr<'_, T>, options: &Options) -> Result<Box<dyn AnyMatrix<T>>> {
        let co_matrix = match a {
            AnyCsr::U32(a) => CoMatrix::prepare(&self.devices, a, options, &self.steering),
            AnyCsr::U64(a) => CoMatrix::prepare(&self.devices, a, options, &self.steering),
        };
        Ok(Box::new(co_matrix?))
    }

    fn zeros(&self, len: usize) -> Result<Box<dyn AnyVector<T>>> {
        let mut values = Vec::new();
        let bytes = (len as u64).saturating_mul(size_of::<T>() as u64);
        values
            .try_reserve_exact(len)
            .map_err(|_| spmv_backend::Error::OutOfMemory { device: "the host".into(), bytes })?;
        values.resize(len, T::default());
        Ok(Box::new(HostVec(values)))
    }
}

impl<B: Backend, T: Value> AnyMatrix<T> for CoMatrix<B, Cpu, T> {
    fn plan(&self) -> &Plan {
        CoMatrix::plan(self)
    }

    fn explain(&self) -> String {
        CoMatrix::explain(self)
    }

    fn partition(&self) -> Option<&Partition> {
        CoMatrix::partition(self)
    }

    fn row_stats(&self) -> &RowStats {
        CoMatrix::row_stats(self)
    }

    fn set_values(&mut self, vals: &[T]) -> Result<()> {
        CoMatrix::set_values(self, vals)
    }

    fn prepare_s(&self) -> f64 {
        CoMatrix::prepare_s(self)
    }

    fn workspace(&self, _timed: bool) -> Result<Box<dyn AnyWorkspace>> {
        Ok(Box::new(CoMatrix::workspace(self)?))
    }

    fn enqueue<'a>(
        &'a self,
        _: &'a mut dyn AnyWorkspace,
        _: T::Accum,
        _: &'a dyn AnyVector<T>,
        _: T::Accum,
        _: &'a mut dyn AnyVector<T::Accum>,
    ) -> Result<Box<dyn AnyPending + 'a>, Mismatch> {
        Err(unsupported("runs that are waited for later", "use apply: the cores have their part to do")
            .into())
    }

    fn apply(
        &self,
        workspace: &mut dyn AnyWorkspace,
        alpha: T::Accum,
        x: &dyn AnyVector<T>,
        beta: T::Accum,
        y: &mut dyn AnyVector<T::Accum>,
    ) -> Result<RunStats, Mismatch> {
        let (x, y) = (own::<HostVec<T>>(x, "x")?, own_mut::<HostVec<T::Accum>>(y, "y")?);
        self.apply_slices(workspace, alpha, &x.0, beta, &mut y.0)
    }

    fn apply_slices(
        &self,
        workspace: &mut dyn AnyWorkspace,
        alpha: T::Accum,
        x: &[T],
        beta: T::Accum,
        y: &mut [T::Accum],
    ) -> Result<RunStats, Mismatch> {
        let workspace = own_mut::<CoWorkspace<B, Cpu, T>>(workspace, "the workspace")?;
        let of_both = CoMatrix::apply(self, workspace, alpha, x, beta, y)?;
        let mut stats = RunStats::default();
        stats.stage1_s = of_both.device_s.max(of_both.cores_s);
        stats.stage2_s = of_both.join_s;
        stats.shares_s = Some([of_both.device_s, of_both.cores_s]);
        Ok(stats)
    }

    fn capture<'a>(
        &'a self,
        _: &'a mut dyn AnyWorkspace,
        _: u32,
        _: T::Accum,
        _: &'a dyn AnyVector<T>,
        _: T::Accum,
        _: &'a mut dyn AnyVector<T::Accum>,
    ) -> Result<Box<dyn AnyGraph + 'a>, Mismatch> {
        Err(unsupported("captured runs", "use apply: the cores have their part to do").into())
    }

    fn dirty_tiles(&self, _: &dyn AnyWorkspace) -> Result<u32, Mismatch> {
        Err(unsupported("counts of repaired tiles", "prepare the matrix on the device alone").into())
    }
}

impl<B: Backend, T: Value> AnyWorkspace for CoWorkspace<B, Cpu, T> {}

/// A vector in the host's memory, which device and host work on.
#[derive(Debug)]
struct HostVec<T>(Vec<T>);

impl<T: Value> HostVec<T> {
    fn check_len(&self, found: usize) -> Result<()> {
        match self.0.len() {
            expected if expected != found => Err(Error::Length { what: "the slice", found, expected }),
            _ => Ok(()),
        }
    }
}

impl<T: Value> AnyVector<T> for HostVec<T> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn write(&mut self, values: &[T]) -> Result<()> {
        self.check_len(values.len())?;
        self.0.copy_from_slice(values);
        Ok(())
    }

    fn read(&self, values: &mut [T]) -> Result<()> {
        self.check_len(values.len())?;
        values.copy_from_slice(&self.0);
        Ok(())
    }

    fn with(&self, f: &mut dyn FnMut(&[T])) -> Result<()> {
        f(&self.0);
        Ok(())
    }

    fn map(&mut self, f: &mut dyn FnMut(&mut [T])) -> Result<()> {
        f(&mut self.0);
        Ok(())
    }
}
