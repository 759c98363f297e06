// kernel: merge_path
// params: n_rows row_base nnz tiles epilogue alpha beta lo hi row_ptr bunch_rows cols vals x carries z y
// steps:  1 a bunch takes S*W*T steps of the merge of row ends with entries, from bunch_rows[bunch] on;
//         2 finish the row that began before; 3 sum and store whole rows; 4 leave the last row's
//         beginning in carries[bunch]

var<workgroup> products: array<accum, BUNCHES * TILE>;
var<workgroup> ends: array<u32, BUNCHES * TILE>;

// Rows finished after `step` steps of the merge that begins at row `first`; at most `most`.
fn merge(first: u32, most: u32, step: u32) -> u32
{
    var low = first;
    var high = most;
    while (low < high)
    {
        let mid = low + (high - low) / 2u;
        if (row_ptr[mid + 1u] < step - mid) { low = mid + 1u; } else { high = mid; }
    }
    return low;
}

fn merge_path()
{
    let base = bunch_of_group * TILE;

    // STEP 1
    // A spare bunch of the last group takes its turns with no steps, since its barriers are the group's.
    let n_steps = p.n_rows + p.nnz;
    let n_bunches = (n_steps + p.tiles * TILE - 1u) / (p.tiles * TILE);
    let spare = bunch >= n_bunches;
    var step = n_steps;
    var row = p.n_rows;
    var bunch_stop_row = p.n_rows;
    if (!spare)
    {
        step = bunch * p.tiles * TILE;
        row = bunch_rows[bunch];
        bunch_stop_row = bunch_rows[bunch + 1u];
    }
    // The row that began before is whole when carry_apply has added to it.
    let begun = select(row, p.n_rows, bunch == 0u);
    var carry = accum(0.0);
    for (var s = 0u; s < p.tiles; s++)
    {
        let stop_step = min(step + TILE, n_steps);
        let entry = step - row;
        var stop_row = bunch_stop_row;
        if (s + 1u < p.tiles) { stop_row = merge(row, min(row + TILE, bunch_stop_row), stop_step); }
        let stop_entry = stop_step - stop_row;
        let n_ends = stop_row - row;
        let n_entries = stop_entry - entry;
        if (n_entries > 0u)
        {
            // Lanes beyond the last entry read it too, and their products are not used: no load waits for a condition.
#each i WIDTH
            let at_$i = entry + min($iu * LANES + lane, n_entries - 1u);
            let col_$i = cols[at_$i];
            let val_$i = load_vals(at_$i);
#end
#each i WIDTH
            products[base + $iu * LANES + lane] = times(val_$i, load_x(col_$i));
#end
        }
        for (var i = lane; i < n_ends; i += LANES) { ends[base + i] = row_ptr[row + 1u + i] - entry; }
        workgroupBarrier();
        // Where the lane's WIDTH steps begin.
        let diagonal = min(lane * WIDTH, stop_step - step);
        let diagonal_stop = min(diagonal + WIDTH, stop_step - step);
        var low = select(0u, diagonal - n_entries, diagonal > n_entries);
        var high = min(diagonal, n_ends);
        while (low < high)
        {
            let mid = (low + high) / 2u;
            if (ends[base + mid] < diagonal - mid) { low = mid + 1u; } else { high = mid; }
        }
        let first_end = low;
        var e = diagonal - low;
        var head = accum(0.0);
        var sum = accum(0.0);
        var n = 0u;
        for (var d = diagonal; d < diagonal_stop; d++)
        {
            var row_ends = first_end + n < n_ends;
            if (row_ends) { row_ends = ends[base + first_end + n] <= e; }
            if (row_ends)
            {
                // STEP 3
                if (n == 0u)
                {
                    head = sum;
                }
                else
                {
                    finish_row(p.row_base + row + first_end + n, sum);
                }
                sum = accum(0.0);
                n++;
            }
            else
            {
                sum += products[base + e];
                e++;
            }
        }
        let scan = lane_scan(n, sum);
        // STEP 2
        if (n > 0u)
        {
            let before = scan.sum_before + select(accum(0.0), carry, scan.n_before == 0u);
            store_row(p.row_base + row + first_end, before + head, row + first_end != begun);
        }
        carry = scan.sum_total + select(accum(0.0), carry, scan.n_total == 0u);
        step = stop_step;
        row = stop_row;
        workgroupBarrier();
    }
    // STEP 4
    if (lane == 0u && !spare) { carries[bunch] = carry; }
}
