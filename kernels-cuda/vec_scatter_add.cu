// kernel: vec_scatter_add
// params: n chunk at x y
// built:  T=32
// steps:  1 a group takes `chunk` entries; 2 y[at[i]] <- y[at[i]] + x[i]

KERNEL vec_scatter_add(uint n, uint chunk, const uint *__restrict__ at, const accum_t *x, accum_t *y)
{
    after_others();
    // STEP 1
    const uint start = blockIdx.x * chunk;
    const uint stop = n - start < chunk ? n : start + chunk;
    for (uint i = start + threadIdx.x; i < stop; i += blockDim.x)
    {
        // STEP 2: no index is there twice, so that lanes share no number.
        const uint to = stream_index(at, i);
        y[to] = y[to] + x[i];
    }
}
