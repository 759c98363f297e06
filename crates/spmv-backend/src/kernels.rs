//! Every kernel, declared once.
//!
//! From a kernel's declaration follow its [`KernelId`], its parameter table, the struct that a launch fills by name
//! (`arguments.rs`), the header that `cargo xtask tidy` demands of its source in every language, and the view that the
//! CPU's version reads.

use crate::params::{Elem, Param, ParamKind};

/// Calls a macro with the declaration of every kernel.
///
/// A declaration is the kernel's documentation, its [`KernelId`], its stem, its parameters in the order of every
/// language, and the local memory of a group in bytes, from a [`Group`](crate::Group). A parameter is
///
/// | kind | is | on the CPU |
/// |---|---|---|
/// | `u32` | a count | `u32` |
/// | `accum` | a scalar in the type of sums | `T::Accum` |
/// | `[u32]` | indices | `&[u32]` |
/// | `[column]` | indices below the length of `x` | columns that need no check |
/// | `[slot]` | the same, or the greatest number for a slot without an entry, after a row's others | padded columns |
/// | `[word]` | words of `sell`, whose columns and runs end before the length of `x` | words that need no check |
/// | `[row]` | rows, none of them twice; in `sell` the greatest number where there is none | a permutation of some rows |
/// | `[value]` | values of the matrix | `&[T::Val]` |
/// | `[vector]` | values of `x` | `&[T::Vector]` |
/// | `[accum]` | sums | `&[T::Accum]` |
/// | `[mut u32]`, `[mut value]`, `[mut vector]`, `[mut accum]` | the same, written | `&mut` |
/// | `[shared u32]` | indices, written by several groups | `&[AtomicU32]` |
/// | `[counter]` | numbers that groups add to at the same time | `&[AtomicU32]` |
///
/// Kernels that take an `epilogue` store alpha times a row's sum plus beta times what stands in `y`, or, with
/// [`EPILOGUE_Z`](crate::codes::EPILOGUE_Z), in `z`; with [`EPILOGUE_CLAMP`](crate::codes::EPILOGUE_CLAMP) they clamp real numbers to `lo`
/// and `hi`, when nothing will be added to the row. What is not read may be any memory that is not written.
///
/// ```
/// macro_rules! stems {
///     ($($(#[$doc:meta])* $id:ident $stem:ident ($($name:ident: $kind:tt),* $(,)?) local $local:expr;)*) => {
///         [$(stringify!($stem)),*]
///     };
/// }
/// assert!(spmv_backend::for_each_kernel!(stems).contains(&"merge_path"));
/// ```
// Row `r` of a kernel is row `row_base + r` of y: a matrix too large for one launch is split into row ranges with
// rebased offsets, and no backend has to bind y at an odd address. `tiles` is S of the tiling: an argument, not part of
// the code, so that one compiled kernel serves every S.
#[macro_export]
macro_rules! for_each_kernel {
    ($then:ident) => {
        $then! {
            /// Stage 1 of speculative segmented sum (Liu & Vinter 2015, section 3.1).
            ///
            /// `tile_rows`: the row of each tile's first entry, and `n_rows` at the end, found once, at prepare. `turn`:
            /// which of the two dirty counters this run uses.
            // Local memory, for each bunch: a tile's products (one more for each lane, so that lanes read from different
            // banks) and one descriptor bit per entry (in 32-bit words, two more for the end and the dirty flag). Lanes
            // that cannot shuffle keep one sum more.
            SpecSegsum spec_segsum(
                n_rows: u32, row_base: u32, nnz: u32, tiles: u32, turn: u32, row_ptr: [u32], tile_rows: [u32], cols: [column], vals: [value], x: [vector], y: [mut accum], sync_rows: [mut u32],
                sync_sums: [mut accum], dirty_count: [counter], speculator: [shared u32],
            ) local |g| g.talk + g.kept + g.lanes * g.sum + g.bunches * (g.tile * g.sum + (g.tile / 32 + 2) * 4);

            /// Stage 2 of speculative segmented sum on the device, for discrete memory.
            ///
            /// `turn`: which of the two dirty counters stage 1 used; the other one is reset for the next run, because no
            /// group of a launch knows when all the others have read a counter.
            FixupApply fixup_apply(
                n_rows: u32, row_base: u32, nnz: u32, tiles: u32, turn: u32, row_ptr: [u32], tile_rows: [u32],
                sync_sums: [accum], dirty_count: [counter], speculator: [u32], y: [mut accum],
            ) local |g| g.talk + g.bunches * g.tile * g.sum;

            /// One lane a row (Bell & Garland 2009).
            CsrScalar csr_scalar(
                n_rows: u32, row_base: u32, tiles: u32, epilogue: u32, alpha: accum, beta: accum, lo: accum, hi: accum,
                row_ptr: [u32], cols: [column], vals: [value], x: [vector], z: [accum], y: [mut accum],
            ) local |_| 0;

            /// One lane a row of runs: entries in consecutive columns (1D-VBL, Pinar & Heath 1999).
            ///
            /// Values stand in the order of CSR. `run_ptr`: the first run of each row, and the end. A run has one to eight entries, and is eight
            /// times its first column, plus how many entries it has less than eight.
            Vbl vbl(
                n_rows: u32, row_base: u32, tiles: u32, epilogue: u32, alpha: accum, beta: accum, lo: accum, hi: accum,
                row_ptr: [u32], run_ptr: [u32], runs: [u32], vals: [value], x: [vector], z: [accum], y: [mut accum],
            ) local |_| 0;

            /// One lane a range of rows, of whose entries one stands for itself and for the one that mirrors it at the diagonal (Gkountouvas et
            /// al. 2013, local vectors with effective ranges).
            ///
            /// Three numbers for each range, and for the end: its first row, the first row that an entry of it is mirrored to, and where the
            /// sums of its rows, from the second of these on, begin in `sums`. `run_ptr` as in `vbl`; a run is 16 times its first column, plus 8
            /// if its entries are mirrored, plus how many it has less than eight. Entries on the diagonal may count as mirrored.
            Sss sss(
                row_base: u32, n_ranges: u32, ranges: [u32], row_ptr: [u32], run_ptr: [u32], runs: [u32], vals: [value], x: [vector],
                sums: [mut accum],
            ) local |_| 0;

            /// Sums of what ranges have of each row.
            SssSums sss_sums(
                n_rows: u32, row_base: u32, n_ranges: u32, tiles: u32, epilogue: u32, alpha: accum, beta: accum, lo: accum, hi: accum,
                ranges: [u32], sums: [accum], z: [accum], y: [mut accum],
            ) local |_| 0;

            /// One bunch a row (Bell & Garland 2009).
            CsrVector csr_vector(
                n_rows: u32, row_base: u32, tiles: u32, epilogue: u32, alpha: accum, beta: accum, lo: accum, hi: accum,
                row_ptr: [u32], cols: [column], vals: [value], x: [vector], z: [accum], y: [mut accum],
            ) local |g| g.talk;

            /// Rows and entries cut evenly over bunches (Merrill & Garland 2016).
            ///
            /// `bunch_rows`: the rows finished before each bunch, and before the end, found once, at prepare.
            // A tile's products and row ends.
            MergePath merge_path(
                n_rows: u32, row_base: u32, nnz: u32, tiles: u32, epilogue: u32, alpha: accum, beta: accum, lo: accum,
                hi: accum, row_ptr: [u32], bunch_rows: [u32], cols: [column], vals: [value], x: [vector],
                carries: [mut accum], z: [accum], y: [mut accum],
            ) local |g| g.talk + g.bunches * g.tile * (g.sum + 4);

            /// Blocks of rows whose products a group holds in local memory (Gao et al.).
            ///
            /// `block_rows` and `block_entries`: the blocks of `spmv_core::RowBlocks`, one more than groups.
            /// `arrivals`: how many pieces of a row are done, at the row's first block; zero before and after a launch,
            /// used where groups can join ([`DeviceCaps::cross_block_reduction`](crate::DeviceCaps::cross_block_reduction)).
            // A group's products, a sum, a row end and a number of a long row for each lane, and how many long rows
            // there are.
            Ipcsr ipcsr(
                n_rows: u32, row_base: u32, epilogue: u32, alpha: accum, beta: accum, lo: accum, hi: accum, row_ptr: [u32],
                block_rows: [u32], block_entries: [u32], cols: [column], vals: [value], x: [vector], carries: [mut accum],
                arrivals: [counter], z: [accum], y: [mut accum],
            ) local |g| g.held + (2 * g.lanes + 2) * 4;

            /// Blocks of whole rows, as Gao et al. published it (algorithms 3 and 5 to 9).
            ///
            /// `block_rows`: the blocks of `spmv_core::RowBlocks::whole`, one more than groups.
            // A group's products, and a sum for each lane.
            IpcsrPublished ipcsr_published(
                n_rows: u32, row_base: u32, epilogue: u32, alpha: accum, beta: accum, lo: accum, hi: accum, row_ptr: [u32],
                block_rows: [u32], cols: [column], vals: [value], x: [vector], z: [accum], y: [mut accum],
            ) local |g| (g.bunches * g.tile + g.lanes) * g.sum;

            /// The products of all entries, in their order, in the device's memory (Gao et al.).
            PcsrProducts pcsr_products(
                nnz: u32, tiles: u32, cols: [column], vals: [value], x: [vector], products: [mut accum],
            ) local |_| 0;

            /// Sums of those products by row (Gao et al.).
            PcsrSums pcsr_sums(
                n_rows: u32, row_base: u32, tiles: u32, epilogue: u32, alpha: accum, beta: accum, lo: accum, hi: accum,
                row_ptr: [u32], products: [accum], z: [accum], y: [mut accum],
            ) local |g| g.held;

            /// Sums of what stripes of columns have of each row: `row_ptr` counts those.
            StripeSums stripe_sums(
                n_rows: u32, row_base: u32, epilogue: u32, alpha: accum, beta: accum, lo: accum, hi: accum, row_ptr: [u32],
                sums: [accum], z: [accum], y: [mut accum],
            ) local |g| g.talk;

            /// One lane a row of the ELLPACK layout (Bell & Garland 2009).
            ///
            /// Slot k of row r at `k * n_rows + r`; the greatest number for a column that is none.
            Ell ell(
                n_rows: u32, row_base: u32, width: u32, tiles: u32, epilogue: u32, alpha: accum, beta: accum, lo: accum,
                hi: accum, cols: [slot], vals: [value], x: [vector], z: [accum], y: [mut accum],
            ) local |_| 0;

            /// One lane a row of jagged diagonals (Saad 1989).
            ///
            /// Position r holds the entries of row `perm[r]`: entry k at `jag_ptr[k] + r`, if that is before
            /// `jag_ptr[k + 1]`.
            Jad jad(
                n_rows: u32, row_base: u32, n_jags: u32, tiles: u32, epilogue: u32, alpha: accum, beta: accum, lo: accum,
                hi: accum, perm: [row], jag_ptr: [u32], cols: [u32], vals: [value], x: [vector], z: [accum],
                y: [mut accum],
            ) local |_| 0;

            /// Slices of rows, which lanes read in their order (SELL-C-sigma, Kreutzer et al. 2014; with several lanes a row, Anzt, Tomov
            /// & Dongarra 2014; with one column for a run of entries, and with long rows cut).
            ///
            /// A slice has 32 lanes: T for each of its rows; more, a power of two, where rows are long, so that no lane has much more to do
            /// than others. All of these are among the first `n_long`. The last slice may have fewer rows. A slice has room for 32/T numbers of rows in `perm`,
            /// the greatest number where there is none; without `sorted` a row's number is its position.
            ///
            /// In a step each lane takes a run of its row: up to W entries in consecutive columns. `slices` has four numbers for each
            /// slice: its first value, its first word, the least column of its runs, and a sum of 1 if columns take 16 bits, 2 if there
            /// are runs of fewer entries than W, four times the binary logarithm of its lanes for a row, 32 if its row goes over several
            /// slices, 64 if it is *stepped*, and 128 times its steps. Value j of step k of lane l is `(k * W + j) * 32 + l` values after the
            /// first. Words are: of a row that goes over several slices 32, of which the first two are its first slice and how many there
            /// are; lengths of runs less one, if they differ, of two bits for each of 16 steps; first columns of runs, less the least one
            /// and two to a word where they take 16 bits. A lane whose runs are over has the greatest number for a column, whatever its
            /// lengths. In a stepped slice each row has the columns of the row before plus one, and words are those of its first row
            /// alone: T for each step. Where a group is one lane, slices have eight lanes for 32.
            ///
            /// A row that goes over several slices has its number at the first of them. `arrivals`: how many of them are done, at the
            /// first; zero before and after a launch, used where groups can join
            /// ([`DeviceCaps::cross_block_reduction`](crate::DeviceCaps::cross_block_reduction)). Elsewhere the first stores its sum, and the
            /// others leave theirs in `carries`, at their number. `keeps`: whether a cache that all groups share shall keep the matrix.
            // A sum for each lane, which those of a long row add.
            Sell sell(
                n_rows: u32, row_base: u32, n_slices: u32, n_long: u32, tiles: u32, sorted: u32, keeps: u32, epilogue: u32,
                alpha: accum, beta: accum, lo: accum, hi: accum, perm: [row], slices: [u32], words: [word], vals: [value],
                x: [vector], carries: [mut accum], arrivals: [counter], z: [accum], y: [mut accum],
            ) local |g| g.talk + g.lanes * g.sum;

            /// The words of `sell`, and the entry of each of its slots, from CSR.
            ///
            /// `slices` as in `sell`, whose values `gather_values` then brings to their slots. `parts`: of each slice that has a part of a row, and
            /// these come first, the row's first slice, how many it has, the part's first entry and the one behind its last. Entries of a row go on
            /// with a run until it has `width`. `sorted`: whether `perm` has the row at each position, `slice_rows` for a slice.
            SellFill sell_fill(
                n_rows: u32, n_slices: u32, slice_lanes: u32, slice_rows: u32, width: u32, sorted: u32, row_ptr: [u32], cols: [u32],
                perm: [u32], slices: [u32], parts: [u32], words: [mut u32], entries: [mut u32],
            ) local |_| 0;

            /// One lane a row of whole diagonals (Bell & Garland 2009).
            ///
            /// Of each diagonal two numbers, in 32 bits: that which makes a row its column, and that which makes it its slot. A slot is
            /// zero where there is no entry; where the column is outside of the matrix there need be none.
            ///
            /// Diagonals ascend. `stride` lanes take that many rows in each of S turns, one behind another; on cores a lane's rows follow each
            /// other.
            Dia dia(
                n_rows: u32, row_base: u32, n_cols: u32, n_diags: u32, tiles: u32, stride: u32, epilogue: u32,
                alpha: accum, beta: accum, lo: accum, hi: accum, diags: [u32], vals: [value], x: [vector], z: [accum],
                y: [mut accum],
            ) local |_| 0;

            /// One lane a row of the first entries of each row in ELL form, with the rest of the rows in CSR form
            /// (Tan et al. 2019).
            ///
            /// Slot k of row r at `k * n_rows + r`, as in `ell`; the other arrays are those of CSR.
            // A sum and a number of a row for each lane, and how many rows are long.
            EllCsr ell_csr(
                n_rows: u32, row_base: u32, width: u32, tiles: u32, epilogue: u32, alpha: accum, beta: accum, lo: accum,
                hi: accum, slot_cols: [slot], slot_vals: [value], row_ptr: [u32], cols: [column], vals: [value],
                x: [vector], z: [accum], y: [mut accum],
            ) local |g| g.talk + g.lanes * (g.sum + 4) + 4;

            /// One lane a row of diagonals about the main one, with the rest of the rows in CSR form (Tan et al. 2019).
            ///
            /// Row r of diagonal d at `d * n_rows + r`, its column at `r + offsets[d]` in 32 bits; zero for no entry. The other arrays are
            /// those of CSR.
            // As `ell_csr`.
            DiaCsr dia_csr(
                n_rows: u32, row_base: u32, n_cols: u32, n_diags: u32, tiles: u32, epilogue: u32, alpha: accum,
                beta: accum, lo: accum, hi: accum, offsets: [u32], slot_vals: [value], row_ptr: [u32], cols: [column],
                vals: [value], x: [vector], z: [accum], y: [mut accum],
            ) local |g| g.talk + g.lanes * (g.sum + 4) + 4;

            /// Entries with a row number each, cut evenly over bunches (Bell & Garland 2009).
            ///
            /// `rows`: the row of each of the `nnz` entries, in order; then, up to `n_slots` in all, rows without entries,
            /// each once. A row is stored where its last slot lies.
            // A tile's products and row ends.
            Coo coo(
                n_rows: u32, row_base: u32, nnz: u32, n_slots: u32, tiles: u32, epilogue: u32, alpha: accum, beta: accum,
                lo: accum, hi: accum, rows: [u32], cols: [column], vals: [value], x: [vector], carries: [mut accum],
                z: [accum], y: [mut accum],
            ) local |g| g.talk + g.bunches * g.tile * (g.sum + 4);

            /// Adds what `merge_path`, `ipcsr` and `coo` carried from bunch to bunch.
            CarryApply carry_apply(
                n_rows: u32, row_base: u32, n_bunches: u32, epilogue: u32, alpha: accum, lo: accum, hi: accum,
                bunch_rows: [u32], carries: [accum], y: [mut accum],
            ) local |g| g.talk;

            /// `y <- alpha*t + beta*y`.
            Axpby axpby(
                n_rows: u32, row_base: u32, epilogue: u32, alpha: accum, beta: accum, lo: accum, hi: accum, t: [accum],
                z: [accum], y: [mut accum],
            )
                local |_| 0;

            /// `y <- a*u + b*y` on vectors, and sums of products of the new `y` by group.
            ///
            /// `source`: whether u is `x` (0), `d*x` (1) or one (2). `dots`: whether the new `y` is multiplied by nothing (0), `y`
            /// (1) or `z` (2). a is `alpha * scalars[alpha_num] / scalars[alpha_den]`, b likewise. A group takes `chunk`
            /// numbers. What is not read may be any memory that is not written.
            VecUpdate vec_update(
                n: u32, chunk: u32, source: u32, dots: u32, alpha: accum, alpha_num: u32, alpha_den: u32, beta: accum,
                beta_num: u32, beta_den: u32, scalars: [accum], d: [accum], x: [accum], z: [accum], y: [mut accum],
                partials: [mut accum],
            ) local |g| g.lanes * g.sum;

            /// `x <- a*d + x`, then `d <- z + b*d`, in one pass; a and b as in `vec_update`.
            VecAxpyAypx vec_axpy_aypx(
                n: u32, chunk: u32, alpha: accum, alpha_num: u32, alpha_den: u32, beta: accum, beta_num: u32,
                beta_den: u32, scalars: [accum], z: [accum], x: [mut accum], d: [mut accum],
            ) local |_| 0;

            /// Adds each number of `x` to the one of `y` at the position that `at` has for it; no position is there twice.
            VecScatterAdd vec_scatter_add(n: u32, chunk: u32, at: [row], x: [accum], y: [mut accum]) local |_| 0;

            /// Sums of products of two vectors by group (`op` 0), or greatest absolute values of `x` (`op` 1).
            VecDot vec_dot(n: u32, chunk: u32, op: u32, x: [accum], z: [accum], partials: [mut accum])
                local |g| g.lanes * g.sum;

            /// What groups found, joined in one order by one group: a sum (`op` 0), or the greatest (`op` 1).
            VecReduce vec_reduce(n: u32, op: u32, at: u32, partials: [accum], scalars: [mut accum])
                local |g| g.lanes * g.sum;

            /// Operations on scalars, one after another, by one lane.
            ///
            /// Step i is four numbers of `program`, from `4 * i` on: an operation, the two scalars it takes, and the one it sets. It
            /// sets a copy of the first (0), the sum (1), difference (2), product (3) or quotient (4), the square root (5) or absolute
            /// value (6) of the first, the greater (7) or the lesser (8). A quotient with a zero is zero, as in `vec_update`.
            VecScalars vec_scalars(n_steps: u32, program: [u32], scalars: [mut accum]) local |_| 0;

            /// Values of the matrix, brought to the slots of a layout, or numbers of a vector at some positions.
            ///
            /// `entries`: the entry whose value each slot takes, or the greatest number for a slot of padding, which takes zero.
            GatherValues gather_values(n_slots: u32, entries: [u32], vals: [value], slots: [mut value]) local |_| 0;

            /// Rows times a panel: up to four columns for each bunch of a group, of a matrix X whose rows are `x_stride` values apart.
            ///
            /// `block_rows` and `block_entries`: the blocks of `spmv_core::RowBlocks::shared`, one more than groups. The panel begins
            /// with column `x_at` of X and `y_at` of Y, and has `columns`. X is packed unless `x_at`, `x_stride` and `columns` are multiples of
            /// four; the CPU's version reads any. A piece of a row leaves its sums in `carries`, four for each bunch.
            // Four sums a lane.
            Spmm spmm(
                row_base: u32, columns: u32, x_stride: u32, x_at: u32, y_stride: u32, y_at: u32, alpha: accum, beta: accum,
                row_ptr: [u32], block_rows: [u32], block_entries: [u32], cols: [u32], vals: [value], x: [vector],
                carries: [mut accum], y: [mut accum],
            ) local |g| 4 * g.lanes * g.sum;

            /// Sums of the pieces of rows that `spmm` cut.
            ///
            /// Row `i` of `n_cut` is `cut_rows[i]`, and its pieces are the blocks from `cut_blocks[2 * i]` up to `cut_blocks[2 * i + 1]`, each
            /// with `width` sums.
            SpmmCarries spmm_carries(
                row_base: u32, n_cut: u32, width: u32, columns: u32, y_stride: u32, y_at: u32, alpha: accum, beta: accum,
                cut_rows: [u32], cut_blocks: [u32], carries: [accum], y: [mut accum],
            ) local |_| 0;

            /// A panel of X, packed: `width` values a row, a multiple of four, of which those after `columns` are zero.
            ///
            /// The panel begins with column `first_column`; values are `row_stride` and `column_stride` apart.
            PanelPack panel_pack(
                n_rows: u32, columns: u32, first_column: u32, row_stride: u32, column_stride: u32, width: u32, x: [vector],
                slots: [mut vector],
            ) local |_| 0;

            /// Adds a packed panel to beta times columns of Y, each of which begins `column_stride` after the one before.
            PanelUnpack panel_unpack(
                n_rows: u32, columns: u32, first_column: u32, column_stride: u32, width: u32, beta: accum, packed: [accum],
                y: [mut accum],
            ) local |_| 0;
        }
    };
}

