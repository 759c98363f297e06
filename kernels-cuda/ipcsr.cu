// kernel: ipcsr
// params: n_rows row_base alpha beta row_ptr block_rows block_entries cols vals x carries y
// steps:  1 a group takes a block of rows, or a piece of a long one; 2 gather its products; 3 sum each row, with as
//         many lanes as there are for it; 4 store alpha*sum + beta*y; 5 leave a piece's sum in carries[block] if its
//         row goes on, else zero

// A word of padding for every 32: lanes that read whole rows of equal lengths then read from different banks.
#define AT(entry) ((entry) + (entry) / 32)

KERNEL_OF((LANES), (LANES < 64 ? 16 : 1024 / LANES)) ipcsr(uint n_rows, uint row_base, accum_t alpha, accum_t beta, const uint *__restrict__ row_ptr,
             const uint *__restrict__ block_rows, const uint *__restrict__ block_entries,
             const uint *__restrict__ cols, const value_t *__restrict__ vals, const value_t *__restrict__ x,
             accum_t *__restrict__ carries, accum_t *__restrict__ y)
{
    accum_t *products = (accum_t *)local_memory;
    accum_t *sums = products + TILE + TILE / 32;
    uint *ends = (uint *)(sums + LANES);
    const uint lane = threadIdx.x;
    const uint block = blockIdx.x;

    // STEP 1
    const uint first_row = load_index(block_rows, block);
    const uint n_own = load_index(block_rows, block + 1) - first_row;
    const uint start = load_index(block_entries, block);
    const uint n_entries = load_index(block_entries, block + 1) - start;
    // STEP 2
    const uint end = lane < n_own ? load_index(row_ptr, first_row + lane + 1) - start : n_entries;
    accum_t product[WIDTH] = {};
    if (n_entries > 0)
    {
        // Lanes beyond the last entry read it too, and their products are not used: no load waits for a condition.
        uint col[WIDTH];
#pragma unroll
        for (uint i = 0; i < WIDTH; i++)
        {
            const uint at = least(i * LANES + lane, n_entries - 1);
            col[i] = load_index(cols + start, at);
            product[i] = load_value(vals + start, at);
        }
#pragma unroll
        for (uint i = 0; i < WIDTH; i++) product[i] *= load_value(x, col[i]);
    }
    accum_t *out = y + row_base + first_row;
    // STEP 3
    if (n_own <= 1)
    {
        // All lanes for one row.
        accum_t sum = 0;
#pragma unroll
        for (uint i = 0; i < WIDTH; i++)
            if (i * LANES + lane < n_entries) sum += product[i];
        sum = lane_sum<WARP_LANES>(sum);
        if (lane % WARP_LANES == 0) sums[lane / WARP_LANES] = sum;
        group_barrier();
        if (lane == 0)
        {
            for (uint i = 1; i < LANES / WARP_LANES; i++) sum += sums[i];
            // STEP 4
            if (n_own == 1) store(out, alpha, sum, beta);
            // STEP 5
            carries[block] = n_own == 1 ? 0 : sum;
        }
        return;
    }
#pragma unroll
    for (uint i = 0; i < WIDTH; i++) products[AT(i * LANES + lane)] = product[i];
    ends[lane] = end;
    group_barrier();
    // The greatest power of two that leaves lanes for every row.
    uint n_lanes = WARP_LANES;
    while (n_lanes * n_own > LANES) n_lanes /= 2;
    const uint row = lane / n_lanes;
    const uint own = lane % n_lanes;
    accum_t sum = 0;
    if (row < n_own)
    {
        const uint stop = ends[row];
        for (uint e = (row == 0 ? 0 : ends[row - 1]) + own; e < stop; e += n_lanes) sum += products[AT(e)];
    }
    sum = part_sum(sum, n_lanes);
    // STEP 4
    if (row < n_own && own == 0) store(out + row, alpha, sum, beta);
    // STEP 5
    if (lane == 0) carries[block] = 0;
}
