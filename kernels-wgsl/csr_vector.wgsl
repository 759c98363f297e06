// kernel: csr_vector
// params: n_rows row_base tiles epilogue alpha beta lo hi row_ptr cols vals x z y
// steps:  1 a bunch takes S whole rows; 2 its lanes sum every T-th product; 3 add the lanes' sums;
//         4 store alpha*sum + beta*y

fn csr_vector()
{
    // STEP 1
    // All bunches of a group take equally many turns, since `lane_sum` may be a barrier of the group.
    var row = group * BUNCHES * p.tiles + bunch_of_group;
    for (var s = 0u; s < p.tiles; s++)
    {
        // STEP 2
        var sum = accum(0.0);
        if (row < p.n_rows)
        {
            let stop = row_ptr[row + 1u];
            var e = row_ptr[row] + lane;
            // Loads that are on their way before the first is used.
            for (; e + 3u * LANES < stop; e += 4u * LANES)
            {
#each i 4
                let col_$i = cols[e + $iu * LANES];
                let val_$i = load_vals(e + $iu * LANES);
#end
#each i 4
                sum += times(val_$i, load_x(col_$i));
#end
            }
            for (; e < stop; e += LANES) { sum += times(load_vals(e), load_x(cols[e])); }
        }
        // STEP 3
        sum = lane_sum(sum);
        // STEP 4
        if (lane == 0u && row < p.n_rows) { finish_row(p.row_base + row, sum); }
        row += BUNCHES;
    }
}
