// kernel: axpby
// params: n_rows row_base epilogue alpha beta lo hi t z y
// built:  T=4,32
// steps:  1 y <- alpha*t + beta*y; alpha = 0 does not read t, beta = 0 does not read y

KERNEL axpby(uint n_rows, uint row_base, uint epilogue, accum_t alpha, accum_t beta, accum_t lo, accum_t hi,
             const accum_t *t, const accum_t *z, accum_t *y)
{
    const finish_t finish = finish_of(epilogue, alpha, beta, lo, hi, z, y);
    after_others();
    // STEP 1
    const uint row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < n_rows) finish_row(y, row_base + row, alpha == 0 ? 0 : t[row], finish);
}
