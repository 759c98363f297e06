// kernel: vec_dot
// params: n chunk op x z partials
// built:  T=32
// steps:  1 a group takes `chunk` entries; 2 sum the products of x and z, or find the greatest absolute value of x; 3 join
//         what the lanes have by halves; 4 store what the group has

KERNEL vec_dot(uint n, uint chunk, uint op, const accum_t *x, const accum_t *z, accum_t *partials)
{
    after_others();
    // STEP 1
    const uint start = blockIdx.x * chunk;
    const uint stop = n - start < chunk ? n : start + chunk;
    accum_t own = 0;
    // STEP 2
#pragma unroll 4
    for (uint i = start + threadIdx.x; i < stop; i += blockDim.x)
    {
        if (op == OP_SUM)
            own += conjugate(x[i]) * z[i];
        else
            own = joined_by(op, own, modulus(x[i]));
    }
    // STEP 3
    own = group_total((accum_t *)local_memory, own, op);
    // STEP 4
    if (threadIdx.x == 0) partials[blockIdx.x] = own;
}
