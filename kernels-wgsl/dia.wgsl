// kernel: dia
// params: n_rows row_base n_cols n_diags tiles alpha beta offsets vals x y
// steps:  1 a lane takes S whole rows; 2 sum the row's products, one of each diagonal that has an entry there;
//         3 store alpha*sum + beta*y

fn dia()
{
    // STEP 1
    var row = group * GROUP * p.tiles + local_id;
    for (var s = 0u; s < p.tiles && row < p.n_rows; s++)
    {
        // STEP 2
        var sum = accum(0.0);
        for (var d = 0u; d < p.n_diags; d++)
        {
            // Slots outside of the matrix hold no entry; x is read at the same time as they are.
            let col = row + offsets[d];
            let val = load_vals(d * p.n_rows + row);
            var other = accum(0.0);
            if (col < p.n_cols) { other = load_x(col); }
            // A NaN is an entry; `!=` need not hold for it here.
            if (val == accum(0.0)) { continue; }
            sum += val * other;
        }
        // STEP 3
        store(p.row_base + row, p.alpha, sum, p.beta);
        row += GROUP;
    }
}
