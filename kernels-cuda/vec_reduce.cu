// kernel: vec_reduce
// params: n op at partials scalars
// built:  T=32
// steps:  1 a lane takes each partial result that many lanes further; 2 add them, or take the greatest; 3 join what the lanes
//         have by halves; 4 store the scalar

KERNEL vec_reduce(uint n, uint op, uint at, const accum_t *partials, accum_t *scalars)
{
    after_others();
    // STEP 1
    accum_t own = 0;
    for (uint i = threadIdx.x; i < n; i += blockDim.x)
    {
        // STEP 2
        own = joined_by(op, own, partials[i]);
    }
    // STEP 3
    own = group_total((accum_t *)local_memory, own, op);
    // STEP 4
    if (threadIdx.x == 0) scalars[at] = own;
}
