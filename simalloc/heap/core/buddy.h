/* What the buddy systems share: free blocks ordered by size and then by one of the list orders,
 * halved on demand and merged with their buddies. */
#ifndef SIMALLOC_BUDDY_H
#define SIMALLOC_BUDDY_H

#include "free_index.h"
#include "mechanism.h"

struct buddy_blocks {
    struct free_index index; /* by (size, key) */
    enum order order;
    uint64_t entered; /* blocks that have entered */
};

ALWAYS_INLINE void buddy_insert(struct buddy_blocks *blocks, uint32_t id)
{
    struct heap *heap = blocks->index.heap;
    const struct block *block = &heap->blocks[id];
    uint64_t time = ++blocks->entered;
    uint64_t key = blocks->order == ORDER_ADDRESS ? block->address
                   : blocks->order == ORDER_FIFO  ? time
                                                  : ~time;
    free_index_insert(&blocks->index, free_index_position(&blocks->index, true, block->size, key),
                      id, block->size, key);
    heap->counters.free_blocks++;
}

ALWAYS_INLINE void buddy_remove(struct buddy_blocks *blocks, uint32_t id)
{
    free_index_remove(&blocks->index, free_index_locate(&blocks->index, id));
    blocks->index.heap->counters.free_blocks--;
}

/* Halves a block that is out of the index until it has `size` bytes; the high halves enter. */
ALWAYS_INLINE void buddy_halve(struct buddy_blocks *blocks, uint32_t id, uint64_t size)
{
    struct heap *heap = blocks->index.heap;
    while (heap->blocks[id].size > size) {
        uint32_t high = heap_cut_high(heap, id, heap->blocks[id].size / 2);
        heap->blocks[high].mark = heap->blocks[id].mark;
        heap->counters.splits++;
        buddy_insert(blocks, high);
    }
}

/* Joins a block with its buddy, above or below it, if that is free and whole. */
ALWAYS_INLINE bool buddy_merge(struct buddy_blocks *blocks, uint32_t id, bool above)
{
    struct heap *heap = blocks->index.heap;
    uint32_t buddy = above ? heap->blocks[id].next : heap->blocks[id].previous;
    if (!heap_is_free(heap, buddy) || heap->blocks[buddy].size != heap->blocks[id].size)
        return false;
    buddy_remove(blocks, buddy);
    if (above)
        heap_join_next(heap, id);
    else
        heap_join_previous(heap, id);
    heap->counters.coalescings++;
    return true;
}

ALWAYS_INLINE bool buddy_init(struct buddy_blocks *blocks, struct heap *heap, uint64_t order)
{
    blocks->order = (enum order)order;
    blocks->entered = 0;
    return free_index_init(&blocks->index, heap);
}

#endif
