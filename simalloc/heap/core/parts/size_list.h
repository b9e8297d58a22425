/* Free blocks of one size, for families that neither split nor coalesce blocks.
 *
 * New memory is cut into blocks on demand, from its low end. It may contain more blocks than are
 * ever requested. */
#ifndef SIMALLOC_SIZE_LIST_H
#define SIMALLOC_SIZE_LIST_H

#include "space/heap.h"

struct size_list {
    /* Newest freed block, or NO_BLOCK; linked by `family_data` to older blocks. */
    uint32_t newest;
    uint32_t uncut;  /* remainder of the latest new memory, in STATE_FREE, or NO_BLOCK */
};

ALWAYS_INLINE bool size_list_is_empty(const struct size_list *list)
{
    return list->newest == NO_BLOCK && list->uncut == NO_BLOCK;
}

/* Cuts the lowest block off the new memory and returns it. */
ALWAYS_INLINE uint32_t size_list_cut(struct heap *heap, struct size_list *list, uint64_t size)
{
    uint32_t id = list->uncut;
    if (heap->blocks[id].size > size)
        return heap_cut_low(heap, id, size);
    list->uncut = NO_BLOCK;
    return id;
}

/* Allocates the most recently freed block or, without one, the lowest new block. The list must not
 * be empty. */
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

ALWAYS_INLINE void size_list_give(struct heap *heap, struct size_list *list, uint32_t id,
                                  uint64_t size)
{
    heap->blocks[id].index_slot = STATE_FREE;
    heap->blocks[id].family_data = list->newest;
    list->newest = id;
    heap_count_free(heap, id);
    heap->counters.allocated -= size;
}

/* Adds new memory of `bytes` bytes, or of one block if that is larger, to an empty list. Returns
 * false if the growth is refused or, with the heap's failure set, if memory or addresses are
 * exhausted. */
bool size_list_refill(struct heap *heap, struct size_list *list, uint64_t size, uint64_t bytes);

/* Adds the number of blocks of a list to `blocks`. Returns a description of the first fault, or
 * NULL. */
const char *size_list_check(const struct heap *heap, const struct size_list *list, uint64_t size,
                            uint64_t *blocks);

#endif
