// kernel: spmm_carries
// params: row_base n_cut width columns y_stride y_at alpha beta cut_rows cut_blocks carries y
// built:  T=32
// steps:  1 a lane takes a column of a row that was cut; 2 add the sums of its pieces, in order; 3 store alpha*sum + beta*y

KERNEL spmm_carries(uint row_base, uint n_cut, uint width, uint columns, uint y_stride, uint y_at, accum_t alpha,
                    accum_t beta, const uint *__restrict__ cut_rows, const uint *__restrict__ cut_blocks,
                    const accum_t *carries, accum_t *y)
{
    // STEP 1
    const size_t lane = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    const uint row = lane / width;
    const uint column = lane % width;
    if (row >= n_cut || column >= columns) return;
    // STEP 2
    const uint stop = cut_blocks[2 * row + 1];
    accum_t sum = 0;
#pragma unroll 8
    for (uint block = cut_blocks[2 * row]; block < stop; block++) sum += carries[(size_t)block * width + column];
    // STEP 3
    store(y + (size_t)(row_base + cut_rows[row]) * y_stride + y_at + column, alpha, sum, beta);
}
