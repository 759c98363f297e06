// kernel: pcsr_products
// params: nnz tiles cols vals x products
// built:  T=32,128,256 W=1,2,4,8,16
// steps:  1 a group takes S*W*T entries; 2 gather their products; 3 store them in order

KERNEL pcsr_products(uint nnz, uint tiles, const uint *__restrict__ cols, const value_t *__restrict__ vals,
                     const vector_t *__restrict__ x, accum_t *__restrict__ products)
{
    // STEP 1
    uint first = blockIdx.x * blockDim.x * WIDTH * tiles + threadIdx.x;
    for (uint s = 0; s < tiles && first < nnz; s++, first += blockDim.x * WIDTH)
    {
        // STEP 2
        uint col[WIDTH];
        accum_t product[WIDTH];
#pragma unroll
        for (uint i = 0; i < WIDTH; i++)
        {
            const uint at = least(first + i * blockDim.x, nnz - 1);
            col[i] = stream_index(cols, at);
            product[i] = stream_value(vals, at);
        }
#pragma unroll
        for (uint i = 0; i < WIDTH; i++) product[i] = product[i] * load_value(x, col[i]);
        // STEP 3
#pragma unroll
        for (uint i = 0; i < WIDTH; i++)
            if (first + i * blockDim.x < nnz) products[first + i * blockDim.x] = product[i];
    }
}
