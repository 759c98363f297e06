// kernel: panel_pack
// params: n_rows columns first_column row_stride column_stride width x slots
// steps:  1 a lane takes four columns of a row; 2 read them, zeros after the last; 3 store them next to each other

KERNEL void panel_pack(uint n_rows, uint columns, uint first_column, uint row_stride, uint column_stride, uint width,
                       GLOBAL const raw_t *x, GLOBAL raw_t *slots)
{
    // STEP 1
    // Lanes next to each other take rows next to each other.
    const size_t lane = get_global_id(0);
    const uint row = (uint)(lane % n_rows);
    const uint column = FOUR * (uint)(lane / n_rows);
    if (column < width)
    {
        GLOBAL const raw_t *from = x + (size_t)row * row_stride + (size_t)(first_column + column) * column_stride;
        GLOBAL raw_t *to = slots + (size_t)row * width + column;
        for (uint k = 0; k < FOUR; k++)
        {
            // STEP 2, STEP 3
            to[k] = column + k < columns ? from[(size_t)k * column_stride] : (raw_t)0;
        }
    }
}
