//! Sums of products over CSR entries with SIMD: the inner loops of every CPU kernel.
//!
//! Everything works on eight lanes. A row of many entries is summed in eight lanes by itself. Short rows
//! would spend their time on loop ends, so the products of a whole block of them go to a buffer in L1,
//! from which eight rows at a time are read under masks and summed by one transpose. No step branches on
//! the length of a single short row; rows that are summed one by one (one_by_one.rs) do, for cores that remember such branches.
//!
//! x is read by scalar loads put together in a vector: on Zen 5 that beats the gather instructions by 20 to
//! 40 percent, and on Intel those are slow where the gather data sampling mitigation is on. Wide slices of `sell` are gathered by
//! instructions all the same (wide.rs): a plan has them where that is known to be fast (`Isa::gathers_fast`).

mod arrays;
mod diagonals;
mod isa;
mod loops;
mod mirrored;
mod one_by_one;
mod operand;
mod panels;
mod runs;
mod slices;
#[cfg(test)]
mod tests;
mod values;
#[cfg(target_arch = "x86_64")]
mod wide;
#[cfg(target_arch = "x86_64")]
mod x86;
#[cfg(target_arch = "x86_64")]
mod x86_complex;
#[cfg(target_arch = "x86_64")]
mod x86_f32;
#[cfg(target_arch = "x86_64")]
mod x86_gathers;
#[cfg(target_arch = "x86_64")]
mod x86_panels;

pub(crate) use diagonals::AT_ONCE as DIAGONALS;
pub use isa::Isa;
pub(crate) use one_by_one::one_by_one;
pub(crate) use operand::{
    Columns, LENGTHS, NARROW_NONE, NONE, Onto, Operand, PaddedColumns, PanelRows, Piece, RowRange, RunRows,
    SimdValue, Slices, Slots, Words,
};
pub(crate) use slices::{BLOCK_LANES, slices};
