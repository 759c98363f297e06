// kernel: jad
// params: n_rows row_base n_jags tiles epilogue alpha beta lo hi perm jag_ptr cols vals x z y
// built:  T=32
// steps:  1 a lane takes S positions of the rows sorted by length; 2 sum the position's products, one of each jagged diagonal
//         that is so long; 3 store alpha*sum + beta*y to the position's row

// Loads that are on their way before the first is used.
#define AHEAD 4

KERNEL jad(uint n_rows, uint row_base, uint n_jags, uint tiles, uint epilogue, accum_t alpha, accum_t beta,
           accum_t lo, accum_t hi, const uint *__restrict__ perm, const uint *__restrict__ jag_ptr,
           const uint *__restrict__ cols, const value_t *__restrict__ vals, const vector_t *__restrict__ x,
           const accum_t *z, accum_t *__restrict__ y)
{
    const finish_t finish = finish_of(epilogue, alpha, beta, lo, hi, z, y);
    // STEP 1
    uint position = blockIdx.x * blockDim.x * tiles + threadIdx.x;
    for (uint s = 0; s < tiles && position < n_rows; s++, position += blockDim.x)
    {
        // STEP 2
        accum_t sum = 0;
        bool more = true;
        for (uint k = 0; more && k < n_jags; k += AHEAD)
        {
            uint col[AHEAD];
            accum_t val[AHEAD];
            bool has[AHEAD];
#pragma unroll
            for (uint i = 0; i < AHEAD; i++)
            {
                const uint jag = least(k + i, n_jags - 1);
                const uint start = load_index(jag_ptr, jag);
                has[i] = k + i < n_jags && position < load_index(jag_ptr, jag + 1) - start;
                // Every jagged diagonal has a first position. Those of one or few rows follow each other, so that what one
                // load leaves in the first cache is there for the next.
                const uint at = start + (has[i] ? position : 0);
                col[i] = load_index(cols, at);
                val[i] = load_value(vals, at);
            }
#pragma unroll
            for (uint i = 0; i < AHEAD; i++)
                if (has[i]) sum += val[i] * load_value(x, col[i]);
            more = has[AHEAD - 1];
        }
        // STEP 3
        finish_row(y, row_base + load_index(perm, position), sum, finish);
    }
}
