// kernel: spec_segsum
// params: n_rows row_base nnz tiles turn row_ptr tile_rows cols vals x y sync_rows sync_sums
//         dirty_count speculator
// steps:  1 take the rows of the tiles; 2 mark row starts, notice empty rows; 3 gather products; 4 segmented sum;
//         5 store partial sums compactly; 6 carry the tail; 7 report a dirty tile

// Words of the segment descriptor, one bit for each entry and a word beyond the end; then the dirty flag.
#define WORDS (TILE / 32 + 1)
#define DIRTY WORDS
// A word of padding for each lane: lanes that read WIDTH sums each then read from different banks.
#define AT(entry) ((entry) + (entry) / WIDTH)

// The products of lane `lane`'s column of the tile: entries `lane`, `lane + LANES`, ... from `start` on.
static void gather(accum_t *products, uint lane, uint start, uint stop, GLOBAL const uint *cols,
                   GLOBAL const value_t *vals, GLOBAL const vector_t *x)
{
    uint col[WIDTH];
    accum_t val[WIDTH];
    if (stop - start == TILE)
    {
#pragma unroll
        for (uint i = 0; i < WIDTH; i++)
        {
            col[i] = cols[start + i * LANES + lane];
            val[i] = load_value(vals, start + i * LANES + lane);
        }
#pragma unroll
        for (uint i = 0; i < WIDTH; i++) products[i] = times(val[i], (accum_t)load_vector(x, col[i]));
        return;
    }
    for (uint i = 0; i < WIDTH; i++)
    {
        const uint e = start + i * LANES + lane;
        products[i] = e < stop ? times((accum_t)load_value(vals, e), (accum_t)load_vector(x, cols[e])) : ZERO;
    }
}

