// kernel: sss
// params: row_base n_ranges ranges row_ptr run_ptr runs vals x sums
// steps:  1 a lane takes a range of rows; 2 clear its sums of rows before; 3 sum the row's runs one after another, and of
//         a mirrored run add each value times x of the row to the sum of its column's row; 4 store the row's sum

KERNEL void sss(uint row_base, uint n_ranges, GLOBAL const uint *ranges, GLOBAL const uint *row_ptr,
                GLOBAL const uint *run_ptr, GLOBAL const uint *runs, GLOBAL const value_t *vals,
                GLOBAL const vector_t *x, GLOBAL accum_t *sums)
{
    // STEP 1
    const uint range = (uint)get_group_id(0) * (LANES * BUNCHES) + (uint)get_local_id(0);
    if (range >= n_ranges) return;
    const uint first_row = ranges[3 * range];
    const uint reached = ranges[3 * range + 1];
    const uint first_sum = ranges[3 * range + 2];
    const uint end_row = ranges[3 * range + 3];
    // STEP 2
    for (uint i = first_sum; i < first_sum + first_row - reached; i++) sums[i] = 0;
    // Of the sum of row r, or of the row of column r + row_base.
    const uint of_rows = first_sum - reached;
    for (uint row = first_row; row < end_row; row++)
    {
        // STEP 3
        accum_t sum = 0;
        uint e = row_ptr[row];
        const uint stop = run_ptr[row + 1];
        for (uint run = run_ptr[row]; run < stop; run++)
        {
            const uint code = runs[run];
            const uint end = e + 8 - code % 8;
            uint col = code / 16;
            if (code & 8)
            {
                const accum_t x_row = load_vector(x, row_base + row);
                for (; e < end; e++, col++)
                {
                    const accum_t val = load_value(vals, e);
                    sum += times(val, (accum_t)load_vector(x, col));
                    sums[of_rows + col - row_base] += times(val, x_row);
                }
            }
            else
                for (; e < end; e++, col++) sum += times((accum_t)load_value(vals, e), (accum_t)load_vector(x, col));
        }
        // STEP 4: what the diagonal added there is overwritten.
        sums[of_rows + row] = sum;
    }
}
