//! CUDA C++ kernel sources as data, one file for each stem, and the PTX that `cargo xtask kernels` builds of them.
//!
//! A device loads PTX: neither it nor this crate needs a CUDA toolkit. One PTX text holds one kernel for one type
//! of values (and of `x`, where that differs) and one [`Target`], with an entry for each of the kernel's tilings; an [`archive`] holds those of a target.
//!
//! They are a crate of their own because `include_str!` across crates breaks `cargo package`.
//!
//! ```
//! for (stem, source) in spmv_kernels_cuda::SOURCES {
//!     assert!(*stem == "prelude" || source.contains(&format!("kernel: {stem}")));
//! }
//! let ptx = spmv_kernels_cuda::ptx("csr_vector", "f32", (8, 7)).unwrap();
//! let entry = spmv_kernels_cuda::entry("csr_vector", 8, 4).unwrap();
//! assert!(ptx.contains(&format!(".entry {entry}(")));
//! ```
#![forbid(unsafe_code)]

pub mod archive;
pub mod recipe;

#[cfg(test)]
mod header;

/// Stem and text of every kernel of this language, and of the `prelude` that goes before each: every source in the
/// crate's folder, by stem.
pub const SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// Types of matrix values that each stem is built for: the line `values:` of the prelude.
pub const VALUES: &[&str] = include!(concat!(env!("OUT_DIR"), "/values.rs"));

/// Types of matrix values with a wider type of `x` and sums, that each stem which multiplies them is built for too: the line `mixed:`
/// of the prelude.
pub const MIXED: &[&str] = include!(concat!(env!("OUT_DIR"), "/mixed.rs"));

/// Every stem with each name of types that it is built for, in the order of the archives: of each stem those of [`VALUES`] first.
///
/// ```
/// let types = |stem| spmv_kernels_cuda::texts().filter(move |(variants, _)| variants.stem == stem).count();
/// assert!(types("csr_vector") > types("axpby"));
/// ```
pub fn texts() -> impl Iterator<Item = (&'static Variants, &'static str)> {
    VARIANTS.iter().flat_map(|variants| {
        let mixed = if variants.multiplies { MIXED } else { &[] };
        VALUES.iter().chain(mixed).map(move |types| (variants, *types))
    })
}

/// Devices that PTX is for: all from a compute capability on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Name of its archive, and the `.target` of the texts in it.
    pub name: &'static str,
    /// Least compute capability, major and minor.
    pub compute: (u32, u32),
    /// Least PTX ISA that a text may ask for, major and minor: the older it is, the older a driver may be.
    pub isa: (u32, u32),
}

/// Every target, from the oldest devices on.
pub const TARGETS: &[Target] = &[
    // Pascal and the Jetson TX2.
    Target { name: "sm_60", compute: (6, 0), isa: (6, 0) },
    // Hopper.
    Target { name: "sm_90", compute: (9, 0), isa: (7, 8) },
];

impl Target {
    /// The archive of its PTX; `None` before `cargo xtask kernels` has built one.
    ///
    /// ```
    /// assert!(spmv_kernels_cuda::TARGETS.iter().all(|target| target.archive().is_some()));
    /// ```
    pub fn archive(&self) -> Option<&'static [u8]> {
        ARCHIVES.iter().find(|(name, _)| *name == self.name).map(|(_, bytes)| *bytes)
    }
}

/// Tilings that a stem's PTX holds: every T in `lanes` with every W in `widths`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variants {
    /// The kernel.
    pub stem: &'static str,
    /// T of the tilings.
    pub lanes: &'static [u32],
    /// W of the tilings, or [`ANY`].
    pub widths: &'static [u32],
    /// Whether it multiplies values of the matrix by `x`.
    pub multiplies: bool,
}

/// Widths of a kernel whose code is the same for every W: its entries are named after W = 1.
pub const ANY: &[u32] = &[0];

/// Every stem with its tilings: the line `built:` of each source.
///
/// Kernels that take one row a thread are built for one T: only the size of a group depends on it, which is no part of
/// their code.
pub const VARIANTS: &[Variants] = include!(concat!(env!("OUT_DIR"), "/variants.rs"));

