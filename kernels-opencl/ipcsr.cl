// kernel: ipcsr
// params: n_rows row_base alpha beta row_ptr block_rows block_entries cols vals x carries y
// steps:  1 a group takes a block of rows, or a piece of a long one; 2 gather its products; 3 sum each row, with as
//         many lanes as there are for it; 4 store alpha*sum + beta*y; 5 leave a piece's sum in carries[block] if its
//         row goes on, else zero

// A word of padding for every 32: lanes that read whole rows of equal lengths then read from different banks.
#define AT(entry) ((entry) + (entry) / 32)
#define GROUP (LANES * BUNCHES)
#define HELD (GROUP * WIDTH)

KERNEL void ipcsr(uint n_rows, uint row_base, accum_t alpha, accum_t beta, GLOBAL const uint *row_ptr,
                  GLOBAL const uint *block_rows, GLOBAL const uint *block_entries, GLOBAL const uint *cols,
                  GLOBAL const value_t *vals, GLOBAL const value_t *x, GLOBAL accum_t *carries,
                  GLOBAL accum_t *y)
{
    LOCAL accum_t products[HELD + HELD / 32];
    LOCAL accum_t sums[GROUP];
    LOCAL uint ends[GROUP];
    const uint lane = (uint)get_local_id(0);
    const uint block = (uint)get_group_id(0);

    // STEP 1
    const uint first_row = block_rows[block];
    const uint n_own = block_rows[block + 1] - first_row;
    const uint start = block_entries[block];
    const uint n_entries = block_entries[block + 1] - start;
    // STEP 2
#pragma unroll
    for (uint i = 0; i < WIDTH; i++)
    {
        const uint e = i * GROUP + lane;
        if (e < n_entries)
            products[AT(e)] =
                (accum_t)load_value(vals, start + e) * (accum_t)load_value(x, cols[start + e]);
    }
    ends[lane] = lane < n_own ? row_ptr[first_row + lane + 1] - start : n_entries;
    barrier(CLK_LOCAL_MEM_FENCE);
    // STEP 3
    // The greatest power of two that leaves lanes for every row; a block without a row of its own sums one.
    const uint n_sums = max(n_own, 1u);
    uint n_lanes = 1;
    while (2 * n_lanes * n_sums <= GROUP) n_lanes *= 2;
    const uint row = lane / n_lanes;
    const uint own = lane % n_lanes;
    accum_t sum = 0;
    if (row < n_sums)
    {
        const uint stop = n_own == 0 ? n_entries : ends[row];
        for (uint e = (row == 0 ? 0 : ends[row - 1]) + own; e < stop; e += n_lanes) sum += products[AT(e)];
    }
    sums[lane] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint d = n_lanes / 2; d > 0; d /= 2)
    {
        if (row < n_sums && own < d) sums[lane] += sums[lane + d];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    // STEP 4
    if (row < n_own && own == 0) store(y + row_base + first_row + row, alpha, sums[lane], beta);
    // STEP 5
    if (lane == 0) carries[block] = n_own == 0 ? sums[0] : 0;
}
