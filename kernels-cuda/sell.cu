// kernel: sell
// params: n_rows row_base n_slices n_long tiles sorted keeps epilogue alpha beta lo hi perm slices words vals x carries arrivals z y
// built:  T=1,2,4,8,16,32 W=1,2,3,4
// steps:  1 lanes of a slice take S slices; 2 each lane sums every T-th run of a row, until they are over; 3 add the
//         sums of a row's lanes; 4 store alpha*sum + beta*y; 5 of a row that goes over several slices leave a sum in
//         carries[slice]; where groups can join, the last to arrive adds its row's, else carry_apply

// Lanes of a slice, and its rows at most.
#define SLICE_LANES 32
#define SLICE_ROWS (SLICE_LANES / LANES)
// Steps whose loads are on their way before the first is used.
#define AHEAD (WIDTH == 1 ? (sizeof(accum_t) == 16 ? 4 : 8) : WIDTH == 2 && sizeof(accum_t) < 16 ? 4 : 2)
// Sums of a row's slices that a lane reads before it adds them.
#define JOINED 8
// The column of a run that is not there.
#define NONE 0xffffffffu
#define NARROW_NONE 0xffffu
// The last number of a slice: bits, the logarithm of a row's lanes, and steps.
#define NARROW 1
#define RAGGED 2
#define LOG2_LANES(flags) ((flags) >> 2 & 7)
#define PART 32
#define STEPPED 64
#define N_STEPS(flags) ((flags) >> 7)

// The sum of the runs of lane `at` of a slice.
template <uint LANES, uint WIDTH, bool IS_NARROW>
DEVICE accum_t sum_of_runs(const uint4 slice, uint at, const uint *__restrict__ words,
                           const value_t *__restrict__ vals, const vector_t *__restrict__ x, policy_t policy)
{
    const uint n_steps = N_STEPS(slice.w);
    const bool ragged = slice.w & RAGGED;
    const uint *const lengths = words + slice.y + at + (slice.w & PART ? SLICE_LANES : 0);
    // Of stepped slices there are the columns of the first row.
    const bool stepped = !IS_NARROW && slice.w & STEPPED;
    const uint *const cols =
        stepped ? words + slice.y + at % LANES : lengths + (ragged ? (n_steps + 15) / 16 * SLICE_LANES : 0);
    const uint of_step = stepped ? LANES : SLICE_LANES;
    vals += slice.x + at;
    x += slice.z + (stepped ? at / LANES : 0);
    accum_t sum = 0;
    for (uint first = 0; first < n_steps; first += AHEAD)
    {
        // Of two bits each; runs of WIDTH entries have no less than that.
        const uint last = ragged ? stream_index(lengths, first / 16 * SLICE_LANES, policy) >> first % 16 * 2 : NONE;
        uint col[AHEAD];
        kept_t val[AHEAD][WIDTH];
#pragma unroll
        for (uint i = 0; i < AHEAD; i++)
        {
            const uint step = first + i;
            if (!IS_NARROW)
                col[i] = step < n_steps ? stream_index(cols, step * of_step, policy) : NONE;
            else if (i % 2 == 0)
                col[i] = step < n_steps ? stream_index(cols, step / 2 * SLICE_LANES, policy) : NONE;
            else
                col[i] = col[i - 1] >> 16;
#pragma unroll
            for (uint j = 0; j < WIDTH; j++)
                val[i][j] = step < n_steps ? kept(stream(vals + (step * WIDTH + j) * SLICE_LANES, policy)) : 0;
        }
        if (first == 0) after_others();
        accum_t of_x[AHEAD][WIDTH];
#pragma unroll
        for (uint i = 0; i < AHEAD; i++)
        {
            if (IS_NARROW) col[i] &= NARROW_NONE;
            const bool is_there = col[i] != (IS_NARROW ? NARROW_NONE : NONE);
#pragma unroll
            for (uint j = 0; j < WIDTH; j++)
                of_x[i][j] = is_there && j <= (last >> i * 2 & 3) ? load_vector(x, col[i] + j) : 0;
        }
#pragma unroll
        for (uint i = 0; i < AHEAD; i++)
#pragma unroll
            for (uint j = 0; j < WIDTH; j++) sum += widen(val[i][j]) * of_x[i][j];
    }
    return sum;
}

KERNEL_OF(512, 2)
sell(uint n_rows, uint row_base, uint n_slices, uint n_long, uint tiles, uint sorted, uint keeps, uint epilogue,
     accum_t alpha, accum_t beta, accum_t lo, accum_t hi, const uint *__restrict__ perm,
     const uint *__restrict__ slices, const uint *__restrict__ words, const value_t *__restrict__ vals,
     const vector_t *__restrict__ x, accum_t *carries, uint *arrivals, const accum_t *z, accum_t *y)
{
    const finish_t finish = finish_of(epilogue, alpha, beta, lo, hi, z, y);
    // STEP 1
    // A warp takes a slice at a time.
    const uint at = threadIdx.x % SLICE_LANES;
    const policy_t policy = policy_of(keeps);
    const uint side_by_side = blockDim.x / SLICE_LANES;
    uint slice = blockIdx.x * side_by_side * tiles + threadIdx.x / SLICE_LANES;
    for (uint s = 0; s < tiles && slice < n_slices; s++, slice += side_by_side)
    {
        // STEP 2
        const uint4 numbers = __ldg((const uint4 *)slices + slice);
        const uint n_lanes = 1u << LOG2_LANES(numbers.w);
        uint row = slice * SLICE_ROWS + at / n_lanes;
        if (sorted) row = load_index(perm, row);
        accum_t sum = numbers.w & NARROW ? sum_of_runs<LANES, WIDTH, true>(numbers, at, words, vals, x, policy)
                                         : sum_of_runs<LANES, WIDTH, false>(numbers, at, words, vals, x, policy);
        // A slice without steps has not waited.
        after_others();
        // STEP 3
        sum = lane_sum<LANES>(sum);
        if (slice < n_long) sum = wider_sum<LANES>(sum, n_lanes);
        // STEP 5
        if (numbers.w & PART)
        {
            const uint first = load_index(words, numbers.y);
            const uint n_parts = load_index(words, numbers.y + 1);
            uint n_before = 0;
            if (at == 0)
            {
                carries[slice] = sum;
                n_before = join(arrivals + first);
            }
            bunch_barrier();
            if (lane_read<WARP_LANES>(n_before, 0) + 1 < n_parts) continue;
            sum = 0;
            for (uint i = at; i < n_parts; i += WARP_LANES * JOINED)
            {
                accum_t of_parts[JOINED];
#pragma unroll
                for (uint j = 0; j < JOINED; j++)
                    of_parts[j] = i + j * WARP_LANES < n_parts ? joined(carries + first + i + j * WARP_LANES) : 0;
#pragma unroll
                for (uint j = 0; j < JOINED; j++) sum += of_parts[j];
            }
            sum = lane_sum<WARP_LANES>(sum);
            if (at == 0) arrivals[first] = 0;
            row = load_index(perm, first * SLICE_ROWS);
        }
        // STEP 4
        if (at % n_lanes == 0 && row < n_rows) finish_row(y, row_base + row, sum, finish);
    }
}
