// kernel: vbl
// params: n_rows row_base tiles epilogue alpha beta lo hi row_ptr run_ptr runs vals x z y
// built:  T=32
// steps:  1 a lane takes S whole rows; 2 sum the row's runs one after another; 3 store alpha*sum + beta*y

KERNEL vbl(uint n_rows, uint row_base, uint tiles, uint epilogue, accum_t alpha, accum_t beta, accum_t lo, accum_t hi,
           const uint *__restrict__ row_ptr, const uint *__restrict__ run_ptr, const uint *__restrict__ runs,
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
        uint e = row_ptr[row];
        const uint stop = run_ptr[row + 1];
        for (uint run = run_ptr[row]; run < stop; run++)
        {
            const uint code = load_index(runs, run);
            const uint end = e + 8 - code % 8;
            for (uint col = code / 8; e < end; e++, col++) sum += load_value(vals, e) * load_value(x, col);
        }
        // STEP 3
        finish_row(y, row_base + row, sum, finish);
    }
}
