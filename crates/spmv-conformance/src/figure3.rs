//! The example of Liu & Vinter 2015, figure 3, exactly: 12 rows, 48 entries, T=4, W=6, S=2, B=1.
//!
//! What stage 1 leaves behind is read before the host repairs it: the sums in their compact form, the synchronizer, the dirty
//! counter and the speculator. The numbers are those of `docs/algorithm.md` and of the snapshot in `spmv-fixup`.

use libtest_mimic::Trial;
use spmv_backend::{Backend, KernelId};
use spmv_core::{Csr, Dtype, Tiling, Value, by_dtype};
use spmv_exec::{Device, Error, Fixup, Options};

use crate::check::nan;
use crate::faults::Faults;
use crate::outcome::Check;
use crate::probe::Probe;
use crate::watch::{Opened, Watch};
use crate::{Variant, can, expected, is_full, is_required, speculative, trial};

const ROWS: usize = 12;
const ENTRIES: usize = 48;

/// The paper leaves the second and third offset open.
const ROW_PTR: [u32; ROWS + 1] = [0, 3, 8, 14, 19, 27, 29, 29, 34, 37, 37, 44, 48];

/// Sums of stage 1: the first is in the synchronizer, and from row 7 on they stand too far left. No sum is stored in the last
/// two rows.
const COMPACT: [f64; ROWS - 2] = [0.0, 30.0, 69.0, 85.0, 188.0, 57.0, 160.0, 108.0, 287.0, 186.0];
const REPAIRED: [f64; ROWS] = [6.0, 30.0, 69.0, 85.0, 188.0, 57.0, 0.0, 160.0, 108.0, 0.0, 287.0, 186.0];

/// Trials of a variant, with repair on the host and on the device.
pub(crate) fn trials<B: Backend, F>(label: &str, device: &Device<B>, variant: &Variant<F>) -> Vec<Trial> {
    let speculates = variant.algorithms.contains(&speculative());
    if !variant.only.is_empty() || !speculates {
        return vec![];
    }
    let dtypes = if is_full() { &Dtype::ALL[..] } else { &[Dtype::F32] };
    let ways = dtypes.iter().flat_map(|dtype| [(*dtype, Fixup::Host), (*dtype, Fixup::Device)]);
    ways.map(|(dtype, fixup)| {
        let options = options(fixup);
        let on = if fixup == Fixup::Host { "host" } else { "device" };
        let name = format!("{label}/{}/{dtype}/{}/{on}/figure_3", speculative(), tiling());
        let device = device.clone();
        match can(&device, dtype, &options) {
            Ok(()) => {
                let check = move || by_dtype!(dtype, T => check::<B, T>(&device, &options));
                trial(name, Box::new(check))
            }
            Err(e) => {
                let lacks = expected::lacks(is_required(B::NAME), variant.hides, device.caps());
                let asked = expected::Asked::new(device.caps(), lacks, dtype, &options);
                let is_expected = expected::is_expected(&asked, &e.to_string());
                let refused = move || if is_expected { Ok(()) } else { Err(e.to_string().into()) };
                Trial::test(name, refused).with_ignored_flag(is_expected)
            }
        }
    })
    .collect()
}

fn tiling() -> Tiling {
    Tiling::new(4, 6, 2, 1).expect("the paper's tiling")
}

/// Of stage 1.
fn main_kernel() -> KernelId {
    speculative().facts().expect("an algorithm").kernel
}

fn options(fixup: Fixup) -> Options {
    Options { algorithm: speculative(), tiling: Some(tiling()), fixup, ..Options::default() }
}

/// Runs the example twice, from poison.
fn check<B: Backend, T: Value>(device: &Device<B>, options: &Options) -> Check {
    let fail = |e: Error| e.to_string();
    let opened = Opened::new(device).map_err(|e| e.to_string())?;
    let watch = Watch::new(&opened, Faults::default());
    let probed = Device::new(Probe::new(&watch)).map_err(fail)?;
    let (cols, vals) = ((0..ENTRIES as u32).rev().collect(), (1..=ENTRIES).map(|e| T::from_f64(e as f64)));
    let a = Csr::new(ROWS, ENTRIES, ROW_PTR.to_vec(), cols, vals.collect()).map_err(|e| e.to_string())?;
    let prepared = probed.prepare(a.view(), options).map_err(fail)?;
    let mut workspace = prepared.workspace().map_err(fail)?;
    let x = probed.upload(&[T::from_f64(1.0); ENTRIES]).map_err(fail)?;
    let accum = <T::Accum as Value>::from_f64;
    for _ in 0..2 {
        let mut y = probed.upload(&[nan(); ROWS]).map_err(fail)?;
        let pending = prepared.enqueue(&mut workspace, accum(1.0), &x, accum(0.0), &mut y).map_err(fail)?;
        if options.fixup == Fixup::Host {
            left_by_stage_1::<B, T>(&watch)?;
        }
        let stats = pending.wait().map_err(fail)?;
        let dirty = match options.fixup {
            Fixup::Host => stats.dirty_tiles.ok_or("the host repaired, and no tile was counted")?,
            _ => workspace.dirty_tiles(&prepared).map_err(fail)?,
        };
        expect("tiles and dirty ones", &[stats.n_tiles, dirty], &[2, 1])?;
        expect("the speculator", &watch.elements::<u32>(main_kernel(), "speculator", 1)?, &[1])?;
        expect("y", &y.to_vec().map_err(fail)?, &REPAIRED.map(accum))?;
    }
    watch.check()?;
    Ok(1)
}

/// What is in memory before the host repairs.
fn left_by_stage_1<B: Backend, T: Value>(watch: &Watch<B>) -> Result<(), String> {
    let accum = <T::Accum as Value>::from_f64;
    let numbers = |name, n| watch.elements::<u32>(main_kernel(), name, n);
    let sums = |name, n| watch.elements::<T::Accum>(main_kernel(), name, n);
    expect("the dirty counter", &numbers("dirty_count", 1)?, &[1])?;
    expect("the speculator", &numbers("speculator", 1)?, &[1])?;
    expect("the synchronizer's row", &numbers("sync_rows", 1)?, &[0])?;
    expect("the synchronizer's sum", &sums("sync_sums", 1)?, &[accum(6.0)])?;
    let y = sums("y", ROWS)?;
    expect("y before repair", &y[..COMPACT.len()], &COMPACT.map(accum))?;
    match y[COMPACT.len()..].iter().all(|sum| sum.parts()[0].is_nan()) {
        true => Ok(()),
        false => Err(format!("sums were stored behind the compact ones: {y:?}")),
    }
}

fn expect<E: PartialEq + std::fmt::Debug>(what: &str, found: &[E], expected: &[E]) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:?}, must be {expected:?}")) }
}
