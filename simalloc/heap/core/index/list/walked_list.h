/* Linked list of free blocks that is walked, as an allocator walks it.
 *
 * The list is a ring (block_ring.h) with a front. Appending, removing and resizing a block are
 * O(1). A search costs its visits. Inserting by address costs the passed neighbours.
 *
 * The block table is a parameter, because reading its pointer from the list cost 4 to 8 % of the
 * time of an event. */
#ifndef SIMALLOC_WALKED_LIST_H
#define SIMALLOC_WALKED_LIST_H

#include "index/block_ring.h"

struct walked_list {
    uint32_t front;  /* block at which a search starts, or NO_BLOCK in an empty list */
    /* Number of neighbours passed by insertions by address since this was set to 0. */
    uint64_t passed;
};

/* A free block, and whether it is below the block of the search. */
struct near {
    uint32_t block;
    bool below;
};

/* Returns the nearest free block, which must exist. Walks from neighbour to neighbour, both down
 * and up, and past the edge of the heap if necessary. Adds the steps to `passed`. */
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

/* Inserts a block at its place in a ring in address order. */
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

/* Returns the first block from the front on with at least `size` bytes, or NO_BLOCK. Sets `visited`
 * to the number of visited blocks. */
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
