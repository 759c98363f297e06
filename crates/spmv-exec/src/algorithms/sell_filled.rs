//! Words and values of slices on a device, which makes them of CSR, or to which the host brings them.

use spmv_backend::arguments::SellFill;
use spmv_backend::{Backend, Error as DeviceError, Memory, MemoryModel};
use spmv_core::{CsrView, Value, parts};

use crate::device::{Device, bytes_of};
use crate::error::{Error, Result};
use crate::launch::{launch, to_slots};
use crate::numbers::{counted, gather_values, sell_fill};
use crate::part::{CsrArrays, Prepare};
use crate::slices::Slices;

/// Entries from which on a device with memory of its own lays them out itself. Of fewer the host has made the layout by the time that memory for
/// CSR is there.
const ON_DEVICE: usize = 1 << 17;
/// Slots that the host makes at a time, in the same memory: pages that are new to a process cost more than what is written to them, and
/// what a cache still holds is copied faster.
const BATCH: usize = 1 << 21;

/// Slices, and the matrix as CSR on a device that makes them of it. There is none where the host makes them: it shares the device's memory, entries are
/// few, or there is no memory for more than slices.
pub(super) fn with_csr<B: Backend, V: Value>(
    to: &Prepare<'_, B>,
    a: CsrView<'_, V, u32>,
    slices: &(dyn Fn() -> Option<Slices> + Sync),
) -> (Result<Option<CsrArrays<B>>>, Option<Slices>) {
    if to.device.caps().memory != MemoryModel::Discrete || a.nnz() < ON_DEVICE {
        return (Ok(None), slices());
    }
    parts::both(|| if_there_is_memory(to.csr(a)), slices)
}

/// `None` for what the device has no memory for.
fn if_there_is_memory<R>(memory: Result<R>) -> Result<Option<R>> {
    match memory {
        Err(Error::Device(DeviceError::OutOfMemory { .. })) => Ok(None),
        memory => memory.map(Some),
    }
}

/// What is allocated besides CSR; without that, if there is no memory for both.
pub(super) fn besides<B: Backend, R>(
    csr: &mut Option<CsrArrays<B>>,
    memory: impl Fn() -> Result<R>,
) -> Result<R> {
    match memory() {
        Err(Error::Device(DeviceError::OutOfMemory { .. })) if csr.take().is_some() => memory(),
        made => made,
    }
}

/// Words and values of slices with these rows and numbers, which are on the device too.
pub(super) fn filled<B: Backend, V: Value>(
    device: &Device<B>,
    slices: &Slices,
    a: CsrView<'_, V, u32>,
    mut csr: Option<CsrArrays<B>>,
    [perm, numbers]: [&B::Buffer; 2],
) -> Result<[B::Buffer; 2]> {
    let memory = || Ok([device.scratch::<u32>(slices.n_words())?, device.scratch::<V>(slices.n_slots())?]);
    let [words, vals] = besides(&mut csr, memory)?;
    let n_lanes = slices.n_slices() * slices.shape().slice_lanes;
    if let Some(csr) = csr
        && let Ok(n_lanes) = counted(device, n_lanes)
        && let Ok(n_slots) = counted(device, slices.n_slots())
        && let Some(slots) = if_there_is_memory(device.scratch::<u32>(slices.n_slots()))?
    {
        by_device::<B, V>(device, slices, &csr, [n_lanes, n_slots], [perm, numbers, &words, &slots, &vals])?;
        return Ok([words, vals]);
    }
    by_host(device, slices, a, [words, vals])
}

