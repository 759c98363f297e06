//! The suite of `spmv-conformance` on the CPU: every instruction set, and every lesser device that a
//! mask can make of it.

mod auto;

use spmv_backend::{DtypeSet, Result};
use spmv_conformance::{ALGORITHMS, Share, Variant, injection, is_full, of_memory, run, suite};
use spmv_core::{Dtype, Tiling};
use spmv_cpu::{Cpu, Isa, Mask, Options};
use spmv_exec::Fixup;

type Open = Box<dyn Fn() -> Result<Cpu>>;

fn open(options: Options) -> Open {
    Box::new(move || Cpu::open(options.clone()))
}

fn tiling(t: u32, w: u32, s: u32, b: u32) -> Tiling {
    Tiling::new(t, w, s, b).expect("a valid tiling")
}

fn variants() -> Vec<Variant<Open>> {
    let masked = |mask| open(Options { mask, ..Options::default() });
    let mut variants = vec![
        // 96 combinations of algorithm, type, tiling and repair: 105,600 random matrices.
        Variant {
            tilings: vec![tiling(4, 2, 3, 1), tiling(8, 4, 2, 2)],
            fixups: vec![Fixup::Host, Fixup::Device],
            random: 1100,
            ..Variant::new("default", open(Options::default()))
        },
        Variant {
            fixups: vec![Fixup::Auto, Fixup::Host],
            ..Variant::new("discrete", masked(Mask { discrete: true, ..Mask::default() }))
        },
        Variant {
            fixups: vec![Fixup::Host, Fixup::Device],
            ..Variant::new("staged", masked(Mask { no_host_pointers: true, ..Mask::default() }))
        },
        Variant {
            hides: DtypeSet::NONE.with(Dtype::F64).with(Dtype::C64),
            ..Variant::new(
                "small",
                masked(Mask { no_subgroups: true, local_bytes: Some(1024), no_f64: true, ..Mask::default() }),
            )
        },
        Variant::new("one_thread", open(Options { threads: Some(1), ..Options::default() })),
        Variant::new("three_threads", open(Options { threads: Some(3), ..Options::default() })),
        // Buffers so small that most matrices are cut into pieces, and long rows too.
        Variant {
            fixups: vec![Fixup::Host, Fixup::Device],
            only: &["random", "long_rows"],
            ..Variant::new("split", masked(Mask { max_buffer_bytes: Some(1300), ..Mask::default() }))
        },
        Variant {
            fixups: vec![Fixup::Auto, Fixup::Host],
            only: &["random", "long_rows"],
            ..Variant::new(
                "split_discrete",
                masked(Mask { max_buffer_bytes: Some(1300), discrete: true, ..Mask::default() }),
            )
        },
    ];
    // All variants above run the best one.
    for isa in Isa::available().into_iter().filter(|isa| *isa != Isa::detect()) {
        let label = match isa {
            Isa::Scalar => "scalar",
            Isa::Neon => "neon",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512",
        };
        variants.push(Variant::new(label, open(Options { isa: Some(isa), ..Options::default() })));
    }
    variants
}

fn main() {
    let mut trials = suite(variants());
    // Verbs fail on the CPU as it is, with copies of the host's slices, and with a memory of its own.
    let of_memory = if is_full() { ALGORITHMS } else { of_memory() };
    let devices = [
        ("default", Mask::default(), ALGORITHMS),
        ("staged", Mask { no_host_pointers: true, ..Mask::default() }, of_memory),
        ("discrete", Mask { discrete: true, ..Mask::default() }, ALGORITHMS),
    ];
    for (at, (label, mask, algorithms)) in devices.into_iter().enumerate() {
        let opened = Cpu::open(Options { mask, ..Options::default() });
        let share = (Share::of(at), if at == 0 { 3 } else { 6 });
        trials.extend(injection::trials(label, opened, tiling(4, 2, 3, 1), algorithms, share));
    }
    trials.extend(auto::trials());
    run(trials, None);
}
