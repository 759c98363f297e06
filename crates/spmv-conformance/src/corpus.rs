//! The matrices, as data. Each group is made for the tiling in use, so that rows can be placed at its
//! boundaries.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use spmv_core::{Csr, HybShape, Tiling};

use crate::Share;

/// One matrix.
#[derive(Clone, Debug)]
pub struct Case {
    /// What it is.
    pub name: String,
    /// Its values: small integers if `exact`.
    pub matrix: Csr<f64>,
    /// Whether sums are exact in every value type and order.
    pub exact: bool,
    /// What to multiply it by, by column, if not by [`input`](crate::input).
    pub x: Option<fn(usize) -> f64>,
    /// Whether its row offsets have 64 bits.
    pub wide: bool,
    /// Whether pieces of its rows overflow when they are scaled one by one.
    pub whole_rows: bool,
}

impl Case {
    /// A matrix that is multiplied by ordinary values.
    pub fn new(name: impl Into<String>, matrix: Csr<f64>, exact: bool) -> Self {
        Self { name: name.into(), matrix, exact, x: None, wide: false, whole_rows: false }
    }

    /// The value of `x` in a column.
    pub fn x(&self, col: usize) -> f64 {
        self.x.map_or_else(|| crate::input(col, self.exact), |x| x(col))
    }
}

/// Matrices that belong together.
#[derive(Debug, Default)]
pub struct Group {
    /// The matrices.
    pub cases: Vec<Case>,
    /// Whether speculation must have failed in at least one of them.
    pub must_be_dirty: bool,
    /// How many of them an algorithm's layout must not refuse.
    pub least_multiplied: usize,
    /// Alpha and beta to try on each, if not the suite's own.
    pub scalings: Option<&'static [(f64, f64)]>,
}

/// Alpha and beta that BLAS gives a meaning of their own (zero of either sign), that overflow easily, and that spread.
const SPECIAL_SCALINGS: [(f64, f64); 12] = [
    (0.0, 0.0),
    (0.0, 1.0),
    (-0.0, -2.0),
    (1.0, -0.0),
    (1e20, 0.0),
    (1e30, 0.0),
    (1.0, 1e30),
    (-1e30, 1e30),
    (f64::NAN, 0.0),
    (0.0, f64::NAN),
    (1.0, f64::NAN),
    (f64::NAN, f64::NAN),
];

impl Group {
    /// Half of the matrices must be multiplied.
    fn new(cases: Vec<Case>, must_be_dirty: bool) -> Self {
        let least_multiplied = cases.len().div_ceil(2);
        Self { cases, must_be_dirty, least_multiplied, scalings: None }
    }
}

/// Makes a group for a tiling, or what a trial takes of it.
pub type Matrices = dyn Fn(&Tiling, Share) -> Group + Send + Sync;

/// The group of matrices that are symmetric, but for some.
pub(crate) const SYMMETRIC: &str = "symmetric";

/// Every group by name.
pub fn groups() -> Vec<(&'static str, Arc<Matrices>)> {
    vec![
        ("degenerate", Arc::new(|tiling, _| degenerate(tiling))),
        ("empty_rows", Arc::new(|tiling, _| empty_rows(tiling))),
        ("row_starts_at_boundaries", Arc::new(|tiling, _| row_starts(tiling))),
        ("entries_about_boundaries", Arc::new(|tiling, _| entry_counts(tiling))),
        ("long_rows", Arc::new(|tiling, _| long_rows(tiling))),
        ("dense_row_and_column", Arc::new(|tiling, _| dense(tiling))),
        ("power_law", Arc::new(|tiling, _| power_law(tiling))),
        (SYMMETRIC, Arc::new(|_, _| symmetric())),
        ("many_short_rows", Arc::new(|tiling, _| many_short_rows(tiling))),
        ("rounding", Arc::new(|tiling, _| rounding(tiling))),
        ("special_values", Arc::new(|tiling, _| special_values(tiling))),
        ("special_factors", Arc::new(special_factors)),
        ("wide_offsets", Arc::new(|tiling, _| wide_offsets(tiling))),
        ("real", Arc::new(|_, share| real(share))),
    ]
}

