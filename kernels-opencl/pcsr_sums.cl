// kernel: pcsr_sums
// params: n_rows row_base tiles epilogue alpha beta lo hi row_ptr products z y
// steps:  1 a group takes S times as many rows as it has lanes; 2 bring their products to local memory, W*T at a time;
//         3 a lane sums those of its row; 4 store alpha*sum + beta*y

#define GROUP (LANES * BUNCHES)
#define HELD (GROUP * WIDTH)

KERNEL void pcsr_sums(uint n_rows, uint row_base, uint tiles, uint epilogue, accum_t alpha, accum_t beta, accum_t lo,
                      accum_t hi, GLOBAL const uint *row_ptr, GLOBAL const accum_t *products, GLOBAL const accum_t *z,
                      GLOBAL accum_t *y)
{
    const finish_t finish = finish_of(epilogue, alpha, beta, lo, hi, z, y);
    LOCAL accum_t held[HELD + HELD / 32];
    LANE_KEPT(sum)
    const uint lane = (uint)get_local_id(0);

    for (uint s = 0; s < tiles; s++)
    {
        // STEP 1
        const uint first_row = min(((uint)get_group_id(0) * tiles + s) * GROUP, n_rows);
        const uint row = first_row + lane;
        const uint group_start = row_ptr[first_row];
        const uint group_stop = row_ptr[min(first_row + GROUP, n_rows)];
        *own_sum = 0;
        for (uint base = group_start; base < group_stop; base += HELD)
        {
            // STEP 2
            const uint n = min(group_stop - base, (uint)HELD);
#pragma unroll
            for (uint i = 0; i < WIDTH; i++)
            {
                const uint e = i * GROUP + lane;
                if (e < n) held[HELD_AT(e)] = products[base + e];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            // STEP 3
            const uint start = row_ptr[min(row, n_rows)];
            const uint stop = row_ptr[min(row + 1, n_rows)];
            const uint from = start > base ? start - base : 0;
            const uint to = stop > base ? min(stop - base, n) : 0;
            accum_t sum = 0;
            for (uint e = from; e < to; e++) sum += held[HELD_AT(e)];
            *own_sum += sum;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        // STEP 4
        if (row < n_rows) finish_row(y, row_base + row, *own_sum, &finish);
    }
}
