// kernel: jad
// params: n_rows row_base n_jags tiles epilogue alpha beta lo hi perm jag_ptr cols vals x z y
// steps:  1 a lane takes S positions of the rows sorted by length; 2 sum the position's products, one of each jagged diagonal
//         that is so long; 3 store alpha*sum + beta*y to the position's row

KERNEL void jad(uint n_rows, uint row_base, uint n_jags, uint tiles, uint epilogue, accum_t alpha, accum_t beta,
                accum_t lo, accum_t hi, GLOBAL const uint *perm, GLOBAL const uint *jag_ptr, GLOBAL const uint *cols,
                GLOBAL const value_t *vals, GLOBAL const vector_t *x, GLOBAL const accum_t *z, GLOBAL accum_t *y)
{
    const finish_t finish = finish_of(epilogue, alpha, beta, lo, hi, z, y);
    const uint lanes = (uint)get_local_size(0);
    // STEP 1
    uint position = (uint)get_group_id(0) * lanes * tiles + (uint)get_local_id(0);
    for (uint s = 0; s < tiles && position < n_rows; s++, position += lanes)
    {
        // STEP 2
        accum_t sum = 0;
        for (uint k = 0; k < n_jags; k++)
        {
            const uint start = jag_ptr[k];
            if (position >= jag_ptr[k + 1] - start) break;
            const uint at = start + position;
            sum += times((accum_t)load_value(vals, at), (accum_t)load_vector(x, cols[at]));
        }
        // STEP 3
        finish_row(y, row_base + perm[position], sum, &finish);
    }
}
