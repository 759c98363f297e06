// kernel: ell
// params: n_rows row_base width tiles epilogue alpha beta lo hi cols vals x z y
// steps:  1 a lane takes S whole rows; 2 sum the products of the row's slots, but for padding;
//         3 store alpha*sum + beta*y

// The column of a slot that holds no entry.
const PADDING = 0xffffffffu;

fn ell()
{
    // STEP 1
    var row = group * GROUP * p.tiles + local_id;
    for (var s = 0u; s < p.tiles && row < p.n_rows; s++)
    {
        // STEP 2
        var sum = accum(0.0);
        for (var k = 0u; k < p.width; k++)
        {
            let at = k * p.n_rows + row;
            let col = cols[at];
            // A row's padding comes last.
            if (col == PADDING) { break; }
            sum += times(load_vals(at), load_x(col));
        }
        // STEP 3
        finish_row(p.row_base + row, sum);
        row += GROUP;
    }
}
