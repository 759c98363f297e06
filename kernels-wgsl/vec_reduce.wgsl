// kernel: vec_reduce
// params: n op at partials scalars
// steps:  1 a lane takes each partial result that many lanes further; 2 add them, or take the greatest; 3 join what the lanes
//         have by halves; 4 store the scalar

fn vec_reduce()
{
    // STEP 1
    var own = accum(0.0);
    for (var i = local_id; i < p.n; i += GROUP)
    {
        // STEP 2
        own = joined_by(p.op, own, partials[i]);
    }
    // STEP 3
    own = group_total(own, p.op);
    // STEP 4
    if (local_id == 0u) { scalars[p.at] = own; }
}
