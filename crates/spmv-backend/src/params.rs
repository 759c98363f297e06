//! What a parameter table consists of; the tables follow from the declarations in `kernels.rs`.

use crate::types::Types;

/// What an element of a buffer is.
///
/// ```
/// use spmv_backend::{Elem, Types};
/// use spmv_core::Dtype;
/// assert_eq!(Elem::Accum.bytes(Types::of(Dtype::F16)), 4);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Elem {
    /// An index.
    U32,
    /// A number that groups add to at the same time.
    Counter,
    /// A value of the matrix.
    Value,
    /// A value of `x`.
    Vector,
    /// A sum.
    Accum,
}

impl Elem {
    /// Size in bytes for the types of a kernel.
    pub const fn bytes(self, types: Types) -> usize {
        match self {
            Elem::U32 | Elem::Counter => 4,
            Elem::Value => types.value.bytes(),
            Elem::Vector => types.vector.bytes(),
            Elem::Accum => types.accum.bytes(),
        }
    }
}

/// What kind of argument a parameter takes.
///
/// ```
/// use spmv_backend::{Elem, KernelId, ParamKind};
/// let y = KernelId::Axpby.params().iter().find(|p| p.name == "y").unwrap();
/// assert_eq!(y.kind, ParamKind::Write(Elem::Accum));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParamKind {
    /// A 32-bit count.
    U32,
    /// A scalar of the type of sums.
    Accum,
    /// A buffer that is only read.
    Read(Elem),
    /// A buffer that is written, and perhaps read.
    Write(Elem),
}

/// One parameter of a kernel.
///
/// ```
/// use spmv_backend::KernelId;
/// let names: Vec<_> = KernelId::Axpby.params().iter().map(|p| p.name).collect();
/// assert_eq!(names, ["n_rows", "row_base", "epilogue", "alpha", "beta", "lo", "hi", "t", "z", "y"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Param {
    /// The name in every language.
    pub name: &'static str,
    /// What it takes.
    pub kind: ParamKind,
}
