/* A linked list of free blocks that is walked, as an allocator would.
 *
 * The list is a ring (block_ring.h) with a front. Entering last, leaving and changing the size are
 * O(1). A search costs its visits, and entering by address costs the neighbours that are passed.
 *
 * The block table is a parameter, because reading it through a pointer in the list cost 4 to 8 % of
 * an event. */
#ifndef SIMALLOC_WALKED_LIST_H
#define SIMALLOC_WALKED_LIST_H

#include "index/block_ring.h"

struct walked_list {
    uint32_t front;  /* start of a search; NO_BLOCK if the list is empty */
    uint64_t passed; /* steps of searches for places by address since this was last set to 0 */
};

/* A free block, and whether it is below another one. */
struct near {
    uint32_t block;
    bool below;
};

/* Returns the nearest free block, which must exist. It walks from neighbour to neighbour, down and
 * up, and past the edge of the heap if necessary. */
ALWAYS_INLINE struct near nearest_free(const struct block *blocks, uint32_t id, uint64_t *passed)
{
    uint32_t below = blocks[id].previous;
    uint32_t above = blocks[id].next;
    for (;; ++*passed) {
        if (is_free(&blocks[below]))
            return (struct near){below, true};
        if (is_free(&blocks[above]))
            return (struct near){above, false};
        below = blocks[below].previous;
        above = blocks[above].next;
    }
}

/* Puts a block into its place in a ring ordered by address. */
ALWAYS_INLINE void walked_list_insert_by_address(struct walked_list *list, struct block *blocks,
                                                 uint32_t id)
{
    if (UNLIKELY(list->front == NO_BLOCK)) {
        block_ring_insert(&list->front, blocks, id, true);
        return;
    }
    struct near near = nearest_free(blocks, id, &list->passed);
    uint32_t before = near.below ? near.block : blocks[near.block].index_slot;
    block_ring_link(blocks, before, blocks[before].family_data, id);
}

/* The first block from the front on with at least `size` bytes, or NO_BLOCK; counts the visited. */
ALWAYS_INLINE uint32_t walked_list_first(const struct walked_list *list,
                                         const struct block *blocks, uint64_t size,
                                         uint64_t *visited)
{
    uint32_t id = list->front;
    uint64_t count = 0;
    if (UNLIKELY(id == NO_BLOCK)) {
        *visited = 0;
        return NO_BLOCK;
    }
    do {
        count++;
        if (blocks[id].size >= size) {
            *visited = count;
            return id;
        }
        id = blocks[id].family_data;
    } while (id != list->front);
    *visited = count;
    return NO_BLOCK;
}

#endif
