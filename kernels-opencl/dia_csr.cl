// kernel: dia_csr
// params: n_rows row_base n_cols n_diags tiles epilogue alpha beta lo hi offsets slot_vals row_ptr cols vals x z y
// steps:  1 a lane takes S whole rows; 2 sum the row's products, one of each diagonal that has an entry there; 3 add
//         those of the rest of the row, if that is short; 4 store alpha*sum + beta*y; 5 else leave the row to a bunch,
//         whose lanes take the rest together

#define GROUP (LANES * BUNCHES)
// Entries of a row's rest up to which one lane takes it; a lane that is alone takes any.
#if LANES == 1
#define SHORT 0xffffffffu
#else
#define SHORT 32
#endif

KERNEL void dia_csr(uint n_rows, uint row_base, uint n_cols, uint n_diags, uint tiles, uint epilogue, accum_t alpha,
                    accum_t beta, accum_t lo, accum_t hi, GLOBAL const uint *offsets, GLOBAL const value_t *slot_vals,
                    GLOBAL const uint *row_ptr, GLOBAL const uint *cols, GLOBAL const value_t *vals,
                    GLOBAL const vector_t *x, GLOBAL const accum_t *z, GLOBAL accum_t *y)
{
    const finish_t finish = finish_of(epilogue, alpha, beta, lo, hi, z, y);
    LANE_TALK
    LOCAL accum_t long_sums[GROUP];
    LOCAL uint long_rows[GROUP];
    LOCAL uint n_long;
    const talk_t talk = lane_talk();
    const uint own = (uint)get_local_id(0);
    // STEP 1
    uint first = (uint)get_group_id(0) * GROUP * tiles;
    for (uint s = 0; s < tiles && first < n_rows; s++, first += GROUP)
    {
        const uint row = first + own;
#if LANES > 1
        if (own == 0) n_long = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
        if (row < n_rows)
        {
            // STEP 2
            accum_t sum = 0;
            for (uint d = 0; d < n_diags; d++)
            {
                // Slots outside of the matrix hold no entry; x is read at the same time as they are.
                const uint col = row + offsets[d];
                const accum_t val = load_value(slot_vals, d * n_rows + row);
                const accum_t other = col < n_cols ? (accum_t)load_vector(x, col) : ZERO;
                if (!is_zero(val)) sum += times(val, other);
            }
            // STEP 3
            const uint start = row_ptr[row];
            const uint stop = row_ptr[row + 1];
            if (stop - start <= SHORT)
            {
                for (uint e = start; e < stop; e++)
                    sum += times((accum_t)load_value(vals, e), (accum_t)load_vector(x, cols[e]));
                // STEP 4
                finish_row(y, row_base + row, sum, &finish);
            }
            else
            {
                const uint at = atomic_inc(&n_long);
                long_rows[at] = row;
                long_sums[at] = sum;
            }
        }
        // STEP 5
#if LANES > 1
        barrier(CLK_LOCAL_MEM_FENCE);
        // All bunches take equally many turns, since `lane_sum` may be a barrier of the group.
        for (uint base = 0; base < n_long; base += BUNCHES)
        {
            const uint at = base + bunch_id();
            const uint long_row = at < n_long ? long_rows[at] : 0;
            accum_t sum = 0;
            if (at < n_long)
            {
                const uint stop = row_ptr[long_row + 1];
                for (uint e = row_ptr[long_row] + lane_id(); e < stop; e += LANES)
                    sum += times((accum_t)load_value(vals, e), (accum_t)load_vector(x, cols[e]));
            }
            sum = lane_sum(talk, sum);
            if (at < n_long && lane_id() == 0)
                finish_row(y, row_base + long_row, long_sums[at] + sum, &finish);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
    }
}
