// kernel: spmm
// params: row_base columns x_stride x_at y_stride y_at alpha beta row_ptr block_rows block_entries cols vals x carries y
// built:  T=16,32
// steps:  1 a group takes a block of rows, or a piece of a long one, and a row its share of the lanes; 2 a lane sums the
//         products of its entries with four columns; 3 add the sums of a row's lanes; 4 store alpha*sums + beta*y, or leave
//         a piece's sums in carries[block]

// Entries of a lane whose rows of x are on their way before the first is used. Narrow panels, which have 32 lanes, have less
// of x on its way for each entry.
#define AHEAD (LANES == 32 && sizeof(accum_t) == 4 ? 4 : 2)
// Groups of a multiprocessor: as many as leave registers for what a lane has on its way.
#if __CUDA_ARCH__ >= 900
#define GROUPS (sizeof(accum_t) == 16 ? 2 : sizeof(accum_t) == 8 || LANES == 32 ? 4 : 6)
#else
#define GROUPS (sizeof(accum_t) == 16 ? 2 : 3)
#endif

// Columns and values of a lane's entries from `at` on, before `stop`.
template <uint N>
DEVICE void load_entries(const uint *cols, const value_t *vals, uint at, uint share, uint stop, uint (&col)[N], accum_t (&val)[N])
{
#pragma unroll
    for (uint i = 0; i < N; i++)
    {
        if (at + i * share < stop)
        {
            col[i] = load_index(cols, at + i * share);
            val[i] = load_value(vals, at + i * share);
        }
    }
}

KERNEL_OF(256, GROUPS) spmm(uint row_base, uint columns, uint x_stride, uint x_at, uint y_stride, uint y_at, accum_t alpha,
                       accum_t beta, const uint *__restrict__ row_ptr, const uint *__restrict__ block_rows,
                       const uint *__restrict__ block_entries, const uint *__restrict__ cols,
                       const value_t *__restrict__ vals, const vector_t *__restrict__ x, accum_t *carries, accum_t *y)
{
    accum_t *sums = (accum_t *)local_memory;
    // STEP 1
    // Lanes next to each other take the columns of one entry.
    const uint bunches = blockDim.x / LANES;
    const uint slot = threadIdx.x / bunches;
    const uint column = FOUR * (threadIdx.x % bunches);
    const uint block = blockIdx.x;
    const uint first_row = load_index(block_rows, block);
    const uint n_own = load_index(block_rows, block + 1) - first_row;
    const uint first_entry = load_index(block_entries, block);
    const uint end_entry = load_index(block_entries, block + 1);
    uint share = LANES;
    while (share * n_own > LANES) share /= 2;
    const uint row = slot / share;
    const uint own = slot % share;
    uint start = first_entry;
    uint stop = end_entry;
    bool is_piece = n_own == 0;
    if (n_own == 1) is_piece = load_index(row_ptr, first_row) != first_entry;
    if (n_own > 1)
    {
        start = row < n_own ? load_index(row_ptr, first_row + row) : end_entry;
        stop = row < n_own ? load_index(row_ptr, first_row + row + 1) : end_entry;
    }
    // What is beyond the panel may be beyond the last row of x.
    if (column >= columns) stop = start;
    // STEP 2
    const vector_t *from = x + x_at + column;
    accum_t sum[FOUR] = {};
    uint col[AHEAD];
    accum_t val[AHEAD];
    load_entries(cols, vals, start + own, share, stop, col, val);
    for (uint e = start + own; e < stop; e += AHEAD * share)
    {
        vector_t of_x[AHEAD][FOUR];
#pragma unroll
        for (uint i = 0; i < AHEAD; i++)
            if (e + i * share < stop) load_four(from + (size_t)col[i] * x_stride, of_x[i]);
        accum_t by[AHEAD];
#pragma unroll
        for (uint i = 0; i < AHEAD; i++) by[i] = val[i];
        // The next entries are on their way while rows of x are.
        load_entries(cols, vals, e + AHEAD * share, share, stop, col, val);
#pragma unroll
        for (uint i = 0; i < AHEAD; i++)
        {
            if (e + i * share < stop)
            {
#pragma unroll
                for (uint k = 0; k < FOUR; k++) sum[k] += by[i] * widen(of_x[i][k]);
            }
        }
    }
    // STEP 3
    // As far as lanes of different warps have parts of a row, through local memory.
    uint d = share / 2;
    for (; d * bunches >= WARP_LANES; d /= 2)
    {
#pragma unroll
        for (uint k = 0; k < FOUR; k++) sums[k * blockDim.x + threadIdx.x] = sum[k];
        group_barrier();
#pragma unroll
        for (uint k = 0; k < FOUR; k++) sum[k] += sums[k * blockDim.x + (threadIdx.x ^ d * bunches)];
        group_barrier();
    }
    for (; d > 0; d /= 2)
    {
#pragma unroll
        for (uint k = 0; k < FOUR; k++) sum[k] = pair_sum(sum[k], d * bunches);
    }
    // STEP 4
    if (own != 0) return;
    if (is_piece)
    {
#pragma unroll
        for (uint k = 0; k < FOUR; k++) carries[(size_t)block * bunches * FOUR + column + k] = sum[k];
        return;
    }
    if (row >= n_own) return;
    accum_t *out = y + (size_t)(row_base + first_row + row) * y_stride + y_at + column;
    if (beta == 0 && column + FOUR <= columns && is_aligned(out))
    {
#pragma unroll
        for (uint k = 0; k < FOUR; k++) sum[k] = scaled(alpha, sum[k]);
        store_four(out, sum);
        return;
    }
#pragma unroll
    for (uint k = 0; k < FOUR; k++)
        if (column + k < columns) store(out + k, alpha, sum[k], beta);
}
