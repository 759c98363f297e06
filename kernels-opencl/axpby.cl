// kernel: axpby
// params: n_rows row_base epilogue alpha beta lo hi t z y
// steps:  1 y <- alpha*t + beta*y; alpha = 0 does not read t, beta = 0 does not read y

KERNEL void axpby(uint n_rows, uint row_base, uint epilogue, accum_t alpha, accum_t beta, accum_t lo, accum_t hi,
                  GLOBAL const accum_t *t, GLOBAL const accum_t *z, GLOBAL accum_t *y)
{
    const finish_t finish = finish_of(epilogue, alpha, beta, lo, hi, z, y);
    // STEP 1
    const uint row = (uint)get_global_id(0);
    if (row < n_rows) finish_row(y, row_base + row, is_zero(alpha) ? ZERO : t[row], &finish);
}