impl Variants {
    /// The tilings of a stem, if it is one.
    ///
    /// ```
    /// use spmv_kernels_cuda::Variants;
    /// assert!(Variants::of("csr_vector").is_some_and(|v| v.lanes.contains(&8)));
    /// ```
    pub fn of(stem: &str) -> Option<&'static Self> {
        VARIANTS.iter().find(|variants| variants.stem == stem)
    }

    /// T and W of every instantiation, W = 1 for [`ANY`].
    ///
    /// ```
    /// use spmv_kernels_cuda::Variants;
    /// assert!(Variants::of("csr_vector").unwrap().tilings().all(|(_, width)| width == 1));
    /// ```
    pub fn tilings(&self) -> impl Iterator<Item = (u32, u32)> + use<> {
        let Self { lanes, widths, .. } = *self;
        lanes.iter().flat_map(move |lanes| widths.iter().map(move |width| (*lanes, (*width).max(1))))
    }
}

/// Name of the entry for T = `lanes` and W = `width`; `None` if the PTX of the stem holds no such tiling.
///
/// ```
/// use spmv_kernels_cuda::entry;
/// assert_eq!(entry("spec_segsum", 32, 8).as_deref(), Some("spec_segsum_32x8"));
/// assert_eq!(entry("csr_vector", 4, 8).as_deref(), Some("csr_vector_4x1"));
/// assert_eq!(entry("spec_segsum", 32, 7), None);
/// ```
pub fn entry(stem: &str, lanes: u32, width: u32) -> Option<String> {
    let variants = Variants::of(stem)?;
    let width = if variants.widths == ANY { 1 } else { width };
    variants.tilings().any(|tiling| tiling == (lanes, width)).then(|| format!("{stem}_{lanes}x{width}"))
}

/// The PTX of a stem for a type of values, or one of [`MIXED`], and a device's compute capability: that of the newest [`Target`] that
/// the device is part of.
///
/// It is unpacked at every call, with those of the stem before it.
///
/// `None` for a name that is none of [`VARIANTS`], [`VALUES`] and [`MIXED`], and for a device older than every target.
///
/// ```
/// use spmv_kernels_cuda::ptx;
/// assert!(ptx("axpby", "f64", (12, 0)).unwrap().contains(".target sm_90"));
/// assert!(ptx("axpby", "f64", (8, 9)).unwrap().contains(".target sm_60"));
/// assert_eq!(ptx("axpby", "f64", (5, 3)), None);
/// ```
pub fn ptx(stem: &str, value: &str, compute: (u32, u32)) -> Option<String> {
    let target = TARGETS.iter().rfind(|target| target.compute <= compute)?;
    let at = VARIANTS.iter().position(|variants| variants.stem == stem)?;
    let intact = "tests unpack every archive";
    let of_stem = *archive::members(target.archive()?).expect(intact).get(at)?;
    let mut texts = archive::texts(of_stem).map(|text| text.expect(intact));
    texts.find(|text| archive::is_of(text, stem, value))
}

/// One of the PTX texts without its entries but for one: a driver compiles all that it is given, which takes it tens of milliseconds for each.
///
/// ```
/// use spmv_kernels_cuda::{entry, ptx, with_one_entry};
/// let text = ptx("csr_vector", "f32", (8, 0)).unwrap();
/// let entry = entry("csr_vector", 8, 4).unwrap();
/// let alone = with_one_entry(&text, &entry);
/// assert!(alone.contains(".target sm_60") && alone.contains(&format!(".entry {entry}(")));
/// assert_eq!(alone.matches(".entry").count(), 1);
/// ```
pub fn with_one_entry(text: &str, entry: &str) -> String {
    let mut is_left_out = false;
    let lines = text.split_inclusive('\n').filter(|line| {
        if let Some((_, rest)) = line.split_once(".entry ") {
            is_left_out = rest.trim_end().trim_end_matches('(') != entry;
        }
        let is_kept = !is_left_out;
        // The brace that closes an entry begins a line, no other does.
        is_left_out &= !line.starts_with('}');
        is_kept
    });
    lines.collect()
}

/// Name of the target and bytes of each archive.
const ARCHIVES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/archives.rs"));