/// A matrix of the given row lengths with small integer values and scattered columns.
pub fn of_lengths(lens: &[usize], n_cols: usize) -> Csr<f64> {
    let mut row_ptr = vec![0u32];
    let (mut cols, mut vals) = (Vec::new(), Vec::new());
    for (row, &len) in lens.iter().enumerate() {
        for i in 0..len {
            cols.push(((row * 31 + i * 17 + i * i) % n_cols) as u32);
            vals.push(((row + 3 * i) % 8) as f64 - 3.5 + 0.5);
        }
        row_ptr.push(cols.len() as u32);
    }
    Csr::new(lens.len(), n_cols, row_ptr, cols, vals).expect("valid by construction")
}

fn case(name: impl Into<String>, lens: &[usize]) -> Case {
    Case::new(format!("{} {:?}", name.into(), Brief(lens)), of_lengths(lens, 67), true)
}

/// Row lengths, cut short.
struct Brief<'a>(&'a [usize]);

impl std::fmt::Debug for Brief<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().take(24)).finish()?;
        if self.0.len() > 24 { write!(f, " and {} more", self.0.len() - 24) } else { Ok(()) }
    }
}

fn clean(cases: Vec<Case>) -> Group {
    Group::new(cases, false)
}

fn degenerate(_: &Tiling) -> Group {
    let sizes = [(0, 0), (0, 5), (5, 0), (1, 1), (7, 3), (1000, 1)];
    let empty = sizes.map(|(m, n)| {
        Case::new(format!("{m} x {n} without entries"), Csr::from_coo(m, n, &[]).expect("valid"), true)
    });
    let mut cases = Vec::from(empty);
    cases.push(case("one entry", &[1]));
    clean(cases)
}

fn empty_rows(tiling: &Tiling) -> Group {
    let n = tiling.bunch_entries() as usize;
    let mut cases = Vec::new();
    for run in [1, 3, 40] {
        let none = vec![0; run];
        cases.push(case("leading", &[&none[..], &[2, 3, 1]].concat()));
        cases.push(case("trailing", &[&[2, 3, 1], &none[..]].concat()));
        cases.push(case("both", &[&none[..], &[n + 1], &none[..]].concat()));
        cases.push(case("in the middle", &[&[2], &none[..], &[3]].concat()));
        cases.push(case(
            "in a later bunch",
            &[&[n.min(5000)], &none[..], &[3], &none[..], &[n.min(5000)]].concat(),
        ));
    }
    let alternating: Vec<usize> = (0..400).map(|i| (i % 2) * (1 + i % 5)).collect();
    cases.push(case("alternating", &alternating));
    let mostly: Vec<usize> = (0..1500).map(|i| usize::from(i % 37 == 5) * 3).collect();
    cases.push(case("mostly empty", &mostly));
    Group::new(cases, true)
}

/// Sizes of a tile, a bunch and a group, as long as they are small enough to be built around.
fn boundaries(tiling: &Tiling) -> Vec<usize> {
    let tile = tiling.tile_entries() as usize;
    let bunch = tiling.bunch_entries() as usize;
    let mut sizes = vec![tile, 2 * tile, bunch, bunch * tiling.bunches() as usize];
    sizes.retain(|&n| n <= 20_000);
    sizes.dedup();
    sizes
}

fn row_starts(tiling: &Tiling) -> Group {
    let mut cases = Vec::new();
    for at in boundaries(tiling) {
        for shift in [-1isize, 0, 1] {
            let at = at.saturating_add_signed(shift);
            cases.push(case("one row, then", &[at, 3, 0, 1]));
            cases.push(case("short rows, then", &[&vec![1; at][..], &[3, 0, 0, 1]].concat()));
            cases.push(case("empty rows at the boundary", &[at, 0, 0, 2, at, 0, 5]));
            cases.push(case("rows of the boundary's length", &[at, at, 1, 0]));
        }
    }
    Group::new(cases, true)
}

fn entry_counts(tiling: &Tiling) -> Group {
    let mut cases = Vec::new();
    for n in boundaries(tiling) {
        for n in [n.saturating_sub(1), n, n + 1] {
            cases.push(case("in one row", &[n]));
            cases.push(case("in rows of 3", &[&vec![3; n / 3][..], &[n % 3]].concat()));
            cases.push(case("in rows of 1, empty last", &[&vec![1; n][..], &[0]].concat()));
        }
    }
    clean(cases)
}

