// kernel: sell
// params: n_rows row_base tiles sorted alpha beta perm slices words vals x y
// built:  T=1,2,4,8 W=1,2,3,4
// steps:  1 a bunch takes S whole rows; 2 each lane sums every T-th run, until they are over; 3 add the lanes' sums;
//         4 store alpha*sum + beta*y to the position's row

// Lanes of a slice, and its rows.
#define SLICE_LANES 32
#define SLICE_ROWS (SLICE_LANES / LANES)
// Steps whose loads are on their way before the first is used.
#define AHEAD (WIDTH > 2 ? 2 : 4)
// The column of a run that is not there.
#define NONE 0xffffffffu
#define NARROW_NONE 0xffffu

// The sum of the runs of lane `at` of a slice.
template <uint LANES, uint WIDTH, bool NARROW>
DEVICE accum_t sum_of_runs(const uint4 slice, uint at, const uint *__restrict__ words,
                           const value_t *__restrict__ vals, const value_t *__restrict__ x)
{
    const uint n_steps = slice.w / 4;
    const bool ragged = slice.w & 2;
    const uint *const lengths = words + slice.y + at;
    const uint *const cols = lengths + (ragged ? (n_steps + 15) / 16 * SLICE_LANES : 0);
    vals += slice.x + at;
    x += slice.z;
    accum_t sum = 0;
    for (uint first = 0; first < n_steps; first += AHEAD)
    {
        // Of two bits each; runs of WIDTH entries have no less than that.
        const uint last = ragged ? stream_index(lengths, first / 16 * SLICE_LANES) >> first % 16 * 2 : NONE;
        uint col[AHEAD];
        accum_t val[AHEAD][WIDTH];
#pragma unroll
        for (uint i = 0; i < AHEAD; i++)
        {
            const uint step = first + i;
            if (!NARROW)
                col[i] = step < n_steps ? stream_index(cols, step * SLICE_LANES) : NONE;
            else if (i % 2 == 0)
                col[i] = step < n_steps ? stream_index(cols, step / 2 * SLICE_LANES) : NONE;
            else
                col[i] = col[i - 1] >> 16;
#pragma unroll
            for (uint j = 0; j < WIDTH; j++)
                val[i][j] = step < n_steps ? stream_value(vals, (step * WIDTH + j) * SLICE_LANES) : 0;
        }
        accum_t of_x[AHEAD][WIDTH];
#pragma unroll
        for (uint i = 0; i < AHEAD; i++)
        {
            if (NARROW) col[i] &= NARROW_NONE;
            const bool is_there = col[i] != (NARROW ? NARROW_NONE : NONE);
#pragma unroll
            for (uint j = 0; j < WIDTH; j++)
                of_x[i][j] = is_there && j <= (last >> i * 2 & 3) ? load_value(x, col[i] + j) : 0;
        }
#pragma unroll
        for (uint i = 0; i < AHEAD; i++)
#pragma unroll
            for (uint j = 0; j < WIDTH; j++) sum += val[i][j] * of_x[i][j];
    }
    return sum;
}

KERNEL_OF(512, 2)
sell(uint n_rows, uint row_base, uint tiles, uint sorted, accum_t alpha, accum_t beta,
     const uint *__restrict__ perm, const uint *__restrict__ slices, const uint *__restrict__ words,
     const value_t *__restrict__ vals, const value_t *__restrict__ x, accum_t *__restrict__ y)
{
    const uint lane = lane_id<LANES>();
    // STEP 1
    uint position = blockIdx.x * bunches<LANES>() * tiles + bunch_id<LANES>();
    for (uint s = 0; s < tiles; s++, position += bunches<LANES>())
    {
        // STEP 2
        accum_t sum = 0;
        if (position < n_rows)
        {
            const uint4 slice = __ldg((const uint4 *)slices + position / SLICE_ROWS);
            const uint at = position % SLICE_ROWS * LANES + lane;
            sum = slice.w & 1 ? sum_of_runs<LANES, WIDTH, true>(slice, at, words, vals, x)
                              : sum_of_runs<LANES, WIDTH, false>(slice, at, words, vals, x);
        }
        // STEP 3
        sum = lane_sum<LANES>(sum);
        // STEP 4
        if (lane == 0 && position < n_rows)
            store(y + row_base + (sorted ? load_index(perm, position) : position), alpha, sum, beta);
    }
}
