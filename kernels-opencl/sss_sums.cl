// kernel: sss_sums
// params: n_rows row_base n_ranges tiles epilogue alpha beta lo hi ranges sums z y
// steps:  1 a lane takes S whole rows; 2 add the sums that ranges have of the row; 3 store alpha*sum + beta*y

KERNEL void sss_sums(uint n_rows, uint row_base, uint n_ranges, uint tiles, uint epilogue, accum_t alpha, accum_t beta,
                     accum_t lo, accum_t hi, GLOBAL const uint *ranges, GLOBAL const accum_t *sums,
                     GLOBAL const accum_t *z, GLOBAL accum_t *y)
{
    const finish_t finish = finish_of(epilogue, alpha, beta, lo, hi, z, y);
    // STEP 1
    const uint group_lanes = LANES * BUNCHES;
    uint row = (uint)get_group_id(0) * group_lanes * tiles + (uint)get_local_id(0);
    for (uint s = 0; s < tiles && row < n_rows; s++, row += group_lanes)
    {
        // STEP 2
        accum_t sum = 0;
        for (uint range = 0; range < n_ranges; range++)
        {
            const uint reached = ranges[3 * range + 1];
            if (row >= reached && row < ranges[3 * range + 3]) sum += sums[ranges[3 * range + 2] + row - reached];
        }
        // STEP 3
        finish_row(y, row_base + row, sum, &finish);
    }
}
