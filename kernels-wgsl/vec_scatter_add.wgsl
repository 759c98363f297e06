// kernel: vec_scatter_add
// params: n chunk at x y
// steps:  1 a group takes `chunk` entries; 2 y[at[i]] <- y[at[i]] + x[i]

fn vec_scatter_add()
{
    // STEP 1
    let start = group * p.chunk;
    let stop = start + min(p.n - start, p.chunk);
    for (var i = start + local_id; i < stop; i += GROUP)
    {
        // STEP 2: no index is there twice, so that lanes share no number.
        let to = at[i];
        y[to] = y[to] + x[i];
    }
}
