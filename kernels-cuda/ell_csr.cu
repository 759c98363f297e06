// kernel: ell_csr
// params: n_rows row_base width tiles epilogue alpha beta lo hi slot_cols slot_vals row_ptr cols vals x z y
// built:  T=32
// steps:  1 a lane takes S whole rows; 2 sum the products of the row's slots, but for padding; 3 add those of the rest
//         of the row, if that is short; 4 store alpha*sum + beta*y; 5 else leave the row to a bunch, whose lanes take
//         the rest together

// Loads that are on their way before the first is used.
#define AHEAD 4
// The column of a slot that holds no entry.
#define PADDING 0xffffffffu
// Entries of a row's rest up to which one lane takes it.
#define SHORT 32

KERNEL ell_csr(uint n_rows, uint row_base, uint width, uint tiles, uint epilogue, accum_t alpha, accum_t beta,
               accum_t lo, accum_t hi, const uint *__restrict__ slot_cols, const value_t *__restrict__ slot_vals,
               const uint *__restrict__ row_ptr, const uint *__restrict__ cols, const value_t *__restrict__ vals,
               const vector_t *__restrict__ x, const accum_t *z, accum_t *__restrict__ y)
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
            for (uint k = 0; k < width; k += AHEAD)
            {
                uint col[AHEAD];
                accum_t val[AHEAD];
#pragma unroll
                for (uint i = 0; i < AHEAD; i++)
                {
                    const uint at = least(k + i, width - 1) * n_rows + row;
                    col[i] = stream_index(slot_cols, at);
                    val[i] = stream_value(slot_vals, at);
                }
                // A row's padding comes last.
                if (col[0] == PADDING) break;
#pragma unroll
                for (uint i = 0; i < AHEAD; i++)
                    if (k + i < width && col[i] != PADDING) sum += val[i] * load_value(x, col[i]);
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
