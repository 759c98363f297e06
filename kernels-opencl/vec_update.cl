// kernel: vec_update
// params: n chunk source dots alpha alpha_num alpha_den beta beta_num beta_den scalars d x z y partials
// steps:  1 a group takes `chunk` entries; 2 y <- a*u + b*y, where a is alpha times a quotient of scalars, b as well, and u is
//         x, d*x or 1; a = 0 does not read u, b = 0 does not read y; 3 sum the products of the new y and of y or z;
//         4 add the sums of the lanes by halves; 5 store the sum of the group

// What u is.
#define SOURCE_WEIGHTED 1
#define SOURCE_ONE 2
// What the new y is multiplied by.
#define DOTS_Y 1
#define DOTS_Z 2

KERNEL void vec_update(uint n, uint chunk, uint source, uint dots, accum_t alpha, uint alpha_num, uint alpha_den,
                   accum_t beta, uint beta_num, uint beta_den, GLOBAL const accum_t *scalars, GLOBAL const accum_t *d,
                   GLOBAL const accum_t *x, GLOBAL const accum_t *z, GLOBAL accum_t *y, GLOBAL accum_t *partials)
{
    LOCAL accum_t own_totals[LANES * BUNCHES];
    const uint lane = (uint)get_local_id(0);
    const accum_t a = factor(alpha, scalars[alpha_num], scalars[alpha_den]);
    const accum_t b = factor(beta, scalars[beta_num], scalars[beta_den]);
    // STEP 1
    const uint start = (uint)get_group_id(0) * chunk;
    const uint stop = n - start < chunk ? n : start + chunk;
    accum_t sum = 0;
    for (uint i = start + lane; i < stop; i += LANES * BUNCHES)
    {
        // STEP 2
        accum_t u = ONE;
        if (source != SOURCE_ONE && !is_zero(a)) u = source == SOURCE_WEIGHTED ? times(d[i], x[i]) : x[i];
        const accum_t old = is_zero(b) ? ZERO : times(b, y[i]);
        const accum_t now = is_zero(a) ? old : times(a, u) + old;
        y[i] = now;
        // STEP 3
        if (dots == DOTS_Y) sum += times(conjugate(now), now);
        if (dots == DOTS_Z) sum += times(conjugate(now), z[i]);
    }
    if (dots == 0) return;
    // STEP 4
    sum = group_total(own_totals, sum, OP_SUM);
    // STEP 5
    if (lane == 0) partials[(uint)get_group_id(0)] = sum;
}
