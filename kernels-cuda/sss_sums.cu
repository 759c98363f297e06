// kernel: sss_sums
// params: n_rows row_base n_ranges tiles epilogue alpha beta lo hi ranges sums z y
// built:  T=32
// steps:  1 a lane takes S whole rows; 2 add the sums that ranges have of the row; 3 store alpha*sum + beta*y

KERNEL sss_sums(uint n_rows, uint row_base, uint n_ranges, uint tiles, uint epilogue, accum_t alpha, accum_t beta,
                accum_t lo, accum_t hi, const uint *__restrict__ ranges, const accum_t *sums, const accum_t *z,
                accum_t *__restrict__ y)
{
    const finish_t finish = finish_of(epilogue, alpha, beta, lo, hi, z, y);
    // STEP 1
    uint row = blockIdx.x * blockDim.x * tiles + threadIdx.x;
    for (uint s = 0; s < tiles && row < n_rows; s++, row += blockDim.x)
    {
        // STEP 2
        accum_t sum = 0;
        for (uint range = 0; range < n_ranges; range++)
        {
            const uint reached = load_index(ranges, 3 * range + 1);
            if (row >= reached && row < load_index(ranges, 3 * range + 3))
                sum += sums[load_index(ranges, 3 * range + 2) + row - reached];
        }
        // STEP 3
        finish_row(y, row_base + row, sum, finish);
    }
}
