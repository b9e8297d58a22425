/* Range of larger pools with the same outcome.
 *
 * As long as every decision is the same, a larger pool differs from a smaller pool only in its last
 * block, which is larger by the difference. heap->same_for is the number of bytes that can be added
 * to the pool without a different decision so far, or 0 if the family does not compute it. A family
 * that computes it has one region and initialises same_for to UINT64_MAX. It calls these functions
 * and differs_from() at each decision that depends on the size of the last block. */
#ifndef SIMALLOC_LARGER_H
#define SIMALLOC_LARGER_H

#include "families/pool/class_lists.h"
#include "families/pool/pool_list.h"

/* Returns the last block of the pool, without the allocator's memory at the end. */
ALWAYS_INLINE uint32_t pool_last(const struct heap *heap)
{
    uint32_t last = heap_last(heap);
    return heap->blocks[last].index_slot == STATE_TABLE ? heap->blocks[last].previous : last;
}

/* Records that a block is used whole because it lacks `more` bytes for a split. If it is the last
 * block, a larger pool would have split it. */
ALWAYS_INLINE void note_unsplit(struct heap *heap, uint32_t id, uint64_t more)
{
    if (id == pool_last(heap))
        differs_from(heap, more);
}

/* Records that no block has `wanted` bytes. A larger last block might have them. */
ALWAYS_INLINE void note_refusal(struct heap *heap, uint64_t wanted)
{
    uint32_t last = pool_last(heap);
    if (heap_is_free(heap, last))
        differs_from(heap, wanted - heap->blocks[last].size);
}

/* Records the best fit `id` in a list by size, or NO_BLOCK. A larger last block might become large
 * enough, or might no longer be the smallest block that is large enough. */
ALWAYS_INLINE void note_best_fit(const struct pool_list *list, uint32_t id, uint64_t wanted)
{
    struct heap *heap = list->tree.heap;
    const struct block *blocks = heap->blocks;
    uint32_t last = pool_last(heap);
    if (!heap_is_free(heap, last))
        return;
    if (blocks[last].size < wanted) {
        differs_from(heap, wanted - blocks[last].size);
    } else if (id == last) {
        uint32_t next = pool_list_behind(list, id); /* the first block follows the last */
        if (blocks[next].size >= blocks[id].size && next != id)
            differs_from(heap, blocks[next].size - blocks[id].size);
    }
}

/* Records a decision that depends on the list of the last block. The last block is in list `class`
 * and has the key `key`, in units of `unit` bytes. A larger last block would leave its list to the
 * other blocks there, or reach the next non-empty list. */
ALWAYS_INLINE void note_list(const struct class_lists *lists, unsigned class, uint64_t key,
                             uint64_t unit)
{
    struct heap *heap = lists->heap;
    uint32_t last = pool_last(heap);
    bool is_alone = heap->blocks[last].family_data == last;
    unsigned next = is_alone ? class_with_block(lists, class + 1) : class + 1;
    if (next != NO_CLASS)
        differs_from(heap, (class_begin(lists, next) - key) * unit);
}

/* Records the choice of the front of list `chosen`, the first non-empty list from `wanted` on, or
 * NO_CLASS. `key` is the key of the last block, if it is free. */
ALWAYS_INLINE void note_choice(struct class_lists *lists, unsigned wanted, unsigned chosen,
                               uint64_t key)
{
    struct heap *heap = lists->heap;
    uint32_t last = pool_last(heap);
    if (!heap_is_free(heap, last))
        return;
    if (class_of(lists, key) < wanted) {
        differs_from(heap, class_begin(lists, wanted) - key);
        return;
    }
    if (lists->fronts[chosen] == last)
        note_list(lists, chosen, key, 1);
}

#endif
