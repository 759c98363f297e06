// kernel: ell
// params: n_rows row_base width tiles epilogue alpha beta lo hi cols vals x z y
// steps:  1 a lane takes S whole rows; 2 sum the products of the row's slots, but for padding;
//         3 store alpha*sum + beta*y

// The column of a slot that holds no entry.
#define PADDING 0xffffffffu

KERNEL void ell(uint n_rows, uint row_base, uint width, uint tiles, uint epilogue, accum_t alpha, accum_t beta,
                accum_t lo, accum_t hi, GLOBAL const uint *cols, GLOBAL const value_t *vals, GLOBAL const vector_t *x,
                GLOBAL const accum_t *z, GLOBAL accum_t *y)
{
    const finish_t finish = finish_of(epilogue, alpha, beta, lo, hi, z, y);
    const uint lanes = (uint)get_local_size(0);
    // STEP 1
    uint row = (uint)get_group_id(0) * lanes * tiles + (uint)get_local_id(0);
    for (uint s = 0; s < tiles && row < n_rows; s++, row += lanes)
    {
        // STEP 2
        accum_t sum = 0;
        for (uint k = 0; k < width; k++)
        {
            const uint at = k * n_rows + row;
            const uint col = cols[at];
            // A row's padding comes last.
            if (col == PADDING) break;
            sum += times((accum_t)load_value(vals, at), (accum_t)load_vector(x, col));
        }
        // STEP 3
        finish_row(y, row_base + row, sum, &finish);
    }
}
