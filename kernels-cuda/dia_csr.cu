// kernel: dia_csr
// params: n_rows row_base n_cols n_diags tiles epilogue alpha beta lo hi offsets slot_vals row_ptr cols vals x z y
// built:  T=32
// steps:  1 a lane takes S whole rows; 2 sum the row's products, one of each diagonal that has an entry there; 3 add
//         those of the rest of the row, if that is short; 4 store alpha*sum + beta*y; 5 else leave the row to a bunch,
//         whose lanes take the rest together

// Entries of a row's rest up to which one lane takes it.
#define SHORT 32

KERNEL dia_csr(uint n_rows, uint row_base, uint n_cols, uint n_diags, uint tiles, uint epilogue, accum_t alpha,
               accum_t beta, accum_t lo, accum_t hi, const uint *__restrict__ offsets,
               const value_t *__restrict__ slot_vals, const uint *__restrict__ row_ptr, const uint *__restrict__ cols,
               const value_t *__restrict__ vals, const vector_t *__restrict__ x, const accum_t *z,
               accum_t *__restrict__ y)
{
    const finish_t finish = finish_of(epilogue, alpha, beta, lo, hi, z, y);
    const uint lane = lane_id<LANES>();
    // STEP 1
    uint row = blockIdx.x * blockDim.x * tiles + threadIdx.x;
    // All lanes of a warp take equally many turns, since they meet at its vote.
    for (uint s = 0; s < tiles; s++, row += blockDim.x)
    {
        accum_t sum = 0;
        uint start = 0;
        uint stop = 0;
        if (row < n_rows)
        {
            start = load_index(row_ptr, row);
            stop = load_index(row_ptr, row + 1);
            // STEP 2
#pragma unroll 4
            for (uint d = 0; d < n_diags; d++)
            {
                // Slots outside of the matrix hold no entry; x is read at the same time as they are.
                const uint col = row + load_index(offsets, d);
                const accum_t val = stream_value(slot_vals, d * n_rows + row);
                const accum_t other = col < n_cols ? load_value(x, col) : 0;
                if (val != 0) sum += val * other;
            }
            // STEP 3
            if (stop - start <= SHORT)
            {
#pragma unroll 4
                for (uint e = start; e < stop; e++) sum += load_value(vals, e) * load_value(x, load_index(cols, e));
                // STEP 4
                finish_row(y, row_base + row, sum, finish);
            }
        }
        // STEP 5
        uint left = lane_vote(stop - start > SHORT);
        while (left != 0)
        {
            const uint from = lowest_bit(left);
            left &= left - 1;
            const uint long_stop = lane_read<LANES>(stop, from);
            accum_t long_sum = 0;
            for (uint e = lane_read<LANES>(start, from) + lane; e < long_stop; e += LANES)
                long_sum += load_value(vals, e) * load_value(x, load_index(cols, e));
            long_sum = lane_sum<LANES>(long_sum);
            if (lane == from) finish_row(y, row_base + row, sum + long_sum, finish);
        }
    }
}
