//! The committed PTX is that of the sources. What fails here, `cargo xtask kernels` repairs.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use spmv_kernels_cuda::{
    ANY, SOURCES, TARGETS, Target, VALUES, VARIANTS, Variants, archive, entry, ptx, recipe, with_one_entry,
};

/// Calls `check` with stem, value, target and text of everything that there must be.
fn for_each_text(mut check: impl FnMut(&str, &str, &Target, &str)) {
    for target in TARGETS {
        let texts = unpacked(target);
        for (stem, value) in names() {
            let text = texts.iter().find(|text| archive::is_of(text, stem, value));
            let lacks =
                || panic!("no PTX of {stem} for {value} and {}: run `cargo xtask kernels`", target.name);
            check(stem, value, target, text.unwrap_or_else(lacks));
        }
    }
}

/// The texts of a target's archive, which take a second to unpack without optimisation.
fn unpacked(target: &Target) -> &'static [String] {
    static UNPACKED: LazyLock<Vec<(&str, Vec<String>)>> = LazyLock::new(|| {
        let texts = |target: &Target| {
            let lacks = || panic!("no {}: run `cargo xtask kernels`", target.name);
            archive::texts(target.archive().unwrap_or_else(lacks)).collect::<Result<_, _>>().unwrap()
        };
        TARGETS.iter().map(|target| (target.name, texts(target))).collect()
    });
    &UNPACKED.iter().find(|(name, _)| *name == target.name).expect("each target has an entry").1
}

/// Stem and type of values of each text.
fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    spmv_kernels_cuda::texts().map(|(variants, types)| (variants.stem, types))
}

#[test]
fn every_kernel_has_variants_and_every_variant_a_kernel() {
    let sources: BTreeSet<_> = SOURCES.iter().map(|(stem, _)| *stem).filter(|s| *s != "prelude").collect();
    let variants: BTreeSet<_> = VARIANTS.iter().map(|variants| variants.stem).collect();
    assert_eq!(sources, variants);
    assert_eq!(sources.len(), VARIANTS.len());
}

#[test]
fn variants_and_values_are_those_of_the_headers() {
    let of = |stem| Variants::of(stem).map(|variants| (variants.lanes, variants.widths)).unwrap();
    assert_eq!(of("csr_vector"), (&[1, 2, 4, 8, 16, 32][..], ANY));
    assert_eq!(of("spec_segsum"), (&[4, 32][..], &[1, 4, 6, 8, 16][..]));
    assert!(VALUES.contains(&"bf16") && VALUES.contains(&"f64"), "{VALUES:?}");
    let multiplies = |stem| Variants::of(stem).unwrap().multiplies;
    assert!(multiplies("spec_segsum") && multiplies("ell_csr") && !multiplies("gather_values"));
}

#[test]
fn an_archive_holds_the_texts_of_the_kernels_in_their_order_and_no_other() {
    for target in TARGETS {
        let texts = unpacked(target);
        assert_eq!(texts.len(), names().count(), "{}", target.name);
        for (text, (stem, value)) in texts.iter().zip(names()) {
            assert!(archive::is_of(text, stem, value), "{} {stem} {value}", target.name);
        }
    }
}

#[test]
fn ptx_is_found_by_stem_value_and_device() {
    for target in TARGETS {
        for text in unpacked(target) {
            let words: Vec<_> = text[archive::MARK.len()..].split([' ', ',']).take(3).collect();
            let [stem, value, name] = words[..] else { panic!("{words:?}") };
            assert_eq!(name, target.name);
            // Unpacking is slow without optimisation: a text at the beginning, some within, the last.
            if ["axpby", "merge_path", "spec_segsum"].contains(&stem) {
                assert!(ptx(stem, value, target.compute).unwrap() == *text, "{stem} {value} {name}");
            }
        }
    }
}

#[test]
fn every_text_is_there_and_built_of_these_sources() {
    for_each_text(|stem, value, target, text| {
        let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
        assert_eq!(
            first,
            recipe::first_line(stem, value, target.name, rest).unwrap(),
            "the PTX is stale or was changed by hand; run `cargo xtask kernels`"
        );
    });
}

#[test]
fn every_text_holds_the_entries_of_its_variants_and_no_other() {
    for_each_text(|stem, value, target, text| {
        let variants = VARIANTS.iter().find(|variants| variants.stem == stem).unwrap();
        let expected: BTreeSet<_> =
            variants.tilings().map(|(lanes, width)| entry(stem, lanes, width).unwrap()).collect();
        let names = text.lines().filter_map(|line| line.strip_prefix(".visible .entry "));
        let found: BTreeSet<_> = names.map(|name| name.trim_end_matches('(').to_owned()).collect();
        assert_eq!(found, expected, "{stem} {value} {}", target.name);
        assert_eq!(text.matches(".entry").count(), expected.len(), "{stem} {value} {}", target.name);
        // Together, those of one entry are the text, with its head before each.
        let head = text.find(".visible .entry ").unwrap();
        let alone = expected.iter().map(|entry| with_one_entry(text, entry));
        let n_bytes = alone.map(|alone| {
            assert_eq!(alone.matches(".entry").count(), 1);
            assert!(alone.starts_with(&text[..head]));
            alone.len() - head
        });
        assert_eq!(n_bytes.sum::<usize>(), text.len() - head, "{stem} {value} {}", target.name);
    });
}

#[test]
fn every_text_is_for_its_target_and_no_older_isa_than_that_allows() {
    for_each_text(|stem, value, target, text| {
        let after = |directive: &str| {
            text.lines().find_map(|line| line.strip_prefix(directive)).unwrap_or_default().trim()
        };
        assert_eq!(after(".target "), target.name, "{stem} {value}");
        let (major, minor) = after(".version ").split_once('.').unwrap();
        let isa: (u32, u32) = (major.parse().unwrap(), minor.parse().unwrap());
        assert!(isa >= target.isa, "{stem} {value} {}: {isa:?}", target.name);
    });
}

#[test]
fn a_device_takes_the_newest_ptx_that_it_can_run() {
    for (compute, target) in
        [((6, 0), "sm_60"), ((6, 2), "sm_60"), ((8, 9), "sm_60"), ((9, 0), "sm_90"), ((12, 1), "sm_90")]
    {
        let text = ptx("axpby", "f32", compute).unwrap();
        assert!(text.contains(&format!(".target {target}\n")), "{compute:?}");
    }
    assert_eq!(ptx("axpby", "f32", (5, 3)), None);
    assert_eq!(ptx("axpby", "i8", (8, 0)), None);
    assert_eq!(ptx("spmv", "f32", (8, 0)), None);
}
