// kernel: vec_reduce
// params: n op at partials scalars
// steps:  1 a lane takes each partial result that many lanes further; 2 add them, or take the greatest; 3 join what the lanes
//         have by halves; 4 store the scalar

KERNEL void vec_reduce(uint n, uint op, uint at, GLOBAL const accum_t *partials, GLOBAL accum_t *scalars)
{
    LOCAL accum_t own_totals[LANES * BUNCHES];
    const uint lane = (uint)get_local_id(0);
    // STEP 1
    accum_t own = 0;
    for (uint i = lane; i < n; i += LANES * BUNCHES)
    {
        // STEP 2
        own = joined_by(op, own, partials[i]);
    }
    // STEP 3
    own = group_total(own_totals, own, op);
    // STEP 4
    if (lane == 0) scalars[at] = own;
}
