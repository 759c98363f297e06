// kernel: sell
// params: n_rows row_base n_slices n_long tiles sorted keeps epilogue alpha beta lo hi perm slices words vals x carries arrivals z y
// steps:  1 lanes of a slice take S slices; 2 each lane sums every T-th run of a row, until they are over; 3 add the
//         sums of a row's lanes; 4 store alpha*sum + beta*y; 5 of a row that goes over several slices leave a sum in
//         carries[slice]; where groups can join, the last to arrive adds its row's, else carry_apply

// Lanes of a slice, and its rows at most.
const SLICE_LANES = 32u;
const SLICE_ROWS = SLICE_LANES / LANES;
// Steps whose loads are on their way before the first is used.
const AHEAD = max(8u / WIDTH, 1u);
// Pieces of a row whose loads are on their way before the first is used.
const JOINED = 8u;
// The column of a run that is not there: a whole word, or, where columns are narrow, half of one.
const NONE_0 = 0xffffffffu;
const NONE_1 = 0xffffu;
// The last number of a slice: bits, the logarithm of a row's lanes, and steps.
const NARROW = 1u;
const RAGGED = 2u;
const PART = 32u;
const STEPPED = 64u;
fn lanes_of_a_row(flags: u32) -> u32 { return 1u << ((flags >> 2u) & 7u); }
fn n_steps_of(flags: u32) -> u32 { return flags >> 7u; }

var<workgroup> sums: array<accum, GROUP>;

#each narrow 2
// The sum of the runs of lane `at` of a slice, whose words have 1 + $narrow columns.
fn sum_of_runs_$narrow(slice: vec4<u32>, at: u32) -> accum
{
    let n_steps = n_steps_of(slice.w);
    let is_ragged = (slice.w & RAGGED) != 0u;
    // Of stepped slices there are the columns of the first row.
    let is_stepped = (slice.w & STEPPED) != 0u;
    let base = slice.z + select(0u, at / LANES, is_stepped);
    let vals_at = slice.x + at;
    let lengths = slice.y + at + select(0u, SLICE_LANES, (slice.w & PART) != 0u);
    let cols = select(lengths + select(0u, (n_steps + 15u) / 16u * SLICE_LANES, is_ragged), slice.y + at % LANES, is_stepped);
    let of_step = select(SLICE_LANES, LANES, is_stepped);
    var sum = accum(0.0);
    for (var first = 0u; first < n_steps; first += AHEAD)
    {
        // Of two bits each; runs of WIDTH entries have no less than that.
        var last = NONE_0;
        if (is_ragged) { last = words[lengths + first / 16u * SLICE_LANES] >> (first % 16u * 2u); }
#each i 8/WIDTH
        var word_$i = NONE_0;
#each j WIDTH
        var val_$i_$j = accum(0.0);
#end
        if (first + $iu < n_steps)
        {
            word_$i = words[cols + ((first + $iu) >> $narrowu) * of_step];
#each j WIDTH
            val_$i_$j = load_vals(vals_at + ((first + $iu) * WIDTH + $ju) * SLICE_LANES);
#end
        }
#end
#each i 8/WIDTH
        let col_$i = (word_$i >> ($iu % (1u + $narrowu) * 16u)) & NONE_$narrow;
        let n_$i = select(1u + ((last >> ($iu * 2u)) & 3u), 0u, col_$i == NONE_$narrow);
#each j WIDTH
        var of_x_$i_$j = accum(0.0);
        if ($ju < n_$i) { of_x_$i_$j = load_x(base + col_$i + $ju); }
#end
#end
#each i 8/WIDTH
#each j WIDTH
        sum += times(val_$i_$j, of_x_$i_$j);
#end
#end
    }
    return sum;
}

#end
fn row_at(position: u32) -> u32
{
    if (p.sorted == 0u) { return position; }
    return perm[position];
}

