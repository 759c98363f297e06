// kernel: sell_fill
// params: n_rows n_slices slice_lanes slice_rows width sorted row_ptr cols perm slices parts words entries
// steps:  1 a lane takes a lane of a slice; 2 find the entries of its row, or of the slice's part of one; 3 of a part
//         store where the row's slices are; 4 in each step, find the run that the lane takes; 5 store the entry of each
//         of its slots; 6 store the run's column and length

// The entry of a slot that holds none.
#define PADDING 0xffffffffu
// The column of a run that is not there.
#define NONE 0xffffffffu
#define NARROW_NONE 0xffffu
// Lengths of runs in a word, of two bits each.
#define LENGTHS 16
// The last number of a slice: bits, the logarithm of a row's lanes, and steps.
#define NARROW 1
#define RAGGED 2
#define LOG2_LANES(flags) ((flags) >> 2 & 7)
#define PART 32
#define STEPPED 64
#define N_STEPS(flags) ((flags) >> 7)

KERNEL void sell_fill(uint n_rows, uint n_slices, uint slice_lanes, uint slice_rows, uint width, uint sorted,
                      GLOBAL const uint *row_ptr, GLOBAL const uint *cols, GLOBAL const uint *perm,
                      GLOBAL const uint *slices, GLOBAL const uint *parts, GLOBAL uint *words, GLOBAL uint *entries)
{
    // STEP 1
    const uint lane = (uint)get_global_id(0);
    const uint slice = lane / slice_lanes;
    if (slice >= n_slices) return;
    const uint at = lane % slice_lanes;
    const uint4 numbers = vload4(slice, slices);
    const uint n_lanes = 1u << LOG2_LANES(numbers.w);
    const uint n_steps = N_STEPS(numbers.w);
    // STEP 2
    uint first = 0, end = 0;
    if (numbers.w & PART)
    {
        first = parts[4 * slice + 2];
        end = parts[4 * slice + 3];
    }
    else
    {
        uint row = slice * slice_rows + at / n_lanes;
        if (sorted) row = perm[row];
        if (row < n_rows)
        {
            first = row_ptr[row];
            end = row_ptr[row + 1];
        }
    }
    // STEP 3
    uint word = numbers.y + at;
    if (numbers.w & PART)
    {
        words[word] = at < 2 ? parts[4 * slice + at] : NONE;
        word += slice_lanes;
    }
    const uint lengths = word;
    if (numbers.w & RAGGED) word += (n_steps + LENGTHS - 1) / LENGTHS * slice_lanes;
    uint slot = numbers.x + at;
    uint halves = NONE, of_steps = NONE;
    for (uint step = 0; step < n_steps; step++)
    {
        // STEP 4
        // Each of the row's lanes takes the next run.
        uint run = first + at % n_lanes;
        uint len = run < end;
        if (width == 1)
            first += n_lanes;
        else
            for (uint of_row = 0; of_row < n_lanes; of_row++)
            {
                uint n = first < end;
                while (n && n < width && first + n < end && cols[first + n] == cols[first] + n) n++;
                if (of_row == at % n_lanes)
                {
                    run = first;
                    len = n;
                }
                first += n;
            }
        // STEP 5
        for (uint i = 0; i < width; i++, slot += slice_lanes) entries[slot] = i < len ? run + i : PADDING;
        // STEP 6
        const uint col = len ? cols[run] - numbers.z : NONE;
        if (numbers.w & NARROW)
        {
            halves = step % 2 ? (halves & NARROW_NONE) | col << 16 : (col & NARROW_NONE) | NARROW_NONE << 16;
            words[word + step / 2 * slice_lanes] = halves;
        }
        else if (!(numbers.w & STEPPED))
            words[word + step * slice_lanes] = col;
        else if (at < n_lanes)
            words[word + step * n_lanes] = col;
        if (numbers.w & RAGGED)
        {
            if (step % LENGTHS == 0) of_steps = NONE;
            if (len) of_steps ^= (3 ^ (len - 1)) << step % LENGTHS * 2;
            words[lengths + step / LENGTHS * slice_lanes] = of_steps;
        }
    }
}
