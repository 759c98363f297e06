// kernel: carry_apply
// params: n_rows row_base n_bunches epilogue alpha lo hi bunch_rows carries y
// steps:  1 find the bunches that carry to the same row; 2 add alpha times the sum of their carries to it

// Carries of a lane that are read before the first is added.
const AHEAD = 8u;

fn carry_apply()
{
    // STEP 1
    // The first bunch that carries to a row adds for all that do; they follow each other.
    var row = p.n_rows;
    var adds = false;
    if (bunch < p.n_bunches)
    {
        row = bunch_rows[bunch + 1u];
        adds = row < p.n_rows && (bunch == 0u || bunch_rows[bunch] != row);
    }
    var sum = accum(0.0);
    if (adds)
    {
        for (var first = bunch + lane; first < p.n_bunches; first += AHEAD * LANES)
        {
            if (bunch_rows[first + 1u] != row) { break; }
#each i 8
            let b_$i = min(first + $iu * LANES, p.n_bunches - 1u);
            let is_carried_$i = first + $iu * LANES < p.n_bunches && bunch_rows[b_$i + 1u] == row;
            let carried_$i = select(accum(0.0), carries[b_$i], is_carried_$i);
#end
#each i 8
            sum += carried_$i;
#end
        }
    }
    // STEP 2
    sum = lane_sum(sum);
    if (adds && lane == 0u) { y[p.row_base + row] = clamped(y[p.row_base + row] + scaled(p.alpha, sum)); }
}
