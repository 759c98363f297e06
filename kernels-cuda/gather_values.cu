// kernel: gather_values
// params: n_slots entries vals slots
// built:  T=32
// steps:  1 a lane takes a slot, or those of a word; 2 read the value of the slot's entry, zero for padding; 3 store it

// The entry of a slot that holds none.
#define PADDING 0xffffffffu

KERNEL gather_values(uint n_slots, const uint *__restrict__ entries, const value_t *__restrict__ vals,
                     value_t *__restrict__ slots)
{
    // STEP 1
    const uint slot = blockIdx.x * blockDim.x + threadIdx.x;
    if (slot < n_slots)
    {
        // STEP 2
        const uint entry = stream_index(entries, slot);
        const value_t value = entry == PADDING ? value_t(0) : vals[entry];
        // STEP 3
        slots[slot] = value;
    }
}
