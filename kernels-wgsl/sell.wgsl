// kernel: sell
// params: n_rows row_base tiles alpha beta perm chunk_ptr cols vals x y
// steps:  1 a lane takes S positions of the rows sorted by length; 2 sum the products of the position's slots in its chunk, but
//         for padding; 3 store alpha*sum + beta*y to the position's row

// The column of a slot that holds no entry.
const PADDING = 0xffffffffu;

fn sell()
{
    // STEP 1
    var position = group * GROUP * p.tiles + local_id;
    for (var s = 0u; s < p.tiles && position < p.n_rows; s++)
    {
        // STEP 2
        let chunk = position / LANES;
        let height = min(LANES, p.n_rows - chunk * LANES);
        let end = chunk_ptr[chunk + 1u];
        var sum = accum(0.0);
        for (var at = chunk_ptr[chunk] + position % LANES; at < end; at += height)
        {
            let col = cols[at];
            // A row's padding comes last.
            if (col == PADDING) { break; }
            sum += load_vals(at) * load_x(col);
        }
        // STEP 3
        store(p.row_base + perm[position], p.alpha, sum, p.beta);
        position += GROUP;
    }
}
