// kernel: ipcsr_published
// params: n_rows row_base epilogue alpha beta lo hi row_ptr block_rows cols vals x z y
// built:  T=32,128,256 W=1,2,4,8,16
// steps:  1 a group takes a block of whole rows; 2 bring the products of several rows to local memory; 3 each lane sums
//         its share of a row: of a single row, however long, every T-th product, else of as many lanes as rows leave,
//         one where rows are at least half of the lanes; 4 add the shares of a row by halves; 5 store
//         alpha*sum + beta*y

// Gao et al. as published, where ipcsr.cu has what was improved since. Algorithms 1 to 10 are the paper's. The paper reads
// x through a texture, for f64 as two words that Algorithm 10 joins. `load_value` replaces both: a read-only load
// (`ld.global.nc`, of a `const __restrict__` array) goes through the same cache without a texture, in any type.

// Figure 1: lanes of each row of a block, the power of two that rows leave, at most a warp.
template <uint LANES> DEVICE uint lanes_of_a_row(uint n_rows)
{
    if (2 * n_rows >= LANES) return 1;
    uint n_lanes = WARP_LANES;
    while (n_lanes * n_rows > LANES) n_lanes /= 2;
    return n_lanes;
}

KERNEL_UP_TO(LANES) ipcsr_published(uint n_rows, uint row_base, uint epilogue, accum_t alpha, accum_t beta,
                                    accum_t lo, accum_t hi, const uint *__restrict__ row_ptr,
                                    const uint *__restrict__ block_rows, const uint *__restrict__ cols,
                                    const value_t *__restrict__ vals, const vector_t *__restrict__ x,
                                    const accum_t *z, accum_t *__restrict__ y)
{
    const finish_t finish = finish_of(epilogue, alpha, beta, lo, hi, z, y);
    // SHARED_SIZE products, and a partial sum for each lane.
    accum_t *products = (accum_t *)local_memory;
    accum_t *sums = products + TILE;
    const uint lane = threadIdx.x;

    // STEP 1
    // Algorithm 9: lines 1 to 7.
    const uint first_row = load_index(block_rows, blockIdx.x);
    const uint n_own = load_index(block_rows, blockIdx.x + 1) - first_row;
    const uint start = load_index(row_ptr, first_row);
    const uint n_entries = load_index(row_ptr, first_row + n_own) - start;
    // A matrix without rows has a block without any.
    const bool is_single = n_own <= 1;
    const uint n_lanes = is_single ? LANES : lanes_of_a_row<LANES>(n_own);
    const uint row = lane / n_lanes;
    const uint own = lane % n_lanes;
    const bool has = row < n_own;
    accum_t sum = 0;
    if (is_single)
    {
        // STEP 3
        // Algorithm 8: lines 2 to 5.
        for (uint e = start + lane; e < start + n_entries; e += LANES)
            sum += load_value(vals, e) * load_value(x, load_index(cols, e));
    }
    else
    {
        // STEP 2
        // Algorithm 3: lines 7 to 10. Algorithm 7: lines 6 to 9.
        for (uint e = lane; e < n_entries; e += LANES)
            products[e] = load_value(vals, start + e) * load_value(x, load_index(cols, start + e));
        group_barrier();
        // STEP 3
        // Algorithm 3: its scalar-style reduction, with one lane. Algorithm 5: the partial reduction, with several.
        const uint stop = has ? load_index(row_ptr, first_row + row + 1) - start : 0;
        for (uint e = has ? load_index(row_ptr, first_row + row) - start + own : 0; e < stop; e += n_lanes)
            sum += products[e];
    }
    // STEP 4
    // Algorithm 5: the warp reduction. Algorithm 8: lines 7 to 15. All lanes meet at each barrier, as they must now.
    if (n_lanes > 1)
    {
        sums[lane] = sum;
        group_barrier();
        for (uint d = n_lanes / 2; d > 0; d /= 2)
        {
            if (has && own < d) sums[lane] += sums[lane + d];
            group_barrier();
        }
        sum = sums[lane];
    }
    // STEP 5
    if (has && own == 0) finish_row(y, row_base + first_row + row, sum, finish);
}
