//! A matrix of more than 2^32 entries, end to end. It takes 60 GB of memory and, on a device, 27 GB there. And one that two CUDA devices
//! hold, but not one of them: `cargo test --release -p spmv --test huge -- --ignored --nocapture`.

use std::time::Instant;

use rayon::prelude::*;
use spmv::{BackendKind, Context, CsrView, Error, Options, f16, plan::Algorithm};

const ROWS: usize = 70_000_000;
/// Entries of a row: some rows have none.
const LEN: usize = 62;

fn len(row: usize) -> usize {
    match row % 1000 {
        7 => 0,
        8 => 2 * LEN,
        _ => LEN,
    }
}

fn col(row: usize, i: usize) -> usize {
    (row + i * 7919) % ROWS
}

fn val(row: usize, i: usize) -> i32 {
    ((row * 5 + i * 3) % 7) as i32 - 3
}

fn x(col: usize) -> i32 {
    (col % 9) as i32 - 4
}

#[test]
#[ignore = "needs 60 GB of memory; --ignored runs it"]
fn more_entries_than_32_bits_count() -> Result<(), Error> {
    let start = Instant::now();
    let mut row_ptr = vec![0u64];
    row_ptr.extend((0..ROWS).scan(0, |sum, row| {
        *sum += len(row) as u64;
        Some(*sum)
    }));
    let nnz = row_ptr[ROWS] as usize;
    assert!(nnz as u64 > 1 << 32, "{nnz}");
    let (mut cols, mut vals) = (vec![0u32; nnz], vec![f16::default(); nnz]);
    // A thousand rows have as many entries as any other thousand.
    const BLOCK: usize = 1000;
    let block = BLOCK * LEN;
    let blocks = cols.par_chunks_mut(block).zip(vals.par_chunks_mut(block)).enumerate();
    blocks.for_each(|(at, (cols, vals))| {
        let rows = at * BLOCK..(at + 1) * BLOCK;
        let entries = rows.flat_map(|row| (0..len(row)).map(move |i| (row, i)));
        for ((row, i), (c, v)) in entries.zip(cols.iter_mut().zip(vals)) {
            (*c, *v) = (col(row, i) as u32, f16::from_f32(val(row, i) as f32));
        }
    });
    let a = CsrView::new(ROWS, ROWS, &row_ptr, &cols, &vals)?;
    let host_x: Vec<f16> = (0..ROWS).into_par_iter().map(|c| f16::from_f32(x(c) as f32)).collect();
    let sum = |row: usize| (0..len(row)).map(|i| val(row, i) * x(col(row, i))).sum::<i32>() as f32;
    let expected: Vec<f32> = (0..ROWS).into_par_iter().map(sum).collect();
    println!("{nnz} entries, made in {:.0} s", start.elapsed().as_secs_f64());

    let backends = [
        BackendKind::Cpu,
        #[cfg(feature = "cuda")]
        BackendKind::Cuda,
    ];
    let (contexts, tried) = Context::every(&backends);
    tried.iter().for_each(|tried| println!("not tried: {}: {}", tried.backend, tried.reason));
    for context in &contexts {
        for algorithm in [Algorithm::Auto, Algorithm::SpeculativeSegmentedSum] {
            let prepared = context.prepare_with(a, &Options { algorithm, ..Options::default() })?;
            let (x, mut y) = (context.upload(&host_x)?, context.zeros::<f32>(ROWS)?);
            let stats = prepared.apply(1.0, &x, 0.0, &mut y)?;
            let y = y.to_vec()?;
            let wrong = (0..ROWS).into_par_iter().find_any(|row| y[*row] != expected[*row]);
            assert_eq!(wrong.map(|row| (row, y[row], expected[row])), None, "{algorithm}");
            println!(
                "{}, {}: prepared in {:.1} s, {:.1} ms, exact in every row\n  {}",
                context.caps().name,
                prepared.plan().algorithm,
                prepared.prepare_s(),
                (stats.stage1_s + stats.stage2_s) * 1e3,
                prepared.explain()
            );
        }
    }
    Ok(())
}

/// The devices are filled up first, so that a matrix need not have a hundred gigabytes.
#[test]
#[cfg(feature = "cuda")]
#[ignore = "fills the memory of two CUDA devices; --ignored runs it"]
fn what_one_device_cannot_hold_two_can() -> Result<(), Error> {
    const ROWS: usize = 32_000_000;
    const LEN: usize = 12;
    /// Numbers of a gigabyte, and how many gigabytes stay free.
    const CHUNK: usize = 1 << 27;
    const FREE: usize = 3;
    let (contexts, tried) = Context::every(&[BackendKind::Cuda]);
    let [first, second, ..] = &contexts[..] else {
        println!("not tried: {} CUDA devices, of two: {tried:?}", contexts.len());
        return Ok(());
    };
    let col = |row: usize, i: usize| (row + i * 7919) % ROWS;
    let row_ptr: Vec<u32> = (0..=ROWS).map(|row| (row * LEN) as u32).collect();
    let (mut cols, mut vals) = (vec![0u32; ROWS * LEN], vec![0f64; ROWS * LEN]);
    let rows = cols.par_chunks_mut(LEN).zip(vals.par_chunks_mut(LEN)).enumerate();
    rows.for_each(|(row, (cols, vals))| {
        for (i, (c, v)) in cols.iter_mut().zip(vals).enumerate() {
            (*c, *v) = (col(row, i) as u32, f64::from(val(row, i)));
        }
    });
    let a = CsrView::new(ROWS, ROWS, &row_ptr, &cols, &vals)?;
    let host_x: Vec<f64> = (0..ROWS).map(|c| f64::from(x(c))).collect();
    let expected = |row: usize| f64::from((0..LEN).map(|i| val(row, i) * x(col(row, i))).sum::<i32>());

    let mut full = Vec::new();
    for context in [first, second] {
        let mut chunks: Vec<_> = std::iter::from_fn(|| context.zeros::<f64>(CHUNK).ok()).collect();
        println!("{}: {} GiB are free", context.caps().name, chunks.len());
        chunks.truncate(chunks.len().saturating_sub(FREE));
        full.push(chunks);
    }
    let options = Options { algorithm: Algorithm::CsrVector, ..Options::default() };
    let refused = first.prepare_with(a, &options).map(drop);
    assert!(matches!(refused, Err(Error::OutOfMemory { .. })), "{refused:?}");
    println!("one: {}", refused.unwrap_err());
    let both = Context::devices(&[first.clone(), second.clone()])?;
    let prepared = both.prepare_with(a, &options)?;
    let (x, mut y) = (both.upload(&host_x)?, both.zeros::<f64>(ROWS)?);
    prepared.apply(1.0, &x, 0.0, &mut y)?;
    let y = y.to_vec()?;
    let wrong = (0..ROWS).into_par_iter().find_any(|row| y[*row] != expected(*row));
    assert_eq!(wrong.map(|row| (row, y[row], expected(row))), None);
    println!("two: {} entries, exact in every row\n{}", a.nnz(), prepared.explain());
    Ok(())
}
