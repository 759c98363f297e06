// kernel: pcsr_products
// params: nnz tiles cols vals x products
// steps:  1 a group takes S*W*T entries; 2 gather their products; 3 store them in order

fn pcsr_products()
{
    // STEP 1
    var first = group * GROUP * WIDTH * p.tiles + local_id;
    for (var s = 0u; s < p.tiles && first < p.nnz; s++)
    {
        // STEP 2
#each i WIDTH
        let at_$i = min(first + $iu * GROUP, p.nnz - 1u);
        let col_$i = cols[at_$i];
        let val_$i = load_vals(at_$i);
#end
#each i WIDTH
        let product_$i = times(val_$i, load_x(col_$i));
#end
        // STEP 3
#each i WIDTH
        if (first + $iu * GROUP < p.nnz) { products[at_$i] = product_$i; }
#end
        first += GROUP * WIDTH;
    }
}
