// kernel: csr_scalar
// params: n_rows row_base tiles epilogue alpha beta lo hi row_ptr cols vals x z y
// built:  T=32
// steps:  1 a lane takes S whole rows; 2 sum the row's products one by one; 3 store alpha*sum + beta*y

KERNEL csr_scalar(uint n_rows, uint row_base, uint tiles, uint epilogue, accum_t alpha, accum_t beta, accum_t lo,
                  accum_t hi, const uint *__restrict__ row_ptr, const uint *__restrict__ cols,
                  const value_t *__restrict__ vals, const vector_t *__restrict__ x, const accum_t *z,
                  accum_t *__restrict__ y)
{
    const finish_t finish = finish_of(epilogue, alpha, beta, lo, hi, z, y);
    // STEP 1
    uint row = blockIdx.x * blockDim.x * tiles + threadIdx.x;
    for (uint s = 0; s < tiles && row < n_rows; s++, row += blockDim.x)
    {
        // STEP 2
        accum_t sum = 0;
        const uint stop = row_ptr[row + 1];
        // Lanes read entries far apart: what one leaves in the first cache, its next turn finds there.
#pragma unroll 4
        for (uint e = row_ptr[row]; e < stop; e++) sum += load_value(vals, e) * load_value(x, load_index(cols, e));
        // STEP 3
        finish_row(y, row_base + row, sum, finish);
    }
}
