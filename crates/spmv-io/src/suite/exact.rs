//! The matrices of the suite that a rule determines entry by entry.

use spmv_core::Csr;

use crate::generate::random::{Draw, mix};
use crate::generate::{self, ColumnModel, GenerateError, fill_rows};

/// Every entry of a 2000 x 2000 matrix.
pub(super) fn dense(seed: u64) -> Result<Csr<f64>, GenerateError> {
    generate::from_row_lengths(&[2000; 2000], 2000, ColumnModel::Uniform, seed)
}

/// People that the epidemic of `mc2depi` can hold.
const POPULATION: usize = 1024;

/// The Markov chain of an epidemic: states (s, i) of susceptible and infected, s + i <= 1024, numbered
/// i fastest.
///
/// A row is a state; it holds itself and those of its successors that exist: infection (s - 1, i + 1),
/// recovery (s, i - 1), arrival (s + 1, i). Each is missing on one side of the triangle of 1025 * 1026 / 2
/// states, so there are 4 * 525825 - 3 * 1025 = 2100225 entries, as in the original; both corners where
/// two sides meet that forbid a transition of their own have 2. Rates grow with i and s as they should,
/// and sum to less than the 1 that stands (negative) on the diagonal.
pub(super) fn epidemic() -> Result<Csr<f64>, GenerateError> {
    // State (s, 0) follows the sum of the s triangles' columns before it, each one shorter.
    let first = |s: usize| s * (POPULATION + 1) - s * s.saturating_sub(1) / 2;
    let states: Vec<(usize, usize)> =
        (0..=POPULATION).flat_map(|s| (0..=POPULATION - s).map(move |i| (s, i))).collect();
    let len =
        |&(s, i): &(usize, usize)| 1 + u32::from(s > 0) + u32::from(i > 0) + u32::from(s + i < POPULATION);
    let lens: Vec<u32> = states.iter().map(len).collect();
    fill_rows(&lens, states.len(), |row, cols, vals, _| {
        let (s, i) = states[row];
        let rate = |share: usize, whole: usize| 0.1 + 0.2 * share as f64 / whole as f64;
        let entries = [
            (s > 0).then(|| (first(s - 1) + i + 1, rate(s * i, POPULATION * POPULATION / 4))),
            (i > 0).then(|| (row - 1, rate(i, POPULATION))),
            Some((row, -1.0)),
            (s + i < POPULATION).then(|| (first(s + 1) + i, rate(s, POPULATION))),
        ];
        for ((col, val), entry) in cols.iter_mut().zip(vals).zip(entries.into_iter().flatten()) {
            (*col, *val) = (entry.0 as u32, entry.1);
        }
    })
}

/// Sites along each of the four axes of the `qcd5_4` lattice.
const SIDE: usize = 8;
const SPINS: usize = 4;
const COLOURS: usize = 3;
/// Components of a site.
const SITE: usize = SPINS * COLOURS;

/// The Wilson hopping matrix of lattice QCD on a periodic 8^4 lattice, in the Dirac basis.
///
/// Row (site, spin, colour), colour fastest, x the fastest axis and t the slowest. The sum over
/// directions mu of (1 - gamma_mu) U_mu(x) towards x + mu and (1 + gamma_mu) U_mu(x - mu)^T towards
/// x - mu has no diagonal (the Dirac operator is 1 - kappa times this matrix, and the original stores
/// the matrix alone). gamma_x and gamma_y join a spin to one partner, gamma_z to another, so each of six
/// spatial neighbours gives 2 spins x 3 colours; gamma_t is diagonal, so 1 -+ gamma_t vanishes for one of
/// the two neighbours in time and gives 1 spin x 3 colours for the other: 6 * 6 + 3 = 39 entries a row.
///
/// Each link's 3 x 3 block is random and real, where the original has complex SU(3) matrices.
pub(super) fn wilson(seed: u64) -> Result<Csr<f64>, GenerateError> {
    let n_sites = SIDE.pow(4);
    fill_rows(&vec![39; n_sites * SITE], n_sites * SITE, |row, cols, vals, _| {
        let (site, spin, colour) = (row / SITE, row / COLOURS % SPINS, row % COLOURS);
        let mut entries = Vec::with_capacity(39);
        for axis in 0..4 {
            for forward in [true, false] {
                let to = neighbour(site, axis, forward);
                for (to_spin, sign) in projector(spin, axis, forward).into_iter().flatten() {
                    for to_colour in 0..COLOURS {
                        let link = if forward {
                            link(seed, site, axis, colour, to_colour)
                        } else {
                            link(seed, to, axis, to_colour, colour)
                        };
                        entries.push(((to * SITE + to_spin * COLOURS + to_colour) as u32, sign * link));
                    }
                }
            }
        }
        entries.sort_unstable_by_key(|e| e.0);
        for ((col, val), entry) in cols.iter_mut().zip(vals).zip(entries) {
            (*col, *val) = entry;
        }
    })
}

fn neighbour(site: usize, axis: u32, forward: bool) -> usize {
    let stride = SIDE.pow(axis);
    let at = site / stride % SIDE;
    let next = if forward { at + 1 } else { at + SIDE - 1 } % SIDE;
    site - at * stride + next * stride
}

/// The spins that row `spin` of 1 - gamma (forward) or 1 + gamma (backward) holds, with their signs.
fn projector(spin: usize, axis: u32, forward: bool) -> [Option<(usize, f64)>; 2] {
    let upper = spin < SPINS / 2;
    let sign = |positive: bool| if positive { 1.0 } else { -1.0 };
    match axis {
        0 | 1 => [Some((spin, 1.0)), Some((SPINS - 1 - spin, sign(upper == forward)))],
        2 => [
            Some((spin, 1.0)),
            Some(((spin + 2) % SPINS, sign((upper == forward) == spin.is_multiple_of(2)))),
        ],
        // gamma_t = diag(1, 1, -1, -1).
        _ => [(upper != forward).then_some((spin, 1.0)), None],
    }
}

/// One component of the link that leaves `site` forward along `axis`.
fn link(seed: u64, site: usize, axis: u32, colour: usize, to_colour: usize) -> f64 {
    let index = ((site * 4 + axis as usize) * COLOURS + colour) * COLOURS + to_colour;
    Draw::new(mix(seed), index as u64).value()
}
