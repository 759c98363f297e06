// kernel: dia
// params: n_rows row_base n_cols n_diags tiles stride epilogue alpha beta lo hi diags vals x z y
// built:  T=32
// steps:  1 a lane takes S whole rows, `stride` apart; 2 sum the row's products, one of each diagonal that has an entry
//         there; 3 store alpha*sum + beta*y

// Diagonals whose loads are on their way before the first is used.
#define AHEAD 4

// Adds the products of N diagonals, in all of which the row has a column.
template <uint N>
DEVICE accum_t plus_inside(accum_t sum, uint row, const uint2 *__restrict__ diags, const value_t *__restrict__ vals,
                           const vector_t *__restrict__ x)
{
    kept_t val[N];
    accum_t other[N];
#pragma unroll
    for (uint i = 0; i < N; i++)
    {
        // Two diagonals may share their slots, so these stay in caches.
        const uint2 diag = __ldg(diags + i);
        val[i] = kept(__ldg(vals + (row + diag.y)));
        other[i] = load_vector(x, row + diag.x);
    }
#pragma unroll
    for (uint i = 0; i < N; i++)
        if (val[i] != kept_t(0)) sum += widen(val[i]) * other[i];
    return sum;
}

KERNEL dia(uint n_rows, uint row_base, uint n_cols, uint n_diags, uint tiles, uint stride, uint epilogue, accum_t alpha,
           accum_t beta, accum_t lo, accum_t hi, const uint *__restrict__ diags, const value_t *__restrict__ vals,
           const vector_t *__restrict__ x, const accum_t *z, accum_t *y)
{
    const finish_t finish = finish_of(epilogue, alpha, beta, lo, hi, z, y);
    after_others();
    const uint2 *const of_diags = (const uint2 *)diags;
    const uint first = n_diags > 0 ? load_index(diags, 0) : 0;
    const uint last = n_diags > 0 ? load_index(diags, 2 * n_diags - 2) : 0;
    // STEP 1
    // What a turn reads by the diagonals that are `stride` apart, the next one finds in the first cache.
    const uint lane = blockIdx.x * blockDim.x + threadIdx.x;
    uint row = lane;
    if (tiles > 1) row += lane / stride * stride * (tiles - 1);
    for (uint s = 0; s < tiles && row < n_rows; s++, row += stride)
    {
        // STEP 2
        accum_t sum = 0;
        uint d = 0;
        // Diagonals ascend.
        if (row + first < n_cols && row + last < n_cols)
        {
            for (; d + AHEAD <= n_diags; d += AHEAD) sum = plus_inside<AHEAD>(sum, row, of_diags + d, vals, x);
            if (n_diags & 2) sum = plus_inside<2>(sum, row, of_diags + d, vals, x);
            if (n_diags & 1) sum = plus_inside<1>(sum, row, of_diags + n_diags - 1, vals, x);
        }
        // Outside of the matrix there may be no slot.
        else
            for (; d < n_diags; d++)
                if (row + load_index(diags, 2 * d) < n_cols) sum = plus_inside<1>(sum, row, of_diags + d, vals, x);
        // STEP 3
        finish_row(y, row_base + row, sum, finish);
    }
}
