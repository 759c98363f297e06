// kernel: carry_apply
// params: n_rows row_base n_bunches epilogue alpha lo hi bunch_rows carries y
// steps:  1 find the bunches that carry to the same row; 2 add alpha times the sum of their carries to it

// Carries of a lane that are read before the first is added.
#define AHEAD 8

KERNEL void carry_apply(uint n_rows, uint row_base, uint n_bunches, uint epilogue, accum_t alpha, accum_t lo, accum_t hi,
                        GLOBAL const uint *bunch_rows, GLOBAL const accum_t *carries, GLOBAL accum_t *y)
{
    LANE_TALK
    const talk_t talk = lane_talk();
    const uint lane = lane_id();
    // STEP 1
    // The first bunch that carries to a row adds for all that do; they follow each other.
    const uint bunch = (uint)get_group_id(0) * BUNCHES + bunch_id();
    const uint row = bunch < n_bunches ? bunch_rows[bunch + 1] : n_rows;
    const bool adds = row < n_rows && (bunch == 0 || bunch_rows[bunch] != row);
    accum_t sum = 0;
    if (adds)
    {
        for (uint first = bunch + lane; first < n_bunches && bunch_rows[first + 1] == row; first += AHEAD * LANES)
        {
            accum_t carried[AHEAD];
#pragma unroll
            for (uint i = 0; i < AHEAD; i++)
            {
                const uint b = first + i * LANES;
                carried[i] = b < n_bunches && bunch_rows[b + 1] == row ? carries[b] : ZERO;
            }
#pragma unroll
            for (uint i = 0; i < AHEAD; i++) sum += carried[i];
        }
    }
    // STEP 2
    sum = lane_sum(talk, sum);
    if (adds && lane == 0)
    {
        const accum_t now = y[row_base + row] + scaled(alpha, sum);
        y[row_base + row] = epilogue & EPILOGUE_CLAMP ? clamped(now, lo, hi) : now;
    }
}
