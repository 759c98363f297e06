//! The arguments of every kernel by name: a struct for each, with the fields of its declaration.
//!
//! What [`Backend::launch`] takes is made of these alone, so that no argument can stand in the position of another.
//!
//! ```
//! use spmv_backend::arguments::{Arguments, VecScatterAdd};
//! use spmv_backend::{Backend, KernelId, Memory};
//! fn add<B: Backend>(at: &B::Buffer, x: &B::Buffer, y: &B::Buffer) {
//!     let [at, x, y] = [at, x, y].map(Memory::Device);
//!     let args = VecScatterAdd::<B> { n: 3, chunk: 3, at, x, y }.list();
//!     assert_eq!((args.kernel(), args.len()), (KernelId::VecScatterAdd, 5));
//! }
//! ```
// Fields are the parameters of the declaration, whose documentation explains them.
#![allow(missing_docs)]

use crate::arg::Scalar;
use crate::backend::{Args, Backend, Memory};
use crate::for_each_kernel;
use crate::kernels::KernelId;

mod sealed {
    pub trait Sealed {}
}

/// A kernel's arguments by name; implemented by the structs of this module alone.
///
/// ```
/// use spmv_backend::arguments::{Arguments, CarryApply};
/// use spmv_backend::{Backend, KernelId};
/// fn kernel<B: Backend>() -> KernelId {
///     CarryApply::<B>::KERNEL
/// }
/// ```
pub trait Arguments<'a, B: Backend>: sealed::Sealed {
    /// The kernel.
    const KERNEL: KernelId;

    /// The arguments in the order of [`KernelId::params`].
    fn list(self) -> Args<'a, B>;
}

macro_rules! declare {
    ($($(#[$doc:meta])* $id:ident $stem:ident ($($name:ident: $kind:tt),* $(,)?) local $local:expr;)*) => {
        $(declare!(one $id [$(#[$doc])*] [] $($name: $kind,)*);)*
    };
    (one $id:ident $docs:tt [$($done:tt)*] $name:ident: u32, $($rest:tt)*) => {
        declare!(one $id $docs [$($done)* $name: u32,] $($rest)*);
    };
    (one $id:ident $docs:tt [$($done:tt)*] $name:ident: accum, $($rest:tt)*) => {
        declare!(one $id $docs [$($done)* $name: Scalar,] $($rest)*);
    };
    (one $id:ident $docs:tt [$($done:tt)*] $name:ident: $buffer:tt, $($rest:tt)*) => {
        declare!(one $id $docs [$($done)* $name: Memory<'a, B>,] $($rest)*);
    };
    (one $id:ident [$(#[$doc:meta])*] [$($name:ident: $type:ty,)*]) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $id<'a, B: Backend> {
            $(pub $name: $type,)*
        }

        impl<B: Backend> sealed::Sealed for $id<'_, B> {}

        impl<'a, B: Backend> Arguments<'a, B> for $id<'a, B> {
            const KERNEL: KernelId = KernelId::$id;

            fn list(self) -> Args<'a, B> {
                let mut args = Args::of(KernelId::$id);
                $(args.push(self.$name);)*
                args
            }
        }
    };
}

for_each_kernel!(declare);
