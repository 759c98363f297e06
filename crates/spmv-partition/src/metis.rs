//! Partitions by METIS.

use std::sync::Mutex;

use metis::option::{ObjType, Seed};
use spmv_core::{CsrView, Offset, Value};

use crate::error::{PartitionError, Result};
use crate::graph::Graph;
use crate::permutation::{Permutation, check_square};
use crate::ranges::Ranges;

/// METIS draws from the generator of the C library, which is one for all threads.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Parts of few ghosts and even nonzeros, by METIS: an order in which each part's rows follow each other, and its ranges.
///
/// METIS's k-way partitioning of the pattern of `A + A^T` of a square matrix, for the least communication volume; a row weighs its
/// entries. Rows of a part keep their order. The same matrix, number of parts and seed give the same partition on one machine, unless
/// another thread calls `rand` of the C library meanwhile. Where there is nothing to choose (one part, as many parts as rows, no entry
/// off the diagonal) rows keep their order and ranges are those [by nonzeros](Ranges::by_nonzeros). 16 bytes for each entry.
/// Karypis & Kumar 1998.
///
/// ```
/// use spmv_core::Csr;
/// use spmv_partition::{cut, metis, permute};
/// // Even nodes are a path, odd ones another.
/// let a = Csr::from_coo(40, 40, &(0..38).flat_map(|i| [(i, i + 2, 1.0f32), (i + 2, i, 1.0)]).collect::<Vec<_>>())?;
/// let (order, ranges) = metis(a.view(), 2, 1)?;
/// let parts = cut(permute(a.view(), &order)?.view(), &ranges, &ranges)?;
/// assert!(parts.iter().map(|part| part.ghosts().len()).sum::<usize>() <= 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`PartitionError::NotSquare`], [`PartitionError::NoParts`]; [`PartitionError::TooLargeForMetis`] beyond its 32-bit integers;
/// [`PartitionError::Metis`] for what it reports, memory that it lacks for example.
pub fn metis<T: Value, O: Offset>(
    a: CsrView<'_, T, O>,
    parts: usize,
    seed: i32,
) -> Result<(Permutation, Ranges)> {
    check_square(a)?;
    let n = a.n_rows();
    let trivial = || Ok((Permutation::identity(n), Ranges::by_nonzeros(a.row_ptr(), parts)?));
    if parts <= 1 || parts >= n {
        return trivial();
    }
    for (what, count) in [("rows", n), ("nonzeros", a.nnz()), ("parts", parts)] {
        idx(what, count)?;
    }
    let graph = Graph::of(a)?;
    let (offsets, neighbours) = graph.arrays();
    if neighbours.is_empty() {
        return trivial();
    }
    idx("edges", neighbours.len())?;
    let offsets: Vec<i32> = offsets.iter().map(|offset| *offset as i32).collect();
    let neighbours: Vec<i32> = neighbours.iter().map(|node| *node as i32).collect();
    let weights: Vec<i32> = (0..n).map(|row| a.row_range(row).len() as i32).collect();
    drop(graph);

    let failed = |error: &dyn std::fmt::Display| PartitionError::Metis(error.to_string());
    let mut part_of = vec![0; n];
    let guard = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let graph = metis::Graph::new(1, parts as i32, &offsets, &neighbours).map_err(|e| failed(&e))?;
    let graph = graph.set_vwgt(&weights).set_option(ObjType::Vol).set_option(Seed(seed));
    graph.part_kway(&mut part_of).map_err(|e| failed(&e))?;
    drop(guard);
    ordered(&part_of, parts)
}

fn idx(what: &'static str, n: usize) -> Result<i32> {
    n.try_into().map_err(|_| PartitionError::TooLargeForMetis { what, n: n as u64 })
}

/// Rows by part, each part's in their order. O(rows + parts).
fn ordered(part_of: &[i32], parts: usize) -> Result<(Permutation, Ranges)> {
    let mut offsets = vec![0; parts + 1];
    for part in part_of {
        offsets[*part as usize + 1] += 1;
    }
    for part in 0..parts {
        offsets[part + 1] += offsets[part];
    }
    let mut order = vec![0; part_of.len()];
    let mut free = offsets.clone();
    for (row, part) in part_of.iter().enumerate() {
        order[free[*part as usize] as usize] = row as u32;
        free[*part as usize] += 1;
    }
    Ok((Permutation::new(order)?, Ranges::new(offsets)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_beyond_31_bits_are_refused_with_a_way_out() {
        assert_eq!(idx("edges", (1 << 31) - 1), Ok(i32::MAX));
        assert_eq!(
            idx("edges", 1 << 31).unwrap_err().to_string(),
            "METIS cannot partition 2147483648 edges: its integers end at 2147483647; partition by rows or by nonzeros"
        );
    }

    #[test]
    fn rows_of_a_part_keep_their_order() {
        let (order, ranges) = ordered(&[2, 0, 2, 0, 0], 4).unwrap();
        assert_eq!(order.order(), [1, 3, 4, 0, 2]);
        assert_eq!(ranges.offsets(), [0, 3, 3, 5, 5]);
    }
}
