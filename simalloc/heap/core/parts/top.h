/* The common part of the mallocs of Doug Lea and glibc: a top and other blocks in roles, and the
 * end of a realloc. */
#ifndef SIMALLOC_TOP_H
#define SIMALLOC_TOP_H

#include "parts/coalescing.h"
#include "space/segment.h"

/* A role is the one free block, or NO_BLOCK, that is in no bin, since it is used in a way of its own:
 * the top, which ends at the break, a last remainder, a designated victim. */
ALWAYS_INLINE void role_give(struct heap *heap, uint32_t *role, uint32_t id)
{
    *role = id;
    heap->blocks[id].index_slot = STATE_FREE;
    heap_count_free(heap, id);
}

/* Takes the block of a role out of it; it is allocated then, and not counted as such. */
ALWAYS_INLINE void role_end(struct heap *heap, uint32_t *role)
{
    heap->blocks[*role].index_slot = STATE_ALLOCATED;
    heap->counters.free_blocks--;
    *role = NO_BLOCK;
}

/* Raises the break; the new memory joins the top, or is it. False, with the heap's failure set, if
 * that cannot be. */
ALWAYS_INLINE bool top_grow(struct heap *heap, uint32_t *top, uint64_t size)
{
    uint32_t id = heap_extend(heap, size);
    if (id == NO_BLOCK)
        return false;
    heap->counters.growths++;
    if (*top != NO_BLOCK) {
        role_end(heap, top);
        heap_join_previous(heap, id);
        heap->counters.coalescings++;
    }
    role_give(heap, top, id);
    return true;
}

/* Frees what an allocated block has beyond `size` bytes, if that can be a block. */
ALWAYS_INLINE uint32_t shrink(struct heap *heap, uint32_t id, uint64_t size,
                              enter_function *make_free)
{
    uint64_t over = heap->blocks[id].size - size;
    if (over >= heap->setting.minimum) {
        uint32_t high = heap_cut_high(heap, id, size);
        heap->counters.splits++;
        heap->counters.allocated -= over;
        make_free(heap, high);
    }
    return id;
}

/* Ends a realloc that has got another block: if it is the successor they become one, else the old
 * block is freed. */
ALWAYS_INLINE uint32_t move_or_join(struct heap *heap, uint32_t id, uint32_t other, uint64_t size,
                                    enter_function *make_free)
{
    if (other == NO_BLOCK)
        return NO_BLOCK;
    if (heap->blocks[id].next == other) {
        heap_join_next(heap, id);
        return shrink(heap, id, size, make_free);
    }
    heap->front->release(heap, id);
    return other;
}

/* Returns a description of the fault in the top, or NULL. */
ALWAYS_INLINE const char *top_check(const struct heap *heap, uint32_t top)
{
    uint32_t last = heap_last(heap);
    return top == (heap_is_free(heap, last) ? last : NO_BLOCK)
               ? NULL
               : "the top is not the free block at the break";
}

#endif
