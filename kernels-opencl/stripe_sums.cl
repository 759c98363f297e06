// kernel: stripe_sums
// params: n_rows row_base epilogue alpha beta lo hi row_ptr sums z y
// steps:  1 a bunch takes a row; 2 its lanes sum every T-th of the sums that stripes have of it; 3 add the lanes' sums;
//         4 store alpha*sum + beta*y

// Sums of a lane that are read before the first is added.
#define AHEAD 8

KERNEL void stripe_sums(uint n_rows, uint row_base, uint epilogue, accum_t alpha, accum_t beta, accum_t lo,
                        accum_t hi, GLOBAL const uint *row_ptr, GLOBAL const accum_t *sums, GLOBAL const accum_t *z,
                        GLOBAL accum_t *y)
{
    const finish_t finish = finish_of(epilogue, alpha, beta, lo, hi, z, y);
    LANE_TALK
    const talk_t talk = lane_talk();
    const uint lane = lane_id();
    // STEP 1
    const uint row = (uint)get_group_id(0) * BUNCHES + bunch_id();
    // STEP 2
    accum_t sum = 0;
    if (row < n_rows)
    {
        const uint stop = row_ptr[row + 1];
        for (uint first = row_ptr[row] + lane; first < stop; first += AHEAD * LANES)
        {
            accum_t of_stripes[AHEAD];
#pragma unroll
            for (uint i = 0; i < AHEAD; i++) of_stripes[i] = first + i * LANES < stop ? sums[first + i * LANES] : ZERO;
#pragma unroll
            for (uint i = 0; i < AHEAD; i++) sum += of_stripes[i];
        }
    }
    // STEP 3
    sum = lane_sum(talk, sum);
    // STEP 4
    if (lane == 0 && row < n_rows) finish_row(y, row_base + row, sum, &finish);
}
