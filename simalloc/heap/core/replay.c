#include "replay.h"

uint32_t reallocate(const struct replay *replay, uint32_t old, uint64_t size,
                    allocate_function *allocate, free_function *release, resize_function *resize)
{
    struct heap *heap = replay->heap;
    if (replay->realloc_rule == REALLOC_FREE_FIRST) {
        release(heap, old);
        return allocate(heap, size);
    }
    if (replay->realloc_rule == REALLOC_IN_PLACE && resize(heap, old, size))
        return old;
    uint32_t block = allocate(heap, size);
    release(heap, old);
    return block;
}

void replay_watch(const struct replay *replay, const struct events *event)
{
    struct heap *heap = replay->heap;
    uint32_t block = replay->objects.slots[event->slot[0]].block;
    if (event->address != NULL)
        event->address[0] = block == NO_BLOCK ? -1 : (int64_t)heap->blocks[block].address;
    if (replay->checked)
        heap->failure = replay->mechanism->check(heap);
}

/* The block of an event's object, or NO_BLOCK. */
static uint32_t block_of(const struct replay *replay, const struct events *events, size_t i)
{
    return replay->objects.slots[events->slot[i]].block;
}

void replay_prefetch(const struct replay *replay, const struct events *events)
{
    const struct block *blocks = replay->heap->blocks;
    for (size_t i = 0; i < events->count; i++)
        __builtin_prefetch(&replay->objects.slots[events->slot[i]]);
    for (size_t i = 0; i < events->count; i++)
        if (block_of(replay, events, i) != NO_BLOCK)
            __builtin_prefetch(&blocks[block_of(replay, events, i)]);
    for (size_t i = 0; i < events->count; i++) {
        if (block_of(replay, events, i) == NO_BLOCK)
            continue;
        const struct block *block = &blocks[block_of(replay, events, i)];
        __builtin_prefetch(&blocks[block->previous]);
        __builtin_prefetch(&blocks[block->next]);
    }
}