fn long_rows(tiling: &Tiling) -> Group {
    let long = (5 * tiling.bunch_entries() as usize + 3).min(30_000);
    let lens: [&[usize]; 4] =
        [&[long], &[1, long, 1], &[0, 0, long, 0, 0, long / 2, 0, 2], &[long, long, long]];
    clean(lens.iter().map(|l| case("long", l)).collect())
}

fn dense(_: &Tiling) -> Group {
    let mut lens = vec![1; 300];
    lens[150] = 67;
    let row = case("dense row", &lens);
    let column = Csr::from_coo(200, 5, &(0..200).map(|r| (r, 2, f64::from(r % 5) - 2.0)).collect::<Vec<_>>());
    let column = Case::new("dense column", column.expect("valid"), true);
    let full = Csr::from_dense(20, 30, &(0..600).map(|i| f64::from(i % 7) - 2.0).collect::<Vec<_>>());
    let full = Case::new("dense", full.expect("valid"), true);
    clean(vec![row, column, full])
}

fn power_law(_: &Tiling) -> Group {
    let lens: Vec<usize> = (1..900).map(|i| 1800 / (i * 7 % 899 + 1)).collect();
    clean(vec![case("power law", &lens)])
}

/// Rows of two entries for the most part, and as many as fill the slots of a layout that keeps others apart.
/// Matrices of which half of the entries say all, and such as differ from them in some.
fn symmetric() -> Group {
    let n = 130u32;
    let val = |row: u32, col: u32| f64::from((row * 7 + col * 3) % 8) - 3.5 + 0.5;
    let of = |name: &str, cols: &dyn Fn(u32) -> Vec<u32>| {
        let triangle = (0..n).map(|row| {
            let mut cols = cols(row);
            cols.retain(|col| *col <= row);
            cols.sort_unstable();
            cols.dedup();
            cols.into_iter().map(move |col| (col, val(row, col))).collect::<Vec<_>>()
        });
        let lower: Csr<f64> = Csr::from_rows(n as usize, triangle).expect("valid");
        Case::new(name, lower.mirrored().expect("a lower triangle"), true)
    };
    let near = of("blocks near the diagonal", &|row| {
        (row / 3 * 3..=row).chain(row.saturating_sub(9)..row.saturating_sub(4)).collect()
    });
    let mut at = 0;
    let perturbed = near.matrix.map_values(|v| {
        at += 1;
        if at % 11 == 0 { v + 1.0 } else { v }
    });
    clean(vec![
        of("an arrow", &|row| vec![0, row]),
        of("anywhere", &|row| (0..row % 7).map(|i| (row * 31 + i * 17) % n).collect()),
        of("no diagonal", &|row| (row.saturating_sub(5)..row).collect()),
        Case::new("some other values", perturbed, true),
        near,
    ])
}

fn many_short_rows(tiling: &Tiling) -> Group {
    let long = (2 * tiling.bunch_entries() as usize + 1).min(5000);
    let len = |row: usize| match row % 8 {
        _ if row == 2500 => long,
        0 => row / 8 % 2,
        5 => 3 + row % 29,
        _ => 2,
    };
    let short = case("short", &(0..5000).map(len).collect::<Vec<_>>());
    let shape = HybShape::of(short.matrix.view());
    assert!(shape.width == 2 && shape.rest > 5000, "{shape:?}: a part of each kind");
    // Of few diagonals, which any layout takes.
    let near =
        |row: usize| (0..[2, 2, 5, 0][row % 4]).map(move |i| (row, (row + 3 * i) % 5000, (row + i) % 5));
    let near = (0..5000).flat_map(near).map(|(row, col, v)| (row as u32, col as u32, v as f64 - 2.0));
    let near = Csr::from_coo(5000, 5000, &near.collect::<Vec<_>>()).expect("valid by construction");
    clean(vec![short, Case::new("short, near the diagonal", near, true)])
}

