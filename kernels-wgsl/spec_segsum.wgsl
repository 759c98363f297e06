// kernel: spec_segsum
// params: n_rows row_base nnz tiles turn row_ptr tile_rows cols vals x y sync_rows sync_sums
//         dirty_count speculator
// steps:  1 take the rows of the tiles; 2 mark row starts, notice empty rows; 3 gather products; 4 segmented sum;
//         5 store partial sums compactly; 6 carry the tail; 7 report a dirty tile

// Words of the segment descriptor, one bit for each entry and a word beyond the end; then the dirty flag.
const WORDS = TILE / 32u + 1u;
const DIRTY = WORDS;

// A word of padding for each lane: lanes that read WIDTH sums each then read from different banks.
var<workgroup> sums: array<accum, TILE + LANES>;
var<workgroup> starts: array<atomic<u32>, WORDS + 1u>;

fn at(entry: u32) -> u32 { return entry + entry / WIDTH; }

// A group is one bunch here: bunches meet at barriers only in tiles that are not of one row.
fn spec_segsum()
{
    // STEP 1
    let n_tiles = (p.nnz + TILE - 1u) / TILE;
    let first_tile = min(group * p.tiles, n_tiles);
    let stop_tile = min(first_tile + p.tiles, n_tiles);
    let bunch_row = tile_rows[first_tile];
    var stop_row = bunch_row;
    // Rows before the first entry, and the row that the first synchronizer adds to: all lanes share the work.
    let leading = tile_rows[0];
    for (var r = group * GROUP + local_id; r <= leading; r += p.n_groups * GROUP) { y[p.row_base + r] = accum(0.0); }

    // The unfinished row's sum, spread over the lanes.
    var own_tail = accum(0.0);
    for (var tile = first_tile; tile < stop_tile; tile++)
    {
        let start = tile * TILE;
        let stop = min(start + TILE, p.nnz);
        let first_row = stop_row;
        stop_row = tile_rows[tile + 1u];
        // What later steps need of the rows is on its way while products are gathered.
        var row = first_row + 1u + lane;
        var entry = stop;
        var next = stop;
        if (row <= stop_row) { entry = row_ptr[row]; }
        if (row < stop_row) { next = row_ptr[row + 1u]; }
        // A row that begins exactly at the tile's end has no segment here, so nothing to carry.
        let has_tail = row_ptr[stop_row] < stop;
        // STEP 3
        // Lanes beyond the last entry read it too, and their products are zero: no load waits for a condition.
#each i WIDTH
        let entry_$i = start + $iu * LANES + lane;
        let at_$i = min(entry_$i, stop - 1u);
        let col_$i = cols[at_$i];
        let val_$i = load_vals(at_$i);
#end
#each i WIDTH
        let product_$i = select(accum(0.0), times(val_$i, load_x(col_$i)), entry_$i < stop);
#end
        if (first_row == stop_row)
        {
            // Fast path: the whole tile lies in one row, which goes on.
            var sum = accum(0.0);
#each i WIDTH
            sum += product_$i;
#end
            own_tail += sum;
            continue;
        }
#each i WIDTH
        sums[at($iu * LANES + lane)] = product_$i;
#end
        // STEP 2
        for (var i = lane; i < WORDS + 1u; i += LANES) { atomicStore(&starts[i], select(0u, 1u, i == 0u)); }
        workgroupBarrier();
        for (var base = first_row + 1u; base <= stop_row;)
        {
            // A round of empty rows is skipped with all that follow it.
            if (stop_row - base >= LANES)
            {
                let round = row_ptr[base];
                if (round == row_ptr[base + LANES])
                {
                    base = locate(base, stop_row, round);
                    atomicStore(&starts[DIRTY], 1u);
                    row = base + lane;
                    entry = stop;
                    next = stop;
                    if (row <= stop_row) { entry = row_ptr[row]; }
                    if (row < stop_row) { next = row_ptr[row + 1u]; }
                    continue;
                }
            }
            if (row < stop_row && next == entry)
            {
                atomicStore(&starts[DIRTY], 1u);
            }
            else if (row <= stop_row && entry < stop)
            {
                atomicOr(&starts[(entry - start) / 32u], 1u << ((entry - start) % 32u));
            }
            base += LANES;
            row = base + lane;
            entry = stop;
            next = stop;
            if (row <= stop_row) { entry = row_ptr[row]; }
            if (row < stop_row) { next = row_ptr[row + 1u]; }
        }
        workgroupBarrier();
        // STEP 4
        // The lane's WIDTH entries begin at bit `shift` of word `word`.
        let word = lane * WIDTH / 32u;
        let shift = lane * WIDTH % 32u;
        var bits = atomicLoad(&starts[word]) >> shift;
        if (shift > 0u) { bits |= atomicLoad(&starts[word + 1u]) << (32u - shift); }
        let own = lane * (WIDTH + 1u);
        var head = accum(0.0);
        var sum = accum(0.0);
        var n = 0u;
#each i WIDTH
        let own_$i = sums[own + $iu];
#end
#each i WIDTH
        if ((bits >> $iu & 1u) != 0u)
        {
            // Sums that begin and end here stand where the lane has read already.
            if (n == 0u) { head = sum; } else { sums[own + n - 1u] = sum; }
            sum = accum(0.0);
            n++;
        }
        sum += own_$i;
#end
        let scan = lane_scan(n, sum);
        // STEP 6
        let carried = lane_sum(own_tail);
        let one = scan.n_total == 1u;
        let last = scan.sum_total + select(accum(0.0), carried, one);
        own_tail = select(accum(0.0), last, has_tail && lane == 0u);
        // STEP 5
        // Segment j is the compact sum of row first_row + j. The bunch's first row goes to the synchronizer.
        let to_sync = first_row == bunch_row;
        let out = p.row_base + first_row;
        if (n > 0u && scan.n_before > 0u)
        {
            let j = scan.n_before - 1u;
            let ended = scan.sum_before + head + select(accum(0.0), carried, j == 0u);
            if (j == 0u && to_sync) { sync_sums[group] = ended; } else { y[out + j] = ended; }
        }
        for (var i = 1u; i < n; i++)
        {
            let j = scan.n_before + i - 1u;
            let ended = sums[own + i - 1u] + select(accum(0.0), carried, j == 0u);
            if (j == 0u && to_sync) { sync_sums[group] = ended; } else { y[out + j] = ended; }
        }
        if (lane == 0u && !has_tail)
        {
            if (one && to_sync) { sync_sums[group] = last; } else { y[out + scan.n_total - 1u] = last; }
        }
        // STEP 7
        if (lane == 0u && atomicLoad(&starts[DIRTY]) != 0u)
        {
            let slot = atomicAdd(&dirty_count[p.turn], 1u);
            if (slot < n_tiles) { speculator[slot] = tile; }
        }
        workgroupBarrier();
    }
    // STEP 6
    let tail = lane_sum(own_tail);
    if (lane == 0u && first_tile < stop_tile)
    {
        sync_rows[group] = bunch_row;
        if (stop_row == bunch_row)
        {
            sync_sums[group] = tail; // the whole bunch lies in one row
        }
        else if (stop_row < p.n_rows)
        {
            y[p.row_base + stop_row] = tail;
        }
    }
}
