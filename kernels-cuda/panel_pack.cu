// kernel: panel_pack
// params: n_rows columns first_column row_stride column_stride width x slots
// built:  T=32
// steps:  1 a lane takes four columns of a row; 2 read them, zeros after the last; 3 store them next to each other

KERNEL panel_pack(uint n_rows, uint columns, uint first_column, uint row_stride, uint column_stride, uint width,
                  const vector_t *__restrict__ x, vector_t *__restrict__ slots)
{
    // STEP 1
    // Lanes next to each other take rows next to each other.
    const size_t lane = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    const uint row = lane % n_rows;
    const uint column = FOUR * (uint)(lane / n_rows);
    if (column >= width) return;
    // STEP 2
    const vector_t *from = x + (size_t)row * row_stride + (size_t)(first_column + column) * column_stride;
    vector_t own[FOUR] = {};
#pragma unroll
    for (uint k = 0; k < FOUR; k++)
        if (column + k < columns) own[k] = from[(size_t)k * column_stride];
    // STEP 3
    store_four(slots + (size_t)row * width + column, own);
}
