//! The algorithms: one file each, which holds all that the host knows of it, and the one list.

use std::fmt;
use std::str::FromStr;

use spmv_backend::Backend;
use spmv_core::format::Cost;
use spmv_core::{CsrView, Offset, Value};

use crate::error::Result;
use crate::method::{Facts, Limits, Method};
use crate::part::{Build, Layout, Prepare};

mod sell_filled;
mod sell_on_cores;

macro_rules! algorithms {
    ($($(#[$doc:meta])* $stem:ident $variant:ident;)*) => {
        $(mod $stem;)*

        /// Which algorithm multiplies.
        ///
        /// ```
        /// use spmv_exec::Algorithm;
        /// assert_eq!("spec_segsum".parse(), Ok(Algorithm::SpeculativeSegmentedSum));
        /// assert_eq!(Algorithm::MergePath.to_string(), "merge_path");
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
        #[non_exhaustive]
        pub enum Algorithm {
            /// What the plan expects to be fastest.
            #[default]
            Auto,
            $($(#[$doc])* $variant,)*
        }

        /// An algorithm that is not `Auto`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Known {
            $($variant,)*
        }

        impl Algorithm {
            /// Every algorithm that can be asked for by name, `Auto` first, then in the order in which the heuristic asks
            /// them.
            pub const ALL: &'static [Algorithm] = &[Algorithm::Auto, $(Algorithm::$variant),*];

            /// Name on the command line.
            pub const fn name(self) -> &'static str {
                match self {
                    Algorithm::Auto => "auto",
                    $(Algorithm::$variant => stringify!($stem),)*
                }
            }

            /// The algorithm, if it is one.
            pub(crate) const fn known(self) -> Option<Known> {
                match self {
                    Algorithm::Auto => None,
                    $(Algorithm::$variant => Some(Known::$variant),)*
                }
            }
        }

        impl Known {
            /// In the order in which the heuristic asks them.
            pub(crate) const ALL: &'static [Known] = &[$(Known::$variant),*];

            /// What is known of it before a matrix is on a device.
            pub(crate) const fn method(self) -> &'static dyn Method {
                match self {
                    $(Known::$variant => &$stem::$variant,)*
                }
            }

            /// [`Build::regular_width`].
            pub(crate) fn regular_width<T: Value, O: Offset>(
                self,
                a: CsrView<'_, T, O>,
                asked: Option<usize>,
            ) -> Option<usize> {
                match self {
                    $(Known::$variant => $stem::$variant::regular_width(a, asked),)*
                }
            }

            /// [`Build::cost`].
            pub(crate) fn cost<T: Value, O: Offset>(
                self,
                a: CsrView<'_, T, O>,
                regular_width: usize,
            ) -> Option<Cost> {
                match self {
                    $(Known::$variant => $stem::$variant::cost(a, regular_width),)*
                }
            }

            /// [`Build::rows_of_a_part`].
            pub(crate) fn rows_of_a_part(
                self,
                cost: Option<&Cost>,
                limits: &Limits,
                (n_rows, n_cols): (usize, usize),
            ) -> usize {
                match self {
                    $(Known::$variant => $stem::$variant::rows_of_a_part(cost, limits, n_rows, n_cols),)*
                }
            }

            /// [`Build::build`].
            pub(crate) fn build<B: Backend, V: Value, T: Value>(
                self,
                to: &Prepare<'_, B>,
                a: CsrView<'_, V, u32>,
            ) -> Result<Box<dyn Layout<B, T>>> {
                match self {
                    $(Known::$variant => Ok(Box::new($stem::$variant::build(to, a)?)),)*
                }
            }
        }

        impl From<Known> for Algorithm {
            fn from(known: Known) -> Self {
                match known {
                    $(Known::$variant => Algorithm::$variant,)*
                }
            }
        }
    };
}

// A row is the file's stem, the name in Rust, and its documentation. The heuristic takes the first that suits a matrix.
algorithms! {
    /// One lane a row of [`Dia`](spmv_core::format::Dia) (Bell & Garland 2009); refuses what has too many diagonals.
    dia Dia;
    /// One lane a range of rows, of whose entries one stands for itself and for the one that mirrors it at the diagonal (Gkountouvas et al.
    /// 2013). For symmetric matrices that no cache holds: half of the entries are read.
    sss Sss;
    /// As [`Sell`](Algorithm::Sell), of rows that are cut where stripes of columns begin, stripe by stripe, so that caches hold the part of
    /// `x` that is read; then the sums of each row's parts. For long rows over many columns.
    stripes Stripes;
    /// As [`Sell`](Algorithm::Sell), of blocks of columns, one launch after another, so that the last cache holds the part of `x` that is read
    /// (Nishtala et al. 2007). For scattered entries and an `x` larger than that cache.
    column_blocks ColumnBlocks;
    /// One lane a row (Bell & Garland 2009). For small matrices with short rows on cores that remember how long each is.
    csr_scalar CsrScalar;
    /// Slices of rows in the order in which lanes read them, with one column for a run of entries (Kreutzer et al. 2014; Anzt, Tomov &
    /// Dongarra 2014); refuses what pads too much.
    sell Sell;
    /// One lane a row of runs: entries in consecutive columns, of which the first column is kept (1D-VBL, Pinar & Heath 1999).
    vbl Vbl;
    /// Rows and entries cut evenly (Merrill & Garland 2016).
    merge_path MergePath;
    /// One bunch a row (Bell & Garland 2009).
    csr_vector CsrVector;
    /// Blocks of rows, products in local memory (Gao et al.).
    ipcsr Ipcsr;
    /// Liu & Vinter 2015: the device speculates, the CPU repairs.
    spec_segsum SpeculativeSegmentedSum;
    /// Products of all entries in the device's memory, then sums by row (Gao et al.).
    pcsr Pcsr;
    /// [`Ipcsr`](Algorithm::Ipcsr) as Gao et al. published it, to compare with; `Auto` never takes it.
    ipcsr_published IpcsrPublished;
    /// One lane a row of [`Ell`](spmv_core::format::Ell) (Bell & Garland 2009); refuses what pads too much.
    ell Ell;
    /// Entries with a row number each, cut evenly: [`Coo`](spmv_core::format::Coo) (Bell & Garland 2009).
    coo Coo;
    /// [`Hyb`](spmv_core::format::Hyb): one lane a row of its ELL part, then its COO part (Bell & Garland 2009).
    hyb Hyb;
    /// One lane a row of [`Jad`](spmv_core::format::Jad) (Saad 1989).
    jad Jad;
    /// One lane a row of the first entries of each row in [`Ell`](spmv_core::format::Ell) form and of short rests in CSR form,
    /// one bunch a longer rest (Tan et al. 2019); refuses what pads too much.
    ell_csr EllCsr;
    /// The same with a band about the diagonal in [`Dia`](spmv_core::format::Dia) form (Tan et al. 2019).
    dia_csr DiaCsr;
}

impl Algorithm {
    /// What is known of it whatever the matrix and the device; `None` for `Auto`.
    pub fn facts(self) -> Option<&'static Facts> {
        self.known().map(|known| known.method().facts())
    }

    /// Whether it takes a layout of its own, which may refuse a matrix, instead of CSR.
    ///
    /// ```
    /// use spmv_exec::Algorithm;
    /// assert!(Algorithm::Jad.has_own_layout() && !Algorithm::Pcsr.has_own_layout());
    /// ```
    pub fn has_own_layout(self) -> bool {
        self.facts().is_some_and(|facts| facts.own_layout)
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no algorithm's.
///
/// ```
/// use spmv_exec::Algorithm;
/// let e = "fast".parse::<Algorithm>().unwrap_err();
/// assert!(e.to_string().starts_with("unknown algorithm 'fast'; known: auto dia sss stripes column_blocks csr_scalar sell vbl merge_path "));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown algorithm '{0}'; known: {known}", known = names())]
pub struct UnknownAlgorithm(String);

fn names() -> String {
    Algorithm::ALL.iter().map(|algorithm| algorithm.name()).collect::<Vec<_>>().join(" ")
}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    fn from_str(s: &str) -> Result<Self, UnknownAlgorithm> {
        Algorithm::ALL.iter().copied().find(|a| a.name() == s).ok_or_else(|| UnknownAlgorithm(s.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use spmv_backend::{DeviceCaps, DeviceKind, MemoryModel, Types};
    use spmv_core::{Dtype, MatrixStats, RowStats};

    use super::*;
    use crate::tilings::On;

    #[test]
    fn every_algorithm_has_a_tiling_for_every_kind_of_device_and_says_what_chose_it() {
        for known in Known::ALL {
            for on in [On::Tasks, On::PartsOfSubgroups, On::Subgroups, On::Workgroups] {
                let rows = known.method().tilings().iter().filter(|row| row.on == on);
                let by: Vec<_> = rows.map(|row| row.by).collect();
                assert!(matches!(by[..], [by] if !by.is_empty()), "{known:?} on {on:?}: {by:?}");
            }
        }
    }

    #[test]
    fn the_heuristic_takes_no_other_than_the_facts_say() {
        let kinds = [DeviceKind::Cpu, DeviceKind::IntegratedGpu, DeviceKind::DiscreteGpu];
        let memories = [MemoryModel::Discrete, MemoryModel::UnifiedMapped, MemoryModel::UnifiedCoherent];
        for (kind, memory) in kinds.iter().flat_map(|kind| memories.map(|memory| (*kind, memory))) {
            let mut caps = DeviceCaps::new("a device", kind, memory);
            (caps.tasks, caps.cross_block_reduction) = (kind == DeviceKind::Cpu, true);
            for subgroup in [None, Some((32, 32)), Some((2, 32))] {
                caps.subgroup = subgroup;
                for max in [4, 6, 100, 1_000_000] {
                    let rows = RowStats {
                        n_rows: 1000,
                        n_cols: 1000,
                        nnz: 5000,
                        mean: 5.0,
                        max,
                        ..Default::default()
                    };
                    for known in Known::ALL.iter().filter(|known| {
                        known
                            .method()
                            .suits(&MatrixStats::from(&rows), Types::of(Dtype::F32), &caps)
                            .is_some()
                    }) {
                        let facts = known.method().facts();
                        assert!(
                            facts.by_heuristic && (caps.tasks || !facts.on_cores),
                            "{known:?} on {kind:?}, {memory:?}, {subgroup:?}"
                        );
                    }
                }
            }
        }
    }
}
