/* Operations of slots.h in plain C. */

/* Returns the bits of the slots with at least `size`, which is more than 0. */
ALWAYS_INLINE uint64_t slots_at_least(const uint16_t *sizes, uint32_t size)
{
    uint64_t slots = 0;
    for (uint32_t i = 0; i < SLOTS; i++)
        slots |= (uint64_t)(sizes[i] >= size) << i;
    return slots;
}

/* Returns the first slot from `from` on with at least `size`, which is more than 0, or SLOTS. */
ALWAYS_INLINE uint32_t slots_first_from(const uint16_t *sizes, uint32_t from, uint32_t size)
{
    while (from < SLOTS && sizes[from] < size)
        from++;
    return from;
}

/* Returns the first slot with at least `size`, which is more than 0, or SLOTS. */
ALWAYS_INLINE uint32_t slots_first(const uint16_t *sizes, uint32_t size)
{
    return slots_first_from(sizes, 0, size);
}

/* Returns the last slot with at least `size`, which is more than 0, or SLOTS. */
ALWAYS_INLINE uint32_t slots_last(const uint16_t *sizes, uint32_t size)
{
    for (uint32_t slot = SLOTS; slot > 0; slot--)
        if (sizes[slot - 1] >= size)
            return slot - 1;
    return SLOTS;
}

/* Returns the bits of the slots with keys below `key`. */
ALWAYS_INLINE uint64_t slots_below(const uint32_t *keys, uint32_t key)
{
    uint64_t slots = 0;
    for (uint32_t i = 0; i < SLOTS; i++)
        slots |= (uint64_t)(keys[i] < key) << i;
    return slots;
}

ALWAYS_INLINE uint32_t slots_largest(const uint16_t *sizes)
{
    uint16_t largest = 0;
    for (uint32_t i = 0; i < SLOTS; i++)
        largest = sizes[i] > largest ? sizes[i] : largest;
    return largest;
}

/* Returns the sum of the numbers before `slot`. */
ALWAYS_INLINE uint32_t slots_sum_few_before(const uint8_t *numbers, uint32_t slot)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < slot; i++)
        sum += numbers[i];
    return sum;
}

ALWAYS_INLINE uint32_t slots_sum_before(const uint32_t *numbers, uint32_t slot)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < slot; i++)
        sum += numbers[i];
    return sum;
}
