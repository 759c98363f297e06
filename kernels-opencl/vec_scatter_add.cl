// kernel: vec_scatter_add
// params: n chunk at x y
// steps:  1 a group takes `chunk` entries; 2 y[at[i]] <- y[at[i]] + x[i]

KERNEL void vec_scatter_add(uint n, uint chunk, GLOBAL const uint *at, GLOBAL const accum_t *x, GLOBAL accum_t *y)
{
    // STEP 1
    const uint start = (uint)get_group_id(0) * chunk;
    const uint stop = n - start < chunk ? n : start + chunk;
    for (uint i = start + (uint)get_local_id(0); i < stop; i += LANES * BUNCHES)
    {
        // STEP 2: no index is there twice, so that lanes share no number.
        const uint to = at[i];
        y[to] = y[to] + x[i];
    }
}
