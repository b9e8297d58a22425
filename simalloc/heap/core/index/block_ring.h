/* Free blocks linked in a ring with a front: in each `index_slot` is the block before it and
 * `family_data` the one after it.
 *
 * The last block of the list stands before its front, so that no link needs a branch. The front is
 * the caller's, or NO_BLOCK if the ring is empty. */
#ifndef SIMALLOC_BLOCK_RING_H
#define SIMALLOC_BLOCK_RING_H

#include "space/heap.h"

/* Puts a block between two that follow each other. */
ALWAYS_INLINE void block_ring_link(struct block *blocks, uint32_t before, uint32_t after,
                                   uint32_t id)
{
    blocks[id].index_slot = before;
    blocks[id].family_data = after;
    blocks[before].family_data = id;
    blocks[after].index_slot = id;
}

/* Puts a block behind the last; `leads` makes it the front. Returns whether it is the only one. */
ALWAYS_INLINE bool block_ring_insert(uint32_t *front, struct block *blocks, uint32_t id, bool leads)
{
    uint32_t first = *front;
    if (first == NO_BLOCK) {
        blocks[id].index_slot = blocks[id].family_data = id;
        *front = id;
        return true;
    }
    block_ring_link(blocks, blocks[first].index_slot, first, id);
    if (leads)
        *front = id;
    return false;
}

/* Takes a block out of the ring and returns the one after it, itself if it was the only one. */
ALWAYS_INLINE uint32_t block_ring_unlink(struct block *blocks, uint32_t id)
{
    uint32_t before = blocks[id].index_slot;
    uint32_t after = blocks[id].family_data;
    blocks[before].family_data = after;
    blocks[after].index_slot = before;
    blocks[id].index_slot = STATE_ALLOCATED;
    return after;
}

/* Takes the front out, and makes the block after it the front. Returns whether none is left. */
ALWAYS_INLINE bool block_ring_remove_front(uint32_t *front, struct block *blocks)
{
    uint32_t id = *front;
    uint32_t after = block_ring_unlink(blocks, id);
    *front = after == id ? NO_BLOCK : after;
    return after == id;
}

/* Takes a block out; if it was the front, the one after it is. Returns whether none is left. */
ALWAYS_INLINE bool block_ring_remove(uint32_t *front, struct block *blocks, uint32_t id)
{
    uint32_t after = block_ring_unlink(blocks, id);
    if (after == id) {
        *front = NO_BLOCK;
        return true;
    }
    if (*front == id)
        *front = after;
    return false;
}

#endif
