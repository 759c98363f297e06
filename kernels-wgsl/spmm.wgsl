// kernel: spmm
// params: row_base columns x_stride x_at y_stride y_at alpha beta row_ptr block_rows block_entries cols vals x carries y
// steps:  1 a group takes a block of rows, or a piece of a long one, and a row its share of the lanes; 2 a lane sums the
//         products of its entries with four columns; 3 add the sums of a row's lanes; 4 store alpha*sums + beta*y, or leave
//         a piece's sums in carries[block]

const FOUR = 4u;

var<workgroup> sums: array<four, GROUP>;

fn spmm()
{
    // STEP 1
    // Lanes next to each other take the columns of one entry.
    let slot = local_id / BUNCHES;
    let column = FOUR * (local_id % BUNCHES);
    let block = group;
    let first_row = block_rows[block];
    let n_own = block_rows[block + 1u] - first_row;
    let first_entry = block_entries[block];
    let end_entry = block_entries[block + 1u];
    var share = LANES;
    while (share * n_own > LANES) { share /= 2u; }
    let row = slot / share;
    let own = slot % share;
    var start = first_entry;
    var stop = end_entry;
    var is_piece = n_own == 0u;
    if (n_own == 1u) { is_piece = row_ptr[first_row] != first_entry; }
    if (n_own > 1u)
    {
        start = end_entry;
        if (row < n_own)
        {
            start = row_ptr[first_row + row];
            stop = row_ptr[first_row + row + 1u];
        }
    }
    // What is beyond the panel may be beyond the last row of x.
    if (column >= p.columns) { stop = start; }
    // STEP 2
    var sum = four();
    for (var e = start + own; e < stop; e += share)
    {
        let at = cols[e] * p.x_stride + p.x_at + column;
        sum = add_four(sum, times_four(load_vals(e), four(load_x(at), load_x(at + 1u), load_x(at + 2u), load_x(at + 3u))));
    }
    // STEP 3
    sums[local_id] = sum;
    // Of every power of two, so that all lanes of the group meet at every barrier.
#each i 5
    workgroupBarrier();
    if (own < (16u >> $iu) && (32u >> $iu) <= share) { sums[local_id] = add_four(sums[local_id], sums[local_id + (16u >> $iu) * BUNCHES]); }
#end
    // STEP 4
    if (own == 0u)
    {
        var total = sums[local_id];
        if (is_piece)
        {
            for (var k = 0u; k < FOUR; k++) { carries[block * BUNCHES * FOUR + column + k] = total[k]; }
        }
        else if (row < n_own)
        {
            let out = (p.row_base + first_row + row) * p.y_stride + p.y_at + column;
            for (var k = 0u; k < FOUR; k++)
            {
                if (column + k < p.columns) { store(out + k, p.alpha, total[k], p.beta); }
            }
        }
    }
}
