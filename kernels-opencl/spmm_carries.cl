// kernel: spmm_carries
// params: row_base n_cut width columns y_stride y_at alpha beta cut_rows cut_blocks carries y
// steps:  1 a lane takes a column of a row that was cut; 2 add the sums of its pieces, in order; 3 store alpha*sum + beta*y

KERNEL void spmm_carries(uint row_base, uint n_cut, uint width, uint columns, uint y_stride, uint y_at, accum_t alpha,
                         accum_t beta, GLOBAL const uint *cut_rows, GLOBAL const uint *cut_blocks,
                         GLOBAL const accum_t *carries, GLOBAL accum_t *y)
{
    // STEP 1
    const size_t lane = get_global_id(0);
    const uint row = (uint)(lane / width);
    const uint column = (uint)(lane % width);
    if (row < n_cut && column < columns)
    {
        // STEP 2
        const uint stop = cut_blocks[2 * row + 1];
        accum_t sum = 0;
        for (uint block = cut_blocks[2 * row]; block < stop; block++) sum += carries[(size_t)block * width + column];
        // STEP 3
        store(y + (size_t)(row_base + cut_rows[row]) * y_stride + y_at + column, alpha, sum, beta);
    }
}
