/* Common part of the families that split blocks at any byte and coalesce freed blocks
 * immediately. */
#ifndef SIMALLOC_COALESCING_H
#define SIMALLOC_COALESCING_H

#include "layers/define_layer.h"
#include "layers/layer.h"
#include "layers/trimming.h"

/* Inserts a block into the index, merged with its free neighbours. */
typedef void enter_function(struct heap *heap, uint32_t id);
/* Allocates the low `size` bytes of a free block. The remainder keeps the role of the block. */
typedef uint32_t use_function(struct heap *heap, uint32_t id, uint64_t size);

/* Merges a block with its free neighbours, after removing these from the index. */
ALWAYS_INLINE void coalesce(struct heap *heap, uint32_t id, take_out_function *take_out)
{
    uint32_t below = heap->blocks[id].previous;
    uint32_t above = heap->blocks[id].next;
    if (heap_is_free(heap, below)) {
        take_out(heap, below);
        heap_absorb_previous(heap, id);
        heap->counters.coalescings++;
    }
    if (heap_is_free(heap, above)) {
        take_out(heap, above);
        heap_absorb_next(heap, id);
        heap->counters.coalescings++;
    }
}

/* Rules for splitting blocks and for growing and trimming the heap, for descriptions that derive
 * from Splitting. The family has SPLITTING_PARAMETERS, its init() calls splitting_init(), and its
 * layer has take_out(). */
struct splitting {
    uint64_t growth;        /* bytes; the break rises by a multiple of this size */
    uint64_t minimum_split; /* minimum size of a remainder that is split off */
    uint64_t count_tail;    /* nonzero if a free block at the break reduces a growth */
    struct trimming trimming;
};

#define SPLITTING_PARAMETERS(state, splitting)                                                  \
    {"growth", offsetof(state, splitting.growth), 1, UINT64_C(1) << 50, NULL},                  \
    {"minimum_split", offsetof(state, splitting.minimum_split), 1, UINT64_C(1) << 50, NULL},    \
    {"count_tail", offsetof(state, splitting.count_tail), 0, 1, NULL},                          \
    {"trim", offsetof(state, splitting.trimming.trim), 0, UINT64_C(1) << 50, NULL},             \
    {"trim_keep", offsetof(state, splitting.trimming.trim_keep), 0, UINT64_C(1) << 50, NULL}

/* Enables trimming, if the setting requests it. */
ALWAYS_INLINE void splitting_init(struct heap *heap, struct splitting *splitting)
{
    splitting->trimming.unit = splitting->growth;
    heap->trimming = splitting->trimming.trim > 0 ? &splitting->trimming : NULL;
}

/* Resizes a block in place. Cuts off its high end, or extends it by the low end of a free neighbour
 * above. Returns false if the neighbour is not large enough. */
ALWAYS_INLINE bool resize_in_place(struct heap *heap, uint32_t id, uint64_t size,
                                   uint64_t minimum_split, enter_function *enter, use_function *use)
{
    uint64_t old = heap->blocks[id].size;
    if (size < old && old - size >= minimum_split) {
        uint32_t high = heap_cut_high(heap, id, size);
        heap->counters.splits++;
        heap->counters.allocated -= old - size;
        enter(heap, high);
    } else if (size > old) {
        uint32_t above = heap->blocks[id].next;
        if (!heap_is_free(heap, above) || heap->blocks[above].size < size - old)
            return false;
        use(heap, above, size - old);
        heap_join_next(heap, id);
    }
    return true;
}

/* Returns the bytes by which the break rises for a request that fits in no free block. */
ALWAYS_INLINE uint64_t growth_for(const struct heap *heap, uint64_t size,
                                  const struct splitting *splitting)
{
    uint32_t last = heap_last(heap);
    if (splitting->count_tail && heap_is_free(heap, last))
        size -= heap->blocks[last].size;
    return round_up(size, splitting->growth);
}

/* Raises the break for a request that fits in no free block, and inserts the new memory into the
 * index. Returns false if the growth is refused or, with the heap's failure set, if memory or
 * addresses are exhausted. */
