//! The pages of a graph with the highest ranks, by several processes. The graph is a Matrix Market file with an entry (i, j) for each
//! link from page i to page j, which each process reads a part of.
//!
//! `cargo build --release -p spmv-mpi --features mpi --example pagerank`, then
//! `mpiexec -n 4 target/release/examples/pagerank graph.mtx`

use spmv::parts::Peers;
use spmv::{Context, Options as Plan};
use spmv_io::matrix_market::Reader;
use spmv_mpi::{DistMatrix, MpiPeers, OwnRows};
use spmv_partition::LocalRows;
use spmv_solvers::{Links, Options, page_rank};

const SHOWN: usize = 10;

fn main() {
    spmv_mpi::run(|peers| {
        let path = std::env::args().nth(1).ok_or("name a Matrix Market file")?;
        rank_pages(peers, &path)
    });
}

fn rank_pages(peers: &MpiPeers, path: &str) -> Result<(), Box<dyn std::error::Error>> {
    let links = spmv_mpi::read::<f64>(peers, path, &Reader::new(), None)?;
    // Entry (i, j): one over the number of links of page i. PageRank multiplies with the transpose.
    let lengths: Vec<u64> = links.rows.row_ptr().windows(2).map(|ends| ends[1] - ends[0]).collect();
    let shares = lengths.iter().flat_map(|n| std::iter::repeat_n(1.0 / *n as f64, *n as usize)).collect();
    let (pages, row_ptr, cols) =
        (links.rows.n_cols(), links.rows.row_ptr().to_vec(), links.rows.cols().to_vec());
    let shares = OwnRows { rows: LocalRows::new(pages, row_ptr, cols, shares)?, ..links };
    let transition = spmv_mpi::transpose(peers, &shares, shares.ranges.clone())?;
    let context = peers.context(&Context::auto()?)?;
    let transition = DistMatrix::from_local_rows(&context, peers, transition, &Plan::default())?;
    let dangling: Vec<f64> = lengths.iter().map(|n| f64::from(u8::from(*n == 0))).collect();
    let links = Links::of_transition(transition.into_matrix(), &dangling)?;
    let mut ranks = context.zeros(dangling.len())?;
    let mut options = Options { relative: 1e-9, max_iterations: 1000, ..Options::default() };
    let report = page_rank(&links, 0.85, &mut ranks, &mut options)?;
    let Some(ranks) = peers.gather(0, &ranks.to_vec()?)? else { return Ok(()) };
    println!("{:?} after {} iterations of {} processes", report.stop, report.iterations, peers.size());
    let mut pages: Vec<usize> = (0..ranks.len()).collect();
    pages.sort_by(|a, b| ranks[*b].total_cmp(&ranks[*a]));
    for page in pages.iter().take(SHOWN) {
        println!("page {:>6}: {:.3e}", page + 1, ranks[*page]);
    }
    Ok(())
}
