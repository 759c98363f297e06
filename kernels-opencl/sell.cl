// kernel: sell
// params: n_rows row_base tiles alpha beta perm chunk_ptr cols vals x y
// steps:  1 a lane takes S places of the rows sorted by length; 2 sum the products of the place's slots in its chunk, but
//         for padding; 3 store alpha*sum + beta*y to the place's row

// The column of a slot that holds no entry.
#define PADDING 0xffffffffu

KERNEL void sell(uint n_rows, uint row_base, uint tiles, accum_t alpha, accum_t beta, GLOBAL const uint *perm,
                 GLOBAL const uint *chunk_ptr, GLOBAL const uint *cols, GLOBAL const value_t *vals,
                 GLOBAL const value_t *x, GLOBAL accum_t *y)
{
    const uint lanes = (uint)get_local_size(0);
    // STEP 1
    uint place = (uint)get_group_id(0) * lanes * tiles + (uint)get_local_id(0);
    for (uint s = 0; s < tiles && place < n_rows; s++, place += lanes)
    {
        // STEP 2
        const uint lane = place % LANES;
        const uint height = min((uint)LANES, n_rows - (place - lane));
        const uint end = chunk_ptr[place / LANES + 1];
        accum_t sum = 0;
        for (uint at = chunk_ptr[place / LANES] + lane; at < end; at += height)
        {
            const uint col = cols[at];
            // A row's padding comes last.
            if (col == PADDING) break;
            sum += (accum_t)load_value(vals, at) * (accum_t)load_value(x, col);
        }
        // STEP 3
        store(y + row_base + perm[place], alpha, sum, beta);
    }
}
