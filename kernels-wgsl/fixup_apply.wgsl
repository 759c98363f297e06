// kernel: fixup_apply
// params: n_rows row_base nnz tiles turn row_ptr tile_rows sync_sums dirty_count speculator y
// steps:  1 take the dirty tiles in turn; 2 read the tile's compact sums; 3 write them to their rows, zero
//         to empty rows; 4 add the carries of each row; 5 reset the next run's counter

var<workgroup> sums: array<accum, TILE>;
var<workgroup> count: u32;

// A group is one bunch here, because each takes its own number of turns at barriers.
fn fixup_apply()
{
    let n_tiles = (p.nnz + TILE - 1u) / TILE;
    let n_bunches = (n_tiles + p.tiles - 1u) / p.tiles;

    // STEP 1
    if (local_id == 0u) { count = atomicLoad(&dirty_count[p.turn]); }
    let n_dirty = min(workgroupUniformLoad(&count), n_tiles);
    for (var i = group; i < n_dirty; i += p.n_groups)
    {
        // The speculator was written by a device: no index is trusted.
        let tile = min(speculator[i], n_tiles - 1u);
        let first_row = tile_rows[tile];
        let stop_row = tile_rows[tile + 1u];
        // STEP 2
        // The rows between hold at most as many sums as the tile has entries.
        var n_between = 0u;
        if (stop_row > first_row) { n_between = stop_row - first_row - 1u; }
        let n_kept = min(n_between, TILE);
        for (var j = lane; j < n_kept; j += LANES) { sums[j] = y[p.row_base + first_row + 1u + j]; }
        workgroupBarrier();
        // STEP 3
        var n_moved = 0u;
        for (var base = first_row + 1u; base < stop_row;)
        {
            // A round of empty rows is written together with all that follow it.
            if (stop_row - base >= LANES)
            {
                let round = row_ptr[base];
                if (round == row_ptr[base + LANES])
                {
                    let next = locate(base, stop_row, round);
                    for (var row = base + lane; row < next; row += LANES) { y[p.row_base + row] = accum(0.0); }
                    base = next;
                    continue;
                }
            }
            let row = base + lane;
            var moves = false;
            if (row < stop_row) { moves = row_ptr[row] != row_ptr[row + 1u]; }
            let scan = lane_scan(select(0u, 1u, moves), accum(0.0));
            if (row < stop_row)
            {
                var sum = accum(0.0);
                if (moves) { sum = sums[min(n_moved + scan.n_before, TILE - 1u)]; }
                y[p.row_base + row] = sum;
            }
            n_moved += scan.n_total;
            base += LANES;
        }
        workgroupBarrier();
    }
    // STEP 4
    // The first bunch that begins in a row adds the carries of all that do; they follow each other.
    var row = p.n_rows;
    var adds = false;
    if (group < n_bunches)
    {
        row = tile_rows[group * p.tiles];
        adds = row < p.n_rows;
        if (adds && group > 0u) { adds = tile_rows[(group - 1u) * p.tiles] != row; }
    }
    var sum = accum(0.0);
    if (adds)
    {
        for (var b = group + lane; b < n_bunches; b += LANES)
        {
            if (tile_rows[b * p.tiles] != row) { break; }
            sum += sync_sums[b];
        }
    }
    sum = lane_sum(sum);
    if (adds && lane == 0u) { y[p.row_base + row] += sum; }
    // STEP 5
    if (group == 0u && local_id == 0u) { atomicStore(&dirty_count[1u - p.turn], 0u); }
}
