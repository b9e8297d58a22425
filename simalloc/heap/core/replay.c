#include "replay.h"

void replay_watch(const struct replay *replay, const struct events *events, size_t i)
{
    struct heap *heap = replay->heap;
    if (heap->failure != NULL)
        return;
    uint32_t block = replay->objects.slots[events->slot[i]].block;
    if (events->address != NULL)
        events->address[i] = block == NO_BLOCK ? -1 : (int64_t)heap->blocks[block].address;
    if (replay->checked)
        heap->failure = replay->mechanism->check(heap);
}
