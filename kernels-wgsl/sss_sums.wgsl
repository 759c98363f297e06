// kernel: sss_sums
// params: n_rows row_base n_ranges tiles epilogue alpha beta lo hi ranges sums z y
// steps:  1 a lane takes S whole rows; 2 add the sums that ranges have of the row; 3 store alpha*sum + beta*y

fn sss_sums()
{
    // STEP 1
    var row = group * GROUP * p.tiles + local_id;
    for (var s = 0u; s < p.tiles && row < p.n_rows; s++)
    {
        // STEP 2
        var sum = accum(0.0);
        for (var range = 0u; range < p.n_ranges; range++)
        {
            let reached = ranges[3u * range + 1u];
            if (row >= reached && row < ranges[3u * range + 3u]) { sum += sums[ranges[3u * range + 2u] + row - reached]; }
        }
        // STEP 3
        finish_row(p.row_base + row, sum);
        row += GROUP;
    }
}
