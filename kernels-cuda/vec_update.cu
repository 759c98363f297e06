// kernel: vec_update
// params: n chunk source dots alpha alpha_num alpha_den beta beta_num beta_den scalars d x z y partials
// built:  T=32
// steps:  1 a group takes `chunk` entries; 2 y <- a*u + b*y, where a is alpha times a quotient of scalars, b as well, and u is
//         x, d*x or 1; a = 0 does not read u, b = 0 does not read y; 3 sum the products of the new y and of y or z;
//         4 add the sums of the lanes by halves; 5 store the sum of the group

// What u is.
#define SOURCE_WEIGHTED 1
#define SOURCE_ONE 2
// What the new y is multiplied by.
#define DOTS_Y 1
#define DOTS_Z 2

// Entries of a lane that are read before the first is written.
#define AHEAD 4

KERNEL vec_update(uint n, uint chunk, uint source, uint dots, accum_t alpha, uint alpha_num, uint alpha_den, accum_t beta,
              uint beta_num, uint beta_den, const accum_t *scalars, const accum_t *d, const accum_t *x,
              const accum_t *z, accum_t *y, accum_t *partials)
{
    after_others();
    const accum_t a = factor(alpha, scalars[alpha_num], scalars[alpha_den]);
    const accum_t b = factor(beta, scalars[beta_num], scalars[beta_den]);
    // STEP 1
    const uint start = blockIdx.x * chunk;
    const uint stop = n - start < chunk ? n : start + chunk;
    accum_t sum = 0;
    for (uint first = start + threadIdx.x; first < stop; first += AHEAD * blockDim.x)
    {
        // STEP 2
        accum_t u[AHEAD];
        accum_t old[AHEAD];
        accum_t with[AHEAD];
#pragma unroll
        for (uint k = 0; k < AHEAD; k++)
        {
            const uint i = first + k * blockDim.x;
            const bool is_there = i < stop;
            u[k] = 1;
            if (is_there && source != SOURCE_ONE && a != 0) u[k] = source == SOURCE_WEIGHTED ? d[i] * x[i] : x[i];
            old[k] = is_there && b != 0 ? b * y[i] : 0;
            with[k] = is_there && dots == DOTS_Z ? z[i] : 0;
        }
#pragma unroll
        for (uint k = 0; k < AHEAD; k++)
        {
            const uint i = first + k * blockDim.x;
            if (i >= stop) break;
            const accum_t now = a == 0 ? old[k] : a * u[k] + old[k];
            y[i] = now;
            // STEP 3
            if (dots == DOTS_Y) sum += conjugate(now) * now;
            if (dots == DOTS_Z) sum += conjugate(now) * with[k];
        }
    }
    if (dots == 0) return;
    // STEP 4
    sum = group_total((accum_t *)local_memory, sum, OP_SUM);
    // STEP 5
    if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}
