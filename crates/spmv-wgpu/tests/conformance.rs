//! The suite of `spmv-conformance` on the first device of wgpu, or the one that `SPMV_WGPU_DEVICE` names: every kind of
//! memory that it offers, and lesser devices that a mask can make of it.

use spmv_backend::{DtypeSet, Result};
use spmv_conformance::{Variant, of_memory, run, suite};
use spmv_core::{Dtype, Tiling};
use spmv_exec::Fixup;
use spmv_wgpu::{Mask, Memory, Options, Wgpu};

type Open = Box<dyn Fn() -> Result<Wgpu>>;

fn open(memory: Option<Memory>, mask: Mask) -> Open {
    Box::new(move || Wgpu::open(Options { memory, mask, ..Options::from_env()? }))
}

fn tiling(t: u32, w: u32, s: u32, b: u32) -> Tiling {
    Tiling::new(t, w, s, b).expect("a valid tiling")
}

fn variants() -> Vec<Variant<Open>> {
    let all = Mask::default();
    let both = vec![Fixup::Host, Fixup::Device];
    // Lanes of subgroups, of parts of them, and more than any has; bunches where they need no barrier.
    let tilings = vec![tiling(8, 2, 3, 1), tiling(4, 3, 2, 8), tiling(6, 5, 2, 1)];
    vec![
        Variant {
            tilings,
            fixups: both.clone(),
            random: 20,
            ..Variant::new("mapped", open(Some(Memory::Mapped), all))
        },
        Variant {
            tilings: vec![tiling(8, 2, 3, 1)],
            fixups: vec![Fixup::Auto, Fixup::Host],
            random: 10,
            algorithms: of_memory(),
            ..Variant::new("staged", open(Some(Memory::Staged), all))
        },
        // Lanes talk through local memory.
        Variant {
            tilings: vec![tiling(4, 2, 3, 1), tiling(6, 5, 2, 1)],
            fixups: vec![Fixup::Device],
            random: 10,
            ..Variant::new("workgroup", open(None, Mask { no_subgroups: true, no_joins: true, ..all }))
        },
        // Launches of several lines.
        Variant {
            fixups: vec![Fixup::Device],
            random: 10,
            ..Variant::new("lines", open(None, Mask { max_groups_of_line: Some(7), ..all }))
        },
        Variant {
            random: 10,
            hides: DtypeSet::NONE.with(Dtype::F64).with(Dtype::C64),
            ..Variant::new(
                "small",
                open(None, Mask { no_subgroups: true, local_bytes: Some(2048), no_f64: true, ..all }),
            )
        },
        // Bindings so small that larger matrices are cut into pieces, and long rows too; on the CPU and CUDA most are.
        Variant {
            fixups: both,
            only: &["random", "long_rows"],
            random: 10,
            ..Variant::new("split", open(None, Mask { max_buffer_bytes: Some(2400), ..all }))
        },
    ]
}

fn main() {
    run(suite(variants()), None);
}
