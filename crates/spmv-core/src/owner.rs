//! Who sums an entry.

use crate::tiling::Tiling;

/// The group, bunch, tile and lane that an entry falls to, each counted over the whole matrix but the lane, which is one of the
/// bunch's T.
///
/// ```
/// use spmv_core::{Owner, Tiling};
/// let tiling = Tiling::new(2, 4, 2, 2)?;
/// assert_eq!(Owner::of(&tiling, 13), Owner { group: 0, bunch: 0, tile: 1, lane: 1 });
/// # Ok::<(), spmv_core::TilingError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Owner {
    /// The group.
    pub group: u32,
    /// The bunch.
    pub bunch: u32,
    /// The tile.
    pub tile: u32,
    /// The lane within the bunch: it sums W entries that follow each other.
    pub lane: u32,
}

impl Owner {
    /// Of an entry, by its number in the matrix. O(1). Liu & Vinter 2015, section 3.1 and figure 2.
    pub const fn of(tiling: &Tiling, entry: u32) -> Self {
        let tile = entry / tiling.tile_entries();
        let bunch = entry / tiling.bunch_entries();
        let lane = entry % tiling.tile_entries() / tiling.width();
        Self { group: bunch / tiling.bunches(), bunch, tile, lane }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B=2, S=2, W=4, T=2: a group is responsible for 32 entries.
    fn figure_2() -> Tiling {
        Tiling::new(2, 4, 2, 2).unwrap()
    }

    #[test]
    fn every_entry_of_figure_2_has_its_group_bunch_tile_and_lane() {
        let owners = |of: fn(Owner) -> u32| {
            let all: Vec<u32> = (0..64).map(|entry| of(Owner::of(&figure_2(), entry))).collect();
            // Each number with how often it stands in a row.
            all.chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).collect::<Vec<_>>()
        };
        assert_eq!(owners(|o| o.group), [(0, 32), (1, 32)]);
        assert_eq!(owners(|o| o.bunch), [(0, 16), (1, 16), (2, 16), (3, 16)]);
        assert_eq!(owners(|o| o.tile), [0, 1, 2, 3, 4, 5, 6, 7].map(|tile| (tile, 8)));
        assert_eq!(owners(|o| o.lane), [(0, 4), (1, 4)].repeat(8));
    }

    #[test]
    fn groups_of_figure_2_are_dispatched_for_every_32_entries() {
        let groups = [0, 1, 32, 33, 64, 100].map(|nnz| figure_2().n_groups(nnz));
        assert_eq!(groups, [0, 1, 1, 2, 2, 4]);
    }

    #[test]
    fn owners_agree_with_the_ranges_of_tiles_and_bunches() {
        for (tiling, nnz) in [(figure_2(), 100), (Tiling::new(4, 6, 2, 1).unwrap(), 48)] {
            for entry in 0..nnz {
                let Owner { group, bunch, tile, lane } = Owner::of(&tiling, entry);
                assert!(tiling.tile_range(tile, nnz).contains(&entry));
                assert!(tiling.bunch_range(bunch, nnz).contains(&entry));
                assert!(tiling.bunch_tiles(bunch, nnz).contains(&tile));
                assert!(group < tiling.n_groups(nnz) && lane < tiling.lanes());
            }
        }
    }
}
