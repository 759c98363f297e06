//! The matrix of Table 1 of Gao et al. 2016 beyond the 14 common ones that the text at hand names.
//!
//! The paper has six; of the others and of all numbers the text lost every trace. Rows, columns, entries and extremes are those of
//! the SuiteSparse collection; the rest of the twin is a guess.

use super::entry::{Class, Entry, Kind};
use super::table::mixed;
use crate::generate::RowLengths;

/// `mip1`, of an optimization problem: one nearly full row.
///
/// ```
/// use spmv_io::suite::{GAO_2016, Kind};
/// assert_eq!((GAO_2016[0].name, GAO_2016[0].nnz, GAO_2016[0].kind), ("mip1", 10_352_819, Kind::Twin));
/// ```
pub static GAO_2016: [Entry; 1] = [Entry {
    name: "mip1",
    collection: Some("Andrianov/mip1"),
    rows: 66_463,
    cols: 66_463,
    nnz: 10_352_819,
    row_min: 4,
    row_max: 66_395,
    kind: Kind::Twin,
    class: Class::Irregular,
    description: "mixed-integer programming",
    checksum: 0x3658_867c_558a_951a,
    recipe: mixed(RowLengths::Normal { mean: 155.0, dev: 80.0 }, 5, 10, &[66_395], (0.7, 3000), (0.1, 2.0)),
}];
