// kernel: jad
// params: n_rows row_base n_jags tiles alpha beta perm jag_ptr cols vals x y
// steps:  1 a lane takes S places of the rows sorted by length; 2 sum the place's products, one of each jagged diagonal
//         that is so long; 3 store alpha*sum + beta*y to the place's row

KERNEL void jad(uint n_rows, uint row_base, uint n_jags, uint tiles, accum_t alpha, accum_t beta,
                GLOBAL const uint *perm, GLOBAL const uint *jag_ptr, GLOBAL const uint *cols,
                GLOBAL const value_t *vals, GLOBAL const value_t *x, GLOBAL accum_t *y)
{
    const uint lanes = (uint)get_local_size(0);
    // STEP 1
    uint place = (uint)get_group_id(0) * lanes * tiles + (uint)get_local_id(0);
    for (uint s = 0; s < tiles && place < n_rows; s++, place += lanes)
    {
        // STEP 2
        accum_t sum = 0;
        for (uint k = 0; k < n_jags; k++)
        {
            const uint start = jag_ptr[k];
            if (place >= jag_ptr[k + 1] - start) break;
            const uint at = start + place;
            sum += (accum_t)load_value(vals, at) * (accum_t)load_value(x, cols[at]);
        }
        // STEP 3
        store(y + row_base + perm[place], alpha, sum, beta);
    }
}
