// kernel: ipcsr
// params: n_rows row_base epilogue alpha beta lo hi row_ptr block_rows block_entries cols vals x carries arrivals z y
// built:  T=32,128,256 W=1,2,4,8,16
// steps:  1 a group takes a block of rows, or a piece of a long one; 2 gather its products; 3 sum each row, with as
//         many lanes as there are for it, then rows too long for those; 4 store alpha*sum + beta*y; 5 leave a piece's
//         sum in carries[block]; where groups can join, the last to arrive adds its row's, else carry_apply

// Steps that the lanes of one row of several may take, in widths of a tile.
#define STEPS 2
// Groups of a multiprocessor: as many as leave registers for what a lane has on its way.
#if __CUDA_ARCH__ >= 900
#define FEW (WIDTH * sizeof(accum_t) <= 32 && sizeof(value_t) >= 4)
#else
#define FEW false
#endif
#define GROUPS (LANES < 64 ? 16 : (WIDTH >= 16 ? 512 : FEW ? 1536 : 1024) / LANES)

// The sum over the group, for lane 0; `sums` holds one for each warp.
template <uint LANES> DEVICE accum_t group_sum(accum_t *sums, accum_t v)
{
    v = lane_sum<WARP_LANES>(v);
    if (threadIdx.x % WARP_LANES == 0) sums[threadIdx.x / WARP_LANES] = v;
    group_barrier();
    if (threadIdx.x < WARP_LANES)
        v = part_sum(threadIdx.x < LANES / WARP_LANES ? sums[threadIdx.x] : 0, LANES / WARP_LANES);
    return v;
}

KERNEL_OF((LANES), GROUPS) ipcsr(uint n_rows, uint row_base, uint epilogue, accum_t alpha, accum_t beta, accum_t lo,
                                 accum_t hi, const uint *__restrict__ row_ptr, const uint *__restrict__ block_rows,
                                 const uint *__restrict__ block_entries, const uint *__restrict__ cols,
                                 const value_t *__restrict__ vals, const vector_t *__restrict__ x, accum_t *carries,
                                 uint *arrivals, const accum_t *z, accum_t *y)
{
    const finish_t finish = finish_of(epilogue, alpha, beta, lo, hi, z, y);
    accum_t *products = (accum_t *)local_memory;
    accum_t *sums = products + TILE + TILE / 32;
    uint *ends = (uint *)(sums + LANES);
    uint *long_rows = ends + LANES;
    uint *n_long = long_rows + LANES;
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
        kept_t val[WIDTH];
#pragma unroll
        for (uint i = 0; i < WIDTH; i++)
        {
            const uint at = least(i * LANES + lane, n_entries - 1);
            col[i] = load_index(cols + start, at);
            val[i] = kept(__ldg(vals + start + at));
        }
        after_others();
#pragma unroll
        for (uint i = 0; i < WIDTH; i++) product[i] = widen(val[i]) * load_vector(x, col[i]);
    }
    // A block without entries has not waited.
    after_others();
    const uint out = row_base + first_row;
    // STEP 3
    if (n_own <= 1)
    {
        // All lanes for one row.
        accum_t sum = 0;
#pragma unroll
        for (uint i = 0; i < WIDTH; i++)
            if (i * LANES + lane < n_entries) sum += product[i];
        sum = group_sum<LANES>(sums, sum);
        // A matrix without rows has a block without any.
        const uint row_start = n_entries > 0 ? load_index(row_ptr, first_row) : 0;
        const uint row_stop = n_entries > 0 ? load_index(row_ptr, first_row + 1) : 0;
        const uint n_pieces = (row_stop - row_start + TILE - 1) / TILE;
        if (n_pieces > 1)
        {
            // STEP 5
            const uint first = block - (start - row_start) / TILE;
            if (lane == 0)
            {
                carries[block] = sum;
                ends[0] = join(arrivals + first);
            }
            group_barrier();
            if (ends[0] + 1 < n_pieces) return;
            sum = 0;
            for (uint i = lane; i < n_pieces; i += LANES) sum += joined(carries + first + i);
            sum = group_sum<LANES>(sums, sum);
            if (lane == 0) arrivals[first] = 0;
        }
        // STEP 4
        if (lane == 0 && (n_own == 1 || n_pieces > 1)) finish_row(y, out, sum, finish);
        return;
    }
#pragma unroll
    for (uint i = 0; i < WIDTH; i++) products[HELD_AT(i * LANES + lane)] = product[i];
    ends[lane] = end;
    if (lane == 0) *n_long = 0;
    group_barrier();
    // The greatest power of two that leaves lanes for every row.
    uint n_lanes = WARP_LANES;
    while (n_lanes * n_own > LANES) n_lanes /= 2;
    const uint row = lane / n_lanes;
    const uint own = lane % n_lanes;
    uint begin = 0;
    uint stop = 0;
    if (row < n_own)
    {
        begin = row == 0 ? 0 : ends[row - 1];
        stop = ends[row];
    }
    const bool is_long = n_lanes < WARP_LANES && stop - begin > STEPS * WIDTH * n_lanes;
    accum_t sum = 0;
    if (!is_long)
    {
        for (uint e = begin + own; e < stop; e += n_lanes) sum += products[HELD_AT(e)];
    }
    sum = part_sum(sum, n_lanes);
    if (row < n_own && own == 0)
    {
        // STEP 4
        if (is_long)
            long_rows[atomic_inc(n_long)] = row;
        else
            finish_row(y, out + row, sum, finish);
    }
    group_barrier();
    for (uint i = lane / WARP_LANES; i < *n_long; i += LANES / WARP_LANES)
    {
        const uint long_row = long_rows[i];
        const uint long_stop = ends[long_row];
        sum = 0;
        for (uint e = (long_row == 0 ? 0 : ends[long_row - 1]) + lane % WARP_LANES; e < long_stop; e += WARP_LANES)
            sum += products[HELD_AT(e)];
        sum = lane_sum<WARP_LANES>(sum);
        if (lane % WARP_LANES == 0) finish_row(y, out + long_row, sum, finish);
    }
}