/// Has the device lay out what it has as CSR: the entry of each slot, then the values of these.
fn by_device<B: Backend, V: Value>(
    device: &Device<B>,
    slices: &Slices,
    csr: &CsrArrays<B>,
    [n_lanes, n_slots]: [u32; 2],
    [perm, numbers, words, slots, vals]: [&B::Buffer; 5],
) -> Result<()> {
    let caps = device.caps();
    let [fill, gather] = [sell_fill(caps), gather_values(V::DTYPE, caps)];
    let (fill, gather) = (device.compiled(&fill)?, device.compiled(&gather)?);
    let (shape, of_parts) = (slices.shape(), slices.numbers_of_parts());
    let mut parts = device.scratch::<[u32; 4]>(of_parts.len())?;
    device.copies(|s| {
        device.backend().write(s, &mut parts, 0, bytemuck::cast_slice(&of_parts))?;
        let args = SellFill {
            n_rows: slices.n_rows() as u32,
            n_slices: slices.n_slices() as u32,
            slice_lanes: shape.slice_lanes as u32,
            slice_rows: shape.rows() as u32,
            width: shape.width as u32,
            sorted: u32::from(slices.is_sorted()),
            row_ptr: Memory::Device(&csr.row_ptr),
            cols: Memory::Device(&csr.cols),
            perm: Memory::Device(perm),
            slices: Memory::Device(numbers),
            parts: Memory::Device(&parts),
            words: Memory::Device(words),
            entries: Memory::Device(slots),
        };
        launch(device, s, &fill, n_lanes.div_ceil(fill.spec.tiling.group_lanes()), args)?;
        to_slots(device, s, &gather, n_slots, slots, Memory::Device(&*csr.vals.get()), vals)
    })
}

/// Has the host write both, in place where it may.
fn by_host<B: Backend, V: Value>(
    device: &Device<B>,
    slices: &Slices,
    a: CsrView<'_, V, u32>,
    [mut words, mut vals]: [B::Buffer; 2],
) -> Result<[B::Buffer; 2]> {
    let backend = device.backend();
    // Threads write where they will read, and nothing is written twice.
    if slices.n_slices() > 0 && device.caps().memory == MemoryModel::UnifiedCoherent {
        let [n_words, n_vals] = [bytes_of::<u32>(slices.n_words()), bytes_of::<V>(slices.n_slots())];
        let fill = |words: &mut [u8], vals: &mut [u8]| {
            let (words, vals) = (bytemuck::cast_slice_mut(words), bytemuck::cast_slice_mut(vals));
            slices.fill(a, 0..slices.n_slices(), words, vals);
        };
        device.copies(|s| {
            backend.map(s, &mut words, n_words, |words| {
                backend.map(s, &mut vals, n_vals, |vals| fill(words, vals))
            })?
        })?;
        return Ok([words, vals]);
    }
    let (mut of_words, mut of_vals) = (Vec::new(), Vec::new());
    let mut first = 0;
    while first < slices.n_slices() {
        let (slot, word) = slices.starts(first);
        let end = slices.first_beyond(first, slot + BATCH);
        let (slots_end, words_end) = slices.starts(end);
        let of_words = grown(&mut of_words, words_end - word, 0);
        let of_vals = grown(&mut of_vals, slots_end - slot, V::from_f64(0.0));
        slices.fill(a, first..end, of_words, of_vals);
        device.copies(|s| {
            backend.write(s, &mut words, bytes_of::<u32>(word), bytemuck::cast_slice(of_words))?;
            backend.write(s, &mut vals, bytes_of::<V>(slot), bytemuck::cast_slice(of_vals))
        })?;
        first = end;
    }
    Ok([words, vals])
}

