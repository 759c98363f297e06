// kernel: csr_scalar
// params: n_rows row_base tiles epilogue alpha beta lo hi row_ptr cols vals x z y
// steps:  1 a lane takes S whole rows; 2 sum the row's products one by one; 3 store alpha*sum + beta*y

KERNEL void csr_scalar(uint n_rows, uint row_base, uint tiles, uint epilogue, accum_t alpha, accum_t beta, accum_t lo,
                       accum_t hi, GLOBAL const uint *row_ptr, GLOBAL const uint *cols, GLOBAL const value_t *vals,
                       GLOBAL const vector_t *x, GLOBAL const accum_t *z, GLOBAL accum_t *y)
{
    const finish_t finish = finish_of(epilogue, alpha, beta, lo, hi, z, y);
    // STEP 1
    const uint group_lanes = LANES * BUNCHES;
    uint row = (uint)get_group_id(0) * group_lanes * tiles + (uint)get_local_id(0);
    for (uint s = 0; s < tiles && row < n_rows; s++, row += group_lanes)
    {
        // STEP 2
        accum_t sum = 0;
        const uint stop = row_ptr[row + 1];
        for (uint e = row_ptr[row]; e < stop; e++)
            sum += times((accum_t)load_value(vals, e), (accum_t)load_vector(x, cols[e]));
        // STEP 3
        finish_row(y, row_base + row, sum, &finish);
    }
}
