// kernel: vec_axpy_aypx
// params: n chunk alpha alpha_num alpha_den beta beta_num beta_den scalars z x d
// built:  T=32
// steps:  1 a group takes `chunk` entries; 2 x <- a*d + x, where a is alpha times a quotient of scalars; a = 0 leaves x as it is;
//         3 d <- z + b*d, by the old d and b as a; b = 0 does not read d

// Entries of a lane that are read before the first is written.
#define AHEAD 4

KERNEL vec_axpy_aypx(uint n, uint chunk, accum_t alpha, uint alpha_num, uint alpha_den, accum_t beta, uint beta_num,
                     uint beta_den, const accum_t *scalars, const accum_t *z, accum_t *x, accum_t *d)
{
    after_others();
    const accum_t a = factor(alpha, scalars[alpha_num], scalars[alpha_den]);
    const accum_t b = factor(beta, scalars[beta_num], scalars[beta_den]);
    // STEP 1
    const uint start = blockIdx.x * chunk;
    const uint stop = n - start < chunk ? n : start + chunk;
    for (uint first = start + threadIdx.x; first < stop; first += AHEAD * blockDim.x)
    {
        accum_t old[AHEAD];
        accum_t of_x[AHEAD];
        accum_t of_z[AHEAD];
#pragma unroll
        for (uint k = 0; k < AHEAD; k++)
        {
            const uint i = first + k * blockDim.x;
            const bool is_there = i < stop;
            old[k] = !is_there || (a == 0 && b == 0) ? 0 : d[i];
            of_x[k] = is_there && a != 0 ? x[i] : 0;
            of_z[k] = is_there ? z[i] : 0;
        }
#pragma unroll
        for (uint k = 0; k < AHEAD; k++)
        {
            const uint i = first + k * blockDim.x;
            if (i >= stop) break;
            // STEP 2
            if (a != 0) x[i] = a * old[k] + of_x[k];
            // STEP 3
            d[i] = b == 0 ? of_z[k] : of_z[k] + b * old[k];
        }
    }
}
