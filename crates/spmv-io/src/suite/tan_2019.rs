//! The matrices of Tables 3 and 4 of Tan et al. 2019.
//!
//! Rows, columns and entries are those of the tables. The paper says no more of a matrix, so the shortest and longest row of a
//! twin, its distribution of lengths and its columns are guesses of its kind: bands for Table 3, scattered columns or wide bands
//! for Table 4. A twin therefore agrees with the paper's class because it was made to; only an original can confirm one.

use super::entry::{Class, Entry, Kind, Recipe};
use super::table::{fem, mixed};
use crate::generate::RowLengths;

/// A twin of a square matrix.
const fn twin(
    name: &'static str,
    collection: &'static str,
    (rows, nnz): (usize, usize),
    (row_min, row_max): (u32, u32),
    (description, checksum): (&'static str, u64),
    recipe: Recipe,
) -> Entry {
    let (kind, class, collection) = (Kind::Twin, Class::Regular, Some(collection));
    Entry {
        name,
        collection,
        rows,
        cols: rows,
        nnz,
        row_min,
        row_max,
        kind,
        class,
        description,
        checksum,
        recipe,
    }
}

const fn normal(mean: f64, dev: f64) -> RowLengths {
    RowLengths::Normal { mean, dev }
}

/// Table 3, quasi-diagonal matrices, in its order.
///
/// ```
/// use spmv_io::suite::{Kind, TAN_2019_QUASI_DIAGONAL};
/// let rim = TAN_2019_QUASI_DIAGONAL.iter().find(|entry| entry.name == "rim").unwrap();
/// assert_eq!((rim.rows, rim.nnz, rim.kind), (22_560, 1_014_951, Kind::Twin));
/// ```
pub static TAN_2019_QUASI_DIAGONAL: [Entry; 10] = [
    twin(
        "bbmat",
        "Simon/bbmat",
        (38_744, 1_771_722),
        (16, 128),
        ("two-dimensional airfoil", 0x7216_02f4_0754_b3f8),
        fem((45.7, 10.0), 16, 4, 0, &[128], (3, 300)),
    ),
    Entry {
        name: "conf5_4-8x8-05",
        collection: Some("QCD/conf5_4-8x8-05"),
        rows: 49_152,
        cols: 49_152,
        nnz: 1_916_928,
        row_min: 39,
        row_max: 39,
        kind: Kind::Exact,
        class: Class::Regular,
        description: "quark propagators on a periodic 8^4 lattice",
        checksum: 0x0c89_440b_b9d4_c25a,
        recipe: Recipe::Wilson,
    },
    twin(
        "epb2",
        "Averous/epb2",
        (25_228, 175_227),
        (3, 87),
        ("heat exchanger with plate fins", 0x872c_1ef0_e36e_6868),
        mixed(normal(6.9, 2.5), 3, 10, &[87], (0.95, 200), (0.0, 2.0)),
    ),
    twin(
        "ex40",
        "FIDAP/ex40",
        (7740, 456_188),
        (18, 132),
        ("finite elements, swell of an extruded die", 0x88bb_f166_e4e2_b3da),
        fem((58.9, 15.0), 18, 3, 0, &[132], (3, 150)),
    ),
    twin(
        "lock1074",
        "HB/lock1074",
        (1074, 51_588),
        (24, 96),
        ("finite elements, gyroscope", 0x5cb1_a672_b4e4_d13b),
        fem((48.0, 9.0), 24, 6, 0, &[96], (2, 10)),
    ),
    twin(
        "nasa4704",
        "Nasa/nasa4704",
        (4704, 104_756),
        (6, 42),
        ("finite elements, structure", 0xd89c_a739_d08a_f343),
        fem((22.3, 6.5), 6, 6, 5, &[42], (1, 55)),
    ),
    twin(
        "rgg_n_2_15_s0",
        "DIMACS10/rgg_n_2_15_s0",
        (32_768, 320_480),
        (1, 24),
        ("random geometric graph", 0xd665_0308_0458_5eca),
        mixed(normal(9.8, 3.1), 1, 5, &[24], (1.0, 330), (0.0, 2.0)),
    ),
    twin(
        "rim",
        "Goodwin/rim",
        (22_560, 1_014_951),
        (9, 96),
        ("finite elements, fluid mechanics", 0x75be_6c63_cff8_750f),
        fem((45.0, 14.0), 9, 3, 0, &[96], (3, 200)),
    ),
    twin(
        "ted_B",
        "Bindel/ted_B",
        (10_605, 144_579),
        (3, 30),
        ("finite elements, coupled heat and structure", 0x706f_9947_5829_5a1f),
        fem((13.6, 5.0), 3, 3, 30, &[30], (1, 100)),
    ),
    twin(
        "xenon1",
        "Ronis/xenon1",
        (48_600, 1_181_120),
        (1, 27),
        ("complex zeolite, sodalite crystals", 0xd593_ce49_48fa_ebab),
        mixed(normal(24.8, 3.5), 4, 40, &[27], (0.9, 250), (0.0, 2.0)),
    ),
];

/// Table 4, Tetris matrices, in its order.
///
/// ```
/// use spmv_io::suite::TAN_2019_TETRIS;
/// let nnz: Vec<_> = TAN_2019_TETRIS.iter().map(|entry| entry.nnz).collect();
/// assert_eq!(nnz.iter().max(), Some(&9_753_570));
/// ```
pub static TAN_2019_TETRIS: [Entry; 10] = [
    twin(
        "apache2",
        "GHS_psdef/apache2",
        (715_176, 4_817_870),
        (4, 8),
        ("finite differences in three dimensions", 0x01c4_dd29_2bb3_225c),
        mixed(normal(6.7, 0.5), 4, 8, &[8], (0.6, 900), (0.0, 2.0)),
    ),
    twin(
        "ar2010",
        "DIMACS10/ar2010",
        (186_211, 904_310),
        (1, 49),
        ("neighbouring census blocks, Arkansas", 0xef49_3722_4bef_cbaf),
        mixed(normal(4.9, 2.0), 1, 300, &[49], (0.4, 300), (0.0, 2.0)),
    ),
    twin(
        "ASIC_680ks",
        "Sandia/ASIC_680ks",
        (682_712, 1_693_767),
        (1, 210),
        ("circuit simulation without its long rows", 0x50f3_ad62_2d34_e48a),
        mixed(normal(2.4, 0.9), 1, 3000, &[210, 200, 180], (0.4, 60), (0.05, 1.5)),
    ),
    twin(
        "mn2010",
        "DIMACS10/mn2010",
        (259_777, 1_227_102),
        (1, 49),
        ("neighbouring census blocks, Minnesota", 0x4822_30c1_6b12_820f),
        mixed(normal(4.7, 2.0), 1, 300, &[49], (0.4, 300), (0.0, 2.0)),
    ),
    twin(
        "msc10848",
        "Boeing/msc10848",
        (10_848, 1_229_776),
        (18, 720),
        ("finite elements, nodes in scattered order", 0x723b_8bd5_a347_7ce5),
        fem((113.0, 40.0), 18, 6, 5, &[720, 600], (2, 1808)),
    ),
    twin(
        "m_t1",
        "DNVS/m_t1",
        (97_578, 9_753_570),
        (48, 234),
        ("finite elements, tubular joint", 0x5f1d_536c_b42b_93bf),
        fem((100.0, 20.0), 48, 6, 20, &[234], (3, 6000)),
    ),
    twin(
        "ne2010",
        "DIMACS10/ne2010",
        (193_352, 913_854),
        (1, 49),
        ("neighbouring census blocks, Nebraska", 0x916a_86e4_b763_00f7),
        mixed(normal(4.7, 2.0), 1, 300, &[49], (0.4, 300), (0.0, 2.0)),
    ),
    twin(
        "sc2010",
        "DIMACS10/sc2010",
        (181_908, 893_160),
        (1, 49),
        ("neighbouring census blocks, South Carolina", 0x7203_3c1c_6418_5186),
        mixed(normal(4.9, 2.0), 1, 300, &[49], (0.4, 300), (0.0, 2.0)),
    ),
    twin(
        "t3dh",
        "Oberwolfach/t3dh",
        (79_171, 4_352_105),
        (8, 141),
        ("finite elements, micropyros thruster", 0x77ea_4657_7df4_a614),
        fem((55.0, 14.0), 8, 1, 20, &[141], (3, 30_000)),
    ),
    twin(
        "vsp_finan512_scagr7-2c_rlfddd",
        "DIMACS10/vsp_finan512_scagr7-2c_rlfddd",
        (139_752, 1_104_040),
        (2, 669),
        ("graph made of several, vertices in random order", 0x8ea5_bb52_c96c_53c9),
        mixed(normal(7.8, 3.0), 2, 200, &[669, 500, 400, 300], (0.0, 1), (0.2, 1.5)),
    ),
];
