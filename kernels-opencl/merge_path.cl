// kernel: merge_path
// params: n_rows row_base nnz tiles epilogue alpha beta lo hi row_ptr bunch_rows cols vals x carries z y
// steps:  1 a bunch takes S*W*T steps of the merge of row ends with entries, from bunch_rows[bunch] on;
//         2 finish the row that began before; 3 sum and store whole rows; 4 leave the last row's
//         beginning in carries[bunch]

// Rows finished after `step` steps of the merge that begins at row `low`; at most `high`.
static uint merge(GLOBAL const uint *row_ptr, uint low, uint high, uint step)
{
    while (low < high)
    {
        const uint mid = low + (high - low) / 2;
        if (row_ptr[mid + 1] < step - mid)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

KERNEL void merge_path(uint n_rows, uint row_base, uint nnz, uint tiles, uint epilogue, accum_t alpha, accum_t beta,
                       accum_t lo, accum_t hi, GLOBAL const uint *row_ptr, GLOBAL const uint *bunch_rows,
                       GLOBAL const uint *cols, GLOBAL const value_t *vals, GLOBAL const vector_t *x,
                       GLOBAL accum_t *carries, GLOBAL const accum_t *z, GLOBAL accum_t *y)
{
    const finish_t finish = finish_of(epilogue, alpha, beta, lo, hi, z, y);
    LANE_TALK
    LOCAL accum_t group_products[BUNCHES * TILE];
    LOCAL uint group_ends[BUNCHES * TILE];
    const talk_t talk = lane_talk();
    LOCAL accum_t *products = group_products + bunch_id() * TILE;
    LOCAL uint *ends = group_ends + bunch_id() * TILE;
    const uint lane = lane_id();
    const uint bunch = (uint)get_group_id(0) * BUNCHES + bunch_id();

    // STEP 1
    // A spare bunch of the last group takes its turns with no steps, since its barriers may be the group's.
    const uint n_steps = n_rows + nnz;
    const uint n_bunches = (n_steps + tiles * TILE - 1) / (tiles * TILE);
    const bool spare = bunch >= n_bunches;
    uint step = spare ? n_steps : bunch * tiles * TILE;
    uint row = spare ? n_rows : bunch_rows[bunch];
    // The row that began before is whole when carry_apply has added to it.
    const uint begun = bunch == 0 ? n_rows : row;
    const uint bunch_stop_row = spare ? n_rows : bunch_rows[bunch + 1];
    accum_t carry = 0;
    for (uint s = 0; s < tiles; s++)
    {
        const uint stop_step = min(step + TILE, n_steps);
        const uint entry = step - row;
        const uint stop_row =
            s + 1 == tiles ? bunch_stop_row : merge(row_ptr, row, min(row + TILE, bunch_stop_row), stop_step);
        const uint stop_entry = stop_step - stop_row;
        const uint n_ends = stop_row - row;
        const uint n_entries = stop_entry - entry;
        for (uint i = lane; i < n_ends; i += LANES) ends[i] = row_ptr[row + 1 + i] - entry;
#pragma unroll
        for (uint i = 0; i < WIDTH; i++)
        {
            const uint e = i * LANES + lane;
            if (e < n_entries)
                products[e] =
                    times((accum_t)load_value(vals, entry + e), (accum_t)load_vector(x, cols[entry + e]));
        }
        bunch_barrier();
        // Where the lane's WIDTH steps begin.
        const uint diagonal = min(lane * WIDTH, stop_step - step);
        const uint diagonal_stop = min(diagonal + WIDTH, stop_step - step);
        uint low = diagonal > n_entries ? diagonal - n_entries : 0;
        uint high = min(diagonal, n_ends);
        while (low < high)
        {
            const uint mid = (low + high) / 2;
            if (ends[mid] < diagonal - mid)
                low = mid + 1;
            else
                high = mid;
        }
        const uint first_end = low;
        uint e = diagonal - low;
        accum_t head = 0;
        accum_t sum = 0;
        uint n = 0;
        for (uint d = diagonal; d < diagonal_stop; d++)
        {
            if (first_end + n < n_ends && ends[first_end + n] <= e)
            {
                // STEP 3
                if (n == 0)
                    head = sum;
                else
                    finish_row(y, row_base + row + first_end + n, sum, &finish);
                sum = 0;
                n++;
            }
            else
            {
                sum += products[e];
                e++;
            }
        }
        const scan_t scan = lane_scan(talk, n, sum);
        // STEP 2
        if (n > 0)
        {
            const accum_t before = scan.sum_before + (scan.n_before == 0 ? carry : ZERO);
            store_row(y, row_base + row + first_end, before + head, &finish, row + first_end != begun);
        }
        carry = scan.sum_total + (scan.n_total == 0 ? carry : ZERO);
        step = stop_step;
        row = stop_row;
        bunch_barrier();
    }
    // STEP 4
    if (lane == 0 && !spare) carries[bunch] = carry;
}
