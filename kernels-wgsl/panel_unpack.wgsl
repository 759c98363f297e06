// kernel: panel_unpack
// params: n_rows columns first_column column_stride width beta packed y
// steps:  1 a lane takes four columns of a row; 2 read them next to each other; 3 store them plus beta*y

const FOUR = 4u;

fn panel_unpack()
{
    // STEP 1
    let id = group * GROUP + local_id;
    let row = id % p.n_rows;
    let column = FOUR * (id / p.n_rows);
    if (column < p.columns)
    {
        // STEP 2
        let first = row * p.width + column;
        let to = (p.first_column + column) * p.column_stride + row;
        // STEP 3
        for (var k = 0u; k < FOUR; k++)
        {
            if (column + k < p.columns)
            {
                store(to + k * p.column_stride, ONE, packed[first + k], p.beta);
            }
        }
    }
}
