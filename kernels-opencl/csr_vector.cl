// kernel: csr_vector
// params: n_rows row_base tiles epilogue alpha beta lo hi row_ptr cols vals x z y
// steps:  1 a bunch takes S whole rows; 2 its lanes sum every T-th product; 3 add the lanes' sums;
//         4 store alpha*sum + beta*y

KERNEL void csr_vector(uint n_rows, uint row_base, uint tiles, uint epilogue, accum_t alpha, accum_t beta, accum_t lo,
                       accum_t hi, GLOBAL const uint *row_ptr, GLOBAL const uint *cols, GLOBAL const value_t *vals,
                       GLOBAL const vector_t *x, GLOBAL const accum_t *z, GLOBAL accum_t *y)
{
    const finish_t finish = finish_of(epilogue, alpha, beta, lo, hi, z, y);
    LANE_TALK
    const talk_t talk = lane_talk();
    const uint lane = lane_id();
    // STEP 1
    // All bunches of a group take equally many turns, since `lane_sum` may be a barrier of the group.
    uint row = (uint)get_group_id(0) * BUNCHES * tiles + bunch_id();
    for (uint s = 0; s < tiles; s++, row += BUNCHES)
    {
        // STEP 2
        accum_t sum = 0;
        if (row < n_rows)
        {
            const uint stop = row_ptr[row + 1];
            for (uint e = row_ptr[row] + lane; e < stop; e += LANES)
                sum += times((accum_t)load_value(vals, e), (accum_t)load_vector(x, cols[e]));
        }
        // STEP 3
        sum = lane_sum(talk, sum);
        // STEP 4
        if (lane == 0 && row < n_rows) finish_row(y, row_base + row, sum, &finish);
    }
}
