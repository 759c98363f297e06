// kernel: ipcsr
// params: n_rows row_base epilogue alpha beta lo hi row_ptr block_rows block_entries cols vals x carries arrivals z y
// steps:  1 a group takes a block of rows, or a piece of a long one; 2 gather its products; 3 sum each row, with as
//         many lanes as there are for it, then rows too long for those; 4 store alpha*sum + beta*y; 5 leave a piece's
//         sum in carries[block]; where groups can join, the last to arrive adds its row's, else carry_apply

const HELD = GROUP * WIDTH;
// Steps that the lanes of one row of several may take, in widths of a tile; lanes that a long row gets then.
const STEPS = 2u;
const MOST_LANES = 32u;

var<workgroup> products: array<accum, HELD + HELD / 32u>;
var<workgroup> sums: array<accum, GROUP>;
var<workgroup> ends: array<u32, GROUP>;
var<workgroup> long_rows: array<u32, GROUP>;
var<workgroup> n_long: atomic<u32>;
var<workgroup> n_listed: u32;

// Where a row of the block begins.
fn begin_of(row: u32) -> u32
{
    if (row == 0u) { return 0u; }
    return ends[row - 1u];
}

// Adds what the lanes of each row have, so many of them, to what the first one has. All lanes of the group must come here.
fn add_lanes(has: bool, own: u32, n_lanes: u32)
{
    workgroupBarrier();
    for (var d = n_lanes / 2u; d > 0u; d /= 2u)
    {
        if (has && own < d) { sums[local_id] += sums[local_id + d]; }
        workgroupBarrier();
    }
}

fn ipcsr()
{
    // STEP 1
    let block = group;
    let first_row = block_rows[block];
    let n_own = block_rows[block + 1u] - first_row;
    let start = block_entries[block];
    let n_entries = block_entries[block + 1u] - start;
    // STEP 2
    var end = n_entries;
    if (local_id < n_own) { end = row_ptr[first_row + local_id + 1u] - start; }
    if (n_entries > 0u)
    {
        // Lanes beyond the last entry read it too, and their products are not used: no load waits for a condition.
#each i WIDTH
        let at_$i = start + min($iu * GROUP + local_id, n_entries - 1u);
        let col_$i = cols[at_$i];
        let val_$i = load_vals(at_$i);
#end
#each i WIDTH
        let product_$i = times(val_$i, load_x(col_$i));
#end
#each i WIDTH
        products[held_at($iu * GROUP + local_id)] = product_$i;
#end
    }
    ends[local_id] = end;
    if (local_id == 0u) { atomicStore(&n_long, 0u); }
    workgroupBarrier();
    // STEP 3
    // The greatest power of two that leaves lanes for every row; a block without a row of its own sums one.
    let n_sums = max(n_own, 1u);
    var n_lanes = 1u;
    while (2u * n_lanes * n_sums <= GROUP) { n_lanes *= 2u; }
    let row = local_id / n_lanes;
    let own = local_id % n_lanes;
    let has = row < n_sums;
    var first = 0u;
    var stop = 0u;
    if (has)
    {
        first = begin_of(row);
        stop = select(ends[row], n_entries, n_own == 0u);
    }
    let is_long = n_lanes < MOST_LANES && n_sums > 1u && stop > first + STEPS * WIDTH * n_lanes;
    var sum = accum(0.0);
    if (!is_long)
    {
        for (var e = first + own; e < stop; e += n_lanes) { sum += products[held_at(e)]; }
    }
    else if (own == 0u)
    {
        long_rows[atomicAdd(&n_long, 1u)] = row;
    }
    sums[local_id] = sum;
    add_lanes(has, own, n_lanes);
#if JOINS
    // STEP 5
    var row_start = 0u;
    var row_stop = 0u;
    if (n_own <= 1u && n_entries > 0u)
    {
        row_start = row_ptr[first_row];
        row_stop = row_ptr[first_row + 1u];
    }
    let n_pieces = (row_stop - row_start + HELD - 1u) / HELD;
    if (n_pieces > 1u)
    {
        let first_piece = block - (start - row_start) / HELD;
        if (local_id == 0u) { carries[block] = sums[0]; }
        storageBarrier();
        if (local_id == 0u) { n_listed = atomicAdd(&arrivals[first_piece], 1u); }
        let n_before = workgroupUniformLoad(&n_listed);
        storageBarrier();
        if (n_before + 1u < n_pieces) { return; }
        sum = accum(0.0);
        if (has)
        {
            for (var i = own; i < n_pieces; i += n_lanes) { sum += carries[first_piece + i]; }
        }
        sums[local_id] = sum;
        add_lanes(has, own, n_lanes);
        if (local_id == 0u)
        {
            atomicStore(&arrivals[first_piece], 0u);
            finish_row(p.row_base + first_row, sums[0]);
        }
        return;
    }
#end
    // STEP 4
    // A row that began before is whole when carry_apply has added to it.
    if (row < n_own && own == 0u && !is_long)
    {
        store_row(p.row_base + first_row + row, sums[local_id], row > 0u || row_ptr[first_row] == start);
    }
#if JOINS
#else
    // STEP 5
    // Groups do not join: carry_apply adds the sums of pieces.
    if (local_id == 0u) { carries[block] = select(accum(0.0), sums[0], n_own == 0u); }
#end
    if (local_id == 0u) { n_listed = atomicLoad(&n_long); }
    // STEP 3
    // Long rows share the group, so many lanes each.
    let n = workgroupUniformLoad(&n_listed);
    let team_lanes = min(MOST_LANES, GROUP);
    let n_teams = GROUP / team_lanes;
    let team = local_id / team_lanes;
    let mate = local_id % team_lanes;
    for (var base = 0u; base < n; base += n_teams)
    {
        let sums_one = team < n_teams && base + team < n;
        var long_row = 0u;
        var long_sum = accum(0.0);
        if (sums_one)
        {
            long_row = long_rows[base + team];
            let long_stop = ends[long_row];
            for (var e = begin_of(long_row) + mate; e < long_stop; e += team_lanes) { long_sum += products[held_at(e)]; }
        }
        sums[local_id] = long_sum;
        workgroupBarrier();
        for (var d = MOST_LANES / 2u; d > 0u; d /= 2u)
        {
            if (sums_one && mate < d && mate + d < team_lanes) { sums[local_id] += sums[local_id + d]; }
            workgroupBarrier();
        }
        if (sums_one && mate == 0u)
        {
            store_row(p.row_base + first_row + long_row, sums[local_id], long_row > 0u || row_ptr[first_row] == start);
        }
        workgroupBarrier();
    }
}
