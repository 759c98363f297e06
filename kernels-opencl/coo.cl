// kernel: coo
// params: n_rows row_base nnz n_slots tiles epilogue alpha beta lo hi rows cols vals x carries z y
// steps:  1 a bunch takes S*W*T slots: entries, then rows without entries; 2 gather products and notice where rows
//         end; 3 sum and store whole rows; 4 finish the row that began before; 5 leave the last row's beginning
//         in carries[bunch]

// In place of a row's number where the row goes on.
#define GOES_ON 0xffffffffu

KERNEL void coo(uint n_rows, uint row_base, uint nnz, uint n_slots, uint tiles, uint epilogue, accum_t alpha,
                accum_t beta, accum_t lo, accum_t hi, GLOBAL const uint *rows, GLOBAL const uint *cols,
                GLOBAL const value_t *vals, GLOBAL const vector_t *x, GLOBAL accum_t *carries,
                GLOBAL const accum_t *z, GLOBAL accum_t *y)
{
    const finish_t finish = finish_of(epilogue, alpha, beta, lo, hi, z, y);
    LANE_TALK
    LOCAL accum_t group_products[BUNCHES * TILE];
    LOCAL uint group_ends[BUNCHES * TILE];
    const talk_t talk = lane_talk();
    LOCAL accum_t *products = group_products + bunch_id() * TILE;
    LOCAL uint *ends = group_ends + bunch_id() * TILE;
    const uint lane = lane_id();
    const uint bunch = (uint)get_group_id(0) * BUNCHES + bunch_id();

    // STEP 1
    // A spare bunch of the last group takes its turns with no slots, since its barriers may be the group's.
    const bool spare = bunch >= (n_slots + tiles * TILE - 1) / (tiles * TILE);
    uint slot = spare ? n_slots : bunch * tiles * TILE;
    // A row that began before is whole when carry_apply has added to it.
    uint begun = GOES_ON;
    if (bunch > 0 && !spare && rows[slot - 1] == rows[slot]) begun = rows[slot];
    accum_t carry = 0;
    for (uint s = 0; s < tiles; s++)
    {
        const uint n_own = min((uint)TILE, n_slots - slot);
        // STEP 2
#pragma unroll
        for (uint i = 0; i < WIDTH; i++)
        {
            const uint e = i * LANES + lane;
            const uint at = slot + e;
            if (e < n_own)
            {
                const uint row = rows[at];
                ends[e] = row != rows[min(at + 1, n_slots - 1)] || at + 1 == n_slots ? row : GOES_ON;
                products[e] =
                    at < nnz ? times((accum_t)load_value(vals, at), (accum_t)load_vector(x, cols[at])) : ZERO;
            }
        }
        bunch_barrier();
        // The lane's WIDTH slots, side by side.
        const uint stop = min((lane + 1) * WIDTH, n_own);
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
                    finish_row(y, row_base + ends[e], sum, &finish);
                sum = 0;
                n++;
            }
        }
        const scan_t scan = lane_scan(talk, n, sum);
        // STEP 4
        if (n > 0)
        {
            const accum_t before = scan.sum_before + (scan.n_before == 0 ? carry : ZERO);
            store_row(y, row_base + first_end, before + head, &finish, first_end != begun);
        }
        carry = scan.sum_total + (scan.n_total == 0 ? carry : ZERO);
        slot += n_own;
        bunch_barrier();
    }
    // STEP 5
    if (lane == 0 && !spare) carries[bunch] = carry;
}
