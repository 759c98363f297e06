// kernel: vbl
// params: n_rows row_base tiles epilogue alpha beta lo hi row_ptr run_ptr runs vals x z y
// steps:  1 a lane takes S whole rows; 2 sum the row's runs one after another; 3 store alpha*sum + beta*y

fn vbl()
{
    // STEP 1
    var row = group * GROUP * p.tiles + local_id;
    for (var s = 0u; s < p.tiles && row < p.n_rows; s++)
    {
        // STEP 2
        var sum = accum(0.0);
        var e = row_ptr[row];
        let stop = run_ptr[row + 1u];
        for (var run = run_ptr[row]; run < stop; run++)
        {
            let code = runs[run];
            let end = e + 8u - code % 8u;
            for (var col = code / 8u; e < end; e++) { sum += times(load_vals(e), load_x(col)); col++; }
        }
        // STEP 3
        finish_row(p.row_base + row, sum);
        row += GROUP;
    }
}
