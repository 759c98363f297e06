// kernel: pcsr_sums
// params: n_rows row_base tiles epilogue alpha beta lo hi row_ptr products z y
// built:  T=32,128,256 W=1,2,4,8,16
// steps:  1 a group takes S times as many rows as it has lanes; 2 bring their products to local memory, W*T at a time;
//         3 a lane sums those of its row; 4 store alpha*sum + beta*y

KERNEL pcsr_sums(uint n_rows, uint row_base, uint tiles, uint epilogue, accum_t alpha, accum_t beta, accum_t lo, accum_t hi,
                 const uint *__restrict__ row_ptr, const accum_t *__restrict__ products,
                 const accum_t *z, accum_t *__restrict__ y)
{
    const finish_t finish = finish_of(epilogue, alpha, beta, lo, hi, z, y);
    accum_t *held = (accum_t *)local_memory;
    const uint lane = threadIdx.x;

    // STEP 1
    uint first_row = blockIdx.x * LANES * tiles;
    for (uint s = 0; s < tiles && first_row < n_rows; s++, first_row += LANES)
    {
        const uint row = first_row + lane;
        const uint group_start = load_index(row_ptr, first_row);
        const uint group_stop = load_index(row_ptr, least(first_row + LANES, n_rows));
        const uint start = row < n_rows ? load_index(row_ptr, row) : group_stop;
        const uint stop = row < n_rows ? load_index(row_ptr, row + 1) : group_stop;
        accum_t sum = 0;
        for (uint base = group_start; base < group_stop; base += TILE)
        {
            // STEP 2
            const uint n = least(group_stop - base, TILE);
            accum_t product[WIDTH];
#pragma unroll
            for (uint i = 0; i < WIDTH; i++) product[i] = stream(products + base + least(i * LANES + lane, n - 1));
#pragma unroll
            for (uint i = 0; i < WIDTH; i++) held[HELD_AT(i * LANES + lane)] = product[i];
            group_barrier();
            // STEP 3
            const uint from = start > base ? start - base : 0;
            const uint to = stop > base ? least(stop - base, n) : 0;
            for (uint e = from; e < to; e++) sum += held[HELD_AT(e)];
            group_barrier();
        }
        // STEP 4
        if (row < n_rows) finish_row(y, row_base + row, sum, finish);
    }
}
