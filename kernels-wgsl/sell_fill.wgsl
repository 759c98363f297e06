// kernel: sell_fill
// params: n_rows n_slices slice_lanes slice_rows width sorted row_ptr cols perm slices parts words entries
// steps:  1 a lane takes a lane of a slice; 2 find the entries of its row, or of the slice's part of one; 3 of a part
//         store where the row's slices are; 4 in each step, find the run that the lane takes; 5 store the entry of each
//         of its slots; 6 store the run's column and length

// The entry of a slot that holds none.
const PADDING = 0xffffffffu;
// The column of a run that is not there.
const NONE = 0xffffffffu;
const NARROW_NONE = 0xffffu;
// Lengths of runs in a word, of two bits each.
const LENGTHS = 16u;
// The last number of a slice: bits, the logarithm of a row's lanes, and steps.
const NARROW = 1u;
const RAGGED = 2u;
const PART = 32u;
const STEPPED = 64u;

fn sell_fill()
{
    // STEP 1
    let lane = group * GROUP + local_id;
    let slice = lane / p.slice_lanes;
    if (slice >= p.n_slices) { return; }
    let at = lane % p.slice_lanes;
    let flags = slices[4u * slice + 3u];
    let n_lanes = 1u << ((flags >> 2u) & 7u);
    let n_steps = flags >> 7u;
    // STEP 2
    var first = 0u;
    var end = 0u;
    if ((flags & PART) != 0u)
    {
        first = parts[4u * slice + 2u];
        end = parts[4u * slice + 3u];
    }
    else
    {
        var row = slice * p.slice_rows + at / n_lanes;
        if (p.sorted != 0u) { row = perm[row]; }
        if (row < p.n_rows)
        {
            first = row_ptr[row];
            end = row_ptr[row + 1u];
        }
    }
    // STEP 3
    var word = slices[4u * slice + 1u] + at;
    if ((flags & PART) != 0u)
    {
        words[word] = NONE;
        if (at < 2u) { words[word] = parts[4u * slice + at]; }
        word += p.slice_lanes;
    }
    let lengths = word;
    if ((flags & RAGGED) != 0u) { word += (n_steps + LENGTHS - 1u) / LENGTHS * p.slice_lanes; }
    var slot = slices[4u * slice] + at;
    let base = slices[4u * slice + 2u];
    var halves = NONE;
    var of_steps = NONE;
    for (var step = 0u; step < n_steps; step++)
    {
        // STEP 4
        // Each of the row's lanes takes the next run.
        var run = first + at % n_lanes;
        var len = select(0u, 1u, run < end);
        if (p.width == 1u)
        {
            first += n_lanes;
        }
        else
        {
            for (var of_row = 0u; of_row < n_lanes; of_row++)
            {
                var n = select(0u, 1u, first < end);
                while (n > 0u && n < p.width && first + n < end)
                {
                    if (cols[first + n] != cols[first] + n) { break; }
                    n++;
                }
                if (of_row == at % n_lanes)
                {
                    run = first;
                    len = n;
                }
                first += n;
            }
        }
        // STEP 5
        for (var i = 0u; i < p.width; i++)
        {
            entries[slot] = select(PADDING, run + i, i < len);
            slot += p.slice_lanes;
        }
        // STEP 6
        var col = NONE;
        if (len > 0u) { col = cols[run] - base; }
        if ((flags & NARROW) != 0u)
        {
            if (step % 2u == 0u) { halves = (col & NARROW_NONE) | NARROW_NONE << 16u; }
            else { halves = (halves & NARROW_NONE) | col << 16u; }
            words[word + step / 2u * p.slice_lanes] = halves;
        }
        else if ((flags & STEPPED) == 0u)
        {
            words[word + step * p.slice_lanes] = col;
        }
        else if (at < n_lanes)
        {
            words[word + step * n_lanes] = col;
        }
        if ((flags & RAGGED) != 0u)
        {
            if (step % LENGTHS == 0u) { of_steps = NONE; }
            if (len > 0u) { of_steps ^= (3u ^ (len - 1u)) << (step % LENGTHS * 2u); }
            words[lengths + step / LENGTHS * p.slice_lanes] = of_steps;
        }
    }
}
