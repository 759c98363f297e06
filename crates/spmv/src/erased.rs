//! One type over all backends: the only one with `dyn`.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use spmv_backend::{Backend, DeviceCaps};
use spmv_core::{Accum, AnyCsr, Csr, Dtype, Offset, Value, c32, c64, for_each_value};
use spmv_exec::{BlockShape, Device, DeviceScalar, Options, Plan, Profile, Program, Result};
use spmv_hetero::Steering;

use crate::erased_matrix::{AnyIndices, AnyMatrix, AnyVector};
use crate::erased_queue::{AnyQueue, ProductsOf, VectorsOf};
use crate::parts::{Part, Reduction};

/// A type that vectors on a device hold: one of [`Dtype::ALL`].
///
/// ```
/// use spmv::{Context, Element, Vector};
/// fn pair<T: Element>(context: &Context, x: &[T]) -> spmv::Result<[Vector<T>; 2]> {
///     Ok([context.upload(x)?, context.zeros(x.len())?])
/// }
/// ```
pub trait Element: Value {
    #[doc(hidden)]
    fn device(device: &dyn AnyDevice) -> &dyn DeviceOf<Self>;
}

/// A type of matrix values: one of [`Dtype::ALL`]. Vectors of its sums can be made and computed with too.
///
/// ```
/// use spmv::{Context, Csr, Scalar};
/// fn first<T: Scalar>(context: &Context, a: &Csr<T>, x: &[T]) -> spmv::Result<T::Accum> {
///     let a = context.prepare(a)?;
///     let mut y = a.zeros_y()?;
///     a.apply(T::Accum::from_f64(1.0), &context.upload(x)?, T::Accum::from_f64(0.0), &mut y)?;
///     y.dot(&y)
/// }
/// # use spmv::Value;
/// ```
pub trait Scalar: Element + Value<Accum: Number> {
    #[doc(hidden)]
    fn products(queue: &mut dyn AnyQueue) -> &mut dyn ProductsOf<Self>;
}

/// A type of sums, which vectors are computed in: `f32` or `f64`, real or complex.
///
/// ```
/// use spmv::{Accum, Number, Vector};
/// fn normalise<A: Number>(x: &mut Vector<A>) -> spmv::Result<()> {
///     let norm = A::from_re(x.norm2()?);
///     x.scale(A::one() / norm)
/// }
/// ```
pub trait Number: Accum + Element {
    #[doc(hidden)]
    fn vectors(queue: &mut dyn AnyQueue) -> &mut dyn VectorsOf<Self>;
    #[doc(hidden)]
    fn kept(kept: &mut Kept) -> &mut Option<DeviceScalar<Self>>;
    #[doc(hidden)]
    fn partial(partial: &mut Partial) -> &mut PartialOf<Self>;
}

/// A scalar of each type.
#[derive(Debug, Default)]
pub struct Kept {
    f32: Option<DeviceScalar<f32>>,
    f64: Option<DeviceScalar<f64>>,
    c32: Option<DeviceScalar<c32>>,
    c64: Option<DeviceScalar<c64>>,
}

/// Scalars of each type that hold the result of one part.
#[derive(Debug, Default)]
pub struct Partial {
    f32: PartialOf<f32>,
    f64: PartialOf<f64>,
    c32: PartialOf<c32>,
    c64: PartialOf<c64>,
}

/// Those of one type, and what makes one result of those of all parts.
#[derive(Debug)]
pub struct PartialOf<A> {
    pub open: Open<A>,
    /// For results of other parts: of each part those of as many scalars as were ever open at a time.
    pub of_parts: Vec<Vec<DeviceScalar<A>>>,
    /// What makes one result of them, by the scalar and its position among those that are open.
    pub programs: Vec<(usize, OpenScalar<A>, Program<A>)>,
}

/// A scalar that holds the result of each part by itself, and what the result of all is.
pub(crate) type OpenScalar<A> = (Reduction, DeviceScalar<A>);

/// Several.
pub(crate) type Open<A> = Vec<OpenScalar<A>>;

// Not derived: `A` need not have a default.
impl<A> Default for PartialOf<A> {
    fn default() -> Self {
        Self { open: vec![], of_parts: vec![], programs: vec![] }
    }
}

/// A type of real sums: `f32` or `f64`.
///
/// ```
/// use spmv::{Real, Vector};
/// fn normalise<A: Real>(x: &mut Vector<A>) -> spmv::Result<()> {
///     let norm = x.norm2()?;
///     x.scale(norm.recip())
/// }
/// ```
pub trait Real: Number + spmv_core::Real {}

impl<A: Number + spmv_core::Real> Real for A {}

macro_rules! numbers {
    ($($t:ident)*) => {$(
        impl Number for $t {
            fn vectors(queue: &mut dyn AnyQueue) -> &mut dyn VectorsOf<Self> {
                queue
            }

            fn kept(kept: &mut Kept) -> &mut Option<DeviceScalar<Self>> {
                &mut kept.$t
            }

            fn partial(partial: &mut Partial) -> &mut PartialOf<Self> {
                &mut partial.$t
            }
        }
    )*};
}

numbers!(f32 f64 c32 c64);

