// kernel: sell
// params: n_rows row_base n_slices n_long tiles sorted keeps epilogue alpha beta lo hi perm slices words vals x carries arrivals z y
// steps:  1 lanes of a slice take S slices; 2 each lane sums every T-th run of a row, until they are over; 3 add the
//         sums of a row's lanes; 4 store alpha*sum + beta*y; 5 of a row that goes over several slices leave a sum in
//         carries[slice]; where groups can join, the last to arrive adds its row's, else carry_apply

#define GROUP (LANES * BUNCHES)
// Lanes of a slice, and its rows at most.
#define SLICE_LANES (GROUP == 1 ? 8 : 32)
#define SLICE_ROWS (SLICE_LANES / LANES)
// Steps whose loads are on their way before the first is used.
#define AHEAD (WIDTH == 1 ? 8 : WIDTH == 2 ? 4 : 2)
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
#if GROUP == 1
static accum_t sum_of_runs(const uint4 slice, uint at, GLOBAL const uint *words, GLOBAL const value_t *vals,
                           GLOBAL const vector_t *x)
{
    const uint n_steps = N_STEPS(slice.w);
    const uint lengths = slice.y + at;
    const uint cols = lengths + (slice.w & RAGGED ? (n_steps + 15) / 16 * SLICE_LANES : 0);
    accum_t sum = 0;
    for (uint step = 0; step < n_steps; step++)
    {
        // Of stepped slices there are the columns of the first row.
        uint col = slice.w & STEPPED ? words[slice.y + step * LANES + at % LANES] + at / LANES
                                     : words[cols + (slice.w & NARROW ? step / 2 : step) * SLICE_LANES];
        if (slice.w & NARROW) col = col >> step % 2 * 16 & NARROW_NONE;
        if (col == (slice.w & NARROW ? NARROW_NONE : NONE)) break;
        col += slice.z;
        const uint last =
            slice.w & RAGGED ? words[lengths + step / 16 * SLICE_LANES] >> step % 16 * 2 & 3 : WIDTH - 1;
        const uint val = slice.x + step * WIDTH * SLICE_LANES + at;
        for (uint j = 0; j <= last; j++)
            sum += times((accum_t)load_value(vals, val + j * SLICE_LANES), (accum_t)load_vector(x, col + j));
    }
    return sum;
}
#else
// Inlined where `is_narrow` is a constant, so that the loop does not test it.
static __attribute__((always_inline)) accum_t
sum_of_runs(const bool is_narrow, const uint4 slice, uint at, GLOBAL const uint *restrict words,
            GLOBAL const value_t *restrict vals, GLOBAL const vector_t *restrict x)
{
    const uint n_steps = N_STEPS(slice.w);
    const bool ragged = slice.w & RAGGED;
    const uint lengths = slice.y + at + (slice.w & PART ? SLICE_LANES : 0);
    // Of stepped slices there are the columns of the first row.
    const bool stepped = !is_narrow && slice.w & STEPPED;
    const uint cols = stepped ? slice.y + at % LANES : lengths + (ragged ? (n_steps + 15) / 16 * SLICE_LANES : 0);
    const uint of_step = stepped ? LANES : SLICE_LANES;
    const uint base = slice.z + (stepped ? at / LANES : 0);
    const uint vals_at = slice.x + at;
    accum_t sum = 0;
    for (uint first = 0; first < n_steps; first += AHEAD)
    {
        // Of two bits each; runs of WIDTH entries have no less than that.
        const uint last = ragged ? words[lengths + first / 16 * SLICE_LANES] >> first % 16 * 2 : NONE;
        uint col[AHEAD];
        accum_t val[AHEAD][WIDTH];
#pragma unroll
        for (uint i = 0; i < AHEAD; i++)
        {
            const uint step = first + i;
            if (!is_narrow)
                col[i] = step < n_steps ? words[cols + step * of_step] : NONE;
            else if (i % 2 == 0)
                col[i] = step < n_steps ? words[cols + step / 2 * SLICE_LANES] : NONE;
            else
                col[i] = col[i - 1] >> 16;
#pragma unroll
            for (uint j = 0; j < WIDTH; j++)
                val[i][j] = step < n_steps ? load_value(vals, vals_at + (step * WIDTH + j) * SLICE_LANES) : ZERO;
        }
        accum_t of_x[AHEAD][WIDTH];
#pragma unroll
        for (uint i = 0; i < AHEAD; i++)
        {
            if (is_narrow) col[i] &= NARROW_NONE;
            const bool is_there = col[i] != (is_narrow ? NARROW_NONE : NONE);
#pragma unroll
            for (uint j = 0; j < WIDTH; j++)
                of_x[i][j] = is_there && j <= (last >> i * 2 & 3) ? load_vector(x, base + col[i] + j) : ZERO;
        }
#pragma unroll
        for (uint i = 0; i < AHEAD; i++)
#pragma unroll
            for (uint j = 0; j < WIDTH; j++) sum += times(val[i][j], of_x[i][j]);
    }
    return sum;
}
#endif

