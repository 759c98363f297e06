// kernel: coo
// params: n_rows row_base nnz n_slots tiles epilogue alpha beta lo hi rows cols vals x carries z y
// steps:  1 a bunch takes S*W*T slots: entries, then rows without entries; 2 gather products and notice where rows
//         end; 3 sum and store whole rows; 4 finish the row that began before; 5 leave the last row's beginning
//         in carries[bunch]

// In place of a row's number where the row goes on.
const GOES_ON = 0xffffffffu;

var<workgroup> products: array<accum, BUNCHES * TILE>;
var<workgroup> ends: array<u32, BUNCHES * TILE>;

fn coo()
{
    let base = bunch_of_group * TILE;

    // STEP 1
    // A spare bunch of the last group takes its turns with no slots, since its barriers are the group's.
    let spare = bunch >= (p.n_slots + p.tiles * TILE - 1u) / (p.tiles * TILE);
    var slot = p.n_slots;
    if (!spare) { slot = bunch * p.tiles * TILE; }
    // A row that began before is whole when carry_apply has added to it.
    var begun = GOES_ON;
    if (bunch > 0u && !spare)
    {
        if (rows[slot - 1u] == rows[slot]) { begun = rows[slot]; }
    }
    var carry = accum(0.0);
    for (var s = 0u; s < p.tiles; s++)
    {
        let n_own = min(TILE, p.n_slots - slot);
        // STEP 2
        if (n_own > 0u)
        {
            // lanes beyond the last slot read it too, and what they read is not used.
#each i WIDTH
            let e_$i = $iu * LANES + lane;
            let at_$i = slot + min(e_$i, n_own - 1u);
            let row_$i = rows[at_$i];
            let next_$i = rows[min(at_$i + 1u, p.n_slots - 1u)];
            ends[base + e_$i] = select(GOES_ON, row_$i, row_$i != next_$i || at_$i + 1u == p.n_slots);
#end
#each i WIDTH
            var product_$i = accum(0.0);
            if (at_$i < p.nnz) { product_$i = times(load_vals(at_$i), load_x(cols[at_$i])); }
#end
#each i WIDTH
            products[base + e_$i] = product_$i;
#end
        }
        workgroupBarrier();
        // The lane's WIDTH slots, side by side.
        let stop = min((lane + 1u) * WIDTH, n_own);
        var first_end = GOES_ON;
        var head = accum(0.0);
        var sum = accum(0.0);
        var n = 0u;
        for (var e = lane * WIDTH; e < stop; e++)
        {
            sum += products[base + e];
            let end = ends[base + e];
            if (end != GOES_ON)
            {
                // STEP 3
                if (n == 0u)
                {
                    head = sum;
                    first_end = end;
                }
                else
                {
                    finish_row(p.row_base + end, sum);
                }
                sum = accum(0.0);
                n++;
            }
        }
        let scan = lane_scan(n, sum);
        // STEP 4
        if (n > 0u)
        {
            let before = scan.sum_before + select(accum(0.0), carry, scan.n_before == 0u);
            store_row(p.row_base + first_end, before + head, first_end != begun);
        }
        carry = scan.sum_total + select(accum(0.0), carry, scan.n_total == 0u);
        slot += n_own;
        workgroupBarrier();
    }
    // STEP 5
    if (lane == 0u && !spare) { carries[bunch] = carry; }
}
