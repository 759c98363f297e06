// kernel: stripe_sums
// params: n_rows row_base epilogue alpha beta lo hi row_ptr sums z y
// steps:  1 a bunch takes a row; 2 its lanes sum every T-th of the sums that stripes have of it; 3 add the lanes' sums;
//         4 store alpha*sum + beta*y

// Sums of a lane that are read before the first is added.
const AHEAD = 8u;

fn stripe_sums()
{
    // STEP 1
    let row = group * BUNCHES + bunch_of_group;
    // STEP 2
    var sum = accum(0.0);
    if (row < p.n_rows)
    {
        let stop = row_ptr[row + 1u];
        for (var first = row_ptr[row] + lane; first < stop; first += AHEAD * LANES)
        {
#each i 8
            let at_$i = first + $iu * LANES;
            let of_stripes_$i = select(accum(0.0), sums[min(at_$i, stop - 1u)], at_$i < stop);
#end
#each i 8
            sum += of_stripes_$i;
#end
        }
    }
    // STEP 3
    sum = lane_sum(sum);
    // STEP 4
    if (lane == 0u && row < p.n_rows) { finish_row(p.row_base + row, sum); }
}
