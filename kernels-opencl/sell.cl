// kernel: sell
// params: n_rows row_base tiles sorted alpha beta perm slices words vals x y
// steps:  1 a bunch takes S whole rows; 2 each lane sums every T-th run, until they are over; 3 add the lanes' sums;
//         4 store alpha*sum + beta*y to the position's row

// Rows and lanes of a slice.
#define SLICE_ROWS (LANES < 32 ? 32 / LANES : 1)
#define SLICE_LANES (SLICE_ROWS * LANES)
// The column of a run that is not there.
#define NONE 0xffffffffu
#define NARROW_NONE 0xffffu

KERNEL void sell(uint n_rows, uint row_base, uint tiles, uint sorted, accum_t alpha, accum_t beta,
                 GLOBAL const uint *perm, GLOBAL const uint *slices, GLOBAL const uint *words,
                 GLOBAL const value_t *vals, GLOBAL const value_t *x, GLOBAL accum_t *y)
{
    LANE_TALK
    const talk_t talk = lane_talk();
    const uint lane = lane_id();
    // STEP 1
    // All bunches of a group take equally many turns, since `lane_sum` may be a barrier of the group.
    uint position = (uint)get_group_id(0) * BUNCHES * tiles + bunch_id();
    for (uint s = 0; s < tiles; s++, position += BUNCHES)
    {
        // STEP 2
        accum_t sum = 0;
        if (position < n_rows)
        {
            const uint slice = position / SLICE_ROWS * 4;
            const uint at = position % SLICE_ROWS * LANES + lane;
            const uint flags = slices[slice + 3];
            const uint n_steps = flags / 4;
            const uint lengths = slices[slice + 1] + at;
            const uint cols = lengths + (flags & 2 ? (n_steps + 15) / 16 * SLICE_LANES : 0);
            for (uint step = 0; step < n_steps; step++)
            {
                uint col = words[cols + (flags & 1 ? step / 2 : step) * SLICE_LANES];
                if (flags & 1) col = col >> step % 2 * 16 & NARROW_NONE;
                if (col == (flags & 1 ? NARROW_NONE : NONE)) break;
                col += slices[slice + 2];
                const uint last =
                    flags & 2 ? words[lengths + step / 16 * SLICE_LANES] >> step % 16 * 2 & 3 : WIDTH - 1;
                const uint val = slices[slice] + step * WIDTH * SLICE_LANES + at;
                for (uint j = 0; j <= last; j++)
                    sum += (accum_t)load_value(vals, val + j * SLICE_LANES) * (accum_t)load_value(x, col + j);
            }
        }
        // STEP 3
        sum = lane_sum(talk, sum);
        // STEP 4
        if (lane == 0 && position < n_rows)
            store(y + row_base + (sorted ? perm[position] : position), alpha, sum, beta);
    }
}
