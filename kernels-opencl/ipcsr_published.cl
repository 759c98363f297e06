// kernel: ipcsr_published
// params: n_rows row_base epilogue alpha beta lo hi row_ptr block_rows cols vals x z y
// steps:  1 a group takes a block of whole rows; 2 bring the products of several rows to local memory; 3 each lane sums
//         its share of a row: of a single row, however long, every T-th product, else of as many lanes as rows leave,
//         one where rows are at least half of the lanes; 4 add the shares of a row by halves; 5 store
//         alpha*sum + beta*y

// Gao et al. as published, where ipcsr.cl has what was improved since. Algorithms 1 to 10 are the paper's.

#define GROUP (LANES * BUNCHES)
#define HELD (GROUP * WIDTH)
#define MOST_LANES 32

// Figure 1: lanes of each row of a block, the power of two that rows leave, at most a warp.
static uint lanes_of_a_row(uint n_rows)
{
    if (2 * n_rows >= GROUP) return 1;
    uint n_lanes = MOST_LANES;
    while (n_lanes * n_rows > GROUP) n_lanes /= 2;
    return n_lanes;
}

KERNEL void ipcsr_published(uint n_rows, uint row_base, uint epilogue, accum_t alpha, accum_t beta, accum_t lo,
                            accum_t hi, GLOBAL const uint *row_ptr, GLOBAL const uint *block_rows,
                            GLOBAL const uint *cols, GLOBAL const value_t *vals, GLOBAL const vector_t *x,
                            GLOBAL const accum_t *z, GLOBAL accum_t *y)
{
    const finish_t finish = finish_of(epilogue, alpha, beta, lo, hi, z, y);
    // SHARED_SIZE products, and a partial sum for each lane.
    LOCAL accum_t products[HELD];
    LOCAL accum_t sums[GROUP];
    const uint lane = (uint)get_local_id(0);
    const uint block = (uint)get_group_id(0);

    // STEP 1
    // Algorithm 9: lines 1 to 7.
    const uint first_row = block_rows[block];
    const uint n_own = block_rows[block + 1] - first_row;
    const uint start = row_ptr[first_row];
    const uint n_entries = row_ptr[first_row + n_own] - start;
    // A matrix without rows has a block without any.
    const bool is_single = n_own <= 1;
    const uint n_lanes = is_single ? GROUP : lanes_of_a_row(n_own);
    const uint row = lane / n_lanes;
    const uint own = lane % n_lanes;
    const bool has = row < n_own;
    // STEP 2
    // Algorithm 3: lines 7 to 10. Algorithm 7: lines 6 to 9.
    if (!is_single)
    {
        for (uint e = lane; e < n_entries; e += GROUP)
            products[e] = times((accum_t)load_value(vals, start + e), (accum_t)load_vector(x, cols[start + e]));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    // STEP 3
    accum_t sum = 0;
    if (is_single)
    {
        // Algorithm 8: lines 2 to 5.
        for (uint e = start + lane; e < start + n_entries; e += GROUP)
            sum += times((accum_t)load_value(vals, e), (accum_t)load_vector(x, cols[e]));
    }
    else if (has)
    {
        // Algorithm 3: its scalar-style reduction, with one lane. Algorithm 5: the partial reduction, with several.
        const uint stop = row_ptr[first_row + row + 1] - start;
        for (uint e = row_ptr[first_row + row] - start + own; e < stop; e += n_lanes) sum += products[e];
    }
    sums[lane] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    // STEP 4
    // Algorithm 5: the warp reduction. Algorithm 8: lines 7 to 15. A group need not have a power of two of lanes.
    for (uint n = n_lanes; n > 1; n = (n + 1) / 2)
    {
        if (has && own < n / 2) sums[lane] += sums[lane + (n + 1) / 2];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    // STEP 5
    if (has && own == 0) finish_row(y, row_base + first_row + row, sums[lane], &finish);
}
