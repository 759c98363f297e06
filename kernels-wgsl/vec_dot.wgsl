// kernel: vec_dot
// params: n chunk op at x z partials arrivals scalars
// steps:  1 a group takes `chunk` entries; 2 sum the products of x and z, or find the greatest absolute value of x; 3 join
//         what the lanes have by halves; 4 store what the group has; where groups can join, the last to arrive joins all of it
//         in order and stores the scalar, else vec_reduce

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
    // Groups do not join: vec_reduce joins what they have.
    if (local_id == 0u) { partials[group] = own; }
}
