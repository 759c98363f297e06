// kernel: sss
// params: row_base n_ranges ranges row_ptr run_ptr runs vals x sums
// steps:  1 a lane takes a range of rows; 2 clear its sums of rows before; 3 sum the row's runs one after another, and of
//         a mirrored run add each value times x of the row to the sum of its column's row; 4 store the row's sum

fn sss()
{
    // STEP 1
    let range = group * GROUP + local_id;
    if (range >= p.n_ranges) { return; }
    let first_row = ranges[3u * range];
    let reached = ranges[3u * range + 1u];
    let first_sum = ranges[3u * range + 2u];
    let end_row = ranges[3u * range + 3u];
    // STEP 2
    for (var i = first_sum; i < first_sum + first_row - reached; i++) { sums[i] = accum(0.0); }
    // Of the sum of row r, or of the row of column r + row_base.
    let of_rows = first_sum - reached;
    for (var row = first_row; row < end_row; row++)
    {
        // STEP 3
        var sum = accum(0.0);
        var e = row_ptr[row];
        let stop = run_ptr[row + 1u];
        for (var run = run_ptr[row]; run < stop; run++)
        {
            let code = runs[run];
            let end = e + 8u - code % 8u;
            var col = code / 16u;
            if ((code & 8u) != 0u)
            {
                let x_row = load_x(p.row_base + row);
                for (; e < end; e++)
                {
                    let val = load_vals(e);
                    sum += times(val, load_x(col));
                    let to = of_rows + col - p.row_base;
                    sums[to] = sums[to] + times(val, x_row);
                    col++;
                }
            }
            else
            {
                for (; e < end; e++) { sum += times(load_vals(e), load_x(col)); col++; }
            }
        }
        // STEP 4: what the diagonal added there is overwritten.
        sums[of_rows + row] = sum;
    }
}
