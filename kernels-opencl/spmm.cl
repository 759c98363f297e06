// kernel: spmm
// params: row_base columns x_stride x_at y_stride y_at alpha beta row_ptr block_rows block_entries cols vals x carries y
// steps:  1 a group takes a block of rows, or a piece of a long one, and a row its share of the lanes; 2 a lane sums the
//         products of its entries with four columns; 3 add the sums of a row's lanes; 4 store alpha*sums + beta*y, or leave
//         a piece's sums in carries[block]

KERNEL void spmm(uint row_base, uint columns, uint x_stride, uint x_at, uint y_stride, uint y_at, accum_t alpha,
                 accum_t beta, GLOBAL const uint *row_ptr, GLOBAL const uint *block_rows,
                 GLOBAL const uint *block_entries, GLOBAL const uint *cols, GLOBAL const value_t *vals,
                 GLOBAL const vector_t *x, GLOBAL accum_t *carries, GLOBAL accum_t *y)
{
    LOCAL accum4_t sums[LANES * BUNCHES];
    // STEP 1
    // Lanes next to each other take the columns of one entry.
    const uint lane = (uint)get_local_id(0);
    const uint slot = lane / BUNCHES;
    const uint column = FOUR * (lane % BUNCHES);
    const uint block = (uint)get_group_id(0);
    const uint first_row = block_rows[block];
    const uint n_own = block_rows[block + 1] - first_row;
    const uint first_entry = block_entries[block];
    const uint end_entry = block_entries[block + 1];
    uint share = LANES;
    while (share * n_own > LANES) share /= 2;
    const uint row = slot / share;
    const uint own = slot % share;
    uint start = first_entry;
    uint stop = end_entry;
    bool is_piece = n_own == 0;
    if (n_own == 1) is_piece = row_ptr[first_row] != first_entry;
    if (n_own > 1)
    {
        start = row < n_own ? row_ptr[first_row + row] : end_entry;
        stop = row < n_own ? row_ptr[first_row + row + 1] : end_entry;
    }
    // What is beyond the panel may be beyond the last row of x.
    if (column >= columns) stop = start;
    // STEP 2
    accum4_t sum = 0;
    for (uint e = start + own; e < stop; e += share)
        sum += times_four((accum_t)load_value(vals, e), load_four(x, (size_t)cols[e] * x_stride + x_at + column));
    // STEP 3
    sums[lane] = sum;
    // Of every power of two, so that all lanes of the group meet at every barrier.
    for (uint d = LANES / 2; d > 0; d /= 2)
    {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (own < d && d < share) sums[lane] += sums[lane + d * BUNCHES];
    }
    // STEP 4
    if (own == 0)
    {
        accum_t total[FOUR];
        split_four(sums[lane], total);
        if (is_piece)
        {
            for (uint k = 0; k < FOUR; k++) carries[(size_t)block * BUNCHES * FOUR + column + k] = total[k];
        }
        else if (row < n_own)
        {
            GLOBAL accum_t *out = y + (size_t)(row_base + first_row + row) * y_stride + y_at + column;
            for (uint k = 0; k < FOUR; k++)
                if (column + k < columns) store(out + k, alpha, total[k], beta);
        }
    }
}
