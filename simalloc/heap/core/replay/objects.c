#include "replay/objects.h"

#include <stdlib.h>

bool objects_grow(struct objects *objects, uint32_t slot)
{
    /* What is not used costs memory when there is much of it; when there is little, copying costs. */
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

void objects_release(struct objects *objects)
{
    free(objects->blocks);
}
