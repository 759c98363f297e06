// kernel: axpby
// params: n_rows row_base epilogue alpha beta lo hi t z y
// steps:  1 y <- alpha*t + beta*y; alpha = 0 does not read t, beta = 0 does not read y

fn axpby()
{
    // STEP 1
    let row = group * GROUP + local_id;
    if (row < p.n_rows)
    {
        var sum = accum(0.0);
        if (!is_zero(p.alpha)) { sum = t[row]; }
        finish_row(p.row_base + row, sum);
    }
}