KERNEL void spec_segsum(uint n_rows, uint row_base, uint nnz, uint tiles, uint turn,
                        GLOBAL const uint *row_ptr, GLOBAL const uint *tile_rows, GLOBAL const uint *cols,
                        GLOBAL const value_t *vals, GLOBAL const vector_t *x, GLOBAL accum_t *y,
                        GLOBAL uint *sync_rows, GLOBAL accum_t *sync_sums, GLOBAL uint *dirty_count,
                        GLOBAL uint *speculator)
{
    LANE_TALK
    LANE_KEPT(tail)
    LOCAL accum_t group_sums[BUNCHES * (TILE + LANES)];
    LOCAL uint group_starts[BUNCHES * (WORDS + 1)];
    const talk_t talk = lane_talk();
    LOCAL accum_t *sums = group_sums + bunch_id() * (TILE + LANES);
    LOCAL uint *starts = group_starts + bunch_id() * (WORDS + 1);
    const uint lane = lane_id();
    const uint bunch = (uint)get_group_id(0) * BUNCHES + bunch_id();

    // STEP 1
    // A spare bunch of the last group walks no tile.
    const uint n_tiles = (nnz + TILE - 1) / TILE;
    const uint first_tile = min(bunch * tiles, n_tiles);
    const uint stop_tile = min(first_tile + tiles, n_tiles);
    const uint bunch_row = tile_rows[first_tile];
    uint stop_row = bunch_row;
    // Rows before the first entry, and the row that the first synchronizer adds to: all lanes share the work.
    for (uint r = (uint)get_global_id(0); r <= tile_rows[0]; r += (uint)get_global_size(0)) y[row_base + r] = 0;

    // The unfinished row's sum, spread over the lanes.
    *own_tail = 0;
    for (uint tile = first_tile; tile < stop_tile; tile++)
    {
        const uint start = tile * TILE;
        const uint stop = min(start + TILE, nnz);
        const uint first_row = stop_row;
        stop_row = tile_rows[tile + 1];
        accum_t products[WIDTH];
        // STEP 3
        gather(products, lane, start, stop, cols, vals, x);
        if (first_row == stop_row)
        {
            // Fast path: the whole tile lies in one row, which goes on.
            accum_t sum = 0;
#pragma unroll
            for (uint i = 0; i < WIDTH; i++) sum += products[i];
            *own_tail += sum;
            continue;
        }
#pragma unroll
        for (uint i = 0; i < WIDTH; i++) sums[AT(i * LANES + lane)] = products[i];
        // STEP 2
        for (uint i = lane; i < WORDS + 1; i += LANES) starts[i] = i == 0;
        bunch_barrier();
        for (uint base = first_row + 1; base <= stop_row;)
        {
            // A round of empty rows is skipped with all that follow it.
            if (stop_row - base >= LANES && row_ptr[base] == row_ptr[base + LANES])
            {
                base = locate(row_ptr, base, stop_row, row_ptr[base]);
                starts[DIRTY] = 1;
                continue;
            }
            const uint row = base + lane;
            if (row <= stop_row)
            {
                const uint entry = row_ptr[row];
                if (row < stop_row && row_ptr[row + 1] == entry)
                    starts[DIRTY] = 1;
                else if (entry < stop)
                    mark_bit(&starts[(entry - start) / 32], (entry - start) % 32);
            }
            base += LANES;
        }
        bunch_barrier();
        // STEP 4
        // The lane's WIDTH entries begin at bit `shift` of word `word`.
        const uint word = lane * WIDTH / 32;
        const uint shift = lane * WIDTH % 32;
        const uint bits = starts[word] >> shift | (shift > 0 ? starts[word + 1] << (32 - shift) : 0);
        LOCAL accum_t *own = sums + lane * (WIDTH + 1);
        accum_t head = 0;
        accum_t sum = 0;
        uint n = 0;
#pragma unroll
        for (uint i = 0; i < WIDTH; i++)
        {
            if (bits >> i & 1)
            {
                // Sums that begin and end here stand where the lane has read already.
                if (n == 0)
                    head = sum;
                else
                    own[n - 1] = sum;
                sum = 0;
                n++;
            }
            sum += own[i];
        }
        const scan_t scan = lane_scan(talk, n, sum);
        // STEP 6
        // A row that begins exactly at the tile's end has no segment here, so nothing to carry.
        const bool has_tail = row_ptr[stop_row] < stop;
        const accum_t carried = lane_sum(talk, *own_tail);
        const bool one = scan.n_total == 1;
        const accum_t last = scan.sum_total + (one ? carried : ZERO);
        *own_tail = has_tail && lane == 0 ? last : ZERO;
        // STEP 5
        // Segment j is the compact sum of row first_row + j. The bunch's first row goes to the synchronizer.
        const bool to_sync = first_row == bunch_row;
        GLOBAL accum_t *out = y + row_base + first_row;
        if (n > 0 && scan.n_before > 0)
        {
            const uint j = scan.n_before - 1;
            const accum_t ended = scan.sum_before + head + (j == 0 ? carried : ZERO);
            if (j == 0 && to_sync)
                sync_sums[bunch] = ended;
            else
                out[j] = ended;
        }
        for (uint i = 1; i < n; i++)
        {
            const uint j = scan.n_before + i - 1;
            const accum_t ended = own[i - 1] + (j == 0 ? carried : ZERO);
            if (j == 0 && to_sync)
                sync_sums[bunch] = ended;
            else
                out[j] = ended;
        }
        if (lane == 0 && !has_tail)
        {
            if (one && to_sync)
                sync_sums[bunch] = last;
            else
                out[scan.n_total - 1] = last;
        }
        // STEP 7
        if (lane == 0 && starts[DIRTY] != 0)
        {
            const uint slot = atomic_inc(&dirty_count[turn]);
            if (slot < n_tiles) speculator[slot] = tile;
        }
        bunch_barrier();
    }
    // STEP 6
    const accum_t tail = lane_sum(talk, *own_tail);
    if (lane == 0 && first_tile < stop_tile)
    {
        sync_rows[bunch] = bunch_row;
        if (stop_row == bunch_row)
            sync_sums[bunch] = tail; // the whole bunch lies in one row
        else if (stop_row < n_rows)
            y[row_base + stop_row] = tail;
    }
}
