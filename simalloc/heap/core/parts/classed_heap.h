/* Common part of the families with free blocks in size classes that cut blocks at any byte. Each
 * family chooses the structure of a class. Merging of neighbours is a parameter. */
#ifndef SIMALLOC_CLASSED_HEAP_H
#define SIMALLOC_CLASSED_HEAP_H

#include "layers/trimming.h"
#include "parts/coalescing.h"
#include "parts/merging.h"
#include "replay/replay.h"

/* First member of the state of each family. */
struct classed_heap {
    struct heap heap;
    struct splitting splitting;
    uint64_t coalescing; /* enum merging */
    uint64_t least;      /* minimum bytes of a remainder that is split off */
};

/* Functions of a family. enter(), find() and use() add the number of visited blocks to
 * `visited`. */
struct classed_functions {
    void (*leave)(struct heap *heap, uint32_t id); /* removes a free block from its class */
    /* Inserts a free block into its class. Sets the heap's failure if memory is exhausted. */
    void (*enter)(struct heap *heap, uint32_t id, uint64_t *visited);
    /* Returns a free block, or NO_BLOCK. */
    uint32_t (*find)(struct heap *heap, uint64_t size, uint64_t *visited);
    /* Allocates the low end of a free block. */
    uint32_t (*use)(struct heap *heap, uint32_t id, uint64_t size, uint64_t *visited);
};

ALWAYS_INLINE struct classed_heap *classed(struct heap *heap)
{
    return (struct classed_heap *)heap;
}

/* Initialises a heap whose memory is zero except for the parameters. Returns true. */
ALWAYS_INLINE bool classed_init(struct classed_heap *state)
{
    uint64_t minimum = state->heap.setting.minimum;
    uint64_t split = state->splitting.minimum_split;
    state->least = split > minimum ? split : minimum;
    state->splitting.count_tail &= state->coalescing == MERGING_ALL;
    splitting_init(&state->heap, &state->splitting);
    return true;
}

/* Merges a free neighbour, which is in no class, into a free block. */
ALWAYS_INLINE void classed_join(struct heap *heap, uint32_t id, bool above)
{
    if (above)
        heap_join_next(heap, id);
    else
        heap_join_previous(heap, id);
    heap->counters.free_blocks--;
    heap->counters.coalescings++;
}

/* Makes a block free. Merges it with free neighbours if the policy merges. Returns the number of
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

/* Raises the break for a request. Returns false if the growth is refused or, with the heap's
 * failure set, if memory or addresses are exhausted. */
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
    uint64_t uncounted = 0; /* visits after a growth are not counted */
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

/* Removes a free block from its class and from the counters, for trimming. */
ALWAYS_INLINE void classed_take_out(struct heap *heap, uint32_t id,
                                    const struct classed_functions *own)
{
    own->leave(heap, id);
    heap->blocks[id].index_slot = STATE_ALLOCATED;
    heap->counters.free_blocks--;
}

/* Defines all functions of a layer except release(), from the functions of the family, which have
 * the names in struct classed_functions. */
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
