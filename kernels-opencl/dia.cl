// kernel: dia
// params: n_rows row_base n_cols n_diags tiles stride epilogue alpha beta lo hi diags vals x z y
// steps:  1 a lane takes S whole rows, `stride` apart; 2 sum the row's products, one of each diagonal that has an entry
//         there; 3 store alpha*sum + beta*y

KERNEL void dia(uint n_rows, uint row_base, uint n_cols, uint n_diags, uint tiles, uint stride, uint epilogue,
                accum_t alpha, accum_t beta, accum_t lo, accum_t hi, GLOBAL const uint *diags,
                GLOBAL const value_t *vals, GLOBAL const vector_t *x, GLOBAL const accum_t *z, GLOBAL accum_t *y)
{
    const finish_t finish = finish_of(epilogue, alpha, beta, lo, hi, z, y);
    // STEP 1
    const uint lane = (uint)get_global_id(0);
    uint row = lane + lane / stride * stride * (tiles - 1);
    for (uint s = 0; s < tiles && row < n_rows; s++, row += stride)
    {
        // STEP 2
        accum_t sum = 0;
        for (uint d = 0; d < n_diags; d++)
        {
            // Outside of the matrix there may be no slot.
            const uint col = row + diags[2 * d];
            const uint slot = row + diags[2 * d + 1];
            const accum_t val = col < n_cols ? (accum_t)load_value(vals, slot) : ZERO;
            const accum_t other = col < n_cols ? (accum_t)load_vector(x, col) : ZERO;
            if (!is_zero(val)) sum += times(val, other);
        }
        // STEP 3
        finish_row(y, row_base + row, sum, &finish);
    }
}
