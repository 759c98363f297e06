// kernel: gather_values
// params: n_slots entries vals slots
// steps:  1 a lane takes a slot, or those of a word; 2 read the value of the slot's entry, zero for padding; 3 store it

use spmv_core::format::PADDING;

use super::prelude::for_chunks;
use crate::device_args::view::GatherValues;
use crate::launch::Launch;
use crate::numbers::Numbers;

/// Slots that one task fills: long enough to be worth a task, short enough to balance.
const CHUNK: usize = 16 * 1024;

pub(crate) fn run<T: Numbers>(launch: Launch, args: GatherValues<'_, T>) {
    let GatherValues { n_slots, entries, vals, slots, .. } = args;
    let n_slots = n_slots as usize;
    let (entries, slots) = (&entries[..n_slots], &mut slots[..n_slots]);
    for_chunks(launch.groups.team, CHUNK, slots, &|slots| gather(&entries[slots.base..], vals, slots.rows));
}

fn gather<T: Copy + Default>(entries: &[u32], vals: &[T], slots: &mut [T]) {
    // STEP 1
    for (slot, entry) in slots.iter_mut().zip(entries) {
        // STEP 2, STEP 3
        *slot = match *entry {
            PADDING => T::default(),
            entry => vals[entry as usize],
        };
    }
}
