// kernel: sell
// params: n_rows row_base tiles alpha beta perm chunk_ptr cols vals x y
// built:  T=32
// steps:  1 a lane takes S positions of the rows sorted by length; 2 sum the products of the position's slots in its chunk, but
//         for padding; 3 store alpha*sum + beta*y to the position's row

// Loads that are on their way before the first is used.
#define AHEAD 4
// The column of a slot that holds no entry.
#define PADDING 0xffffffffu

KERNEL sell(uint n_rows, uint row_base, uint tiles, accum_t alpha, accum_t beta, const uint *__restrict__ perm,
            const uint *__restrict__ chunk_ptr, const uint *__restrict__ cols, const value_t *__restrict__ vals,
            const value_t *__restrict__ x, accum_t *__restrict__ y)
{
    // STEP 1
    uint position = blockIdx.x * blockDim.x * tiles + threadIdx.x;
    for (uint s = 0; s < tiles && position < n_rows; s++, position += blockDim.x)
    {
        // STEP 2
        const uint lane = position % LANES;
        const uint height = least(LANES, n_rows - (position - lane));
        const uint first = load_index(chunk_ptr, position / LANES) + lane;
        const uint end = load_index(chunk_ptr, position / LANES + 1);
        accum_t sum = 0;
        for (uint at = first; at < end; at += AHEAD * height)
        {
            uint col[AHEAD];
            accum_t val[AHEAD];
#pragma unroll
            for (uint i = 0; i < AHEAD; i++)
            {
                const uint slot = at + i * height < end ? at + i * height : first;
                col[i] = stream_index(cols, slot);
                val[i] = stream_value(vals, slot);
            }
            // A row's padding comes last.
            if (col[0] == PADDING) break;
#pragma unroll
            for (uint i = 0; i < AHEAD; i++)
                if (at + i * height < end && col[i] != PADDING) sum += val[i] * load_value(x, col[i]);
        }
        // STEP 3
        store(y + row_base + load_index(perm, position), alpha, sum, beta);
    }
}