/// Memory for so many elements, whatever is in it, and for a fourth more: later batches are not all as large. It is not made longer but allocated
/// anew: pages that nobody wrote cost nothing before threads do.
fn grown<E: Copy>(held: &mut Vec<E>, n: usize, zero: E) -> &mut [E] {
    if held.len() < n {
        *held = Vec::new();
        *held = vec![zero; n + n / 4];
    }
    &mut held[..n]
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;
    use spmv_core::{Csr, Tiling};
    use spmv_cpu::{Cpu, Mask, Options};

    use super::*;
    use crate::method::Repair;
    use crate::part::Span;
    use crate::slices::Shape;

    fn apart() -> Device<Cpu> {
        let mask = Mask { discrete: true, ..Mask::default() };
        Device::new(Cpu::open(Options { mask, ..Options::default() }).unwrap()).unwrap()
    }

    fn prepare(device: &Device<Cpu>) -> Prepare<'_, Cpu> {
        let span = Span { row_base: 0, n_rows: 0, nnz: 0, continues: false };
        let (kernel, repair) = (sell_fill(device.caps()), Repair::None);
        Prepare { device, kernel, helpers: vec![], repair, span, regular_width: 0, given: &[] }
    }

    /// Words and values by the device and by the host.
    fn both(a: &Csr<f64>, shape: Shape) -> [(Vec<u32>, Vec<f64>); 2] {
        let (device, slices) = (apart(), Slices::new(a.view(), shape).unwrap());
        let to = prepare(&device);
        let (perm, numbers) = (to.copy(slices.perm()).unwrap(), to.copy(slices.numbers()).unwrap());
        [Some(to.csr(a.view()).unwrap()), None].map(|csr| {
            let made = filled(&device, &slices, a.view(), csr, [&perm, &numbers]).unwrap();
            let (mut words, mut vals) = (vec![7; slices.n_words()], vec![7.0; slices.n_slots()]);
            device
                .copies(|s| {
                    device.backend().read(s, &made[0], 0, bytemuck::cast_slice_mut(&mut words))?;
                    device.backend().read(s, &made[1], 0, bytemuck::cast_slice_mut(&mut vals))
                })
                .unwrap();
            (words, vals)
        })
    }

    fn shape(lanes: u32, width: u32) -> Shape {
        let tiling =
            if lanes == 0 { Tiling::new(1, width, 1, 1) } else { Tiling::new(lanes, width, 1, 32 / lanes) };
        Shape::of(&tiling.unwrap(), 1)
    }

    #[test]
    fn a_grid_whose_slices_are_stepped_is_the_same_by_both() {
        let row = |at: u32| (0..6).map(move |i| (at + 40 * (i / 3) + i % 3, f64::from(10 * at + i)));
        let a = Csr::from_rows(400, (0..300).map(row)).unwrap();
        for (lanes, width) in [(0, 1), (1, 1), (2, 3), (4, 1)] {
            let [device, host] = both(&a, shape(lanes, width));
            assert_eq!(device, host, "{lanes} lanes, runs of {width}");
        }
    }

    #[test]
    fn csr_gives_way_to_what_is_kept() {
        let a = Csr::from_coo(1, 1, &[(0, 0, 1.0f32)]).unwrap();
        let full = || Error::Device(DeviceError::OutOfMemory { device: "a GPU".to_owned(), bytes: 1 });
        let mut csr = Some(prepare(&apart()).csr(a.view()).unwrap());
        let calls = Cell::new(0);
        let memory = |most| {
            calls.set(calls.get() + 1);
            if calls.get() > most { Ok(()) } else { Err(full()) }
        };
        assert_eq!(besides(&mut csr, || memory(0)), Ok(()));
        assert!(csr.is_some());
        assert_eq!(besides(&mut csr, || memory(2)), Ok(()), "one call before, one that fails");
        assert!(csr.is_none());
        assert_eq!(besides(&mut csr, || memory(9)), Err(full()), "nothing is left to give way");
        assert_eq!(calls.get(), 4);
    }

    proptest! {
        #[test]
        fn the_device_makes_what_the_host_makes(
            rows in prop::collection::vec(prop_oneof![
                9 => prop::collection::vec((0u32..12, 0u32..5), 0..9),
                1 => prop::collection::vec((0u32..12, 0u32..5), 100..900),
            ], 0..90),
            (lanes, width) in (prop_oneof![Just(0u32), Just(1), Just(2), Just(8), Just(32)], 1u32..=4),
            apart in prop_oneof![Just(6u32), Just(20_000)],
        ) {
            let entries = |runs: &Vec<(u32, u32)>| {
                let cols = runs.iter().flat_map(|(first, len)| (0..*len).map(move |i| apart * first + i));
                cols.map(|col| (col, f64::from(col) + 0.5)).collect::<Vec<_>>()
            };
            let a = Csr::from_rows(300_000, rows.iter().map(entries));
            prop_assume!(a.is_ok());
            let [device, host] = both(&a.unwrap(), shape(lanes, width));
            prop_assert_eq!(device, host);
        }
    }
}