/// Sizes of a group that its local memory follows from.
///
/// ```
/// use spmv_backend::{Group, KernelId, KernelSpec, Lanes};
/// use spmv_core::{Dtype, Tiling};
/// let spec = KernelSpec::new(KernelId::CsrVector, Dtype::F64, Lanes::Workgroup, Tiling::new(8, 1, 1, 2)?);
/// assert_eq!(Group::of(&spec).talk, 2 * 8 * (8 + 4));
/// # Ok::<(), spmv_core::TilingError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// Bytes of a sum.
    pub sum: u64,
    /// Entries of a tile.
    pub tile: u64,
    /// Lanes of the group.
    pub lanes: u64,
    /// Bunches of the group.
    pub bunches: u64,
    /// Bytes by which lanes that cannot shuffle talk: one sum and one count each; else 0.
    pub talk: u64,
    /// Bytes of one sum more for each lane, where lanes cannot shuffle.
    pub kept: u64,
    /// Bytes of the group's products (one more for every 32), and of a sum for each lane.
    pub held: u64,
}

macro_rules! param_kind {
    (u32) => {
        ParamKind::U32
    };
    (accum) => {
        ParamKind::Accum
    };
    ([u32]) => {
        ParamKind::Read(Elem::U32)
    };
    ([column]) => {
        ParamKind::Read(Elem::U32)
    };
    ([slot]) => {
        ParamKind::Read(Elem::U32)
    };
    ([word]) => {
        ParamKind::Read(Elem::U32)
    };
    ([row]) => {
        ParamKind::Read(Elem::U32)
    };
    ([value]) => {
        ParamKind::Read(Elem::Value)
    };
    ([vector]) => {
        ParamKind::Read(Elem::Vector)
    };
    ([accum]) => {
        ParamKind::Read(Elem::Accum)
    };
    ([mut u32]) => {
        ParamKind::Write(Elem::U32)
    };
    ([mut value]) => {
        ParamKind::Write(Elem::Value)
    };
    ([mut vector]) => {
        ParamKind::Write(Elem::Vector)
    };
    ([mut accum]) => {
        ParamKind::Write(Elem::Accum)
    };
    ([shared u32]) => {
        ParamKind::Write(Elem::U32)
    };
    ([counter]) => {
        ParamKind::Write(Elem::Counter)
    };
}

