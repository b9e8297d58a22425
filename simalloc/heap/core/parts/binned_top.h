/* Common part of Doug Lea's mallocs: free blocks in bins by size, except two blocks in roles
 * (parts/top.h). */
#ifndef SIMALLOC_BINNED_TOP_H
#define SIMALLOC_BINNED_TOP_H

#include "index/size/groups.h"
#include "parts/top.h"
#include "replay/replay.h"

/* First member of the state of both mallocs. */
struct binned_top {
    struct heap heap;
    struct groups bins;
    uint32_t top;   /* free block at the break, or NO_BLOCK */
    uint32_t other; /* last remainder or designated victim, or NO_BLOCK */
};

/* Removes a free block from its bin or its role. */
static inline void take_out(struct heap *heap, uint32_t id)
{
    struct binned_top *base = (struct binned_top *)heap;
    if (id == base->top)
        role_end(heap, &base->top);
    else if (id == base->other)
        role_end(heap, &base->other);
    else
        groups_remove(&base->bins, id, OLDEST_IS_HEAD);
}

/* Makes a block free and merges it with free neighbours. The block must not be counted as
 * allocated. */
static inline void enter_merged(struct heap *heap, uint32_t id)
{
    struct binned_top *base = (struct binned_top *)heap;
    uint32_t other = base->other;
    bool takes_other_in = other != NO_BLOCK && (heap->blocks[id].previous == other ||
                                                heap->blocks[id].next == other);
    coalesce(heap, id, take_out);
    if (heap_last(heap) == id)
        role_give(heap, &base->top, id);
    else if (takes_other_in)
        role_give(heap, &base->other, id);
    else
        groups_insert(&base->bins, id);
}

static inline bool reserve(struct heap *heap)
{
    return heap_reserve(heap) && groups_reserve(&((struct binned_top *)heap)->bins);
}

static inline void release_all(void *memory)
{
    groups_release(&((struct binned_top *)memory)->bins);
}

static inline const char *check_binned(const struct binned_top *base)
{
    const struct heap *heap = &base->heap;
    uint64_t blocks = base->bins.block_count;
    blocks += base->top != NO_BLOCK;
    blocks += base->other != NO_BLOCK;
    if (heap->counters.free_blocks != blocks)
        return "the free blocks are miscounted";
    const char *wrong = top_check(heap, base->top);
    if (wrong == NULL)
        wrong = heap_check(heap);
    return wrong == NULL ? groups_check(&base->bins) : wrong;
}

#endif
