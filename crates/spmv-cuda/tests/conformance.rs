//! The suite of `spmv-conformance` on the first CUDA device, or the one that `SPMV_CUDA_DEVICE` names: in its own and
//! in managed memory, by the PTX for it and by the PTX for any device, and split.

use spmv_backend::Result;
use spmv_conformance::{ALGORITHMS, Share, Variant, injection, run, suite};
use spmv_core::Tiling;
use spmv_cuda::{Cuda, Mask, Memory, Options};
use spmv_exec::{Algorithm, Fixup};

type Open = Box<dyn Fn() -> Result<Cuda>>;

fn open(memory: Option<Memory>, mask: Mask) -> Open {
    Box::new(move || Cuda::open(Options { memory, mask, ..Options::from_env()? }))
}

fn tiling(t: u32, w: u32, s: u32, b: u32) -> Tiling {
    Tiling::new(t, w, s, b).expect("a valid tiling")
}

fn variants() -> Vec<Variant<Open>> {
    let all = Mask::default();
    vec![
        Variant {
            tilings: vec![
                tiling(32, 1, 3, 2),
                tiling(32, 4, 2, 1),
                tiling(32, 16, 2, 3),
                tiling(32, 1, 1, 1),
            ],
            fixups: vec![Fixup::Auto, Fixup::Host],
            random: 50,
            ..Variant::new("device", open(Some(Memory::Device), all))
        },
        Variant {
            tilings: vec![tiling(32, 1, 3, 2)],
            fixups: vec![Fixup::Auto, Fixup::Device],
            random: 20,
            ..Variant::new("managed", open(Some(Memory::Managed), all))
        },
        // As on chips where host and device must not touch managed memory at the same time.
        Variant {
            fixups: vec![Fixup::Auto, Fixup::Device],
            random: 20,
            ..Variant::new("mapped", open(Some(Memory::Managed), Mask { no_concurrent_access: true, ..all }))
        },
        // The PTX for any device.
        Variant {
            tilings: vec![tiling(32, 1, 3, 2)],
            random: 20,
            ..Variant::new("baseline", open(None, Mask { baseline: true, ..all }))
        },
        // Rows by parts of a warp.
        Variant {
            tilings: [1, 2, 4, 8, 16].map(|t| tiling(t, 1, 2, 64 / t)).to_vec(),
            random: 50,
            algorithms: &[Algorithm::CsrVector],
            ..Variant::new("parts", open(Some(Memory::Device), all))
        },
        // Lanes of a row, and entries of a run.
        Variant {
            tilings: [(1, 3, 1, 128), (1, 1, 2, 64), (2, 4, 3, 32), (4, 2, 1, 32), (8, 3, 2, 8)]
                .map(|(t, w, s, b)| tiling(t, w, s, b))
                .to_vec(),
            random: 50,
            algorithms: &[Algorithm::Sell],
            ..Variant::new("slices", open(Some(Memory::Device), all))
        },
        // As on devices whose multiprocessors hold little shared memory.
        Variant {
            tilings: vec![tiling(128, 2, 3, 1), tiling(32, 2, 1, 1)],
            random: 20,
            algorithms: &[Algorithm::Ipcsr, Algorithm::Pcsr],
            ..Variant::new("narrow", open(Some(Memory::Device), all))
        },
        // Buffers so small that most matrices are cut into pieces, and long rows too.
        Variant {
            // The narrow one still cuts rows of a piece, so that they join.
            tilings: vec![tiling(32, 1, 1, 1)],
            fixups: vec![Fixup::Host, Fixup::Device],
            only: &["random", "long_rows"],
            random: 20,
            ..Variant::new("split", open(None, Mask { max_buffer_bytes: Some(1300), ..all }))
        },
    ]
}

fn main() {
    let mut trials = suite(variants());
    for (at, (label, memory)) in
        [("device", Memory::Device), ("managed", Memory::Managed)].into_iter().enumerate()
    {
        let opened = open(Some(memory), Mask::default())();
        trials.extend(injection::trials(label, opened, tiling(32, 1, 1, 1), ALGORITHMS, (Share::of(at), 3)));
    }
    run(trials, None);
}
