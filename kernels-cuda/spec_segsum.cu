// kernel: spec_segsum
// params: n_rows row_base nnz tiles turn row_ptr tile_rows cols vals x y sync_rows sync_sums
//         dirty_count speculator
// built:  T=4,32 W=1,4,6,8,16
// steps:  1 take the rows of the tiles; 2 mark row starts, notice empty rows; 3 gather products; 4 segmented sum;
//         5 store partial sums compactly; 6 carry the tail; 7 report a dirty tile

// Words of the segment descriptor, one bit for each entry and a word beyond the end; then the dirty flag.
#define WORDS (TILE / 32 + 1)
#define DIRTY WORDS
// A word of padding for each lane: lanes that read WIDTH sums each then read from different banks.
#define AT(entry) ((entry) + (entry) / WIDTH)

// The products of lane `lane`'s column of the tile: entries `lane`, `lane + LANES`, ... from `start` on.
template <uint LANES, uint WIDTH>
DEVICE void gather(accum_t *products, uint lane, uint start, uint stop, const uint *cols,
                   const value_t *vals, const vector_t *x)
{
    const uint first = start + lane;
    const uint n_left = first < stop ? stop - first : 0;
    uint col[WIDTH];
    accum_t val[WIDTH];
    if (stop - start == TILE)
    {
#pragma unroll
        for (uint i = 0; i < WIDTH; i++)
        {
            col[i] = stream_index(cols + first, i * LANES);
            val[i] = stream_value(vals + first, i * LANES);
        }
#pragma unroll
        for (uint i = 0; i < WIDTH; i++) products[i] = val[i] * load_vector(x, col[i]);
        return;
    }
#pragma unroll
    for (uint i = 0; i < WIDTH; i++)
    {
        const bool has = i * LANES < n_left;
        products[i] = 0;
        if (has)
            products[i] = stream_value(vals + first, i * LANES) *
                          load_vector(x, stream_index(cols + first, i * LANES));
    }
}

