// kernel: carry_apply
// params: n_rows row_base n_bunches alpha bunch_rows carries y
// steps:  1 find the bunches that carry to the same row; 2 add alpha times the sum of their carries to it

KERNEL void carry_apply(uint n_rows, uint row_base, uint n_bunches, accum_t alpha,
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
        for (uint b = bunch + lane; b < n_bunches && bunch_rows[b + 1] == row; b += LANES) sum += carries[b];
    }
    // STEP 2
    sum = lane_sum(talk, sum);
    if (adds && lane == 0) y[row_base + row] += scaled(alpha, sum);
}
