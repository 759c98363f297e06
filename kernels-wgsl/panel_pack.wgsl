// kernel: panel_pack
// params: n_rows columns first_column row_stride column_stride width x slots
// steps:  1 a lane takes four columns of a row; 2 read them, zeros after the last; 3 store them next to each other

const FOUR = 4u;

fn panel_pack()
{
    // STEP 1
    // Lanes next to each other take rows next to each other.
    let id = group * GROUP + local_id;
    let row = id % p.n_rows;
    let column = FOUR * (id / p.n_rows);
    if (column < p.width)
    {
        let first = row * p.row_stride + (p.first_column + column) * p.column_stride;
        let to = row * p.width + column;
        for (var k = 0u; k < FOUR; k += PACKED)
        {
            // STEP 2
            var word = value_word();
            for (var i = k; i < k + PACKED; i++)
            {
                let at = first + i * p.column_stride;
                if (column + i < p.columns) { word = with_value(word, i, x[at / PACKED], at); }
            }
            // STEP 3
            slots[(to + k) / PACKED] = word;
        }
    }
}
