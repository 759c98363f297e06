// kernel: stripe_sums
// params: n_rows row_base epilogue alpha beta lo hi row_ptr sums z y
// built:  T=32
// steps:  1 a bunch takes a row; 2 its lanes sum every T-th of the sums that stripes have of it; 3 add the lanes' sums;
//         4 store alpha*sum + beta*y

// Sums of a lane that are on their way before the first is added.
#define AHEAD 8

KERNEL stripe_sums(uint n_rows, uint row_base, uint epilogue, accum_t alpha, accum_t beta, accum_t lo, accum_t hi,
                   const uint *__restrict__ row_ptr, const accum_t *sums, const accum_t *z, accum_t *y)
{
    const finish_t finish = finish_of(epilogue, alpha, beta, lo, hi, z, y);
    const uint lane = lane_id<LANES>();
    // STEP 1
    const uint row = blockIdx.x * bunches<LANES>() + bunch_id<LANES>();
    const uint start = row < n_rows ? load_index(row_ptr, row) : 0;
    const uint stop = row < n_rows ? load_index(row_ptr, row + 1) : 0;
    after_others();
    // STEP 2
    accum_t sum = 0;
    for (uint first = start + lane; first < stop; first += AHEAD * LANES)
    {
        accum_t of_stripes[AHEAD];
#pragma unroll
        for (uint i = 0; i < AHEAD; i++)
            of_stripes[i] = first + i * LANES < stop ? load_written(sums + first + i * LANES) : 0;
#pragma unroll
        for (uint i = 0; i < AHEAD; i++) sum += of_stripes[i];
    }
    // STEP 3
    sum = lane_sum<LANES>(sum);
    // STEP 4
    if (lane == 0 && row < n_rows) finish_row(y, row_base + row, sum, finish);
}
