//! Arguments of a launch as kernels read them: by name, in the types of their declaration.
//!
//! Views are made from the declarations in `spmv_backend::for_each_kernel`, so that a kernel's file is all that the kernel
//! costs here.

use std::marker::PhantomData;
use std::sync::atomic::AtomicU32;

use bytemuck::Pod;
use spmv_backend::{KernelId, MAX_PARAMS, Scalar, Types, for_each_kernel};
use spmv_core::{Accum, Dtype, by_dtype, for_each_mixed};

use crate::kernels;
use crate::launch::Launch;
use crate::numbers::{Mixed, Numbers};
use crate::simd::{Columns, PaddedColumns, SimdValue, Words};

/// One argument.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Argument {
    Count(u32),
    Scalar(Scalar),
    /// First byte, and how many.
    Memory(*mut u8, usize),
}

/// The arguments of a launch, in the order of the kernel's declaration.
#[derive(Debug)]
pub(crate) struct List([Argument; MAX_PARAMS]);

// SAFETY: arguments are only read here; the memory behind them is borrowed for the launch, and who may touch it is governed by
// the contract of `launch`.
unsafe impl Sync for List {}
// SAFETY: as above.
unsafe impl Send for List {}

/// Rows, none of which is there twice; or the greatest number where there is none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Permutation<'a>(&'a [u32]);

impl<'a> Permutation<'a> {
    /// The first `n` elements.
    pub(crate) fn first(self, n: usize) -> Self {
        Self(&self.0[..n])
    }
}

impl List {
    pub(crate) fn new(args: impl Iterator<Item = Argument>) -> Self {
        let mut list = [Argument::Count(0); MAX_PARAMS];
        for (slot, arg) in list.iter_mut().zip(args) {
            *slot = arg;
        }
        Self(list)
    }

    fn count(&self, i: usize) -> u32 {
        match self.0[i] {
            Argument::Count(count) => count,
            other => panic!("argument {i} is {other:?}, not a count"),
        }
    }

    fn scalar<A: Accum>(&self, i: usize) -> A {
        match self.0[i] {
            Argument::Scalar(scalar) => A::from_parts(scalar.parts()),
            other => panic!("argument {i} is {other:?}, not a scalar"),
        }
    }

    /// The memory of argument `i` as elements: the first, and how many fit.
    fn elements<E: Pod>(&self, i: usize) -> (*mut E, usize) {
        let Argument::Memory(start, bytes) = self.0[i] else { panic!("argument {i} is no memory") };
        assert_eq!(start.align_offset(align_of::<E>()), 0, "argument {i} is not aligned");
        (start.cast(), bytes / size_of::<E>())
    }

    /// The memory of argument `i` as elements, as many as fit.
    ///
    /// # Safety
    /// Nothing writes the memory during the launch, for which it is borrowed.
    unsafe fn slice<'a, E: Pod>(&self, i: usize) -> &'a [E] {
        let (start, n) = self.elements::<E>(i);
        // SAFETY: the buffer or the borrowed slice has that many initialised bytes for the whole launch, any bytes are a valid
        // `Pod`, alignment was checked; nobody writes them, by this function's contract.
        unsafe { std::slice::from_raw_parts(start, n) }
    }

    /// As [`slice`](Self::slice), to be written.
    ///
    /// # Safety
    /// Nothing else reads or writes the memory during the launch, for which it is borrowed.
    #[allow(clippy::mut_from_ref)]
    unsafe fn slice_mut<'a, E: Pod>(&self, i: usize) -> &'a mut [E] {
        let (start, n) = self.elements::<E>(i);
        // SAFETY: as in `slice`; exclusive by this function's contract.
        unsafe { std::slice::from_raw_parts_mut(start, n) }
    }

