// kernel: sell
// params: n_rows row_base n_slices n_long tiles sorted keeps alpha beta perm slices words vals x carries arrivals y
// steps:  1 lanes of a slice take S slices; 2 each lane sums every T-th run of a row, until they are over; 3 add the
//         sums of a row's lanes; 4 store alpha*sum + beta*y; 5 of a row that goes over several slices leave a sum in
//         carries[slice]; where groups can join, the last to arrive adds its row's, else carry_apply

// Lanes of a slice, and its rows at most.
const SLICE_LANES = 32u;
const SLICE_ROWS = SLICE_LANES / LANES;
// The column of a run that is not there.
const NONE = 0xffffffffu;
const NARROW_NONE = 0xffffu;
// The last number of a slice: bits, the logarithm of a row's lanes, and steps.
const NARROW = 1u;
const RAGGED = 2u;
const PART = 32u;
fn lanes_of_a_row(flags: u32) -> u32 { return 1u << ((flags >> 2u) & 7u); }
fn n_steps_of(flags: u32) -> u32 { return flags >> 6u; }

var<workgroup> sums: array<accum, GROUP>;

// The sum of the runs of lane `at` of a slice.
fn sum_of_runs(slice: u32, at: u32) -> accum
{
    let flags = slices[slice * 4u + 3u];
    let is_narrow = (flags & NARROW) != 0u;
    let is_ragged = (flags & RAGGED) != 0u;
    let n_steps = n_steps_of(flags);
    let base = slices[slice * 4u + 2u];
    let first_val = slices[slice * 4u] + at;
    let lengths = slices[slice * 4u + 1u] + at + select(0u, SLICE_LANES, (flags & PART) != 0u);
    let cols = lengths + select(0u, (n_steps + 15u) / 16u * SLICE_LANES, is_ragged);
    var sum = accum(0.0);
    for (var step = 0u; step < n_steps; step++)
    {
        var col = words[cols + select(step, step / 2u, is_narrow) * SLICE_LANES];
        if (is_narrow) { col = (col >> (step % 2u * 16u)) & NARROW_NONE; }
        if (col == select(NONE, NARROW_NONE, is_narrow)) { break; }
        col += base;
        var last = WIDTH - 1u;
        if (is_ragged) { last = (words[lengths + step / 16u * SLICE_LANES] >> (step % 16u * 2u)) & 3u; }
        let val = first_val + step * WIDTH * SLICE_LANES;
        for (var j = 0u; j <= last; j++) { sum += load_vals(val + j * SLICE_LANES) * load_x(col + j); }
    }
    return sum;
}

fn row_at(position: u32) -> u32
{
    if (p.sorted == 0u) { return position; }
    return perm[position];
}

fn sell()
{
    let at = local_id % SLICE_LANES;
    // STEP 1
    // All lanes of a group take equally many turns, since they meet at barriers.
    let side_by_side = max(GROUP / SLICE_LANES, 1u);
    var first = group * side_by_side * p.tiles;
    for (var s = 0u; s < p.tiles; s++)
    {
        let slice = first + local_id / SLICE_LANES;
        let is_there = slice < p.n_slices;
        var flags = 0u;
        var n_lanes = LANES;
        // STEP 2
        var sum = accum(0.0);
        if (is_there)
        {
            flags = slices[slice * 4u + 3u];
            n_lanes = lanes_of_a_row(flags);
            sum = sum_of_runs(slice, at);
        }
        // STEP 3
        sum = lane_sum(sum);
        if (first < p.n_long)
        {
            sums[local_id] = sum;
            workgroupBarrier();
            if (at % n_lanes == 0u)
            {
                for (var other = LANES; other < n_lanes; other += LANES) { sum += sums[local_id + other]; }
            }
            workgroupBarrier();
        }
        if (is_there && at % n_lanes == 0u)
        {
            // STEP 4
            let row = row_at(slice * SLICE_ROWS + at / n_lanes);
            if (row < p.n_rows) { store(p.row_base + row, p.alpha, sum, p.beta); }
            // STEP 5
            // Groups do not join: carry_apply adds the sums of slices after a row's first.
            if ((flags & PART) != 0u) { carries[slice] = select(sum, accum(0.0), row < p.n_rows); }
        }
        first += side_by_side;
    }
}
