//! What `Auto` takes by a profile, and where host and device share memory.
//!
//! ```
//! use spmv_backend::{DeviceCaps, DeviceKind, KernelId, MemoryModel};
//! use spmv_conformance::auto::{favouring, uneven};
//! use spmv_core::Dtype;
//! let caps = DeviceCaps::new("a chip", DeviceKind::IntegratedGpu, MemoryModel::UnifiedCoherent);
//! assert!(favouring(&caps, &[KernelId::MergePath]).rates("merge_path", Dtype::F32).is_some());
//! assert_eq!(uneven().n_rows(), 4000);
//! ```

use spmv_backend::{Backend, DeviceCaps, KernelId};
use spmv_core::{Csr, Dtype};
use spmv_exec::{Device, Options, Profile, Repair};
use spmv_model::{KernelRates, Rates, Work};

use crate::corpus::{Case, of_lengths};
use crate::coverage::SCALINGS;
use crate::device::Outcome;

/// A profile of the device in which each kernel takes ten times as long for an entry as the one before.
pub fn favouring(caps: &DeviceCaps, kernels: &[KernelId]) -> Profile {
    let mut profile = Profile::new(caps);
    for (i, kernel) in kernels.iter().enumerate() {
        let seconds = 1e-9 * 10f64.powi(i as i32);
        let work =
            |slots| Work { thread_wakeups: 0.0, slots, rows: 0.0, critical_path: 0.0, x_cache_lines: 0.0 };
        let rates = Rates::fit(&[1e3, 1e4].map(|slots| (work(slots), seconds * slots)));
        for value in Dtype::ALL {
            let (kernel, value) = (kernel.stem().into(), value.name().into());
            profile.put_rates(KernelRates { kernel, value, rates });
        }
    }
    profile
}

/// Rows of 3, 0, 5 and 1 entries over and over, and one of 6000: uneven on every device, with dirty tiles. Small integers.
pub fn uneven() -> Csr<f64> {
    let lens: Vec<usize> =
        (0..4000).map(|row| if row == 2000 { 6000 } else { [3, 0, 5, 1][row % 4] }).collect();
    of_lengths(&lens, 67)
}

/// `Auto` speculates for [`uneven`] rows; the oracle's sums come out, and the host has repaired dirty tiles without
/// copying `y`.
///
/// # Errors
/// Whatever the device says.
///
/// # Panics
/// If `Auto` takes something else, a sum is wrong, no tile was dirty, or `y` was copied.
pub fn speculates<B: Backend>(device: &Device<B>) -> Outcome {
    let (case, options) = (Case::new("uneven rows", uneven(), true), Options::default());
    let a = case.matrix.map_values(|v| v as f32);
    let plan = device.plan(a.view(), &options)?;
    let taken = (plan.algorithm, plan.repair);
    assert_eq!(taken, (crate::speculative(), Repair::Host), "{}", plan.explain());
    let dirty = crate::check::<B, f32>(device, &options, &case, &SCALINGS)?;
    assert!(dirty > Some(0), "no tile was dirty");
    let prepared = device.prepare(a.view(), &options)?;
    let (x, mut y) = (device.upload(&vec![1.0f32; a.n_cols()])?, device.zeros(a.n_rows())?);
    let stats = prepared.apply(&mut prepared.workspace()?, 1.0, &x, 0.0, &mut y)?;
    assert!(stats.dirty_tiles == dirty && stats.dirty_share() > Some(0.0), "{stats:?}");
    assert_eq!(stats.y_bytes_copied, 0, "sums are repaired where they are");
    Ok(())
}
