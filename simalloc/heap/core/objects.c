#include "objects.h"

#include <stdlib.h>

bool objects_grow(struct objects *objects, uint32_t slot)
{
    /* What is not used costs memory when there is much of it; when there is little, copying costs. */
    uint64_t count = objects->count + objects->count / (objects->count < 1 << 16 ? 1 : 8) + 64;
    if (count <= slot)
        count = (uint64_t)slot + 1;
    struct slot *slots = realloc(objects->slots, (size_t)count * sizeof *slots);
    if (slots == NULL)
        return false;
    for (uint64_t i = objects->count; i < count; i++)
        slots[i].block = NO_BLOCK;
    objects->slots = slots;
    objects->count = count;
    return true;
}

void objects_release(struct objects *objects)
{
    free(objects->slots);
}
