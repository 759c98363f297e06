// kernel: ipcsr
// params: n_rows row_base epilogue alpha beta lo hi row_ptr block_rows block_entries cols vals x carries arrivals z y
// steps:  1 a group takes a block of rows, or a piece of a long one; 2 gather its products; 3 sum each row, with as
//         many lanes as there are for it, then rows too long for those; 4 store alpha*sum + beta*y; 5 leave a piece's
//         sum in carries[block]; where groups can join, the last to arrive adds its row's, else carry_apply

#define GROUP (LANES * BUNCHES)
#define HELD (GROUP * WIDTH)
// Steps that the lanes of one row of several may take, in widths of a tile; lanes that a long row gets then.
#define STEPS 2
#define MOST_LANES 32

KERNEL void ipcsr(uint n_rows, uint row_base, uint epilogue, accum_t alpha, accum_t beta, accum_t lo, accum_t hi,
                  GLOBAL const uint *row_ptr, GLOBAL const uint *block_rows, GLOBAL const uint *block_entries,
                  GLOBAL const uint *cols, GLOBAL const value_t *vals, GLOBAL const vector_t *x,
                  GLOBAL accum_t *carries, GLOBAL uint *arrivals, GLOBAL const accum_t *z, GLOBAL accum_t *y)
{
    const finish_t finish = finish_of(epilogue, alpha, beta, lo, hi, z, y);
    LOCAL accum_t products[HELD + HELD / 32];
    LOCAL accum_t sums[GROUP];
    LOCAL uint ends[GROUP];
    LOCAL uint long_rows[GROUP];
    LOCAL uint n_long;
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
            products[HELD_AT(e)] =
                times((accum_t)load_value(vals, start + e), (accum_t)load_vector(x, cols[start + e]));
    }
    ends[lane] = lane < n_own ? row_ptr[first_row + lane + 1] - start : n_entries;
    if (lane == 0) n_long = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    // STEP 3
    // The greatest power of two that leaves lanes for every row; a block without a row of its own sums one.
    const uint n_sums = max(n_own, 1u);
    uint n_lanes = 1;
    while (2 * n_lanes * n_sums <= GROUP) n_lanes *= 2;
    const uint row = lane / n_lanes;
    const uint own = lane % n_lanes;
    const bool has = row < n_sums;
    const uint begin = has && row > 0 ? ends[row - 1] : 0;
    const uint stop = !has ? 0 : n_own == 0 ? n_entries : ends[row];
    const bool is_long = n_lanes < MOST_LANES && n_sums > 1 && stop > begin + STEPS * WIDTH * n_lanes;
    accum_t sum = 0;
    if (!is_long)
    {
        for (uint e = begin + own; e < stop; e += n_lanes) sum += products[HELD_AT(e)];
    }
    else if (own == 0)
        long_rows[atomic_inc(&n_long)] = row;
    sums[lane] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint d = n_lanes / 2; d > 0; d /= 2)
    {
        if (has && own < d) sums[lane] += sums[lane + d];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#if defined(JOINS_NV)
    // STEP 5
    const uint row_start = n_own <= 1 && n_entries > 0 ? row_ptr[first_row] : 0;
    const uint row_stop = n_own <= 1 && n_entries > 0 ? row_ptr[first_row + 1] : 0;
    const uint n_pieces = (row_stop - row_start + HELD - 1) / HELD;
    if (n_pieces > 1)
    {
        const uint first = block - (start - row_start) / HELD;
        if (lane == 0)
        {
            carries[block] = sums[0];
            ends[0] = join(arrivals + first);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (ends[0] + 1 < n_pieces) return;
        sum = 0;
        for (uint i = lane; i < n_pieces; i += GROUP) sum += joined(carries + first + i);
        sum = group_total(sums, sum, OP_SUM);
        if (lane == 0)
        {
            arrivals[first] = 0;
            finish_row(y, row_base + first_row, sum, &finish);
        }
        return;
    }
#endif
    // STEP 4
    // A row that began before is whole when carry_apply has added to it.
    if (row < n_own && own == 0 && !is_long)
        store_row(y, row_base + first_row + row, sums[lane], &finish, row > 0 || row_ptr[first_row] == start);
#if !defined(JOINS_NV)
    // STEP 5
    // Groups do not join: carry_apply adds the sums of pieces.
    if (lane == 0) carries[block] = n_own == 0 ? sums[0] : ZERO;
#endif
    // STEP 3
    // Long rows share the group, so many lanes each.
    const uint team_lanes = min((uint)MOST_LANES, (uint)GROUP);
    const uint n_teams = GROUP / team_lanes;
    const uint team = lane / team_lanes;
    const uint mate = lane % team_lanes;
    for (uint base = 0; base < n_long; base += n_teams)
    {
        barrier(CLK_LOCAL_MEM_FENCE);
        const bool sums_one = team < n_teams && base + team < n_long;
        const uint long_row = sums_one ? long_rows[base + team] : 0;
        sums[lane] = 0;
        if (sums_one)
        {
            accum_t long_sum = 0;
            const uint long_stop = ends[long_row];
            for (uint e = (long_row == 0 ? 0 : ends[long_row - 1]) + mate; e < long_stop; e += team_lanes)
                long_sum += products[HELD_AT(e)];
            sums[lane] = long_sum;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint d = MOST_LANES / 2; d > 0; d /= 2)
        {
            if (sums_one && mate < d && mate + d < team_lanes) sums[lane] += sums[lane + d];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (sums_one && mate == 0) 
            store_row(y, row_base + first_row + long_row, sums[lane], &finish, long_row > 0 || row_ptr[first_row] == start);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
