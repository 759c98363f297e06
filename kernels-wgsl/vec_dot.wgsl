// kernel: vec_dot
// params: n chunk op x z partials
// steps:  1 a group takes `chunk` entries; 2 sum the products of x and z, or find the greatest absolute value of x; 3 join
//         what the lanes have by halves; 4 store what the group has

fn vec_dot()
{
    // STEP 1
    let start = group * p.chunk;
    let stop = start + min(p.n - start, p.chunk);
    var own = accum(0.0);
    // STEP 2
    for (var i = start + local_id; i < stop; i += GROUP)
    {
        if (p.op == OP_SUM) { own += times(conjugate(x[i]), z[i]); } else { own = joined_by(p.op, own, modulus(x[i])); }
    }
    // STEP 3
    own = group_total(own, p.op);
    // STEP 4
    if (local_id == 0u) { partials[group] = own; }
}