fn rounding(tiling: &Tiling) -> Group {
    let long = (2 * tiling.bunch_entries() as usize).min(5000);
    let lens: Vec<usize> =
        (0..300).map(|i| [0, 1, 2, 5, 9, 17, 33, 70][i * 5 % 8]).chain([long, 1, 0]).collect();
    let mut matrix = of_lengths(&lens, 97);
    matrix.vals_mut().iter_mut().enumerate().for_each(|(i, v)| *v = *v / 3.0 + 0.01 * (i % 13) as f64);
    // Of diagonals below the main one two mirror others, of which one is farther away than most groups have lanes.
    let value = |row: i64, col: i64| match col - row {
        -30 => 0.7,
        _ => (row.min(col) % 13 + 1) as f64 / 3.0,
    };
    let of_row = |row: i64| {
        let cols = [-96, -30, -1, 0, 1, 30, 96].map(|offset| row + offset).into_iter();
        let inside = cols.filter(|col| (0..1101).contains(col));
        inside.map(move |col| (col as u32, value(row, col)))
    };
    let diagonals = Csr::from_rows(1101, (0..1101).map(of_row)).expect("columns inside");
    clean(vec![Case::new("thirds", matrix, false), Case::new("mirrored diagonals", diagonals, false)])
}

/// NaN and infinity stay in their rows.
fn special_values(_: &Tiling) -> Group {
    let mut matrix = of_lengths(&[5, 0, 40, 3, 1, 0, 9, 80, 2], 67);
    for (entry, value) in [(2, f64::NAN), (20, f64::INFINITY), (46, f64::NEG_INFINITY), (70, f64::NAN)] {
        matrix.vals_mut()[entry] = value;
    }
    let matrix_alone = Case::new("NaN and infinity in A", matrix.clone(), false);
    // Column 0 is what padding may name.
    let mut of_x = of_lengths(&[3, 0, 9, 30, 1, 2, 0, 2, 4], 211);
    let x = |col: usize| match col {
        0 => f64::NAN,
        5 => f64::INFINITY,
        17 => f64::NEG_INFINITY,
        210 => f64::NAN,
        _ if col.is_multiple_of(3) => -0.0,
        _ => 1e-40 * (col as f64 + 1.0),
    };
    let x_alone =
        Case { x: Some(x), ..Case::new("NaN, infinity, -0 and subnormal numbers in x", of_x.clone(), false) };
    // Products of subnormal numbers, and of those with large ones.
    of_x.vals_mut().iter_mut().enumerate().for_each(|(i, v)| *v = [1e-41, -0.0, 1e-6, 1e4, -3e-45][i % 5]);
    let tiny = |col: usize| if col.is_multiple_of(3) { -0.0 } else { 1e-40 * (col as f64 + 1.0) };
    let both = Case { x: Some(tiny), ..Case::new("subnormal numbers in both", of_x, false) };
    clean(vec![matrix_alone, x_alone, both])
}

/// Factors of zero do not read what they scale, and others scale sums, not products: these would overflow.
fn special_factors(tiling: &Tiling, share: Share) -> Group {
    let ones = |_: usize| 1.0;
    let opposite = |rows: u32| {
        let entries = (0..rows).flat_map(|r| [(r, r, 1e20), (r, r + 1, -1e20)]);
        Csr::from_coo(rows as usize, rows as usize + 1, &entries.collect::<Vec<_>>()).expect("valid")
    };
    // Rows of two entries, each whole in a bunch.
    let whole =
        Case { x: Some(ones), whole_rows: true, ..Case::new("rows of 1e20 and -1e20", opposite(1), false) };
    let mut spread = of_lengths(&[2, 0, 5, 40, 0, 0, 1, tiling.tile_entries().min(500) as usize, 3], 67);
    let plain = Case::new("small integers", spread.clone(), false);
    for (entry, value) in [(1, f64::NAN), (9, f64::INFINITY)] {
        spread.vals_mut()[entry] = value;
    }
    let spread = Case::new("NaN and infinity", spread, false);
    let none = Case::new("no entries", Csr::from_coo(3, 67, &[]).expect("valid"), false);
    let cases = share.part(&[whole, plain, spread, none], 4);
    Group { scalings: Some(&SPECIAL_SCALINGS), ..clean(cases) }
}

/// Offsets of 64 bits are rebased to 32, in every part.
fn wide_offsets(tiling: &Tiling) -> Group {
    let long = (2 * tiling.bunch_entries() as usize + 1).min(10_000);
    let lens: [&[usize]; 3] = [&[], &[0, 3, 0, 0, 7, 1], &[1, long, 0, 0, 2, 70, 0, 5]];
    clean(lens.iter().map(|lens| Case { wide: true, ..case("wide", lens) }).collect())
}

