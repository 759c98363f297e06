//! Instruction sets.

/// Instruction set of the sums, found at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// Plain Rust; what the compiler makes of arrays of eight.
    Scalar,
    /// 128-bit vectors of aarch64.
    Neon,
    /// 256-bit vectors of x86-64, with FMA and F16C.
    Avx2,
    /// As `Avx2`, with 512-bit vectors for f64.
    Avx512,
}

impl Isa {
    /// The best set this CPU runs.
    pub fn detect() -> Self {
        *Self::available().last().expect("Scalar runs everywhere")
    }

    /// Every set this CPU runs, `Scalar` first and the best last.
    pub fn available() -> Vec<Isa> {
        [Isa::Scalar, Isa::Neon, Isa::Avx2, Isa::Avx512].into_iter().filter(|isa| isa.runs_here()).collect()
    }

    /// Name in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Isa::Scalar => "scalar",
            Isa::Neon => "neon",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512",
        }
    }

    /// Whether gathers are known to be fast with this set on this CPU: measured on Intel's Sapphire Rapids alone, the first with
    /// AVX-512 for `f16`.
    ///
    /// Not so before it, where AVX-512 was as well: cores of Intel's may gather slowly, because of what keeps data sampling from them, and
    /// AMD's up to Zen 5 load faster than they gather. Nor with AVX2 alone, which was not measured: gathers of AMD's older cores are
    /// slow.
    pub(crate) fn gathers_fast(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => self.runs_here() && is_x86_feature_detected!("avx512fp16"),
            _ => false,
        }
    }

    /// Whether this CPU loads the first few elements of a vector by one instruction.
    pub(crate) fn has_masked_loads(self) -> bool {
        matches!(self, Isa::Avx2 | Isa::Avx512) && self.runs_here()
    }

    /// Branches of which a core remembers how each went from one product to the next: 0 where that was not measured.
    ///
    /// AMD's cores with AVX-512 alone: with one thread a Zen 5 remembers those of `rmat-1e5` and forgets those of `circuit-1e5`
    /// (docs/results/2026-11-30-cpu-epyc-threads.txt). On a Zen 4, where `csr_scalar` was not measured, MKL's loops remember theirs
    /// (docs/results/2026-11-28-cpu-epyc-cached.txt). Intel's Emerald Rapids remembers less, and gathers fast
    /// (docs/results/2026-11-30-xeon-cpu-one-by-one.txt).
    pub(crate) fn remembered_branches(self) -> u32 {
        match self {
            // Intel has no SSE4a.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 if self.runs_here() && is_x86_feature_detected!("sse4a") => 50_000,
            _ => 0,
        }
    }

    /// Whether this CPU has every feature that the set's functions are compiled with. The standard library
    /// caches the answer, so that this is a load and a test.
    pub(super) fn runs_here(self) -> bool {
        match self {
            Isa::Scalar => true,
            Isa::Neon => cfg!(target_arch = "aarch64"),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("f16c")
                    && is_x86_feature_detected!("bmi1")
                    && is_x86_feature_detected!("bmi2")
                    && is_x86_feature_detected!("popcnt")
            }
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => {
                Isa::Avx2.runs_here()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512vl")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Isa::Avx2 | Isa::Avx512 => false,
        }
    }
}
