//! Blocks of rows whose products a group holds in local memory (Gao et al., algorithms 4 and 6).

use proptest::prelude::*;
use spmv_core::RowBlocks;
use spmv_core::Tiling;

/// Gao et al., section 4, example of the row blocks: SHARED_SIZE = 1024.
#[test]
fn blocks_of_the_papers_128_rows_have_64_and_64_rows_or_63_64_and_1() {
    let tiling = Tiling::new(128, 8, 1, 1).unwrap();
    let rows = |first: u32| {
        let row_ptr: Vec<u32> = std::iter::once(0).chain((0..128).map(|row| first + 16 * row)).collect();
        let (whole, cut) = (RowBlocks::whole(&tiling, &row_ptr), RowBlocks::of(&tiling, &row_ptr));
        assert_eq!(whole, cut, "no row is longer than a block");
        whole.rows.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>()
    };
    assert_eq!(rows(16), [64, 64]);
    assert_eq!(rows(32), [63, 64, 1]);
}

#[test]
fn a_whole_long_row_is_one_block_and_a_full_block_ends_before_empty_rows() {
    let tiling = Tiling::new(4, 2, 1, 1).unwrap();
    let blocks = |row_ptr: &[u32]| RowBlocks::whole(&tiling, row_ptr).rows;
    assert_eq!(blocks(&[0]), [0, 0]);
    assert_eq!(blocks(&[0, 1, 2, 3, 4, 5]), [0, 4, 5], "a row for each lane");
    assert_eq!(blocks(&[0, 8, 8, 8, 9]), [0, 1, 4], "the first row fills its block");
    assert_eq!(blocks(&[0, 1, 100, 100, 101]), [0, 1, 2, 4], "the second is longer than a block");
}

proptest! {
    #[test]
    fn blocks_cover_every_row_and_entry_in_order(
        lens in prop::collection::vec(prop_oneof![8 => 0u32..6, 1 => 0u32..60], 0..60),
        t in 1u32..9, w in 1u32..5,
    ) {
        let tiling = Tiling::new(t, w, 1, 1).unwrap();
        let row_ptr: Vec<u32> = std::iter::once(0).chain(lens.iter().scan(0, |s, l| { *s += l; Some(*s) })).collect();
        let blocks = RowBlocks::of(&tiling, &row_ptr);
        prop_assert!(blocks.rows.len() == blocks.entries.len() && blocks.n_blocks() >= 1);
        prop_assert_eq!((blocks.rows[0], blocks.entries[0]), (0, 0));
        prop_assert_eq!(*blocks.rows.last().unwrap(), lens.len() as u32);
        prop_assert_eq!(*blocks.entries.last().unwrap(), row_ptr[lens.len()]);
        let mut cuts = false;
        for (rows, entries) in blocks.rows.windows(2).zip(blocks.entries.windows(2)) {
            let n = rows[1] - rows[0];
            prop_assert!(n <= t && entries[1] - entries[0] <= t * w);
            // Whole rows, but for the pieces of a longer one.
            let begins = entries[0] == row_ptr[rows[0] as usize];
            cuts |= !begins;
            prop_assert!(begins || n <= 1);
            prop_assert!(n == 0 || entries[1] == row_ptr[rows[1] as usize]);
        }
        prop_assert_eq!(cuts, blocks.cuts_rows);
    }

    #[test]
    fn whole_blocks_are_as_large_as_can_be(
        lens in prop::collection::vec(prop_oneof![8 => 0u32..6, 1 => 0u32..60], 0..60),
        t in 1u32..9, w in 1u32..5,
    ) {
        let tiling = Tiling::new(t, w, 1, 1).unwrap();
        let row_ptr: Vec<u32> = std::iter::once(0).chain(lens.iter().scan(0, |s, l| { *s += l; Some(*s) })).collect();
        let blocks = RowBlocks::whole(&tiling, &row_ptr);
        prop_assert!(blocks.n_blocks() >= 1 && !blocks.cuts_rows);
        prop_assert_eq!((blocks.rows[0], *blocks.rows.last().unwrap()), (0, lens.len() as u32));
        for (rows, entries) in blocks.rows.windows(2).zip(blocks.entries.windows(2)) {
            prop_assert_eq!([entries[0], entries[1]], [row_ptr[rows[0] as usize], row_ptr[rows[1] as usize]]);
            let (n, of) = (rows[1] - rows[0], entries[1] - entries[0]);
            prop_assert!((n > 0 || lens.is_empty()) && n <= t && (of <= t * w || n == 1));
            let next = row_ptr.get(rows[1] as usize + 1).map_or(u32::MAX, |end| end - entries[0]);
            prop_assert!(n == t || of >= t * w || next > t * w, "room for another row");
        }
    }
}

#[test]
fn long_rows_of_shared_blocks_are_cut_into_few_pieces_of_limited_size() {
    let cuts = |len: u32| {
        let blocks = RowBlocks::shared(16, 8, 1024, &[0, len]);
        assert_eq!(blocks.cuts_rows, len > 128);
        let sizes: Vec<u32> = blocks.entries.windows(2).map(|ends| ends[1] - ends[0]).collect();
        (sizes.len(), sizes[0])
    };
    let found = [128, 129, 4096, 8192, 32_768, 100_000].map(cuts);
    assert_eq!(found, [(1, 128), (2, 65), (32, 128), (32, 256), (32, 1024), (98, 1021)]);
}
