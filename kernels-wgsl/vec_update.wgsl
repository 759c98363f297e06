// kernel: vec_update
// params: n chunk source dots alpha alpha_num alpha_den beta beta_num beta_den scalars d x z y partials
// steps:  1 a group takes `chunk` entries; 2 y <- a*u + b*y, where a is alpha times a quotient of scalars, b as well, and u is
//         x, d*x or 1; a = 0 does not read u, b = 0 does not read y; 3 sum the products of the new y and of y or z;
//         4 add the sums of the lanes by halves; 5 store the sum of the group

// What u is.
const SOURCE_WEIGHTED = 1u;
const SOURCE_ONE = 2u;
// What the new y is multiplied by.
const DOTS_Y = 1u;
const DOTS_Z = 2u;

fn vec_update()
{
    let a = factor(p.alpha, scalars[p.alpha_num], scalars[p.alpha_den]);
    let b = factor(p.beta, scalars[p.beta_num], scalars[p.beta_den]);
    // STEP 1
    let start = group * p.chunk;
    let stop = start + min(p.n - start, p.chunk);
    var sum = accum(0.0);
    for (var i = start + local_id; i < stop; i += GROUP)
    {
        // STEP 2
        var u = ONE;
        if (p.source != SOURCE_ONE && !is_zero(a))
        {
            u = x[i];
            if (p.source == SOURCE_WEIGHTED) { u = times(d[i], u); }
        }
        var now = accum(0.0);
        if (!is_zero(b)) { now = times(b, y[i]); }
        if (!is_zero(a)) { now = times(a, u) + now; }
        y[i] = now;
        // STEP 3
        if (p.dots == DOTS_Y) { sum += times(conjugate(now), now); }
        if (p.dots == DOTS_Z) { sum += times(conjugate(now), z[i]); }
    }
    // STEP 4
    sum = group_total(sum, OP_SUM);
    // STEP 5
    if (p.dots != 0u && local_id == 0u) { partials[group] = sum; }
}
