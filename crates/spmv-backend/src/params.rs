//! Parameter tables: what each kernel takes, in order, in every language.

use crate::kernel::KernelId;

/// What an element of a buffer is.
///
/// ```
/// use spmv_backend::Elem;
/// use spmv_core::Dtype;
/// assert_eq!(Elem::Accum.bytes(Dtype::F16), 4);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Elem {
    /// An index.
    U32,
    /// A number that groups add to at the same time.
    Counter,
    /// A value of matrix or `x`.
    Value,
    /// A sum.
    Accum,
}

impl Elem {
    /// Size in bytes for a value type.
    pub const fn bytes(self, value: spmv_core::Dtype) -> usize {
        match self {
            Elem::U32 | Elem::Counter => 4,
            Elem::Value => value.bytes(),
            Elem::Accum => value.accum().bytes(),
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
/// assert_eq!(names, ["n_rows", "row_base", "alpha", "beta", "t", "y"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Param {
    /// The name in every language.
    pub name: &'static str,
    /// What it takes.
    pub kind: ParamKind,
}

const fn count(name: &'static str) -> Param {
    Param { name, kind: ParamKind::U32 }
}

const fn scalar(name: &'static str) -> Param {
    Param { name, kind: ParamKind::Accum }
}

const fn read(name: &'static str, elem: Elem) -> Param {
    Param { name, kind: ParamKind::Read(elem) }
}

const fn write(name: &'static str, elem: Elem) -> Param {
    Param { name, kind: ParamKind::Write(elem) }
}

// Row `r` of a kernel is row `row_base + r` of y: a matrix too large for one launch is cut into row
// ranges with rebased offsets, and no backend has to bind y at an odd address.
const N_ROWS: Param = count("n_rows");
const ROW_BASE: Param = count("row_base");
const NNZ: Param = count("nnz");
// S of the tiling. An argument, not part of the code, so that one compiled kernel serves every S.
const TILES: Param = count("tiles");
// Which of the two dirty counters this run uses; `fixup_apply` resets the other one for the next run, because
// no group of a launch knows when all the others have read a counter.
const TURN: Param = count("turn");
const ALPHA: Param = scalar("alpha");
const BETA: Param = scalar("beta");
const ROW_PTR: Param = read("row_ptr", Elem::U32);
const COLS: Param = read("cols", Elem::U32);
const VALS: Param = read("vals", Elem::Value);
const X: Param = read("x", Elem::Value);
const Y: Param = write("y", Elem::Accum);
// The row of each tile's first entry, and n_rows at the end: found once, at prepare.
const TILE_ROWS: Param = read("tile_rows", Elem::U32);
// The rows finished before each bunch, and before the end: found once, at prepare.
const BUNCH_ROWS: Param = read("bunch_rows", Elem::U32);

const SPEC_SEGSUM: [Param; 16] = [
    N_ROWS,
    ROW_BASE,
    NNZ,
    TILES,
    TURN,
    ALPHA,
    ROW_PTR,
    TILE_ROWS,
    COLS,
    VALS,
    X,
    Y,
    write("sync_rows", Elem::U32),
    write("sync_sums", Elem::Accum),
    write("dirty_count", Elem::Counter),
    write("speculator", Elem::U32),
];

const FIXUP_APPLY: [Param; 11] = [
    N_ROWS,
    ROW_BASE,
    NNZ,
    TILES,
    TURN,
    ROW_PTR,
    TILE_ROWS,
    read("sync_sums", Elem::Accum),
    write("dirty_count", Elem::Counter),
    read("speculator", Elem::U32),
    Y,
];

const BY_ROW: [Param; 10] = [N_ROWS, ROW_BASE, TILES, ALPHA, BETA, ROW_PTR, COLS, VALS, X, Y];

const MERGE_PATH: [Param; 13] = [
    N_ROWS,
    ROW_BASE,
    NNZ,
    TILES,
    ALPHA,
    BETA,
    ROW_PTR,
    BUNCH_ROWS,
    COLS,
    VALS,
    X,
    write("carries", Elem::Accum),
    Y,
];

// The blocks of `spmv_core::tiling::RowBlocks`, found once, at prepare; one more element than groups.
const IPCSR: [Param; 13] = [
    N_ROWS,
    ROW_BASE,
    ALPHA,
    BETA,
    ROW_PTR,
    read("block_rows", Elem::U32),
    read("block_entries", Elem::U32),
    COLS,
    VALS,
    X,
    write("carries", Elem::Accum),
    // How many pieces of a row are done, at the row's first block: zero before and after a launch. Used where groups can
    // join ([`DeviceCaps::joins`](crate::DeviceCaps::joins)).
    write("arrivals", Elem::Counter),
    Y,
];

// Place k of row r at k * n_rows + r; the greatest number for a column that is none.
const ELL: [Param; 10] = [N_ROWS, ROW_BASE, count("width"), TILES, ALPHA, BETA, COLS, VALS, X, Y];

// Place r holds the entries of row perm[r]: entry k at jag_ptr[k] + r, if that is before jag_ptr[k + 1].
const JAD: [Param; 12] = [
    N_ROWS,
    ROW_BASE,
    count("n_jags"),
    TILES,
    ALPHA,
    BETA,
    read("perm", Elem::U32),
    read("jag_ptr", Elem::U32),
    COLS,
    VALS,
    X,
    Y,
];

// Row r of diagonal d at d * n_rows + r, its column at r + offsets[d] in 32 bits; zero for no entry.
const DIA: [Param; 11] = [
    N_ROWS,
    ROW_BASE,
    count("n_cols"),
    count("n_diags"),
    TILES,
    ALPHA,
    BETA,
    read("offsets", Elem::U32),
    VALS,
    X,
    Y,
];

const PCSR_PRODUCTS: [Param; 6] = [NNZ, TILES, COLS, VALS, X, write("products", Elem::Accum)];

const PCSR_SUMS: [Param; 8] =
    [N_ROWS, ROW_BASE, TILES, ALPHA, BETA, ROW_PTR, read("products", Elem::Accum), Y];

const CARRY_APPLY: [Param; 7] =
    [N_ROWS, ROW_BASE, count("n_bunches"), ALPHA, BUNCH_ROWS, read("carries", Elem::Accum), Y];

const AXPBY: [Param; 6] = [N_ROWS, ROW_BASE, ALPHA, BETA, read("t", Elem::Accum), Y];

impl KernelId {
    /// The kernel's parameters, in order.
    pub const fn params(self) -> &'static [Param] {
        match self {
            KernelId::SpecSegsum => &SPEC_SEGSUM,
            KernelId::FixupApply => &FIXUP_APPLY,
            KernelId::CsrScalar | KernelId::CsrVector => &BY_ROW,
            KernelId::MergePath => &MERGE_PATH,
            KernelId::Ipcsr => &IPCSR,
            KernelId::PcsrProducts => &PCSR_PRODUCTS,
            KernelId::PcsrSums => &PCSR_SUMS,
            KernelId::Ell => &ELL,
            KernelId::Jad => &JAD,
            KernelId::Dia => &DIA,
            KernelId::CarryApply => &CARRY_APPLY,
            KernelId::Axpby => &AXPBY,
        }
    }
}
