//! The suite of `spmv-conformance` on the first OpenCL device, or the one that `SPMV_OPENCL_DEVICE` names: every
//! kind of memory that it offers, and lesser devices that a mask can make of it.

use spmv_backend::{DtypeSet, Result};
use spmv_conformance::{ALGORITHMS, Share, Variant, injection, is_full, of_memory, run, suite};
use spmv_core::{Dtype, Tiling};
use spmv_exec::Fixup;
use spmv_opencl::{Mask, Memory, OpenCl, Options};

type Open = Box<dyn Fn() -> Result<OpenCl>>;

fn open(memory: Option<Memory>, mask: Mask) -> Open {
    Box::new(move || OpenCl::open(Options { memory, mask, ..Options::from_env()? }))
}

fn tiling(t: u32, w: u32, s: u32, b: u32) -> Tiling {
    Tiling::new(t, w, s, b).expect("a valid tiling")
}

fn variants() -> Vec<Variant<Open>> {
    let all = Mask::default();
    let both = vec![Fixup::Host, Fixup::Device];
    let tilings = vec![tiling(4, 2, 3, 1), tiling(6, 5, 2, 1)];
    vec![
        Variant {
            tilings: [tilings.clone(), vec![tiling(4, 2, 3, 8)]].concat(),
            fixups: both.clone(),
            random: 60,
            ..Variant::new("fine", open(Some(Memory::Fine), all))
        },
        Variant {
            tilings: vec![tiling(4, 2, 3, 1)],
            fixups: both.clone(),
            random: 20,
            algorithms: of_memory(),
            ..Variant::new("coarse", open(Some(Memory::Coarse), all))
        },
        Variant {
            tilings,
            fixups: vec![Fixup::Auto, Fixup::Host],
            random: 20,
            algorithms: of_memory(),
            ..Variant::new("buffers", open(Some(Memory::Buffers), all))
        },
        // The plans of a GPU, whatever the device is.
        Variant {
            tilings: vec![tiling(32, 8, 3, 1)],
            fixups: vec![Fixup::Device],
            random: 20,
            ..Variant::new("as_gpu", open(None, Mask { as_gpu: true, ..all }))
        },
        Variant {
            random: 20,
            hides: DtypeSet::NONE.with(Dtype::F64).with(Dtype::C64),
            ..Variant::new(
                "small",
                open(
                    None,
                    Mask { no_subgroups: true, local_bytes: Some(2048), no_f64: true, as_gpu: true, ..all },
                ),
            )
        },
        // Buffers so small that larger matrices are cut into pieces, and long rows too; on the CPU and CUDA most are.
        Variant {
            fixups: both,
            only: &["random", "long_rows"],
            random: 20,
            ..Variant::new("split", open(None, Mask { max_buffer_bytes: Some(2400), ..all }))
        },
    ]
}

fn main() {
    let mut trials = suite(variants());
    let memories = [("fine", Memory::Fine), ("coarse", Memory::Coarse), ("buffers", Memory::Buffers)];
    for (at, (label, memory)) in memories.into_iter().enumerate() {
        let opened = open(Some(memory), Mask::default())();
        let algorithms = if is_full() { ALGORITHMS } else { of_memory() };
        let share = (Share::of(at), if at == 0 { 6 } else { 12 });
        trials.extend(injection::trials(label, opened, tiling(4, 2, 3, 1), algorithms, share));
    }
    // PoCL uses all cores by itself, and PoCL 5 aborts (`pocl_release_dlhandle_cache`) when several threads run
    // kernels while others release theirs.
    run(trials, Some(1));
}