/// More than three million entries in two million rows: a second wave of groups on every device. Cores run few groups at once, and take a tenth.
/// In the smallest tiles of a device group indices need more than 16 bits.
pub(crate) fn large(on_cores: bool) -> &'static Case {
    static LARGE: [LazyLock<Case>; 2] = [LazyLock::new(|| of(2_010_000)), LazyLock::new(|| of(201_000))];
    fn of(n: usize) -> Case {
        let (full, empty) = (n / 2, n / 4 * 3..n / 4 * 3 + 1000);
        let len = |row: usize| match row {
            _ if row == full => 70_000,
            _ if empty.contains(&row) => 0,
            _ => (row * 7 % 5).min(3),
        };
        let mut row_ptr = vec![0u32];
        let (mut cols, mut vals) = (Vec::new(), Vec::new());
        for row in 0..n {
            for i in 0..len(row) {
                cols.push(((row + i * 1031) % n) as u32);
                vals.push(((row + 3 * i) % 8) as f64 - 3.0);
            }
            row_ptr.push(cols.len() as u32);
        }
        let matrix = Csr::new(n, n, row_ptr, cols, vals).expect("valid by construction");
        assert!(matrix.nnz() > n / 3 * 5);
        Case::new("large", matrix, true)
    }
    &LARGE[usize::from(on_cores)]
}

/// Enough entries for devices with a memory of their own to lay slices out themselves: runs of three and of two, near each other and far apart,
/// with a row that goes over several slices; then single entries, each row's a column behind those of the row before or scattered.
pub(crate) fn laid_out_by_devices() -> &'static [Case; 2] {
    static LAID_OUT: LazyLock<[Case; 2]> = LazyLock::new(|| {
        const ROWS: usize = 40_000;
        const COLS: usize = 200_000;
        let runs = |row: usize| -> Vec<u32> {
            let far = if row < ROWS / 2 { 3000 } else { 70_000 + row };
            let long = if row == 777 { 7000 } else { 1 };
            let firsts = (0..long).map(|i| row + 5 * i).chain([row + 40_000 + far]);
            firsts.flat_map(|first| (0..3 - row % 2).map(move |i| (first + i) as u32)).collect()
        };
        let single = |row: usize| -> Vec<u32> {
            let col = |i: usize| if row < ROWS / 2 { row + 2 * i } else { (row * 1031 + i * 40_009) % COLS };
            (0..4).map(|i| col(i) as u32).collect()
        };
        let case = |cols: &dyn Fn(usize) -> Vec<u32>| {
            let row = |row: usize| {
                cols(row).into_iter().enumerate().map(move |(i, col)| (col, ((row + 3 * i) % 8) as f64 - 3.0))
            };
            let matrix = Csr::from_rows(COLS, (0..ROWS).map(row)).expect("valid by construction");
            assert!(matrix.nnz() > 1 << 17);
            Case::new("laid_out_by_devices", matrix, true)
        };
        [case(&runs), case(&single)]
    });
    &LAID_OUT
}

/// The real matrices of the repository, or a quarter of them.
fn real(share: Share) -> Group {
    static FILES: LazyLock<Vec<PathBuf>> = LazyLock::new(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data");
        let mut files: Vec<_> = std::fs::read_dir(&folder)
            .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
            .map(|entry| entry.expect("a readable folder").path())
            .filter(|path| path.to_string_lossy().ends_with(".mtx.gz"))
            .collect();
        files.sort();
        assert!(!files.is_empty(), "no matrices in {}", folder.display());
        files
    });
    let read = |path: PathBuf| {
        let matrix = spmv_io::matrix_market::Reader::new()
            .real_part(true)
            .read(&path)
            .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Case::new(path.display().to_string(), matrix, false)
    };
    let cases: Vec<_> = share.part(&FILES, 4).into_iter().map(read).collect();
    // A part may happen to hold few that diagonals suit.
    let is_part = cases.len() < FILES.len();
    let group = clean(cases);
    if is_part { Group { least_multiplied: 1, ..group } } else { group }
}
