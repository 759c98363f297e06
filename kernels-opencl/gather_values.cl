// kernel: gather_values
// params: n_slots entries vals slots
// steps:  1 a lane takes a slot, or those of a word; 2 read the value of the slot's entry, zero for padding; 3 store it

// The entry of a slot that holds none.
#define PADDING 0xffffffffu

KERNEL void gather_values(uint n_slots, GLOBAL const uint *entries, GLOBAL const raw_t *vals, GLOBAL raw_t *slots)
{
    // STEP 1
    const uint slot = (uint)get_global_id(0);
    if (slot < n_slots)
    {
        // STEP 2
        const uint entry = entries[slot];
        const raw_t value = entry == PADDING ? (raw_t)0 : vals[entry];
        // STEP 3
        slots[slot] = value;
    }
}
