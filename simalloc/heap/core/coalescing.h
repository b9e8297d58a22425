/* What the families share that split blocks at any byte and coalesce freed ones at once. */
#ifndef SIMALLOC_COALESCING_H
#define SIMALLOC_COALESCING_H

#include "heap.h"

/* Takes a free block out of the mechanism's index. */
typedef void take_out_function(struct heap *heap, uint32_t id);
/* Gives a block to the index, merged with its free neighbours. */
typedef void enter_function(struct heap *heap, uint32_t id);
/* Allocates the low `size` bytes of a free block; what is left of it keeps its part. */
typedef uint32_t use_function(struct heap *heap, uint32_t id, uint64_t size);

/* Merges a block with its free neighbours, which are taken out first. */
ALWAYS_INLINE void coalesce(struct heap *heap, uint32_t id, take_out_function *take_out)
{
    uint32_t below = heap->blocks[id].previous;
    uint32_t above = heap->blocks[id].next;
    if (heap_is_free(heap, below)) {
        take_out(heap, below);
        heap_join_previous(heap, id);
        heap->counters.coalescings++;
    }
    if (heap_is_free(heap, above)) {
        take_out(heap, above);
        heap_join_next(heap, id);
        heap->counters.coalescings++;
    }
}

/* Reallocates without moving: cuts the block's high end off, or takes the low end of a free
 * neighbour above; false if that is not enough. */
ALWAYS_INLINE bool resize_in_place(struct heap *heap, uint32_t id, uint64_t size,
                                   enter_function *enter, use_function *use)
{
    uint64_t old = heap->blocks[id].size;
    if (size < old) {
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

/* The bytes by which the break must rise so that the block that ends there holds `size`. */
ALWAYS_INLINE uint64_t missing_at_break(const struct heap *heap, uint64_t size)
{
    return heap_is_free(heap, heap_last(heap)) ? size - heap->blocks[heap_last(heap)].size : size;
}

const char *check_coalesced(const struct heap *heap);

/* Defines replay_NAME() for a policy that is known when the code is compiled, from the family's own
 *
 *   take_out(heap, id, ...)               takes a free block out of the index
 *   make_free(heap, id, take, ...)        makes a block free, merged with its free neighbours
 *   allocate(heap, size, enter, ...)
 *   use(heap, id, size, ...)              allocates the low end of a free block
 *   reserve(heap)
 *
 * of which the policy is the last argument. */
#define DEFINE_REPLAY(name, ...)                                                             \
    ALWAYS_INLINE void take_out_##name(struct heap *heap, uint32_t id)                       \
    {                                                                                        \
        take_out(heap, id, __VA_ARGS__);                                                     \
    }                                                                                        \
    static void enter_##name(struct heap *heap, uint32_t id)                                 \
    {                                                                                        \
        make_free(heap, id, take_out_##name, __VA_ARGS__);                                   \
    }                                                                                        \
    static uint32_t use_##name(struct heap *heap, uint32_t id, uint64_t size)                \
    {                                                                                        \
        return use(heap, id, size, __VA_ARGS__);                                             \
    }                                                                                        \
    ALWAYS_INLINE uint32_t allocate_##name(struct heap *heap, uint64_t size)                 \
    {                                                                                        \
        return allocate(heap, size, enter_##name, __VA_ARGS__);                              \
    }                                                                                        \
    ALWAYS_INLINE void release_##name(struct heap *heap, uint32_t id)                        \
    {                                                                                        \
        heap->counters.allocated -= heap->blocks[id].size;                                   \
        make_free(heap, id, take_out_##name, __VA_ARGS__);                                   \
    }                                                                                        \
    static bool resize_##name(struct heap *heap, uint32_t id, uint64_t size)                 \
    {                                                                                        \
        return resize_in_place(heap, id, size, enter_##name, use_##name);                    \
    }                                                                                        \
    static size_t replay_##name(struct replay *replay, const struct events *events)          \
    {                                                                                        \
        return replay_events(replay, events, allocate_##name, release_##name, resize_##name, \
                             reserve);                                                       \
    }

#endif
