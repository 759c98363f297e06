// kernel: panel_unpack
// params: n_rows columns first_column column_stride width beta packed y
// built:  T=32
// steps:  1 a lane takes four columns of a row; 2 read them next to each other; 3 store them plus beta*y

KERNEL panel_unpack(uint n_rows, uint columns, uint first_column, uint column_stride, uint width, accum_t beta,
                    const accum_t *__restrict__ packed, accum_t *y)
{
    // STEP 1
    const size_t lane = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    const uint row = lane % n_rows;
    const uint column = FOUR * (uint)(lane / n_rows);
    if (column >= columns) return;
    // STEP 2
    accum_t own[FOUR];
    load_four(packed + (size_t)row * width + column, own);
    // STEP 3
#pragma unroll
    for (uint k = 0; k < FOUR; k++)
        if (column + k < columns) store(y + (size_t)(first_column + column + k) * column_stride + row, 1, own[k], beta);
}
