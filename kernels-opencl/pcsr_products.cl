// kernel: pcsr_products
// params: nnz tiles cols vals x products
// steps:  1 a group takes S*W*T entries; 2 gather their products; 3 store them in order

#define GROUP (LANES * BUNCHES)

KERNEL void pcsr_products(uint nnz, uint tiles, GLOBAL const uint *cols, GLOBAL const value_t *vals,
                          GLOBAL const vector_t *x, GLOBAL accum_t *products)
{
    // STEP 1
    uint first = (uint)get_group_id(0) * GROUP * WIDTH * tiles + (uint)get_local_id(0);
    for (uint s = 0; s < tiles && first < nnz; s++, first += GROUP * WIDTH)
    {
#pragma unroll
        for (uint i = 0; i < WIDTH; i++)
        {
            const uint at = first + i * GROUP;
            // STEP 2
            if (at < nnz)
            {
                const accum_t product = times((accum_t)load_value(vals, at), (accum_t)load_vector(x, cols[at]));
                // STEP 3
                products[at] = product;
            }
        }
    }
}
