//! The heat of a cube whose faces are cold, by conjugate gradients of several processes. Each makes its own rows: none has the matrix.
//!
//! `cargo build --release -p spmv-mpi --features mpi --example poisson`, then `mpiexec -n 4 target/release/examples/poisson 100`

mod stencil;

use spmv::parts::Peers;
use spmv::{Context, Options as Plan};
use spmv_mpi::{DistMatrix, MpiPeers, OwnRows};
use spmv_solvers::{ConjugateGradient, Options};
use stencil::Cube;

fn main() {
    spmv_mpi::run(|peers| {
        let side = std::env::args().nth(1).map_or(Ok(50), |side| side.parse())?;
        solve(peers, side)
    });
}

fn solve(peers: &MpiPeers, side: u64) -> Result<(), Box<dyn std::error::Error>> {
    let points = side.pow(3);
    let cube = Cube::boxes(side, peers.size());
    let ranges = cube.ranges()?;
    let rows = cube.rows(ranges.range(peers.rank()))?;
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
