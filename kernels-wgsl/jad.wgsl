// kernel: jad
// params: n_rows row_base n_jags tiles epilogue alpha beta lo hi perm jag_ptr cols vals x z y
// steps:  1 a lane takes S positions of the rows sorted by length; 2 sum the position's products, one of each jagged diagonal
//         that is so long; 3 store alpha*sum + beta*y to the position's row

fn jad()
{
    // STEP 1
    var position = group * GROUP * p.tiles + local_id;
    for (var s = 0u; s < p.tiles && position < p.n_rows; s++)
    {
        // STEP 2
        var sum = accum(0.0);
        for (var k = 0u; k < p.n_jags; k++)
        {
            let start = jag_ptr[k];
            if (position >= jag_ptr[k + 1u] - start) { break; }
            sum += times(load_vals(start + position), load_x(cols[start + position]));
        }
        // STEP 3
        finish_row(p.row_base + perm[position], sum);
        position += GROUP;
    }
}
