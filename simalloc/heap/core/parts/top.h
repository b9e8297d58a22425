/* Common part of the mallocs of Doug Lea and glibc: the top and other blocks in roles, and the end
 * of a realloc. */
#ifndef SIMALLOC_TOP_H
#define SIMALLOC_TOP_H

#include "parts/coalescing.h"
#include "space/segment.h"

/* Makes a block free in a role. A role is a single free block that is in no bin, because it is used
 * in its own way, or NO_BLOCK. The roles are the top, which ends at the break, the last remainder
 * and the designated victim. */
ALWAYS_INLINE void role_give(struct heap *heap, uint32_t *role, uint32_t id)
{
    *role = id;
    heap->blocks[id].index_slot = STATE_FREE;
    heap_count_free(heap, id);
}

/* Removes the block of a role. Its state becomes STATE_ALLOCATED, but its bytes are not counted as
 * allocated. */
ALWAYS_INLINE void role_end(struct heap *heap, uint32_t *role)
{
    heap->blocks[*role].index_slot = STATE_ALLOCATED;
    heap->counters.free_blocks--;
    *role = NO_BLOCK;
}

/* Raises the break. The new memory joins the top or becomes the top. Returns false if the growth is
 * refused or, with the heap's failure set, if memory or addresses are exhausted. */
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

/* Cuts an allocated block down to `size` bytes and frees the remainder, if the remainder is large
 * enough for a block. */
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

/* Ends a realloc that has allocated the block `other`. If `other` directly follows the old block,
 * both are joined. Otherwise the old block is freed. Returns the block of the object. */
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
