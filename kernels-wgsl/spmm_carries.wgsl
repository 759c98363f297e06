// kernel: spmm_carries
// params: row_base n_cut width columns y_stride y_at alpha beta cut_rows cut_blocks carries y
// steps:  1 a lane takes a column of a row that was cut; 2 add the sums of its pieces, in order; 3 store alpha*sum + beta*y

fn spmm_carries()
{
    // STEP 1
    let id = group * GROUP + local_id;
    let row = id / p.width;
    let column = id % p.width;
    if (row < p.n_cut && column < p.columns)
    {
        // STEP 2
        let stop = cut_blocks[2u * row + 1u];
        var sum = accum(0.0);
        for (var block = cut_blocks[2u * row]; block < stop; block++) { sum += carries[block * p.width + column]; }
        // STEP 3
        store((p.row_base + cut_rows[row]) * p.y_stride + p.y_at + column, p.alpha, sum, p.beta);
    }
}
