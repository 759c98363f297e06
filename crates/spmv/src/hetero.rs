//! A device and the cores beside it, as a context has them.

use std::sync::Arc;

use spmv_backend::{Backend, DeviceCaps};
use spmv_core::{AnyCsr, Dtype, RowStats, Value};
use spmv_cpu::Cpu;
use spmv_exec::{Device, Error, Options, Plan, Profile, Result, RunStats};
use spmv_hetero::{Models, Pair, PairWorkspace, Partition, Sides, Steering};

use crate::erased::{
    AnyDevice, AnyMatrix, AnyPending, AnyRecorded, AnyVector, AnyWorkspace, DeviceOf, Mismatch, Opened, own,
    own_mut,
};
use crate::profiles::cores;

/// Both sides, and how they find their cuts.
#[derive(Debug)]
pub(crate) struct Hetero<B: Backend> {
    sides: Sides<B, Cpu>,
    steering: Steering,
}

impl<B: Backend> Hetero<B> {
    /// With all cores but one, which waits for the device, and the models that were trained on both, if there are any.
    pub(crate) fn open(device: &Device<B>) -> Opened {
        let threads = rayon::current_num_threads() - 1;
        let sides = Sides::new(device.clone(), threads, cores)?;
        let (models, problem) = match Models::kept(B::NAME, device.caps(), sides.beside().caps()) {
            Ok(kept) => (kept.map(Arc::new), None),
            Err(e) => (None, Some(e.to_string())),
        };
        let steering = Steering { models, ..Steering::default() };
        Ok((Arc::new(Self { sides, steering }), problem))
    }
}

fn unsupported(what: &str, way_out: &str) -> Error {
    spmv_backend::Error::unsupported("a device with cores beside it", what, way_out).into()
}

impl<B: Backend> AnyDevice for Hetero<B> {
    fn caps(&self) -> &DeviceCaps {
        self.sides.device().caps()
    }

    fn profile(&self, value: Dtype) -> Option<&Profile> {
        self.sides.device().profile(value)
    }

    fn beside_cores(&self) -> Opened {
        let Self { sides, steering } = self;
        Ok((Arc::new(Self { sides: sides.clone(), steering: steering.clone() }), None))
    }

    fn cores(&self) -> Option<&DeviceCaps> {
        Some(self.sides.beside().caps())
    }

    fn steering(&self) -> Option<&Steering> {
        Some(&self.steering)
    }

    fn steered(&self, steering: Steering) -> Option<Arc<dyn AnyDevice>> {
        Some(Arc::new(Self { sides: self.sides.clone(), steering }))
    }
}

impl<B: Backend, T: Value> DeviceOf<T> for Hetero<B> {
    fn plan(&self, a: AnyCsr<'_, T>, options: &Options) -> Result<Plan> {
        DeviceOf::plan(self.sides.device(), a, options)
    }

    fn prepare(&self, a: AnyCsr<'_, T>, options: &Options) -> Result<Box<dyn AnyMatrix<T>>> {
        let pair = match a {
            AnyCsr::U32(a) => Pair::prepare(&self.sides, a, options, &self.steering),
            AnyCsr::U64(a) => Pair::prepare(&self.sides, a, options, &self.steering),
        };
        Ok(Box::new(pair?))
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

impl<B: Backend, T: Value> AnyMatrix<T> for Pair<B, Cpu, T> {
    fn plan(&self) -> &Plan {
        Pair::plan(self)
    }

    fn explain(&self) -> String {
        Pair::explain(self)
    }

    fn partition(&self) -> Option<&Partition> {
        Pair::partition(self)
    }

    fn row_stats(&self) -> &RowStats {
        Pair::row_stats(self)
    }

    fn prepare_s(&self) -> f64 {
        Pair::prepare_s(self)
    }

    fn workspace(&self, _timed: bool) -> Result<Box<dyn AnyWorkspace>> {
        Ok(Box::new(Pair::workspace(self)?))
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
        let workspace = own_mut::<PairWorkspace<B, Cpu, T>>(workspace, "the workspace")?;
        let of_both = Pair::apply(self, workspace, alpha, x, beta, y)?;
        let mut stats = RunStats::default();
        stats.stage1_s = of_both.device_s.max(of_both.cores_s);
        stats.stage2_s = of_both.join_s;
        stats.sides_s = Some([of_both.device_s, of_both.cores_s]);
        Ok(stats)
    }

    fn record<'a>(
        &'a self,
        _: &'a mut dyn AnyWorkspace,
        _: u32,
        _: T::Accum,
        _: &'a dyn AnyVector<T>,
        _: T::Accum,
        _: &'a mut dyn AnyVector<T::Accum>,
    ) -> Result<Box<dyn AnyRecorded + 'a>, Mismatch> {
        Err(unsupported("recorded runs", "use apply: the cores have their part to do").into())
    }

    fn dirty_tiles(&self, _: &dyn AnyWorkspace) -> Result<u32, Mismatch> {
        Err(unsupported("counts of repaired tiles", "prepare the matrix on the device alone").into())
    }
}

impl<B: Backend, T: Value> AnyWorkspace for PairWorkspace<B, Cpu, T> {}

/// A vector in the host's memory, which both sides work on.
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

    fn map(&mut self, look: &mut dyn FnMut(&mut [T])) -> Result<()> {
        look(&mut self.0);
        Ok(())
    }
}
