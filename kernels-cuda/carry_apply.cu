// kernel: carry_apply
// params: n_rows row_base n_bunches epilogue alpha lo hi bunch_rows carries y
// built:  T=32
// steps:  1 find the bunches that carry to the same row; 2 add alpha times the sum of their carries to it

KERNEL carry_apply(uint n_rows, uint row_base, uint n_bunches, uint epilogue, accum_t alpha, accum_t lo, accum_t hi,
                   const uint *__restrict__ bunch_rows, const accum_t *carries, accum_t *y)
{
    const uint lane = lane_id<LANES>();
    // STEP 1
    // The first bunch that carries to a row adds for all that do; they follow each other.
    const uint bunch = blockIdx.x * bunches<LANES>() + bunch_id<LANES>();
    const uint row = bunch < n_bunches ? bunch_rows[bunch + 1] : n_rows;
    const bool adds = row < n_rows && (bunch == 0 || bunch_rows[bunch] != row);
    after_others();
    accum_t sum = 0;
    if (adds)
    {
        for (uint b = bunch + lane; b < n_bunches && bunch_rows[b + 1] == row; b += LANES) sum += carries[b];
    }
    // STEP 2
    sum = lane_sum<LANES>(sum);
    if (adds && lane == 0)
    {
        const accum_t now = y[row_base + row] + scaled(alpha, sum);
        y[row_base + row] = epilogue & EPILOGUE_CLAMP ? clamped(now, lo, hi) : now;
    }
}
