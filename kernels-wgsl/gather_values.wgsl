// kernel: gather_values
// params: n_slots entries vals slots
// steps:  1 a lane takes a slot, or those of a word; 2 read the value of the slot's entry, zero for padding; 3 store it

// The entry of a slot that holds none.
const PADDING = 0xffffffffu;

fn gather_values()
{
    // STEP 1
    let first = (group * GROUP + local_id) * PACKED;
    if (first < p.n_slots)
    {
        // What follows the last slot in its word stays.
        var word = slots[first / PACKED];
        for (var slot = first; slot < min(first + PACKED, p.n_slots); slot++)
        {
            // STEP 2
            let entry = entries[slot];
            var other = value_word();
            if (entry != PADDING) { other = vals[entry / PACKED]; }
            word = with_value(word, slot, other, entry);
        }
        // STEP 3
        slots[first / PACKED] = word;
    }
}
