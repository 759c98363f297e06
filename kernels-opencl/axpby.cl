// kernel: axpby
// params: n_rows row_base alpha beta t y
// steps:  1 y <- alpha*t + beta*y; alpha = 0 does not read t, beta = 0 does not read y

KERNEL void axpby(uint n_rows, uint row_base, accum_t alpha, accum_t beta, GLOBAL const accum_t *t,
                  GLOBAL accum_t *y)
{
    // STEP 1
    const uint row = (uint)get_global_id(0);
    if (row < n_rows) store(y + row_base + row, alpha, is_zero(alpha) ? ZERO : t[row], beta);
}
