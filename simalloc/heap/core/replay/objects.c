#include "replay/objects.h"

#include <stdlib.h>

/* Enlarges the table to more than `slot` slots. Returns false if memory is exhausted. */
static bool grow(struct objects *objects, uint32_t slot)
{
    /* A large table grows by an eighth, to save memory. A small table doubles, to save copying. */
    uint64_t count = objects->count + objects->count / (objects->count < 1 << 16 ? 1 : 8) + 64;
    if (count <= slot)
        count = (uint64_t)slot + 1;
    uint32_t *blocks = realloc(objects->blocks, (size_t)count * sizeof *blocks);
    if (blocks == NULL)
        return false;
    for (uint64_t i = objects->count; i < count; i++)
        blocks[i] = NO_BLOCK;
    objects->blocks = blocks;
    objects->count = count;
    return true;
}

static uint32_t highest(const uint32_t *slots, size_t count)
{
    uint32_t found = 0;
    for (size_t i = 0; i < count; i++)
        found = slots[i] > found ? slots[i] : found;
    return found;
}

bool objects_reserve(struct objects *objects, const uint32_t *slots, size_t count)
{
    /* Bitwise OR of all slots: at least the highest slot, and faster to compute. */
    uint32_t bits = 0;
    for (size_t i = 0; i < count; i++)
        bits |= slots[i];
    if (LIKELY(bits < objects->count))
        return true;
    uint32_t slot = highest(slots, count);
    return slot < objects->count || grow(objects, slot);
}

void objects_release(struct objects *objects)
{
    free(objects->blocks);
}
