#include "heap.h"

#include <stdlib.h>

bool heap_grow_table(struct heap *heap)
{
    uint64_t capacity = (uint64_t)heap->used + heap->used / 2 + 4 * SPARE_BLOCKS;
    if (capacity > HOME_LOOSE) /* the least that is no id */
        capacity = HOME_LOOSE;
    if (capacity - heap->used < SPARE_BLOCKS)
        return false;
    struct block *blocks = realloc(heap->blocks, (size_t)capacity * sizeof *blocks);
    if (blocks == NULL)
        return false;
    heap->blocks = blocks;
    heap->capacity = (uint32_t)capacity;
    return true;
}

void heap_release(struct heap *heap)
{
    free(heap->blocks);
    heap->blocks = NULL;
}

const char *heap_check(const struct heap *heap)
{
    uint64_t address = 0;
    uint64_t allocated = 0;
    uint32_t previous = NO_BLOCK;
    for (uint32_t id = heap_first(heap); id != NO_BLOCK; id = heap->blocks[id].next) {
        const struct block *block = &heap->blocks[id];
        if (block->address != address || block->size == 0)
            return "the blocks do not tile the heap";
        if (block->previous != previous)
            return "a block does not know the neighbour below it";
        if (block->home == HOME_ALLOCATED)
            allocated += block->size;
        address += block->size;
        previous = id;
    }
    if (heap_last(heap) != previous || address != heap->brk)
        return "the last block does not end at the break";
    if (allocated != heap->counters.allocated)
        return "the allocated bytes are miscounted";
    return NULL;
}