    /// As [`slice`](Self::slice), written by several groups at the same time.
    ///
    /// # Safety
    /// Nothing but this launch reads or writes the memory during it, for which it is borrowed.
    unsafe fn shared<'a>(&self, i: usize) -> &'a [AtomicU32] {
        let (start, n) = self.elements::<u32>(i);
        // SAFETY: as in `slice_mut`; `AtomicU32` has the size, alignment and bit validity of `u32`.
        unsafe { std::slice::from_raw_parts(start.cast(), n) }
    }
}

/// The type of a parameter in a view.
macro_rules! of_kind {
    ($a:lifetime $t:ident u32) => { u32 };
    ($a:lifetime $t:ident accum) => { $t::Accum };
    ($a:lifetime $t:ident [u32]) => { &$a [u32] };
    ($a:lifetime $t:ident [column]) => { Columns<$a> };
    ($a:lifetime $t:ident [slot]) => { PaddedColumns<$a> };
    ($a:lifetime $t:ident [word]) => { Words<$a> };
    ($a:lifetime $t:ident [row]) => { Permutation<$a> };
    ($a:lifetime $t:ident [value]) => { &$a [$t::Val] };
    ($a:lifetime $t:ident [vector]) => { &$a [$t::Vector] };
    ($a:lifetime $t:ident [accum]) => { &$a [$t::Accum] };
    ($a:lifetime $t:ident [mut u32]) => { &$a mut [u32] };
    ($a:lifetime $t:ident [mut value]) => { &$a mut [$t::Val] };
    ($a:lifetime $t:ident [mut vector]) => { &$a mut [$t::Vector] };
    ($a:lifetime $t:ident [mut accum]) => { &$a mut [$t::Accum] };
    ($a:lifetime $t:ident [shared u32]) => { &$a [AtomicU32] };
    ($a:lifetime $t:ident [counter]) => { &$a [AtomicU32] };
}

/// A parameter's argument. Columns are below the length of the argument that is `x`.
macro_rules! read {
    ($list:ident $i:expr, $x:expr, u32) => {
        $list.count($i)
    };
    ($list:ident $i:expr, $x:expr, accum) => {
        $list.scalar($i)
    };
    ($list:ident $i:expr, $x:expr, [column]) => {
        Columns::new_unchecked($list.slice($i), $list.slice::<T::Vector>($x).len())
    };
    ($list:ident $i:expr, $x:expr, [slot]) => {
        PaddedColumns::new_unchecked($list.slice($i), $list.slice::<T::Vector>($x).len())
    };
    ($list:ident $i:expr, $x:expr, [word]) => {
        Words::new_unchecked($list.slice($i), $list.slice::<T::Vector>($x).len())
    };
    ($list:ident $i:expr, $x:expr, [row]) => {
        Permutation($list.slice($i))
    };
    ($list:ident $i:expr, $x:expr, [mut $e:ident]) => {
        $list.slice_mut($i)
    };
    ($list:ident $i:expr, $x:expr, [shared u32]) => {
        $list.shared($i)
    };
    ($list:ident $i:expr, $x:expr, [counter]) => {
        $list.shared($i)
    };
    ($list:ident $i:expr, $x:expr, [$e:ident]) => {
        $list.slice($i)
    };
}

