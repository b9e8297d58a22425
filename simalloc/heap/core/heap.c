#include "heap.h"

#include "table.h"

bool heap_grow_table(struct heap *heap)
{
    struct block *blocks = table_grow(heap->blocks, sizeof *blocks, heap->used, SPARE_BLOCKS,
                                      HOME_LOOSE, &heap->capacity);
    if (blocks == NULL)
        return false;
    heap->blocks = blocks;
    return true;
}

void heap_release(struct heap *heap)
{
    table_release(heap->blocks);
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
