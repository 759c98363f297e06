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

/// What becomes of a row's sum, for the kernels that take an `epilogue` ([`for_each_kernel`]): all but the sum itself, and where it goes.
///
/// ```
/// use spmv_backend::arguments::Finish;
/// use spmv_backend::{Backend, Memory, Scalar};
/// fn sum_alone<B: Backend>(unread: &B::Buffer) -> Finish<'_, B> {
///     Finish::scaled(Scalar::F32(1.0), Scalar::F32(0.0), Memory::Device(unread))
/// }
/// ```
#[derive(Debug)]
pub struct Finish<'a, B: Backend> {
    /// Of [`codes`](crate::codes).
    pub epilogue: u32,
    pub alpha: Scalar,
    pub beta: Scalar,
    pub lo: Scalar,
    pub hi: Scalar,
    pub z: Memory<'a, B>,
}

// Not derived: `B` need not be `Copy`.
impl<B: Backend> Clone for Finish<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B: Backend> Copy for Finish<'_, B> {}

impl<'a, B: Backend> Finish<'a, B> {
    /// `alpha` times the sum plus `beta` times what stands in `y`. `unread` is any memory.
    pub fn scaled(alpha: Scalar, beta: Scalar, unread: Memory<'a, B>) -> Self {
        Self { epilogue: 0, alpha, beta, lo: beta, hi: beta, z: unread }
    }
}

// `[fields][arguments]` of what is done; `finish` is a field of the kernels that take an epilogue.
macro_rules! declare {
    ($($(#[$doc:meta])* $id:ident $stem:ident ($($name:ident: $kind:tt),* $(,)?) local $local:expr;)*) => {
        $(declare!(one $id [$(#[$doc])*] sum [] [] $($name: $kind,)*);)*
    };
    (one $id:ident $docs:tt sum [$($done:tt)*] [$($args:tt)*]
        epilogue: u32, alpha: accum, beta: accum, lo: accum, hi: accum, $($rest:tt)*) => {
        declare!(one $id $docs finish [$($done)* finish: Finish<'a, B>,]
            [$($args)* (finish.epilogue) (finish.alpha) (finish.beta) (finish.lo) (finish.hi)] $($rest)*);
    };
    (one $id:ident $docs:tt sum [$($done:tt)*] [$($args:tt)*]
        epilogue: u32, alpha: accum, lo: accum, hi: accum, $($rest:tt)*) => {
        declare!(one $id $docs finish [$($done)* finish: Finish<'a, B>,]
            [$($args)* (finish.epilogue) (finish.alpha) (finish.lo) (finish.hi)] $($rest)*);
    };
    (one $id:ident $docs:tt finish $done:tt [$($args:tt)*] z: [accum], $($rest:tt)*) => {
        declare!(one $id $docs finish $done [$($args)* (finish.z)] $($rest)*);
    };
    (one $id:ident $docs:tt $mode:ident [$($done:tt)*] [$($args:tt)*] $name:ident: u32, $($rest:tt)*) => {
        declare!(one $id $docs $mode [$($done)* $name: u32,] [$($args)* ($name)] $($rest)*);
    };
    (one $id:ident $docs:tt $mode:ident [$($done:tt)*] [$($args:tt)*] $name:ident: accum, $($rest:tt)*) => {
        declare!(one $id $docs $mode [$($done)* $name: Scalar,] [$($args)* ($name)] $($rest)*);
    };
    (one $id:ident $docs:tt $mode:ident [$($done:tt)*] [$($args:tt)*] $name:ident: $buffer:tt, $($rest:tt)*) => {
        declare!(one $id $docs $mode [$($done)* $name: Memory<'a, B>,] [$($args)* ($name)] $($rest)*);
    };
    (one $id:ident [$(#[$doc:meta])*] $mode:ident [$($name:ident: $type:ty,)*] [$(($($arg:tt)*))*]) => {
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
                $(args.push(self.$($arg)*);)*
                args
            }
        }
    };
}

for_each_kernel!(declare);
