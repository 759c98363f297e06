// kernel: sell
// params: n_rows row_base tiles alpha beta perm chunk_ptr cols vals x y
// steps:  1 a lane takes S positions of the rows sorted by length; 2 sum the products of the position's slots in its chunk, but
//         for padding; 3 store alpha*sum + beta*y to the position's row

// The column of a slot that holds no entry.
#define PADDING 0xffffffffu

KERNEL void sell(uint n_rows, uint row_base, uint tiles, accum_t alpha, accum_t beta, GLOBAL const uint *perm,
                 GLOBAL const uint *chunk_ptr, GLOBAL const uint *cols, GLOBAL const value_t *vals,
                 GLOBAL const value_t *x, GLOBAL accum_t *y)
{
    const uint lanes = (uint)get_local_size(0);
    // STEP 1
    uint position = (uint)get_group_id(0) * lanes * tiles + (uint)get_local_id(0);
    for (uint s = 0; s < tiles && position < n_rows; s++, position += lanes)
    {
        // STEP 2
        const uint lane = position % LANES;
        const uint height = min((uint)LANES, n_rows - (position - lane));
        const uint end = chunk_ptr[position / LANES + 1];
        accum_t sum = 0;
        for (uint at = chunk_ptr[position / LANES] + lane; at < end; at += height)
        {
            const uint col = cols[at];
            // A row's padding comes last.
            if (col == PADDING) break;
            sum += (accum_t)load_value(vals, at) * (accum_t)load_value(x, col);
        }
        // STEP 3
        store(y + row_base + perm[position], alpha, sum, beta);
    }
}
