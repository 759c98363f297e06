//! Twenty lines from triplets to a product, repeated as a solver would.
//!
//! `cargo run --release -p spmv --example quickstart`

use spmv::{Context, Csr};

fn main() -> anyhow::Result<()> {
    let n = 1000u32;
    let neighbours = |i: u32| [(i, i, 2.0), (i, (i + 1) % n, -1.0), ((i + 1) % n, i, -1.0)];
    let triplets: Vec<(u32, u32, f64)> = (0..n).flat_map(neighbours).collect();
    let a = Csr::from_coo(n as usize, n as usize, &triplets)?;

    let context = Context::auto()?;
    let prepared = context.prepare(&a)?;
    println!("on {} with {}", context.caps().name, prepared.plan().explain());

    let mut spike = vec![0.0; n as usize];
    spike[0] = 1.0;
    let (mut x, mut y) = (context.upload(&spike)?, context.zeros(n as usize)?);
    for _ in 0..10 {
        prepared.apply(0.25, &x, 0.0, &mut y)?;
        std::mem::swap(&mut x, &mut y);
    }
    println!("around the spike after ten steps: {:?}", &x.to_vec()?[..4]);
    Ok(())
}