KERNEL void sell(uint n_rows, uint row_base, uint n_slices, uint n_long, uint tiles, uint sorted, uint keeps,
                 uint epilogue, accum_t alpha, accum_t beta, accum_t lo, accum_t hi, GLOBAL const uint *restrict perm,
                 GLOBAL const uint *restrict slices, GLOBAL const uint *restrict words,
                 GLOBAL const value_t *restrict vals, GLOBAL const vector_t *restrict x, GLOBAL accum_t *carries,
                 GLOBAL uint *arrivals, GLOBAL const accum_t *z, GLOBAL accum_t *restrict y)
{
    const finish_t finish = finish_of(epilogue, alpha, beta, lo, hi, z, y);
#if GROUP == 1
    // One lane takes whole slices, and no row goes over several.
    for (uint s = 0; s < tiles; s++)
    {
        // STEP 1
        const uint slice = (uint)get_group_id(0) * tiles + s;
        if (slice >= n_slices) break;
        const uint4 numbers = vload4(slice, slices);
        const uint n_lanes = 1 << LOG2_LANES(numbers.w);
        for (uint at = 0; at < SLICE_LANES; at += n_lanes)
        {
            const uint position = slice * SLICE_ROWS + at / n_lanes;
            const uint row = sorted ? perm[position] : position;
            if (row >= n_rows) continue;
            // STEP 2, STEP 3
            accum_t sum = 0;
            for (uint lane = at; lane < at + n_lanes; lane++) sum += sum_of_runs(numbers, lane, words, vals, x);
            // STEP 4
            finish_row(y, row_base + row, sum, &finish);
        }
    }
    // STEP 5
#else
    LANE_TALK
    WIDER_TALK
    const talk_t talk = lane_talk();
    const uint own = bunch_id() * LANES + lane_id();
    const uint at = own % SLICE_LANES;
    // STEP 1
    // All lanes of a group take equally many turns, since they meet at barriers.
    const uint side_by_side = GROUP / SLICE_LANES;
    uint first = (uint)get_group_id(0) * side_by_side * tiles;
    for (uint s = 0; s < tiles; s++, first += side_by_side)
    {
        const uint slice = first + own / SLICE_LANES;
        const bool is_there = slice < n_slices;
        const uint4 numbers = is_there ? ((GLOBAL const uint4 *)slices)[slice] : (uint4)(0);
        const uint n_lanes = is_there ? 1 << LOG2_LANES(numbers.w) : LANES;
        // The row is on its way while its entries are summed.
        uint row = slice * SLICE_ROWS + at / n_lanes;
        if (is_there && sorted) row = perm[row];
        // STEP 2
        accum_t sum = numbers.w & NARROW ? sum_of_runs(true, numbers, at, words, vals, x)
                                         : sum_of_runs(false, numbers, at, words, vals, x);
        // STEP 3
        sum = lane_sum(talk, sum);
        if (first < n_long) sum = wider_sum(wider_talk(), sum, n_lanes);
        // STEP 5
#if defined(JOINS_NV)
        const bool is_whole = true;
        if (numbers.w & PART)
        {
            const uint first_part = words[numbers.y];
            const uint n_parts = words[numbers.y + 1];
            uint n_before = 0;
            if (at == 0)
            {
                carries[slice] = sum;
                n_before = join(arrivals + first_part);
            }
            if (warp_first(n_before) + 1 < n_parts) continue;
            sum = 0;
            for (uint i = at; i < n_parts; i += SLICE_LANES * JOINED)
            {
                accum_t of_parts[JOINED];
#pragma unroll
                for (uint j = 0; j < JOINED; j++)
                    of_parts[j] =
                        i + j * SLICE_LANES < n_parts ? joined(carries + first_part + i + j * SLICE_LANES) : ZERO;
#pragma unroll
                for (uint j = 0; j < JOINED; j++) sum += of_parts[j];
            }
            sum = wider_sum(wider_talk(), lane_sum(talk, sum), SLICE_LANES);
            if (at == 0) arrivals[first_part] = 0;
            row = perm[first_part * SLICE_ROWS];
        }
#else
        // Groups do not join: carry_apply adds the sums of slices after a row's first.
        const bool is_whole = (numbers.w & PART) == 0;
        if (is_there && at % n_lanes == 0 && numbers.w & PART) carries[slice] = row < n_rows ? ZERO : sum;
#endif
        // STEP 4
        if (is_there && at % n_lanes == 0 && row < n_rows) store_row(y, row_base + row, sum, &finish, is_whole);
    }
#endif
}
