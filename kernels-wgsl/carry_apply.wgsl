// kernel: carry_apply
// params: n_rows row_base n_bunches alpha bunch_rows carries y
// steps:  1 find the bunches that carry to the same row; 2 add alpha times the sum of their carries to it

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
        for (var b = bunch + lane; b < p.n_bunches; b += LANES)
        {
            if (bunch_rows[b + 1u] != row) { break; }
            sum += carries[b];
        }
    }
    // STEP 2
    sum = lane_sum(sum);
    if (adds && lane == 0u) { y[p.row_base + row] += scaled(p.alpha, sum); }
}
