// kernel: sss
// params: row_base n_ranges ranges row_ptr run_ptr runs vals x sums
// built:  T=32
// steps:  1 a lane takes a range of rows; 2 clear its sums of rows before; 3 sum the row's runs one after another, and of
//         a mirrored run add each value times x of the row to the sum of its column's row; 4 store the row's sum

KERNEL sss(uint row_base, uint n_ranges, const uint *__restrict__ ranges, const uint *__restrict__ row_ptr,
           const uint *__restrict__ run_ptr, const uint *__restrict__ runs, const value_t *__restrict__ vals,
           const vector_t *__restrict__ x, accum_t *__restrict__ sums)
{
    // STEP 1
    const uint range = blockIdx.x * blockDim.x + threadIdx.x;
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
            const uint code = load_index(runs, run);
            const uint end = e + 8 - code % 8;
            uint col = code / 16;
            if (code & 8)
            {
                const accum_t x_row = load_value(x, row_base + row);
                for (; e < end; e++, col++)
                {
                    const accum_t val = load_value(vals, e);
                    sum += val * load_value(x, col);
                    sums[of_rows + col - row_base] += val * x_row;
                }
            }
            else
                for (; e < end; e++, col++) sum += load_value(vals, e) * load_value(x, col);
        }
        // STEP 4: what the diagonal added there is overwritten.
        sums[of_rows + row] = sum;
    }
}
