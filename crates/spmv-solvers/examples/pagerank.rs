//! The pages of a graph with the highest ranks. The graph is a Matrix Market file, plain or gzipped, with an entry (i, j) for each
//! link from page i to page j.
//!
//! `cargo run --release -p spmv-solvers --features io --example pagerank -- tests/data/wiki-Vote.mtx.gz`

use spmv::{Context, io};
use spmv_solvers::{Links, Options, page_rank};

const SHOWN: usize = 10;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("name a Matrix Market file")?;
    // Errors of a file have its name, and the line.
    let links = io::read::<f32>(&path)?;
    let n = links.n_rows();
    println!("{n} pages, {} links", links.nnz());

    let context = Context::auto()?;
    let links = Links::<f64>::new(&context, &links)?;
    let mut ranks = context.zeros(n)?;
    let mut options = Options { relative: 1e-9, max_iterations: 1000, ..Options::default() };
    let report = page_rank(&links, 0.85, &mut ranks, &mut options)?;
    println!("{:?} after {} iterations on {}", report.stop, report.iterations, context.caps().name);

    let ranks = ranks.to_vec()?;
    let mut pages: Vec<usize> = (0..ranks.len()).collect();
    pages.sort_by(|a, b| ranks[*b].total_cmp(&ranks[*a]));
    for page in pages.iter().take(SHOWN) {
        println!("page {:>6}: {:.3e}", page + 1, ranks[*page]);
    }
    Ok(())
}