// Eleven bunches of the widest tiles are what 48 KiB of local memory hold.
KERNEL_OF((WIDTH * sizeof(accum_t) >= 96 ? 11 * WARP_LANES : 512), (WIDTH * sizeof(accum_t) == 96)) spec_segsum(
    uint n_rows, uint row_base, uint nnz, uint tiles, uint turn, const uint *__restrict__ row_ptr,
    const uint *__restrict__ tile_rows, const uint *__restrict__ cols, const value_t *__restrict__ vals,
    const vector_t *__restrict__ x, accum_t *y, uint *sync_rows, accum_t *sync_sums, uint *dirty_count,
    uint *speculator)
{
    accum_t *group_sums = (accum_t *)local_memory;
    uint *group_starts = (uint *)(group_sums + bunches<LANES>() * (TILE + LANES));
    accum_t *sums = group_sums + bunch_id<LANES>() * (TILE + LANES);
    uint *starts = group_starts + bunch_id<LANES>() * (WORDS + 1);
    const uint lane = lane_id<LANES>();
    const uint bunch = blockIdx.x * bunches<LANES>() + bunch_id<LANES>();

    // STEP 1
    // A spare bunch of the last group walks no tile.
    const uint n_tiles = (nnz + TILE - 1) / TILE;
    const uint first_tile = least(bunch * tiles, n_tiles);
    const uint stop_tile = least(first_tile + tiles, n_tiles);
    const uint bunch_row = tile_rows[first_tile];
    uint stop_row = bunch_row;
    after_others();
    // Rows before the first entry, and the row that the first synchronizer adds to: all lanes share the work.
    for (uint r = blockIdx.x * blockDim.x + threadIdx.x; r <= tile_rows[0]; r += gridDim.x * blockDim.x)
        y[row_base + r] = 0;

    // The unfinished row's sum, spread over the lanes.
    accum_t own_tail = 0;
    for (uint tile = first_tile; tile < stop_tile; tile++)
    {
        const uint start = tile * TILE;
        const uint stop = least(start + TILE, nnz);
        const uint first_row = stop_row;
        stop_row = load_index(tile_rows, tile + 1);
        // What later steps need of the rows is on its way while products are gathered.
        uint row = first_row + 1 + lane;
        uint entry = row <= stop_row ? load_index(row_ptr, row) : stop;
        uint next = row < stop_row ? load_index(row_ptr, row + 1) : stop;
        // A row that begins exactly at the tile's end has no segment here, so nothing to carry.
        const bool has_tail = load_index(row_ptr, stop_row) < stop;
        accum_t products[WIDTH];
        // STEP 3
        gather<LANES, WIDTH>(products, lane, start, stop, cols, vals, x);
        if (first_row == stop_row)
        {
            // Fast path: the whole tile lies in one row, which goes on.
            accum_t sum = 0;
#pragma unroll
            for (uint i = 0; i < WIDTH; i++) sum += products[i];
            own_tail += sum;
            continue;
        }
#pragma unroll
        for (uint i = 0; i < WIDTH; i++) sums[AT(i * LANES + lane)] = products[i];
        // STEP 2
        for (uint i = lane; i < WORDS + 1; i += LANES) starts[i] = i == 0;
        bunch_barrier();
        for (uint base = first_row + 1; base <= stop_row;)
        {
            if (row < stop_row && next == entry)
                starts[DIRTY] = 1;
            else if (row <= stop_row && entry < stop)
                mark_bit(&starts[(entry - start) / 32], (entry - start) % 32);
            // A round of empty rows is skipped with all that follow it.
            const uint round = lane_read<LANES>(entry, 0);
            const bool skips = stop_row - base >= LANES && round == lane_read<LANES>(next, LANES - 1);
            base = skips ? locate(row_ptr, base, stop_row, round) : base + LANES;
            row = base + lane;
            entry = row <= stop_row ? load_index(row_ptr, row) : stop;
            next = row < stop_row ? load_index(row_ptr, row + 1) : stop;
        }
        bunch_barrier();
        // STEP 4
        // The lane's WIDTH entries begin at bit `shift` of word `word`.
        const uint word = lane * WIDTH / 32;
        const uint shift = lane * WIDTH % 32;
        const uint bits = starts[word] >> shift | (shift > 0 ? starts[word + 1] << (32 - shift) : 0);
        accum_t *own = sums + lane * (WIDTH + 1);
#pragma unroll
        for (uint i = 0; i < WIDTH; i++) products[i] = own[i];
        accum_t head = 0;
        accum_t sum = 0;
        uint n = 0;
#pragma unroll
        for (uint i = 0; i < WIDTH; i++)
        {
            const bool begins = bits >> i & 1;
            head = begins && n == 0 ? sum : head;
            // Sums that begin and end here stand where the lane has read already.
            if (begins && n > 0) own[n - 1] = sum;
            sum = (begins ? 0 : sum) + products[i];
            n += begins;
        }
        const scan_t scan = lane_scan<LANES>(n, sum);
        // STEP 6
        const accum_t carried = lane_sum<LANES>(own_tail);
        const bool one = scan.n_total == 1;
        const accum_t last = scan.sum_total + (one ? carried : 0);
        own_tail = has_tail && lane == 0 ? last : 0;
        // STEP 5
        // Segment j is the compact sum of row first_row + j. The bunch's first row goes to the synchronizer.
        const bool to_sync = first_row == bunch_row;
        accum_t *out = y + row_base + first_row;
        if (n > 0 && scan.n_before > 0)
        {
            const uint j = scan.n_before - 1;
            const accum_t ended = scan.sum_before + head + (j == 0 ? carried : 0);
            if (j == 0 && to_sync)
                sync_sums[bunch] = ended;
            else
                out[j] = ended;
        }
        for (uint i = 1; i < n; i++)
        {
            const uint j = scan.n_before + i - 1;
            const accum_t ended = own[i - 1] + (j == 0 ? carried : 0);
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
    const accum_t tail = lane_sum<LANES>(own_tail);
    if (lane == 0 && first_tile < stop_tile)
    {
        sync_rows[bunch] = bunch_row;
        if (stop_row == bunch_row)
            sync_sums[bunch] = tail; // the whole bunch lies in one row
        else if (stop_row < n_rows)
            y[row_base + stop_row] = tail;
    }
}
