/* The free blocks of one size, for families that neither split nor coalesce them.
 *
 * New memory is cut into blocks as they are needed, from its low end on: it may hold more than will
 * ever be asked for. */
#ifndef SIMALLOC_SIZE_LIST_H
#define SIMALLOC_SIZE_LIST_H

#include "space/heap.h"

struct size_list {
    /* Blocks given back, chained by `family_data`, the newest first; or NO_BLOCK. */
    uint32_t newest;
    uint32_t uncut;  /* what is left of the latest new memory, STATE_FREE; or NO_BLOCK */
};

ALWAYS_INLINE bool size_list_is_empty(const struct size_list *list)
{
    return list->newest == NO_BLOCK && list->uncut == NO_BLOCK;
}

/* The lowest block of what is left of new memory. */
ALWAYS_INLINE uint32_t size_list_cut(struct heap *heap, struct size_list *list, uint64_t size)
{
    uint32_t id = list->uncut;
    if (heap->blocks[id].size > size)
        return heap_cut_low(heap, id, size);
    list->uncut = NO_BLOCK;
    return id;
}

/* Allocates the block given back last, or else the lowest new one. The list is not empty. */
ALWAYS_INLINE uint32_t size_list_take(struct heap *heap, struct size_list *list, uint64_t size)
{
    uint32_t id = list->newest;
    if (LIKELY(id != NO_BLOCK))
        list->newest = heap->blocks[id].family_data;
    else
        id = size_list_cut(heap, list, size);
    heap->blocks[id].index_slot = STATE_ALLOCATED;
    heap->counters.free_blocks--;
    heap->counters.allocated += size;
    return id;
}

/* Gives an allocated block back. */
ALWAYS_INLINE void size_list_give(struct heap *heap, struct size_list *list, uint32_t id,
                                  uint64_t size)
{
    heap->blocks[id].index_slot = STATE_FREE;
    heap->blocks[id].family_data = list->newest;
    list->newest = id;
    heap_count_free(heap, id);
    heap->counters.allocated -= size;
}

/* Gives an empty list new memory, as much as `bytes` or one block if that is larger; false, with
 * the heap's failure set, if there is none. */
bool size_list_refill(struct heap *heap, struct size_list *list, uint64_t size, uint64_t bytes);

/* Counts the blocks of a list; returns what is wrong with it, or NULL. */
const char *size_list_check(const struct heap *heap, const struct size_list *list, uint64_t size,
                            uint64_t *blocks);

#endif