ALWAYS_INLINE bool grow_for(struct heap *heap, uint64_t size, const struct splitting *splitting,
                            enter_function *enter)
{
    uint32_t id = heap_extend(heap, growth_for(heap, size, splitting));
    if (id == NO_BLOCK)
        return false;
    heap->counters.growths++;
    enter(heap, id);
    return true;
}

const char *check_coalesced(const struct heap *heap);

/* Defines functions of a family that coalesces immediately. They read the rule from the state at
 * each call. The family must define:
 *
 *   rule_of(heap)                         returns the present rule
 *   take_out(heap, id, rule)              removes a free block from the index
 *   make_free(heap, id, take, rule)       makes a block free and merges it with free neighbours
 *   allocate_free(heap, size, counts, rule)
 *                                         allocates a free block, or returns NO_BLOCK if no block
 *                                         is large enough; counts the search if `counts`
 *   use(heap, id, size, rule)             allocates the low end of a free block
 *   splitting_of(heap)
 *   reserve(heap)
 *
 * DEFINE_COALESCING_LAYER defines a replay whose code is compiled for one rule. */
#define DEFINE_COALESCING                                                                    \
    static void take_out_any(struct heap *heap, uint32_t id)                                 \
    {                                                                                        \
        take_out(heap, id, rule_of(heap));                                                   \
    }                                                                                        \
    static NEVER_INLINE void enter_any(struct heap *heap, uint32_t id)                       \
    {                                                                                        \
        make_free(heap, id, take_out_any, rule_of(heap));                                    \
    }                                                                                        \
    static uint32_t use_any(struct heap *heap, uint32_t id, uint64_t size)                   \
    {                                                                                        \
        return use(heap, id, size, rule_of(heap));                                           \
    }                                                                                        \
    static NEVER_INLINE uint32_t allocate_free_any(struct heap *heap, uint64_t size, bool counts) \
    {                                                                                        \
        return allocate_free(heap, size, counts, rule_of(heap));                             \
    }                                                                                        \
    static NEVER_INLINE uint32_t allocate_grown(struct heap *heap, uint64_t size)            \
    {                                                                                        \
        bool grown = grow_for(heap, size, splitting_of(heap), enter_any);                    \
        return grown ? allocate_free_any(heap, size, false) : NO_BLOCK;                      \
    }                                                                                        \
    static uint32_t allocate_any(struct heap *heap, uint64_t size)                           \
    {                                                                                        \
        uint32_t id = allocate_free_any(heap, size, true);                                   \
        return LIKELY(id != NO_BLOCK) ? id : allocate_grown(heap, size);                     \
    }                                                                                        \
    static void release_any(struct heap *heap, uint32_t id)                                  \
    {                                                                                        \
        heap->counters.allocated -= heap->blocks[id].size;                                   \
        enter_any(heap, id);                                                                 \
    }                                                                                        \
    static bool resize_any(struct heap *heap, uint32_t id, uint64_t size)                    \
    {                                                                                        \
        return resize_in_place(heap, id, size, splitting_of(heap)->minimum_split, enter_any, \
                               use_any);                                                     \
    }

/* Defines layer_NAME for a rule that is a compile-time constant. */
#define DEFINE_COALESCING_LAYER(name, ...)                                                   \
    ALWAYS_INLINE void take_out_##name(struct heap *heap, uint32_t id)                       \
    {                                                                                        \
        take_out(heap, id, __VA_ARGS__);                                                     \
    }                                                                                        \
    ALWAYS_INLINE uint32_t allocate_##name(struct heap *heap, uint64_t size)                 \
    {                                                                                        \
        uint32_t id = allocate_free(heap, size, true, __VA_ARGS__);                          \
        return LIKELY(id != NO_BLOCK) ? id : allocate_grown(heap, size);                     \
    }                                                                                        \
    ALWAYS_INLINE void release_##name(struct heap *heap, uint32_t id)                        \
    {                                                                                        \
        heap->counters.allocated -= heap->blocks[id].size;                                   \
        make_free(heap, id, take_out_##name, __VA_ARGS__);                                   \
    }                                                                                        \
    DEFINE_INLINED_LAYER(name, false, allocate_##name, release_##name, reserve,              \
                         .allocate = allocate_any, .release = release_any,                   \
                         .resize = resize_any, .take_out = take_out_any)

#endif
