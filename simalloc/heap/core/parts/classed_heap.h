/* The common part of the families that keep free blocks by size class, each class in a structure of
 * its own, and cut blocks at any byte. Merging of neighbours is a parameter. */
#ifndef SIMALLOC_CLASSED_HEAP_H
#define SIMALLOC_CLASSED_HEAP_H

#include "layers/trimming.h"
#include "parts/coalescing.h"
#include "parts/merging.h"
#include "replay/replay.h"

/* First member of the state of both. */
struct classed_heap {
    struct heap heap;
    struct splitting splitting;
    uint64_t coalescing; /* enum merging */
    uint64_t least;      /* minimum bytes of a remainder that is split off */
};

/* The functions of a family; the last three add the visited blocks to `visited`. */
struct classed_functions {
    void (*leave)(struct heap *heap, uint32_t id); /* takes a free block out of its class */
    /* Puts a free block into its class. The heap fails when memory is exhausted. */
    void (*enter)(struct heap *heap, uint32_t id, uint64_t *visited);
    uint32_t (*find)(struct heap *heap, uint64_t size, uint64_t *visited); /* or NO_BLOCK */
    /* Allocates the low end of a free block. */
    uint32_t (*use)(struct heap *heap, uint32_t id, uint64_t size, uint64_t *visited);
};

ALWAYS_INLINE struct classed_heap *classed(struct heap *heap)
{
    return (struct classed_heap *)heap;
}

/* Makes an empty heap of memory that is zero except for the parameters. Returns false if memory is
 * exhausted. */
ALWAYS_INLINE bool classed_init(struct classed_heap *state)
{
    uint64_t minimum = state->heap.setting.minimum;
    uint64_t split = state->splitting.minimum_split;
    state->least = split > minimum ? split : minimum;
    state->splitting.count_tail &= state->coalescing == MERGING_ALL;
    splitting_init(&state->heap, &state->splitting);
    return true;
}

/* Joins a free neighbour, which is in no class, to a free block. */
ALWAYS_INLINE void classed_join(struct heap *heap, uint32_t id, bool above)
{
    if (above)
        heap_join_next(heap, id);
    else
        heap_join_previous(heap, id);
    heap->counters.free_blocks--;
    heap->counters.coalescings++;
}

/* Makes a block free, merged with both neighbours if the policy merges. Returns the number of
 * visited blocks. */
ALWAYS_INLINE uint64_t classed_make_free(struct heap *heap, uint32_t id,
                                         const struct classed_functions *own)
{
    uint64_t visited = 0;
    heap_mark(heap, id, STATE_FREE);
    for (unsigned above = 0; above < 2 && classed(heap)->coalescing == MERGING_ALL; above++) {
        const struct block *block = &heap->blocks[id];
        uint32_t neighbour = above ? block->next : block->previous;
        if (heap_is_free(heap, neighbour)) {
            own->leave(heap, neighbour);
            classed_join(heap, id, above);
        }
    }
    own->enter(heap, id, &visited);
    return visited;
}

/* Raises the break for a request; false, with the heap's failure set, if that cannot be. */
ALWAYS_INLINE bool classed_grow(struct heap *heap, uint64_t size,
                                const struct classed_functions *own)
{
    uint32_t id = heap_extend(heap, growth_for(heap, size, &classed(heap)->splitting));
    if (id == NO_BLOCK)
        return false;
    heap->counters.growths++;
    classed_make_free(heap, id, own);
    return heap->failure == NULL;
}

ALWAYS_INLINE uint32_t classed_allocate(struct heap *heap, uint64_t size,
                                        const struct classed_functions *own)
{
    uint64_t visited = 0;
    uint64_t uncounted = 0; /* visits after a growth do not count */
    uint32_t id = own->find(heap, size, &visited);
    bool grows = id == NO_BLOCK;
    if (grows) {
        if (!classed_grow(heap, size, own))
            return NO_BLOCK;
        id = own->find(heap, size, &uncounted);
    }
    id = own->use(heap, id, size, grows ? &uncounted : &visited);
    count_search(heap, visited);
    return id;
}

ALWAYS_INLINE void classed_release(struct heap *heap, uint32_t id,
                                   const struct classed_functions *own)
{
    uint64_t coalescings = heap->counters.coalescings;
    count_deallocation(heap, classed_make_free(heap, id, own), coalescings);
}

ALWAYS_INLINE bool classed_resize(struct heap *heap, uint32_t id, uint64_t size,
                                  const struct classed_functions *own)
{
    const struct classed_heap *state = classed(heap);
    uint64_t old = heap->blocks[id].size;
    if (size <= old) {
        if (old - size >= state->least) {
            uint32_t high = heap_cut_off(heap, id, size);
            heap->counters.splits++;
            classed_make_free(heap, high, own);
        }
        return true;
    }
    uint32_t above = heap->blocks[id].next;
    if (state->coalescing == MERGING_NONE || !heap_is_free(heap, above) ||
        heap->blocks[above].size < size - old)
        return false;
    uint64_t uncounted = 0;
    own->use(heap, above, size - old, &uncounted);
    heap_join_next(heap, id);
    return true;
}

/* Takes a free block out of its class and the counts, for trimming. */
ALWAYS_INLINE void classed_take_out(struct heap *heap, uint32_t id,
                                    const struct classed_functions *own)
{
    own->leave(heap, id);
    heap->blocks[id].index_slot = STATE_ALLOCATED;
    heap->counters.free_blocks--;
}

/* Defines a layer's functions but release() from the family's own, which are named as above. */
#define DEFINE_CLASSED_FUNCTIONS                                                        \
    static const struct classed_functions own = {leave, enter, find, use};              \
    static uint32_t allocate(struct heap *heap, uint64_t size)                          \
    {                                                                                   \
        return classed_allocate(heap, size, &own);                                      \
    }                                                                                   \
    static bool resize(struct heap *heap, uint32_t id, uint64_t size)                   \
    {                                                                                   \
        return classed_resize(heap, id, size, &own);                                    \
    }                                                                                   \
    static void take_out(struct heap *heap, uint32_t id)                                \
    {                                                                                   \
        classed_take_out(heap, id, &own);                                               \
    }

#define CLASSED_PARAMETERS(state, base)                                            \
    SPLITTING_PARAMETERS(state, base.splitting),                                   \
    {"coalescing", offsetof(state, base.coalescing), 0,                            \
     sizeof merging_names / sizeof *merging_names - 1, merging_names}

#endif
