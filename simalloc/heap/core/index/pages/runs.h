/* Free runs of pages in the order of their addresses, linked in a ring: in each `home` is the run
 * before it and `mark` the one after it.
 *
 * They are walked, as the allocators do that have them. A run that is in here counts as a free
 * block. */
#ifndef SIMALLOC_RUNS_H
#define SIMALLOC_RUNS_H

#include "index/block_ring.h"

struct runs {
    uint32_t lowest; /* NO_BLOCK if there are none */
};

ALWAYS_INLINE uint32_t runs_highest(const struct runs *runs, const struct heap *heap)
{
    return runs->lowest == NO_BLOCK ? NO_BLOCK : heap->blocks[runs->lowest].home;
}

/* The next run by address; behind the highest NO_BLOCK, behind which the lowest follows. */
ALWAYS_INLINE uint32_t runs_next(const struct runs *runs, const struct heap *heap, uint32_t id)
{
    if (id == NO_BLOCK)
        return runs->lowest;
    uint32_t next = heap->blocks[id].mark;
    return next == runs->lowest ? NO_BLOCK : next;
}

/* The same the other way round. */
ALWAYS_INLINE uint32_t runs_before(const struct runs *runs, const struct heap *heap, uint32_t id)
{
    if (id == NO_BLOCK)
        return runs_highest(runs, heap);
    return id == runs->lowest ? NO_BLOCK : heap->blocks[id].home;
}

static inline void runs_insert(struct runs *runs, struct heap *heap, uint32_t id)
{
    uint64_t address = heap->blocks[id].address;
    uint32_t before = runs_highest(runs, heap);
    while (before != NO_BLOCK && heap->blocks[before].address > address)
        before = runs_before(runs, heap, before);
    if (before == NO_BLOCK)
        block_ring_insert(&runs->lowest, heap->blocks, id, true);
    else
        block_ring_link(heap->blocks, before, heap->blocks[before].mark, id);
    heap->counters.free_blocks++;
}

ALWAYS_INLINE void runs_remove(struct runs *runs, struct heap *heap, uint32_t id)
{
    block_ring_remove(&runs->lowest, heap->blocks, id);
    heap->counters.free_blocks--;
}

/* Makes a block that is not counted as allocated a free run, merged with its neighbours; answers the
 * run, which is the lower neighbour if that was one. */
static inline uint32_t runs_free(struct runs *runs, struct heap *heap, uint32_t id)
{
    uint32_t above = heap->blocks[id].next;
    uint32_t below = heap->blocks[id].previous;
    if (heap_is_free(heap, above)) {
        runs_remove(runs, heap, above);
        heap_join_next(heap, id);
        heap->counters.coalescings++;
    }
    if (heap_is_free(heap, below)) {
        heap_join_next(heap, below);
        heap->counters.coalescings++;
        return below;
    }
    runs_insert(runs, heap, id);
    return id;
}

/* Takes the low end of a run; what is left keeps its place and its id. Answers the block taken,
 * which is not yet counted as allocated; `rest` is what is left, or NO_BLOCK. */
static inline uint32_t runs_take(struct runs *runs, struct heap *heap, uint32_t id, uint64_t size,
                                 uint32_t *rest)
{
    if (heap->blocks[id].size == size) {
        runs_remove(runs, heap, id);
        *rest = NO_BLOCK;
        return id;
    }
    heap->counters.splits++;
    *rest = id;
    return heap_cut_low(heap, id, size);
}

/* Answers what is wrong with the runs, or NULL. */
static inline const char *runs_check(const struct runs *runs, const struct heap *heap)
{
    uint64_t found = 0;
    uint64_t end = 0;
    for (uint32_t id = runs->lowest; id != NO_BLOCK; id = runs_next(runs, heap, id)) {
        if (!heap_is_free(heap, id) || (found > 0 && heap->blocks[id].address <= end))
            return "the runs are not in the order of their addresses, with something between";
        end = heap->blocks[id].address + heap->blocks[id].size;
        if (++found > heap->counters.free_blocks)
            return "the runs have a cycle, or the free blocks are miscounted";
    }
    return found == heap->counters.free_blocks ? NULL : "not all free blocks are runs";
}

#endif
