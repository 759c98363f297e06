// kernel: vec_axpy_aypx
// params: n chunk alpha alpha_num alpha_den beta beta_num beta_den scalars z x d
// steps:  1 a group takes `chunk` entries; 2 x <- a*d + x, where a is alpha times a quotient of scalars; a = 0 leaves x as it is;
//         3 d <- z + b*d, by the old d and b as a; b = 0 does not read d

fn vec_axpy_aypx()
{
    let a = factor(p.alpha, scalars[p.alpha_num], scalars[p.alpha_den]);
    let b = factor(p.beta, scalars[p.beta_num], scalars[p.beta_den]);
    // STEP 1
    let start = group * p.chunk;
    let stop = start + min(p.n - start, p.chunk);
    for (var i = start + local_id; i < stop; i += GROUP)
    {
        var old = accum(0.0);
        if (!is_zero(a) || !is_zero(b)) { old = d[i]; }
        // STEP 2
        if (!is_zero(a)) { x[i] = times(a, old) + x[i]; }
        // STEP 3
        var now = z[i];
        if (!is_zero(b)) { now = now + times(b, old); }
        d[i] = now;
    }
}
