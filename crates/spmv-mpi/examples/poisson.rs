//! The heat of a cube whose faces are cold, by conjugate gradients of several processes. Each makes its own rows: none has the matrix.
//!
//! `cargo build --release -p spmv-mpi --features mpi --example poisson`, then `mpiexec -n 4 target/release/examples/poisson 100`

use spmv::parts::{Peers, Ranges};
use spmv::{Context, Options as Plan};
use spmv_mpi::{DistMatrix, MpiPeers, OwnRows};
use spmv_partition::LocalRows;
use spmv_solvers::{ConjugateGradient, Options};

fn main() {
    spmv_mpi::run(|peers| {
        let side = std::env::args().nth(1).map_or(Ok(50), |side| side.parse())?;
        solve(peers, side)
    });
}

fn solve(peers: &MpiPeers, side: u64) -> Result<(), Box<dyn std::error::Error>> {
    let points = side.pow(3);
    let ranges = Ranges::even(points, peers.size());
    let rows = rows(side, ranges.range(peers.rank()))?;
    let context = peers.context(&Context::auto()?)?;
    let a = DistMatrix::from_local_rows(&context, peers, OwnRows { ranges, rows }, &Plan::default())?;
    if peers.rank() == 0 {
        println!("rank 0 of {}:\n{}", peers.size(), a.explain());
    }
    let mut b = a.zeros_y()?;
    b.fill(1.0 / points as f64)?;
    let mut x = a.zeros_x()?;
    let mut options = Options { relative: 1e-8, ..Options::default() };
    let report = ConjugateGradient::new(&*a)?.solve(&*a, &b, &mut x, &mut options)?;
    // Norms are those of all processes.
    let warmest = x.norm_inf()?;
    if peers.rank() == 0 {
        println!("{:?} after {} iterations; warmest: {warmest:.6}", report.stop, report.iterations);
    }
    Ok(())
}

/// Rows of the seven-point stencil: 6 in the diagonal, -1 for each neighbour.
fn rows(side: u64, own: std::ops::Range<u64>) -> spmv_partition::Result<LocalRows<f64>> {
    let (mut row_ptr, mut cols, mut vals) = (vec![0], vec![], vec![]);
    for point in own {
        let (x, y, z) = (point % side, point / side % side, point / side.pow(2));
        let below = [(z, side.pow(2)), (y, side), (x, 1)].into_iter().filter(|(at, _)| *at > 0);
        let above = [(x, 1), (y, side), (z, side.pow(2))].into_iter().filter(|(at, _)| at + 1 < side);
        let below = below.map(|(_, step)| (point - step, -1.0));
        let above = above.map(|(_, step)| (point + step, -1.0));
        for (col, val) in below.chain([(point, 6.0)]).chain(above) {
            cols.push(col);
            vals.push(val);
        }
        row_ptr.push(cols.len() as u64);
    }
    LocalRows::new(side.pow(3), row_ptr, cols, vals)
}
