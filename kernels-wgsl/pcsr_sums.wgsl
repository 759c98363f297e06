// kernel: pcsr_sums
// params: n_rows row_base tiles epilogue alpha beta lo hi row_ptr products z y
// steps:  1 a group takes S times as many rows as it has lanes; 2 bring their products to local memory, W*T at a time;
//         3 a lane sums those of its row; 4 store alpha*sum + beta*y

const HELD = GROUP * WIDTH;

var<workgroup> held: array<accum, HELD + HELD / 32u>;
// The entries of the group's rows.
var<workgroup> group_start: u32;
var<workgroup> group_stop: u32;

fn pcsr_sums()
{
    for (var s = 0u; s < p.tiles; s++)
    {
        // STEP 1
        let first_row = min((group * p.tiles + s) * GROUP, p.n_rows);
        let row = first_row + local_id;
        let start = row_ptr[min(row, p.n_rows)];
        let stop = row_ptr[min(row + 1u, p.n_rows)];
        if (local_id == 0u)
        {
            group_start = start;
            group_stop = row_ptr[min(first_row + GROUP, p.n_rows)];
        }
        let from_entry = workgroupUniformLoad(&group_start);
        let to_entry = workgroupUniformLoad(&group_stop);
        var sum = accum(0.0);
        for (var base = from_entry; base < to_entry; base += HELD)
        {
            // STEP 2
            let n = min(to_entry - base, HELD);
#each i WIDTH
            let product_$i = products[base + min($iu * GROUP + local_id, n - 1u)];
#end
#each i WIDTH
            held[held_at($iu * GROUP + local_id)] = product_$i;
#end
            workgroupBarrier();
            // STEP 3
            let first = max(start, base) - base;
            let last = min(max(stop, base) - base, n);
            for (var e = first; e < last; e++) { sum += held[held_at(e)]; }
            workgroupBarrier();
        }
        // STEP 4
        if (row < p.n_rows) { finish_row(p.row_base + row, sum); }
    }
}
