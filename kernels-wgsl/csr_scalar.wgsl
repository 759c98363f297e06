// kernel: csr_scalar
// params: n_rows row_base tiles epilogue alpha beta lo hi row_ptr cols vals x z y
// steps:  1 a lane takes S whole rows; 2 sum the row's products one by one; 3 store alpha*sum + beta*y

fn csr_scalar()
{
    // STEP 1
    var row = group * GROUP * p.tiles + local_id;
    for (var s = 0u; s < p.tiles && row < p.n_rows; s++)
    {
        // STEP 2
        var sum = accum(0.0);
        let stop = row_ptr[row + 1u];
        for (var e = row_ptr[row]; e < stop; e++) { sum += times(load_vals(e), load_x(cols[e])); }
        // STEP 3
        finish_row(p.row_base + row, sum);
        row += GROUP;
    }
}
