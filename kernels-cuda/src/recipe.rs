//! How PTX is made of the sources: compiler, options, the text that is compiled, and the first line of what comes out,
//! which distinguishes stale PTX from fresh without any compiler.

use crate::{SOURCES, TARGETS, Target, Variants, texts};

/// Version of the compiler and assembler, which are packages of that version.
pub const COMPILER: &str = "12.9.86";

/// Options of every compilation; [`options`] adds those that differ.
pub const OPTIONS: &[&str] = &["-std=c++17", "--device-as-default-execution-space"];

/// Options for one type of values, or one of [`MIXED`](crate::MIXED), and one target.
///
/// ```
/// use spmv_kernels_cuda::{TARGETS, recipe};
/// let options = recipe::options("bf16", &TARGETS[0]);
/// assert!(options.contains(&"-DVALUE_BF16=1".to_owned()));
/// assert!(recipe::options("f32_f64", &TARGETS[0]).contains(&"-DVECTOR_F64=1".to_owned()));
/// assert!(options.contains(&"--gpu-architecture=compute_60".to_owned()));
/// ```
pub fn options(value: &str, target: &Target) -> Vec<String> {
    let (major, minor) = target.compute;
    let (value, vector) = value.split_once('_').unwrap_or((value, value));
    let varying = [
        format!("--gpu-architecture=compute_{major}{minor}"),
        format!("-DVALUE_{}=1", value.to_ascii_uppercase()),
        format!("-DVECTOR_{}=1", vector.to_ascii_uppercase()),
    ];
    varying.into_iter().chain(OPTIONS.iter().map(|option| (*option).to_owned())).collect()
}

/// The text that is compiled for a stem: the prelude and the stem's source, with lines numbered as in their files.
///
/// ```
/// use spmv_kernels_cuda::recipe::unit;
/// assert!(unit("axpby").unwrap().contains("\n#line 1 \"axpby.cu\"\n// kernel: axpby\n"));
/// assert_eq!(unit("spmv"), None);
/// ```
pub fn unit(stem: &str) -> Option<String> {
    let text = |name: &str| SOURCES.iter().find(|(found, _)| *found == name).map(|(_, text)| *text);
    let (prelude, source) = (text("prelude")?, text(stem)?);
    Some(format!("#line 1 \"prelude.cu\"\n{prelude}\n#line 1 \"{stem}.cu\"\n{source}"))
}

/// Hash of everything that a stem's PTX is made of: the text compiled, compiler, options and tilings.
///
/// ```
/// use spmv_kernels_cuda::recipe::source_hash;
/// assert_ne!(source_hash("axpby"), source_hash("csr_vector"));
/// assert_eq!(source_hash("spmv"), None);
/// ```
pub fn source_hash(stem: &str) -> Option<u64> {
    let tilings: Vec<_> = Variants::of(stem)?.tilings().collect();
    let types: Vec<_> = texts().filter(|(of, _)| of.stem == stem).map(|(_, types)| types).collect();
    let options: Vec<_> =
        TARGETS.iter().flat_map(|target| types.iter().map(move |types| options(types, target))).collect();
    let settings = format!("{COMPILER} {TARGETS:?} {options:?} {tilings:?}\n");
    Some(fnv1a(&[&settings, &unit(stem)?]))
}

/// First line of PTX, without its end: what it is, the hash of what it is made of, and that of `text`, which are the
/// lines after this one. PTX that begins otherwise is stale or was changed by hand.
///
/// ```
/// let line = spmv_kernels_cuda::recipe::first_line("axpby", "f32", "sm_60", "").unwrap();
/// assert!(line.starts_with("// spmv: axpby f32 sm_60, sources "));
/// assert!(line.ends_with(", text cbf29ce484222325"));
/// ```
pub fn first_line(stem: &str, value: &str, target: &str, text: &str) -> Option<String> {
    let (sources, text) = (source_hash(stem)?, fnv1a(&[text]));
    Some(format!("// spmv: {stem} {value} {target}, sources {sources:016x}, text {text:016x}"))
}

/// FNV-1a of the texts, one after the other, in 64 bits.
fn fnv1a(texts: &[&str]) -> u64 {
    let bytes = texts.iter().flat_map(|text| text.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_fnv_1a() {
        assert_eq!(fnv1a(&[]), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(&["a"]), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(&["foo", "bar"]), 0x8594_4171_f739_67e8);
    }
}
