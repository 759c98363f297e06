// kernel: ell
// params: n_rows row_base width tiles epilogue alpha beta lo hi cols vals x z y
// built:  T=32
// steps:  1 a lane takes S whole rows; 2 sum the products of the row's slots, but for padding;
//         3 store alpha*sum + beta*y

// Loads that are on their way before the first is used.
#define AHEAD 4
// The column of a slot that holds no entry.
#define PADDING 0xffffffffu

KERNEL ell(uint n_rows, uint row_base, uint width, uint tiles, uint epilogue, accum_t alpha, accum_t beta, accum_t lo,
           accum_t hi, const uint *__restrict__ cols, const value_t *__restrict__ vals,
           const vector_t *__restrict__ x, const accum_t *z, accum_t *__restrict__ y)
{
    const finish_t finish = finish_of(epilogue, alpha, beta, lo, hi, z, y);
    // STEP 1
    uint row = blockIdx.x * blockDim.x * tiles + threadIdx.x;
    for (uint s = 0; s < tiles && row < n_rows; s++, row += blockDim.x)
    {
        // STEP 2
        accum_t sum = 0;
        for (uint k = 0; k < width; k += AHEAD)
        {
            uint col[AHEAD];
            accum_t val[AHEAD];
#pragma unroll
            for (uint i = 0; i < AHEAD; i++)
            {
                const uint at = least(k + i, width - 1) * n_rows + row;
                col[i] = stream_index(cols, at);
                val[i] = stream_value(vals, at);
            }
            // A row's padding comes last.
            if (col[0] == PADDING) break;
#pragma unroll
            for (uint i = 0; i < AHEAD; i++)
                if (k + i < width && col[i] != PADDING) sum += val[i] * load_value(x, col[i]);
        }
        // STEP 3
        finish_row(y, row_base + row, sum, finish);
    }
}
