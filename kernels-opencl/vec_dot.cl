// kernel: vec_dot
// params: n chunk op x z partials
// steps:  1 a group takes `chunk` entries; 2 sum the products of x and z, or find the greatest absolute value of x; 3 join
//         what the lanes have by halves; 4 store what the group has

KERNEL void vec_dot(uint n, uint chunk, uint op, GLOBAL const accum_t *x, GLOBAL const accum_t *z,
           GLOBAL accum_t *partials)
{
    LOCAL accum_t own_totals[LANES * BUNCHES];
    const uint lane = (uint)get_local_id(0);
    // STEP 1
    const uint start = (uint)get_group_id(0) * chunk;
    const uint stop = n - start < chunk ? n : start + chunk;
    accum_t own = 0;
    // STEP 2
    for (uint i = start + lane; i < stop; i += LANES * BUNCHES)
    {
        if (op == OP_SUM)
            own += times(conjugate(x[i]), z[i]);
        else
            own = joined_by(op, own, modulus(x[i]));
    }
    // STEP 3
    own = group_total(own_totals, own, op);
    // STEP 4
    if (lane == 0) partials[(uint)get_group_id(0)] = own;
}
