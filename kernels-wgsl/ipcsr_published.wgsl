// kernel: ipcsr_published
// params: n_rows row_base epilogue alpha beta lo hi row_ptr block_rows cols vals x z y
// steps:  1 a group takes a block of whole rows; 2 bring the products of several rows to local memory; 3 each lane sums
//         its share of a row: of a single row, however long, every T-th product, else of as many lanes as rows leave,
//         one where rows are at least half of the lanes; 4 add the shares of a row by halves; 5 store
//         alpha*sum + beta*y

// Gao et al. as published, where ipcsr.wgsl has what was improved since. Algorithms 1 to 10 are the paper's.

const HELD = GROUP * WIDTH;
const MOST_LANES = 32u;

// SHARED_SIZE products, and a partial sum for each lane.
var<workgroup> products: array<accum, HELD>;
var<workgroup> sums: array<accum, GROUP>;

// Figure 1: lanes of each row of a block, the power of two that rows leave, at most a warp.
fn lanes_of_a_row(n_rows: u32) -> u32
{
    if (2u * n_rows >= GROUP) { return 1u; }
    var n_lanes = MOST_LANES;
    while (n_lanes * n_rows > GROUP) { n_lanes /= 2u; }
    return n_lanes;
}

fn ipcsr_published()
{
    // STEP 1
    // Algorithm 9: lines 1 to 7.
    let block = group;
    let first_row = block_rows[block];
    let n_own = block_rows[block + 1u] - first_row;
    let start = row_ptr[first_row];
    let n_entries = row_ptr[first_row + n_own] - start;
    // A matrix without rows has a block without any.
    let is_single = n_own <= 1u;
    var n_lanes = GROUP;
    if (!is_single) { n_lanes = lanes_of_a_row(n_own); }
    let row = local_id / n_lanes;
    let own = local_id % n_lanes;
    let has = row < n_own;
    // STEP 2
    // Algorithm 3: lines 7 to 10. Algorithm 7: lines 6 to 9.
    if (!is_single)
    {
        for (var e = local_id; e < n_entries; e += GROUP) { products[e] = times(load_vals(start + e), load_x(cols[start + e])); }
    }
    workgroupBarrier();
    // STEP 3
    var sum = accum(0.0);
    if (is_single)
    {
        // Algorithm 8: lines 2 to 5.
        for (var e = start + local_id; e < start + n_entries; e += GROUP) { sum += times(load_vals(e), load_x(cols[e])); }
    }
    else if (has)
    {
        // Algorithm 3: its scalar-style reduction, with one lane. Algorithm 5: the partial reduction, with several.
        let stop = row_ptr[first_row + row + 1u] - start;
        for (var e = row_ptr[first_row + row] - start + own; e < stop; e += n_lanes) { sum += products[e]; }
    }
    sums[local_id] = sum;
    workgroupBarrier();
    // STEP 4
    // Algorithm 5: the warp reduction. Algorithm 8: lines 7 to 15. A group need not have a power of two of lanes.
    for (var n = n_lanes; n > 1u; n = (n + 1u) / 2u)
    {
        if (has && own < n / 2u) { sums[local_id] += sums[local_id + (n + 1u) / 2u]; }
        workgroupBarrier();
    }
    // STEP 5
    if (has && own == 0u) { finish_row(p.row_base + first_row + row, sums[local_id]); }
}
