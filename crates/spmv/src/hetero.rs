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

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

use num_traits::Zero;
use spmv_backend::{Backend, DeviceCaps};
use spmv_core::{AnyCsr, Dtype, RowStats, Value};
use spmv_cpu::Cpu;
use spmv_exec::{Device, DeviceVec, Error, Options, Plan, Profile, Queue, Result, RunStats, check_bounds};
pub use spmv_hetero::{By, Choice, Models, Partition, Pattern, Regular, Regularity, Split, Steering, Step};
use spmv_hetero::{CoDevices, CoMatrix, CoWorkspace};

use crate::erased::{AnyDevice, DeviceOf, Opened};
use crate::erased_matrix::{
    AnyEpilogue, AnyGraph, AnyMatrix, AnyPending, AnyVector, AnyWorkspace, Mismatch, own, own_mut,
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

    /// Of the cores, which have the vectors. Products in it are by both.
    fn queue(&self) -> Result<Box<dyn AnyQueue>> {
        Ok(Box::new(self.devices.alone().queue()?))
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
        let matrix = match a {
            AnyCsr::U32(a) => CoMatrix::prepare(&self.devices, a, options, &self.steering),
            AnyCsr::U64(a) => CoMatrix::prepare(&self.devices, a, options, &self.steering),
        }?;
        let (cores, idle) = (self.devices.alone().clone(), Mutex::default());
        Ok(Box::new(OfBoth { matrix, cores, idle }))
    }

    fn zeros(&self, len: usize) -> Result<Box<dyn AnyVector<T>>> {
        DeviceOf::zeros(self.devices.alone(), len)
    }
}

/// A matrix of device and cores. Its vectors are the cores'.
#[derive(Debug)]
struct OfBoth<B: Backend, T: Value> {
    matrix: CoMatrix<B, Cpu, T>,
    cores: Device<Cpu>,
    /// For products in queues, as many as ever ran at a time.
    idle: Mutex<Vec<CoWorkspace<B, Cpu, T>>>,
}

impl<B: Backend, T: Value> OfBoth<B, T> {
    fn multiply(
        &self,
        workspace: &mut CoWorkspace<B, Cpu, T>,
        alpha: T::Accum,
        x: &[T],
        beta: T::Accum,
        y: &mut [T::Accum],
    ) -> Result<RunStats> {
        let of_both = self.matrix.apply(workspace, alpha, x, beta, y)?;
        let mut stats = RunStats::default();
        stats.stage1_s = of_both.device_s.max(of_both.cores_s);
        stats.stage2_s = of_both.join_s;
        stats.shares_s = Some([of_both.device_s, of_both.cores_s]);
        Ok(stats)
    }

    /// The same with vectors of the cores, which are used in place.
    fn multiply_in_place(
        &self,
        workspace: &mut CoWorkspace<B, Cpu, T>,
        alpha: T::Accum,
        x: &dyn AnyVector<T>,
        beta: T::Accum,
        y: &mut dyn AnyVector<T::Accum>,
    ) -> Result<RunStats, Mismatch> {
        let (x, y) = (own::<DeviceVec<Cpu, T>>(x, "x")?, own_mut::<DeviceVec<Cpu, T::Accum>>(y, "y")?);
        for (what, device) in [("x", x.device()), ("y", y.device())] {
            if !device.is(&self.cores) {
                return Err(Error::Foreign { what, to: "device" }.into());
            }
        }
        let done = x.with(|x| y.map(|y| self.multiply(workspace, alpha, x, beta, y)));
        Ok(done.flatten().flatten()?)
    }
}

impl<B: Backend, T: Value> AnyMatrix<T> for OfBoth<B, T> {
    fn plan(&self) -> &Plan {
        self.matrix.plan()
    }

    fn explain(&self) -> String {
        self.matrix.explain()
    }

    fn partition(&self) -> Option<&Partition> {
        self.matrix.partition()
    }

    fn row_stats(&self) -> &RowStats {
        self.matrix.row_stats()
    }

    fn set_values(&mut self, vals: &[T]) -> Result<()> {
        self.matrix.set_values(vals)
    }

    fn prepare_s(&self) -> f64 {
        self.matrix.prepare_s()
    }

    fn workspace(&self, _timed: bool) -> Result<Box<dyn AnyWorkspace>> {
        Ok(Box::new(self.matrix.workspace()?))
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
        let workspace = own_mut::<CoWorkspace<B, Cpu, T>>(workspace, "the workspace")?;
        self.multiply_in_place(workspace, alpha, x, beta, y)
    }

    fn apply_in(
        &self,
        queue: &mut dyn Any,
        alpha: T::Accum,
        x: &dyn AnyVector<T>,
        beta: T::Accum,
        y: &mut dyn AnyVector<T::Accum>,
        epilogue: AnyEpilogue<'_, T::Accum>,
    ) -> Result<(), Mismatch> {
        let queue = own_mut::<Queue<Cpu>>(queue, "the matrix")?;
        if !queue.device().is(&self.cores) {
            return Err(Error::Foreign { what: "the matrix", to: "device" }.into());
        }
        check_bounds(epilogue.bounds)?;
        // Device and cores add to the same rows: what else becomes of them takes passes of its own.
        if let Some(z) = epilogue.z {
            let z = own::<DeviceVec<Cpu, T::Accum>>(z, "z")?;
            let y = own_mut::<DeviceVec<Cpu, T::Accum>>(y, "y")?;
            if z.len() != y.len() {
                return Err(Error::Length { what: "z", found: z.len(), expected: y.len() }.into());
            }
            if !beta.is_zero() {
                queue.copy(z, y)?;
            }
        }
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = idle().pop();
        let mut workspace = taken.map_or_else(|| self.matrix.workspace(), Ok)?;
        let done = self.multiply_in_place(&mut workspace, alpha, x, beta, y);
        idle().push(workspace);
        done?;
        if let Some([lo, hi]) = epilogue.bounds {
            queue.clamp(lo, hi, own_mut(y, "y")?)?;
        }
        Ok(())
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
        Ok(self.multiply(workspace, alpha, x, beta, y)?)
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
