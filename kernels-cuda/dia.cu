// kernel: dia
// params: n_rows row_base n_cols n_diags tiles epilogue alpha beta lo hi diags vals x z y
// built:  T=32
// steps:  1 a lane takes S whole rows; 2 sum the row's products, one of each diagonal that has an entry there;
//         3 store alpha*sum + beta*y

KERNEL dia(uint n_rows, uint row_base, uint n_cols, uint n_diags, uint tiles, uint epilogue, accum_t alpha,
           accum_t beta, accum_t lo, accum_t hi, const uint *__restrict__ diags, const value_t *__restrict__ vals,
           const vector_t *__restrict__ x, const accum_t *z, accum_t *y)
{
    const finish_t finish = finish_of(epilogue, alpha, beta, lo, hi, z, y);
    after_others();
    // STEP 1
    uint row = blockIdx.x * blockDim.x * tiles + threadIdx.x;
    for (uint s = 0; s < tiles && row < n_rows; s++, row += blockDim.x)
    {
        // STEP 2
        accum_t sum = 0;
#pragma unroll 4
        for (uint d = 0; d < n_diags; d++)
        {
            // Outside of the matrix there may be no slot. Two diagonals may share theirs, so these stay in caches.
            const uint col = row + load_index(diags, 2 * d);
            const uint slot = row + load_index(diags, 2 * d + 1);
            const accum_t val = col < n_cols ? load_value(vals, slot) : 0;
            const accum_t other = col < n_cols ? load_vector(x, col) : 0;
            if (val != 0) sum += val * other;
        }
        // STEP 3
        finish_row(y, row_base + row, sum, finish);
    }
}
