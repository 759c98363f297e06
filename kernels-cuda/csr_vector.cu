// kernel: csr_vector
// params: n_rows row_base tiles epilogue alpha beta lo hi row_ptr cols vals x z y
// built:  T=1,2,4,8,16,32
// steps:  1 a bunch takes S whole rows; 2 its lanes sum every T-th product; 3 add the lanes' sums;
//         4 store alpha*sum + beta*y

// Chunks of a lane that are on their way before the first is used; entries from one to the next, and of all lanes together.
#define AHEAD 2
#define NEXT (CHUNK * LANES)
#define ROUND (AHEAD * NEXT)

// Without a number of groups, the assembler saves registers and lets loads wait for each other.
KERNEL_OF(512, (sizeof(accum_t) == 16 ? 1 : 2)) csr_vector(uint n_rows, uint row_base, uint tiles, uint epilogue, accum_t alpha, accum_t beta,
                             accum_t lo, accum_t hi, const uint *__restrict__ row_ptr, const uint *__restrict__ cols,
                             const value_t *__restrict__ vals, const vector_t *__restrict__ x, const accum_t *z,
                             accum_t *y)
{
    const finish_t finish = finish_of(epilogue, alpha, beta, lo, hi, z, y);
    const uint lane = lane_id<LANES>();
    // Entries in chunks that the arrays hold all of.
    const uint whole = load_index(row_ptr, n_rows) / CHUNK * CHUNK;
    // STEP 1
    uint row = blockIdx.x * bunches<LANES>() * tiles + bunch_id<LANES>();
    for (uint s = 0; s < tiles; s++, row += bunches<LANES>())
    {
        // STEP 2
        accum_t sum = 0;
        if (row < n_rows)
        {
            // Rows begin anywhere, so that what one load leaves in the first cache is there for the next.
            const uint start = load_index(row_ptr, row);
            const uint stop = load_index(row_ptr, row + 1);
            // The first chunk and the last may hold entries of other rows.
            const uint n_own = stop - start;
            for (uint e = start / CHUNK * CHUNK + lane * CHUNK; e < stop; e += ROUND)
            {
                chunk_t chunk[AHEAD] = {};
#pragma unroll
                for (uint i = 0; i < AHEAD; i++)
                    if (e + i * NEXT < least(stop, whole)) chunk[i] = load_chunk(cols, vals, e + i * NEXT);
                if (stop > whole)
                {
#pragma unroll
                    for (uint i = 0; i < AHEAD; i++)
                        if (e + i * NEXT == whole) chunk[i] = load_last_chunk(cols, vals, whole, stop);
                }
                after_others();
                vector_t of_x[AHEAD][CHUNK] = {};
#pragma unroll
                for (uint i = 0; i < AHEAD; i++)
#pragma unroll
                    for (uint k = 0; k < CHUNK; k++)
                        if (e + i * NEXT + k - start < n_own) of_x[i][k] = load_written(x + chunk[i].cols[k]);
#pragma unroll
                for (uint i = 0; i < AHEAD; i++)
#pragma unroll
                    for (uint k = 0; k < CHUNK; k++)
                    {
                        // Other rows' entries are left out, not added as zeros: a NaN times zero is a NaN.
                        const accum_t with = sum + widen(chunk[i].vals[k]) * widen(of_x[i][k]);
                        if (e + i * NEXT + k - start < n_own) sum = with;
                    }
            }
        }
        // A row without entries has not waited.
        after_others();
        // STEP 3
        sum = lane_sum<LANES>(sum);
        // STEP 4
        if (lane == 0 && row < n_rows) finish_row(y, row_base + row, sum, finish);
    }
}
