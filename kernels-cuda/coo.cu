// kernel: coo
// params: n_rows row_base nnz n_slots tiles epilogue alpha beta lo hi rows cols vals x carries z y
// built:  T=32 W=1,4,8,16
// steps:  1 a bunch takes S*W*T slots: entries, then rows without entries; 2 gather products and notice where rows
//         end; 3 sum and store whole rows; 4 finish the row that began before; 5 leave the last row's beginning
//         in carries[bunch]

// In place of a row's number where the row goes on.
#define GOES_ON 0xffffffffu

// Without a number of groups, ptxas spills for some values where it need not.
KERNEL_OF((sizeof(value_t) == 16 ? 256 : 512), (sizeof(value_t) == 2 || sizeof(value_t) > sizeof(part_t))) coo(uint n_rows,
                  uint row_base, uint nnz, uint n_slots, uint tiles, uint epilogue, accum_t alpha, accum_t beta,
                  accum_t lo, accum_t hi, const uint *__restrict__ rows, const uint *__restrict__ cols,
                  const value_t *__restrict__ vals, const vector_t *__restrict__ x, accum_t *__restrict__ carries,
                  const accum_t *z, accum_t *__restrict__ y)
{
    const finish_t finish = finish_of(epilogue, alpha, beta, lo, hi, z, y);
    accum_t *products = (accum_t *)local_memory + bunch_id<LANES>() * TILE;
    uint *ends = (uint *)((accum_t *)local_memory + bunches<LANES>() * TILE) + bunch_id<LANES>() * TILE;
    const uint lane = lane_id<LANES>();
    const uint bunch = blockIdx.x * bunches<LANES>() + bunch_id<LANES>();

    // STEP 1
    // A spare bunch of the last group takes its turns with no slots.
    const bool spare = bunch >= (n_slots + tiles * TILE - 1) / (tiles * TILE);
    uint slot = spare ? n_slots : bunch * tiles * TILE;
    // A row that began before is whole when carry_apply has added to it.
    uint begun = GOES_ON;
    if (bunch > 0 && !spare && load_index(rows, slot - 1) == load_index(rows, slot)) begun = load_index(rows, slot);
    accum_t carry = 0;
    for (uint s = 0; s < tiles; s++)
    {
        const uint n_own = least(TILE, n_slots - slot);
        // STEP 2
        uint row[WIDTH];
        uint next[WIDTH];
        uint col[WIDTH];
        accum_t val[WIDTH];
#pragma unroll
        for (uint i = 0; i < WIDTH; i++)
        {
            const uint at = slot + i * LANES + lane;
            const bool has = at < nnz;
            row[i] = load_index(rows, least(at, n_slots - 1));
            next[i] = load_index(rows, least(at + 1, n_slots - 1));
            col[i] = has ? load_index(cols, at) : 0;
            val[i] = has ? load_value(vals, at) : 0;
        }
#pragma unroll
        for (uint i = 0; i < WIDTH; i++)
        {
            const uint e = i * LANES + lane;
            if (e < n_own)
            {
                products[e] = slot + e < nnz ? val[i] * load_value(x, col[i]) : 0;
                ends[e] = row[i] != next[i] || slot + e + 1 == n_slots ? row[i] : GOES_ON;
            }
        }
        bunch_barrier();
        // The lane's WIDTH slots, side by side.
        const uint stop = least((lane + 1) * WIDTH, n_own);
        uint first_end = GOES_ON;
        accum_t head = 0;
        accum_t sum = 0;
        uint n = 0;
        for (uint e = lane * WIDTH; e < stop; e++)
        {
            sum += products[e];
            if (ends[e] != GOES_ON)
            {
                // STEP 3
                if (n == 0)
                {
                    head = sum;
                    first_end = ends[e];
                }
                else
                    finish_row(y, row_base + ends[e], sum, finish);
                sum = 0;
                n++;
            }
        }
        const scan_t scan = lane_scan<LANES>(n, sum);
        // STEP 4
        if (n > 0)
        {
            const accum_t before = scan.sum_before + (scan.n_before == 0 ? carry : 0);
            finish_row(y, row_base + first_end, before + head, finish, first_end != begun);
        }
        carry = scan.sum_total + (scan.n_total == 0 ? carry : 0);
        slot += n_own;
        bunch_barrier();
    }
    // STEP 5
    if (lane == 0 && !spare) carries[bunch] = carry;
}