// The sum over the `n_lanes` lanes of a row, of which each T have theirs already. All lanes of the group must come here.
fn wider_sum(sum: accum, at: u32, n_lanes: u32) -> accum
{
    sums[local_id] = sum;
    for (var d = SLICE_LANES / 2u; d >= LANES; d /= 2u)
    {
        workgroupBarrier();
        if (at % n_lanes < d && d < n_lanes) { sums[local_id] += sums[local_id + d]; }
    }
    workgroupBarrier();
    return sums[local_id];
}

#if JOINS
// Counts a slice with a part of a row; the last to arrive adds what all have, in their order. All lanes of the group must come here.
fn join(slice: u32, at: u32)
{
    var first_part = 0u;
    var n_parts = 0u;
    var is_last = false;
    if (slice < p.n_long && (slices[slice * 4u + 3u] & PART) != 0u)
    {
        let words_at = slices[slice * 4u + 1u];
        first_part = words[words_at];
        n_parts = words[words_at + 1u];
        if (at == 0u) { is_last = atomicAdd(&arrivals[first_part], 1u) + 1u == n_parts; }
    }
    if (at == 0u) { sums[local_id] = select(accum(0.0), ONE, is_last); }
    workgroupBarrier();
    storageBarrier();
    is_last = !is_zero(sums[local_id - at]);
    workgroupBarrier();
    var sum = accum(0.0);
    if (is_last)
    {
        for (var i = at; i < n_parts; i += SLICE_LANES * JOINED)
        {
#each j 8
            let part_$j = carries[first_part + min(i + $ju * SLICE_LANES, n_parts - 1u)];
#end
#each j 8
            sum += select(accum(0.0), part_$j, i + $ju * SLICE_LANES < n_parts);
#end
        }
    }
    sum = wider_sum(lane_sum(sum), at, SLICE_LANES);
    if (is_last && at == 0u)
    {
        finish_row(p.row_base + perm[first_part * SLICE_ROWS], sum);
        atomicStore(&arrivals[first_part], 0u);
    }
}
#end

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
        var numbers = vec4<u32>();
        var n_lanes = LANES;
        var row = p.n_rows;
        // STEP 2
        var sum = accum(0.0);
        if (is_there)
        {
            numbers = vec4(slices[slice * 4u], slices[slice * 4u + 1u], slices[slice * 4u + 2u], slices[slice * 4u + 3u]);
            n_lanes = lanes_of_a_row(numbers.w);
            // The row is on its way while its entries are summed.
            row = row_at(slice * SLICE_ROWS + at / n_lanes);
            if ((numbers.w & NARROW) != 0u) { sum = sum_of_runs_1(numbers, at); } else { sum = sum_of_runs_0(numbers, at); }
        }
        // STEP 3
        sum = lane_sum(sum);
        if (first < p.n_long) { sum = wider_sum(sum, at, n_lanes); }
        // STEP 4, STEP 5
        // The sum of a row that goes over several slices is stored when the others are in.
        let is_whole = (numbers.w & PART) == 0u;
        if (is_there && at % n_lanes == 0u)
        {
#if JOINS
            if (is_whole && row < p.n_rows) { finish_row(p.row_base + row, sum); }
            if (!is_whole) { carries[slice] = sum; }
#else
            // Groups do not join: carry_apply adds the sums of slices after a row's first.
            if (row < p.n_rows) { store_row(p.row_base + row, sum, is_whole); }
            if (!is_whole) { carries[slice] = select(sum, accum(0.0), row < p.n_rows); }
#end
        }
        first += side_by_side;
    }
#if JOINS
    // Parts of rows come before all others, so a group that has one begins with one.
    first -= side_by_side * p.tiles;
    if (first >= p.n_long || (slices[first * 4u + 3u] & PART) == 0u) { return; }
    storageBarrier();
    for (var s = 0u; s < p.tiles; s++) { join(first + s * side_by_side + local_id / SLICE_LANES, at); }
#end
}
