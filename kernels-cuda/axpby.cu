// kernel: axpby
// params: n_rows row_base alpha beta t y
// built:  T=4,32
// steps:  1 y <- alpha*t + beta*y; alpha = 0 does not read t, beta = 0 does not read y

KERNEL axpby(uint n_rows, uint row_base, accum_t alpha, accum_t beta, const accum_t *t, accum_t *y)
{
    after_others();
    // STEP 1
    const uint row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < n_rows) store(y + row_base + row, alpha, alpha == 0 ? 0 : t[row], beta);
}