macro_rules! declare {
    ($($(#[$doc:meta])* $id:ident $stem:ident ($($name:ident: $kind:tt),* $(,)?) local $local:expr;)*) => {
        /// A kernel's stem: the same file name in every language and in `spmv-cpu`.
        ///
        /// ```
        /// use spmv_backend::KernelId;
        /// assert_eq!(KernelId::SpecSegsum.stem(), "spec_segsum");
        /// assert_eq!("merge_path".parse(), Ok(KernelId::MergePath));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum KernelId {
            $($(#[$doc])* $id,)*
        }

        impl KernelId {
            /// Every kernel there is.
            pub const ALL: &'static [KernelId] = &[$(KernelId::$id),*];

            /// File stem and label.
            pub const fn stem(self) -> &'static str {
                match self {
                    $(KernelId::$id => stringify!($stem),)*
                }
            }

            /// The kernel's parameters, in order.
            pub const fn params(self) -> &'static [Param] {
                match self {
                    $(KernelId::$id => {
                        &[$(Param { name: stringify!($name), kind: param_kind!($kind) }),*]
                    })*
                }
            }

            /// Local memory that a group needs, in bytes.
            pub(crate) fn local_bytes(self, group: &Group) -> u64 {
                let of: fn(&Group) -> u64 = match self {
                    $(KernelId::$id => $local,)*
                };
                of(group)
            }
        }
    };
}

for_each_kernel!(declare);
