//! What all processes do together, in pieces that MPI's counts can hold.

use std::ops::Range;

use bytemuck::Pod;

use crate::error::Result;
use crate::ffi::Comm;

/// Bytes that are on their way at a time: little enough for counts of 32 bits and for memory, enough for the network's bandwidth.
pub(crate) const STAGED_BYTES: usize = 64 << 20;

/// Sends each process one number, and has one of each. Collective.
pub(crate) fn all_to_all_one(comm: &Comm, mine: &[u64]) -> Result<Vec<u64>> {
    let counts = vec![size_of::<u64>(); comm.size()];
    let mut theirs = vec![0; comm.size()];
    comm.all_to_all((bytemuck::cast_slice(mine), &counts), (bytemuck::cast_slice_mut(&mut theirs), &counts))?;
    Ok(theirs)
}

/// Sends each process the values meant for it: `counts` of them for each, in the order of ranks. Returns those meant for this process
/// in the order of ranks, and how many came of each. Collective.
///
/// About `staged` bytes are on their way at a time. Memory is those, twice, and the result.
pub(crate) fn all_to_all<T: Pod>(
    comm: &Comm,
    values: &[T],
    counts: &[usize],
    staged: usize,
) -> Result<(Vec<T>, Vec<usize>)> {
    let mine: Vec<u64> = counts.iter().map(|n| *n as u64).collect();
    let theirs: Vec<usize> = all_to_all_one(comm, &mine)?.iter().map(|n| *n as usize).collect();
    let most = counts.iter().max().copied().unwrap_or(0);
    let each = (staged / comm.size() / size_of::<T>().max(1)).max(1);
    // As many rounds of as many values everywhere, though some processes have nothing left to send.
    let all = comm.all_gather(&[most as u64, each as u64])?;
    let most = all.chunks(2).map(|of| of[0]).max().unwrap_or(0) as usize;
    let each = all.chunks(2).map(|of| of[1]).min().unwrap_or(1) as usize;
    let (from, to) = (offsets(counts), offsets(&theirs));
    let mut received = vec![T::zeroed(); theirs.iter().sum()];
    for begin in (0..most).step_by(each) {
        let window = |(start, n): (&usize, &usize)| start + begin.min(*n)..start + (begin + each).min(*n);
        let sent: Vec<Range<usize>> = from.iter().zip(counts).map(window).collect();
        let arriving: Vec<Range<usize>> = to.iter().zip(&theirs).map(window).collect();
        let bytes = |ranges: &[Range<usize>]| -> Vec<usize> {
            ranges.iter().map(|range| range.len() * size_of::<T>()).collect()
        };
        let staged: Vec<T> = sent.iter().flat_map(|range| &values[range.clone()]).copied().collect();
        let mut arrived = vec![T::zeroed(); arriving.iter().map(Range::len).sum()];
        comm.all_to_all(
            (bytemuck::cast_slice(&staged), &bytes(&sent)),
            (bytemuck::cast_slice_mut(&mut arrived), &bytes(&arriving)),
        )?;
        let mut rest = &arrived[..];
        for range in arriving {
            let (these, after) = rest.split_at(range.len());
            received[range].copy_from_slice(these);
            rest = after;
        }
    }
    Ok((received, theirs))
}

/// Where the values of each begin.
pub(crate) fn offsets(counts: &[usize]) -> Vec<usize> {
    let ends = counts.iter().scan(0, |end, n| {
        *end += n;
        Some(*end)
    });
    ends.zip(counts).map(|(end, n)| end - n).collect()
}
