// kernel: dia
// params: n_rows row_base n_cols n_diags tiles stride epilogue alpha beta lo hi diags vals x z y
// built:  T=32
// steps:  1 a lane takes S whole rows, `stride` apart; 2 sum the row's products, one of each diagonal that has an entry
//         there; 3 store alpha*sum + beta*y

// Diagonals whose loads are on their way before the first is used.
#define AHEAD (sizeof(accum_t) == 16 ? 4 : 8)

KERNEL dia(uint n_rows, uint row_base, uint n_cols, uint n_diags, uint tiles, uint stride, uint epilogue, accum_t alpha,
           accum_t beta, accum_t lo, accum_t hi, const uint *__restrict__ diags, const value_t *__restrict__ vals,
           const vector_t *__restrict__ x, const accum_t *z, accum_t *y)
{
    const finish_t finish = finish_of(epilogue, alpha, beta, lo, hi, z, y);
    after_others();
    // STEP 1
    // What a turn reads by the diagonals that are `stride` apart, the next one finds in the first cache.
    const uint side_by_side = (stride + blockDim.x - 1) / blockDim.x;
    const uint of_turn = blockIdx.x % side_by_side * blockDim.x + threadIdx.x;
    uint row = blockIdx.x / side_by_side * stride * tiles + of_turn;
    for (uint s = 0; s < tiles && of_turn < stride && row < n_rows; s++, row += stride)
    {
        // STEP 2
        accum_t sum = 0;
        for (uint first = 0; first < n_diags; first += AHEAD)
        {
            kept_t val[AHEAD];
            accum_t other[AHEAD];
#pragma unroll
            for (uint i = 0; i < AHEAD; i++)
            {
                // Outside of the matrix there may be no slot. Two diagonals may share theirs, so these stay in caches.
                const uint2 diag = __ldg((const uint2 *)diags + least(first + i, n_diags - 1));
                const bool is_there = first + i < n_diags && row + diag.x < n_cols;
                val[i] = is_there ? kept(__ldg(vals + (row + diag.y))) : 0;
                other[i] = is_there ? load_vector(x, row + diag.x) : 0;
            }
#pragma unroll
            for (uint i = 0; i < AHEAD; i++)
            {
                const accum_t wide = widen(val[i]);
                if (wide != 0) sum += wide * other[i];
            }
        }
        // STEP 3
        finish_row(y, row_base + row, sum, finish);
    }
}