macro_rules! views {
    ($($(#[$doc:meta])* $id:ident $stem:ident ($($name:ident: $kind:tt),* $(,)?) local $local:expr;)*) => {
        pub(crate) mod view {
            //! The arguments of every kernel by name.
            use super::*;

            $(
                $(#[$doc])*
                #[allow(dead_code)] // A kernel may need fewer than other languages do.
                pub(crate) struct $id<'a, T: Numbers> {
                    $(pub(crate) $name: of_kind!('a T $kind),)*
                    /// Kernels without memory in their own types borrow nothing of them.
                    pub(crate) life: PhantomData<&'a T>,
                }
            )*
        }

        /// Runs a kernel for some types.
        ///
        /// # Safety
        /// The contract of [`Backend::launch`](spmv_backend::Backend::launch), for arguments of this kernel.
        unsafe fn run_as<T: SimdValue>(id: KernelId, launch: Launch, list: &List) {
            let x = at_x(id);
            match id {
                // Such a kernel is not compiled for them.
                id if T::IS_MIXED && !id.multiplies() => panic!("{id} has no values besides those of x"),
                $(KernelId::$id => {
                    // Where each parameter stands in the list.
                    #[allow(non_camel_case_types, dead_code, clippy::upper_case_acronyms)]
                    enum At { $($name),* }
                    // SAFETY: this function's contract: each argument is what the declaration says; columns and runs
                    // end before the length of x, no row is twice in `perm` or `at`, and written memory is no other argument's.
                    let view = unsafe {
                        view::$id::<T> {
                            $($name: read!(list At::$name as usize, x, $kind),)*
                            life: PhantomData,
                        }
                    };
                    kernels::$stem::run(launch, view);
                })*
                other => panic!("{other} is no kernel of this version"),
            }
        }
    };
}

for_each_kernel!(views);

/// Where `x` stands in the list, if the kernel has it.
fn at_x(id: KernelId) -> usize {
    id.params().iter().position(|param| param.name == "x").unwrap_or(0)
}

/// Runs a kernel.
///
/// # Safety
/// The contract of [`Backend::launch`](spmv_backend::Backend::launch), for arguments of this kernel in these types.
pub(crate) unsafe fn run(id: KernelId, types: Types, launch: Launch, list: &List) {
    macro_rules! by_types {
        ($($value:ident $v:ty, $vector:ident $x:ty;)*) => {
            match (types.value, types.vector) {
                // SAFETY: by contract.
                $((Dtype::$value, Dtype::$vector) => unsafe { run_as::<Mixed<$v, $x>>(id, launch, list) },)*
                // SAFETY: by contract.
                (value, _) => by_dtype!(value, T => unsafe { run_as::<T>(id, launch, list) }),
            }
        };
    }
    for_each_mixed!(by_types);
}

/// Rows of `y` in another order, or in their own, as [`Rows`](crate::kernels::prelude::Rows) are: position `i` is row `perm[i]`.
pub(crate) struct PermutedRows<'a, A> {
    /// The first position, and how many there are.
    base: usize,
    n: usize,
    /// The rows from position `base` on; no other `PermutedRows` has them. `None` in their own order.
    perm: Option<&'a [u32]>,
    y: *mut A,
    n_rows: usize,
    /// As many rows of `z`, if a factor scales those.
    z: Option<&'a [A]>,
    life: PhantomData<&'a mut [A]>,
}

// SAFETY: the rows of `perm` are this value's alone, like those of a mutable slice.
unsafe impl<A: Send> Send for PermutedRows<'_, A> {}

impl<'a, A: Copy> PermutedRows<'a, A> {
    /// All rows of `y`.
    pub(crate) fn new(perm: Permutation<'a>, y: &'a mut [A], z: Option<&'a [A]>) -> Self {
        Self { n: perm.0.len(), perm: Some(perm.0), ..Self::in_order(y, z) }
    }

    /// The same in their own order.
    pub(crate) fn in_order(y: &'a mut [A], z: Option<&'a [A]>) -> Self {
        Self { base: 0, n: y.len(), perm: None, y: y.as_mut_ptr(), n_rows: y.len(), z, life: PhantomData }
    }

    /// The first position.
    pub(crate) fn base(&self) -> usize {
        self.base
    }

    /// How many positions there are.
    pub(crate) fn len(&self) -> usize {
        self.n
    }

    /// The positions before `position`, and the rest.
    pub(crate) fn split_before(self, position: usize) -> (Self, Self) {
        let n = position - self.base;
        assert!(n <= self.n, "position {position} of {}", self.n);
        let (left, right) = self.perm.map(|perm| perm.split_at(n)).unzip();
        (Self { n, perm: left, ..self }, Self { base: position, n: self.n - n, perm: right, ..self })
    }

    /// The row at a position, or the greatest number.
    fn row(&self, position: usize) -> usize {
        let at = position - self.base;
        assert!(at < self.n, "position {position} of {}", self.n);
        self.perm.map_or(position, |perm| if perm[at] == u32::MAX { usize::MAX } else { perm[at] as usize })
    }

    /// Whether there is a row at `position`.
    pub(crate) fn has(&self, position: usize) -> bool {
        self.row(position) != usize::MAX
    }

    /// Adds `beta` times `z` to the sums of the rows from position `first` on, if there is a `z`.
    pub(crate) fn plus_z(&self, first: usize, sums: &mut [A], beta: A) -> bool
    where
        A: Accum,
    {
        let Some(z) = self.z else { return false };
        match self.perm {
            None => sums.iter_mut().zip(&z[first..]).for_each(|(sum, z)| *sum += beta * *z),
            Some(perm) => {
                for (sum, row) in sums.iter_mut().zip(&perm[first - self.base..]) {
                    // There is none where the number is the greatest.
                    if let Some(z) = z.get(*row as usize) {
                        *sum += beta * *z;
                    }
                }
            }
        }
        true
    }

    /// Writes the rows from position `first` on, those that are there: of each what `f` makes of its value.
    #[inline(always)]
    pub(crate) fn write(&mut self, first: usize, values: &[A], f: impl Fn(A, A) -> A) {
        let (at, last_row) = (first - self.base, (self.n_rows as u32).wrapping_sub(1));
        assert!(at + values.len() <= self.n, "positions {first} and {} more of {}", values.len(), self.n);
        let Some(perm) = self.perm else {
            // SAFETY: in their own order there are as many rows as positions, and these are this value's alone.
            let y = unsafe { std::slice::from_raw_parts_mut(self.y.add(first), values.len()) };
            return y.iter_mut().zip(values).for_each(|(y, value)| *y = f(*value, *y));
        };
        let rows = &perm[at..][..values.len()];
        // All at once: rows that are not there come last of all. A row is there where neither it nor `last_row - row` has its highest bit: the
        // difference wraps around for greater ones. Vectors of SSE2 have no comparison of numbers without a sign.
        if rows.iter().fold(0, |any, row| any | row | last_row.wrapping_sub(*row)) >> 31 == 0 {
            for (row, value) in rows.iter().zip(values) {
                // SAFETY: as in `update`.
                unsafe {
                    let y = self.y.add(*row as usize);
                    *y = f(*value, *y);
                }
            }
            return;
        }
        for (position, value) in (first..).zip(values) {
            self.update(position, |y| f(*value, y));
        }
    }

    /// Writes the row at `position`, if there is one.
    fn update(&mut self, position: usize, f: impl FnOnce(A) -> A) {
        let row = self.row(position);
        if row == usize::MAX {
            return;
        }
        assert!(row < self.n_rows, "row {row} of {}", self.n_rows);
        // SAFETY: `new` was given `n_rows` rows for the whole of 'a, and none of this value's rows is another's, since a
        // `Permutation` holds none twice.
        unsafe {
            let y = self.y.add(row);
            *y = f(*y);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn rows_of_a_permutation_are_written_where_they_are_there() {
        let write = |perm: &[u32], n_rows: usize| {
            let mut y = vec![0.0f64; n_rows];
            let values: Vec<f64> = (1..=perm.len()).map(|value| value as f64).collect();
            PermutedRows::new(Permutation(perm), &mut y, None).write(0, &values, |value, y| y + value);
            y
        };
        assert_eq!(write(&[2, 0, 1], 3), [2.0, 3.0, 1.0]);
        assert_eq!(write(&[2, u32::MAX, 0, u32::MAX], 3), [3.0, 0.0, 1.0]);
        assert!(write(&[u32::MAX], 0).is_empty());
        for beyond in [3, 4, u32::MAX >> 1, 1 << 31, u32::MAX - 1] {
            assert!(catch_unwind(|| write(&[0, beyond], 3)).is_err(), "{beyond}");
        }
        assert!(catch_unwind(|| write(&[0], 0)).is_err());
    }
}