macro_rules! scalars {
    ($($variant:ident $t:ty, $capitals:literal;)*) => {
        /// A device for every value type.
        pub trait DeviceOfEach: $(DeviceOf<$t> +)* {}
        impl<D: $(DeviceOf<$t> +)*> DeviceOfEach for D {}

        $(
            impl Element for $t {
                fn device(device: &dyn AnyDevice) -> &dyn DeviceOf<Self> {
                    device
                }
            }

            impl Scalar for $t {
                fn products(queue: &mut dyn AnyQueue) -> &mut dyn ProductsOf<Self> {
                    queue
                }
            }
        )*
    };
}

for_each_value!(scalars);

/// A device of any backend.
pub trait AnyDevice: DeviceOfEach + Any + Debug {
    fn caps(&self) -> &DeviceCaps;
    fn profile(&self, value: Dtype) -> Option<&Profile>;
    /// The same device, whose plans follow a profile; none in co-execution.
    fn following(&self, _: Profile) -> Option<Arc<dyn AnyDevice>> {
        None
    }
    fn queue(&self) -> Result<Box<dyn AnyQueue>>;
    /// Positions in vectors of `len` values; none in co-execution, which is no part of several devices.
    fn indices(&self, _indices: &[u32], _len: usize) -> Result<Box<dyn AnyIndices>> {
        let (name, what) = (&*self.caps().name, "indices of vectors in co-execution");
        Err(spmv_backend::Error::unsupported(name, what, "use a context of one device").into())
    }
    /// Whether its queues can copy to vectors and scalars of another one.
    fn reaches(&self, _peer: &dyn AnyDevice) -> bool {
        false
    }
    /// The same device together with the cores of the CPU.
    fn with_host_cores(&self) -> Opened;
    /// Those cores.
    fn cores(&self) -> Option<&DeviceCaps> {
        None
    }
    /// How splits are found, in co-execution.
    fn steering(&self) -> Option<&Steering> {
        None
    }
    fn steered(&self, _: Steering) -> Option<Arc<dyn AnyDevice>> {
        None
    }
    /// Whether it is several, or one with its peers.
    fn is_parts(&self) -> bool {
        false
    }
}

/// A device, and why the profile or models that were kept for it are not used.
pub(crate) type Opened = Result<(Arc<dyn AnyDevice>, Option<String>)>;

/// A matrix whose offset type is known at run time only.
#[derive(Debug)]
pub enum OwnedCsr<T> {
    U32(Csr<T, u32>),
    U64(Csr<T, u64>),
}

impl<T: Value> OwnedCsr<T> {
    pub(crate) fn of<O: Offset>(a: Csr<T, O>) -> Self {
        match (Box::new(a) as Box<dyn Any>).downcast() {
            Ok(a) => Self::U32(*a),
            Err(a) => Self::U64(*a.downcast().expect("offsets have 32 or 64 bits")),
        }
    }
}

/// What a device does for one value type.
pub trait DeviceOf<T: Value>: Send + Sync {
    fn plan(&self, a: AnyCsr<'_, T>, options: &Options) -> Result<Plan>;
    fn prepare(&self, a: AnyCsr<'_, T>, options: &Options) -> Result<Box<dyn AnyMatrix<T>>>;
    /// Of a matrix that is given away.
    fn prepare_owned(&self, a: OwnedCsr<T>, options: &Options) -> Result<Box<dyn AnyMatrix<T>>> {
        match a {
            OwnedCsr::U32(a) => self.prepare(a.view().erase(), options),
            OwnedCsr::U64(a) => self.prepare(a.view().erase(), options),
        }
    }
    /// The part of this process, of a matrix that its peers have the other parts of.
    fn prepare_part(&self, _: Part<T>, _: &Options) -> Result<Box<dyn AnyMatrix<T>>> {
        Err(spmv_backend::Error::unsupported(
            "a context of one device",
            "peers",
            "call Context::with_peers first",
        )
        .into())
    }
    fn zeros(&self, len: usize) -> Result<Box<dyn AnyVector<T>>>;
    /// The vector of a block, of `len` values.
    fn zeros_block(&self, _: BlockShape, len: usize) -> Result<Box<dyn AnyVector<T>>> {
        self.zeros(len)
    }
}

impl<B: Backend, T: Value> DeviceOf<T> for Device<B> {
    fn plan(&self, a: AnyCsr<'_, T>, options: &Options) -> Result<Plan> {
        match a {
            AnyCsr::U32(a) => Device::plan(self, a, options),
            AnyCsr::U64(a) => Device::plan(self, a, options),
        }
    }

    fn prepare(&self, a: AnyCsr<'_, T>, options: &Options) -> Result<Box<dyn AnyMatrix<T>>> {
        Ok(match a {
            AnyCsr::U32(a) => Box::new(Device::prepare(self, a, options)?),
            AnyCsr::U64(a) => Box::new(Device::prepare(self, a, options)?),
        })
    }

    fn prepare_owned(&self, a: OwnedCsr<T>, options: &Options) -> Result<Box<dyn AnyMatrix<T>>> {
        Ok(match a {
            OwnedCsr::U32(a) => Box::new(Device::prepare_owned(self, a, options)?),
            OwnedCsr::U64(a) => Box::new(Device::prepare_owned(self, a, options)?),
        })
    }

    fn zeros(&self, len: usize) -> Result<Box<dyn AnyVector<T>>> {
        Ok(Box::new(Device::zeros::<T>(self, len)?))
    }
}
