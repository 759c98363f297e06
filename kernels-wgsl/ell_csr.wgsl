// kernel: ell_csr
// params: n_rows row_base width tiles epilogue alpha beta lo hi slot_cols slot_vals row_ptr cols vals x z y
// steps:  1 a lane takes S whole rows; 2 sum the products of the row's slots, but for padding; 3 add those of the rest
//         of the row, if that is short; 4 store alpha*sum + beta*y; 5 else leave the row to a bunch, whose lanes take
//         the rest together

// The column of a slot that holds no entry.
const PADDING = 0xffffffffu;
// Entries of a row's rest up to which one lane takes it.
const SHORT = 32u;

var<workgroup> long_sums: array<accum, GROUP>;
var<workgroup> long_rows: array<u32, GROUP>;
var<workgroup> n_long: atomic<u32>;
var<workgroup> n_listed: u32;

fn ell_csr()
{
    // STEP 1
    var row = group * GROUP * p.tiles + local_id;
    // All lanes of the group take equally many turns, since they meet at barriers.
    for (var s = 0u; s < p.tiles; s++)
    {
        if (local_id == 0u) { atomicStore(&n_long, 0u); }
        workgroupBarrier();
        if (row < p.n_rows)
        {
            // STEP 2
            var sum = accum(0.0);
            for (var k = 0u; k < p.width; k++)
            {
                let at = k * p.n_rows + row;
                let col = slot_cols[at];
                // A row's padding comes last.
                if (col == PADDING) { break; }
                sum += times(load_slot_vals(at), load_x(col));
            }
            // STEP 3
            let start = row_ptr[row];
            let stop = row_ptr[row + 1u];
            if (stop - start <= SHORT)
            {
                for (var e = start; e < stop; e++) { sum += times(load_vals(e), load_x(cols[e])); }
                // STEP 4
                finish_row(p.row_base + row, sum);
            }
            else
            {
                let at = atomicAdd(&n_long, 1u);
                long_rows[at] = row;
                long_sums[at] = sum;
            }
        }
        workgroupBarrier();
        if (local_id == 0u) { n_listed = atomicLoad(&n_long); }
        // STEP 5
        let n = workgroupUniformLoad(&n_listed);
        // All bunches take equally many turns, since `lane_sum` may be a barrier of the group.
        for (var base = 0u; base < n; base += BUNCHES)
        {
            let at = base + bunch_of_group;
            var long_row = 0u;
            var long_sum = accum(0.0);
            if (at < n)
            {
                long_row = long_rows[at];
                let stop = row_ptr[long_row + 1u];
                for (var e = row_ptr[long_row] + lane; e < stop; e += LANES) { long_sum += times(load_vals(e), load_x(cols[e])); }
            }
            long_sum = lane_sum(long_sum);
            if (at < n && lane == 0u) { finish_row(p.row_base + long_row, long_sums[at] + long_sum); }
        }
        row += GROUP;
    }
}
