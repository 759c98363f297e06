// kernel: vec_axpy_aypx
// params: n chunk alpha alpha_num alpha_den beta beta_num beta_den scalars z x d
// steps:  1 a group takes `chunk` entries; 2 x <- a*d + x, where a is alpha times a quotient of scalars; a = 0 leaves x as it is;
//         3 d <- z + b*d, by the old d and b as a; b = 0 does not read d

KERNEL void vec_axpy_aypx(uint n, uint chunk, accum_t alpha, uint alpha_num, uint alpha_den, accum_t beta, uint beta_num,
                      uint beta_den, GLOBAL const accum_t *scalars, GLOBAL const accum_t *z, GLOBAL accum_t *x,
                      GLOBAL accum_t *d)
{
    const accum_t a = factor(alpha, scalars[alpha_num], scalars[alpha_den]);
    const accum_t b = factor(beta, scalars[beta_num], scalars[beta_den]);
    // STEP 1
    const uint start = (uint)get_group_id(0) * chunk;
    const uint stop = n - start < chunk ? n : start + chunk;
    for (uint i = start + (uint)get_local_id(0); i < stop; i += LANES * BUNCHES)
    {
        const accum_t old = is_zero(a) && is_zero(b) ? ZERO : d[i];
        // STEP 2
        if (!is_zero(a)) x[i] = times(a, old) + x[i];
        // STEP 3
        d[i] = is_zero(b) ? z[i] : z[i] + times(b, old);
    }
}
