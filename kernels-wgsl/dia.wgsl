// kernel: dia
// params: n_rows row_base n_cols n_diags tiles stride epilogue alpha beta lo hi diags vals x z y
// steps:  1 a lane takes S whole rows, `stride` apart; 2 sum the row's products, one of each diagonal that has an entry
//         there; 3 store alpha*sum + beta*y

fn dia()
{
    // STEP 1
    let lane = group * GROUP + local_id;
    var row = lane + lane / p.stride * p.stride * (p.tiles - 1u);
    for (var s = 0u; s < p.tiles && row < p.n_rows; s++)
    {
        // STEP 2
        var sum = accum(0.0);
        for (var d = 0u; d < p.n_diags; d++)
        {
            // Outside of the matrix there may be no slot.
            let col = row + diags[2u * d];
            let slot = row + diags[2u * d + 1u];
            var val = accum(0.0);
            var other = accum(0.0);
            if (col < p.n_cols)
            {
                val = load_vals(slot);
                other = load_x(col);
            }
            // A NaN is an entry; `!=` need not hold for it here.
            if (is_zero(val)) { continue; }
            sum += times(val, other);
        }
        // STEP 3
        finish_row(p.row_base + row, sum);
        row += p.stride;
    }
}
