// kernel: csr_vector
// params: n_rows row_base tiles alpha beta row_ptr cols vals x y
// built:  T=2,4,8,16,32
// steps:  1 a bunch takes S whole rows; 2 its lanes sum every T-th product; 3 add the lanes' sums;
//         4 store alpha*sum + beta*y

// Loads that are on their way before the first is used.
#define AHEAD 4

KERNEL csr_vector(uint n_rows, uint row_base, uint tiles, accum_t alpha, accum_t beta,
                  const uint *__restrict__ row_ptr, const uint *__restrict__ cols,
                  const value_t *__restrict__ vals, const value_t *__restrict__ x, accum_t *__restrict__ y)
{
    const uint lane = lane_id<LANES>();
    // STEP 1
    uint row = blockIdx.x * bunches<LANES>() * tiles + bunch_id<LANES>();
    for (uint s = 0; s < tiles; s++, row += bunches<LANES>())
    {
        // STEP 2
        accum_t sum = 0;
        if (row < n_rows)
        {
            // Rows begin anywhere, so that what one load leaves in the first cache is there for the next.
            const uint stop = __ldg(row_ptr + row + 1);
            uint e = __ldg(row_ptr + row) + lane;
            for (; e + (AHEAD - 1) * LANES < stop; e += AHEAD * LANES)
            {
                uint col[AHEAD];
                accum_t val[AHEAD];
#pragma unroll
                for (uint i = 0; i < AHEAD; i++)
                {
                    col[i] = load_index(cols + e, i * LANES);
                    val[i] = load_value(vals + e, i * LANES);
                }
#pragma unroll
                for (uint i = 0; i < AHEAD; i++) sum += val[i] * load_value(x, col[i]);
            }
            if (e < stop)
            {
                const uint n_left = stop - e;
                uint col[AHEAD - 1];
                accum_t val[AHEAD - 1];
#pragma unroll
                for (uint i = 0; i < AHEAD - 1; i++)
                {
                    col[i] = i * LANES < n_left ? load_index(cols + e, i * LANES) : 0;
                    val[i] = i * LANES < n_left ? load_value(vals + e, i * LANES) : 0;
                }
#pragma unroll
                for (uint i = 0; i < AHEAD - 1; i++)
                    if (i * LANES < n_left) sum += val[i] * load_value(x, col[i]);
            }
        }
        // STEP 3
        sum = lane_sum<LANES>(sum);
        // STEP 4
        if (lane == 0 && row < n_rows) store(y + row_base + row, alpha, sum, beta);
    }
}
