// kernel: panel_unpack
// params: n_rows columns first_column column_stride width beta packed y
// steps:  1 a lane takes four columns of a row; 2 read them next to each other; 3 store them plus beta*y

KERNEL void panel_unpack(uint n_rows, uint columns, uint first_column, uint column_stride, uint width, accum_t beta,
                         GLOBAL const accum_t *packed, GLOBAL accum_t *y)
{
    // STEP 1
    const size_t lane = get_global_id(0);
    const uint row = (uint)(lane % n_rows);
    const uint column = FOUR * (uint)(lane / n_rows);
    if (column < columns)
    {
        // STEP 2
        GLOBAL const accum_t *from = packed + (size_t)row * width + column;
        GLOBAL accum_t *to = y + (size_t)(first_column + column) * column_stride + row;
        // STEP 3
        for (uint k = 0; k < FOUR; k++)
            if (column + k < columns) store(to + (size_t)k * column_stride, ONE, from[k], beta);
    }
}
