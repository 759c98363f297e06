// kernel: fixup_apply
// params: n_rows row_base nnz tiles turn row_ptr tile_rows sync_sums dirty_count speculator y
// steps:  1 take the dirty tiles in turn; 2 read the tile's compact sums; 3 write them to their rows, zero
//         to empty rows; 4 add the carries of each row; 5 reset the next run's counter

KERNEL void fixup_apply(uint n_rows, uint row_base, uint nnz, uint tiles, uint turn, GLOBAL const uint *row_ptr,
                        GLOBAL const uint *tile_rows, GLOBAL const accum_t *sync_sums, GLOBAL uint *dirty_count,
                        GLOBAL const uint *speculator, GLOBAL accum_t *y)
{
    LANE_TALK
    LOCAL accum_t group_sums[BUNCHES * TILE];
    const talk_t talk = lane_talk();
    LOCAL accum_t *sums = group_sums + bunch_id() * TILE;
    const uint lane = lane_id();
    const uint bunch = (uint)get_group_id(0) * BUNCHES + bunch_id();
    const uint n_tiles = (nnz + TILE - 1) / TILE;
    const uint n_bunches = (n_tiles + tiles - 1) / tiles;

    // STEP 1
    const uint n_dirty = min(dirty_count[turn], n_tiles);
    for (uint i = bunch; i < n_dirty; i += (uint)get_num_groups(0) * BUNCHES)
    {
        // The speculator was written by a device: no index is trusted.
        const uint tile = min(speculator[i], n_tiles - 1);
        const uint first_row = tile_rows[tile];
        const uint stop_row = tile_rows[tile + 1];
        GLOBAL accum_t *out = y + row_base;
        // STEP 2
        // The rows between hold at most as many sums as the tile has entries.
        const uint n_between = stop_row > first_row ? stop_row - first_row - 1 : 0;
        const uint n_kept = min(n_between, (uint)TILE);
        for (uint j = lane; j < n_kept; j += LANES) sums[j] = out[first_row + 1 + j];
        bunch_barrier();
        // STEP 3
        uint n_moved = 0;
        for (uint base = first_row + 1; base < stop_row;)
        {
            // A round of empty rows is written together with all that follow it.
            if (stop_row - base >= LANES && row_ptr[base] == row_ptr[base + LANES])
            {
                const uint next = locate(row_ptr, base, stop_row, row_ptr[base]);
                for (uint row = base + lane; row < next; row += LANES) out[row] = 0;
                base = next;
                continue;
            }
            const uint row = base + lane;
            const bool moves = row < stop_row && row_ptr[row] != row_ptr[row + 1];
            const scan_t scan = lane_scan(talk, moves, 0);
            if (row < stop_row) out[row] = moves ? sums[min(n_moved + scan.n_before, (uint)TILE - 1)] : ZERO;
            n_moved += scan.n_total;
            base += LANES;
        }
        bunch_barrier();
    }
    // STEP 4
    // The first bunch that begins in a row adds the carries of all that do; they follow each other.
    const uint row = bunch < n_bunches ? tile_rows[bunch * tiles] : n_rows;
    const bool adds = row < n_rows && (bunch == 0 || tile_rows[(bunch - 1) * tiles] != row);
    accum_t sum = 0;
    if (adds)
    {
        for (uint b = bunch + lane; b < n_bunches && tile_rows[b * tiles] == row; b += LANES) sum += sync_sums[b];
    }
    sum = lane_sum(talk, sum);
    if (adds && lane == 0) y[row_base + row] += sum;
    // STEP 5
    if (get_global_id(0) == 0) dirty_count[1 - turn] = 0;
}
