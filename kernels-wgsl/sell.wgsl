// kernel: sell
// params: n_rows row_base tiles sorted alpha beta perm slices words vals x y
// steps:  1 a bunch takes S whole rows; 2 each lane sums every T-th run, until they are over; 3 add the lanes' sums;
//         4 store alpha*sum + beta*y to the position's row

// Rows and lanes of a slice.
const SLICE_ROWS = max(32u / LANES, 1u);
const SLICE_LANES = SLICE_ROWS * LANES;
// The column of a run that is not there.
const NONE = 0xffffffffu;
const NARROW_NONE = 0xffffu;

fn sell()
{
    // STEP 1
    // All bunches of a group take equally many turns, since `lane_sum` may be a barrier of the group.
    var position = group * BUNCHES * p.tiles + bunch_of_group;
    for (var s = 0u; s < p.tiles; s++)
    {
        // STEP 2
        var sum = accum(0.0);
        if (position < p.n_rows)
        {
            let slice = position / SLICE_ROWS * 4u;
            let at = position % SLICE_ROWS * LANES + lane;
            let flags = slices[slice + 3u];
            let is_narrow = (flags & 1u) != 0u;
            let is_ragged = (flags & 2u) != 0u;
            let n_steps = flags / 4u;
            let lengths = slices[slice + 1u] + at;
            let cols = lengths + select(0u, (n_steps + 15u) / 16u * SLICE_LANES, is_ragged);
            for (var step = 0u; step < n_steps; step++)
            {
                var col = words[cols + select(step, step / 2u, is_narrow) * SLICE_LANES];
                if (is_narrow) { col = (col >> (step % 2u * 16u)) & NARROW_NONE; }
                if (col == select(NONE, NARROW_NONE, is_narrow)) { break; }
                col += slices[slice + 2u];
                var last = WIDTH - 1u;
                if (is_ragged) { last = (words[lengths + step / 16u * SLICE_LANES] >> (step % 16u * 2u)) & 3u; }
                let val = slices[slice] + step * WIDTH * SLICE_LANES + at;
                for (var j = 0u; j <= last; j++) { sum += load_vals(val + j * SLICE_LANES) * load_x(col + j); }
            }
        }
        // STEP 3
        sum = lane_sum(sum);
        // STEP 4
        if (lane == 0u && position < p.n_rows)
        {
            var row = position;
            if (p.sorted != 0u) { row = perm[position]; }
            store(p.row_base + row, p.alpha, sum, p.beta);
        }
        position += BUNCHES;
    }
}
