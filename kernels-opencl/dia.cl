// kernel: dia
// params: n_rows row_base n_cols n_diags tiles alpha beta offsets vals x y
// steps:  1 a lane takes S whole rows; 2 sum the row's products, one of each diagonal that has an entry there;
//         3 store alpha*sum + beta*y

KERNEL void dia(uint n_rows, uint row_base, uint n_cols, uint n_diags, uint tiles, accum_t alpha, accum_t beta,
                GLOBAL const uint *offsets, GLOBAL const value_t *vals, GLOBAL const value_t *x,
                GLOBAL accum_t *y)
{
    const uint lanes = (uint)get_local_size(0);
    // STEP 1
    uint row = (uint)get_group_id(0) * lanes * tiles + (uint)get_local_id(0);
    for (uint s = 0; s < tiles && row < n_rows; s++, row += lanes)
    {
        // STEP 2
        accum_t sum = 0;
        for (uint d = 0; d < n_diags; d++)
        {
            // Slots outside of the matrix hold no entry; x is read at the same time as they are.
            const uint col = row + offsets[d];
            const accum_t val = load_value(vals, d * n_rows + row);
            const accum_t other = col < n_cols ? (accum_t)load_value(x, col) : 0;
            if (val != 0) sum += val * other;
        }
        // STEP 3
        store(y + row_base + row, alpha, sum, beta);
    }
}
