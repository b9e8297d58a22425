/* Ring of free blocks with a front. In each block, `index_slot` is the block before it and
 * `family_data` is the block after it.
 *
 * The last block of the list is linked to the front, so that linking needs no branch. The caller
 * stores the front, which is NO_BLOCK for an empty ring. */
#ifndef SIMALLOC_BLOCK_RING_H
#define SIMALLOC_BLOCK_RING_H

#include "space/heap.h"

/* Links a block between two adjacent blocks. */
ALWAYS_INLINE void block_ring_link(struct block *blocks, uint32_t before, uint32_t after,
                                   uint32_t id)
{
    blocks[id].index_slot = before;
    blocks[id].family_data = after;
    blocks[before].family_data = id;
    blocks[after].index_slot = id;
}

/* Inserts a block after the last block and, if `leads` is set, makes it the front. Returns whether
 * the ring was empty. */
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

/* Removes a block. Returns the block after it, which is the removed block itself if the ring is
 * then empty. */
ALWAYS_INLINE uint32_t block_ring_unlink(struct block *blocks, uint32_t id)
{
    uint32_t before = blocks[id].index_slot;
    uint32_t after = blocks[id].family_data;
    blocks[before].family_data = after;
    blocks[after].index_slot = before;
    blocks[id].index_slot = STATE_ALLOCATED;
    return after;
}

/* Removes the front; the block after it becomes the front. Returns whether the ring is then
 * empty. */
ALWAYS_INLINE bool block_ring_remove_front(uint32_t *front, struct block *blocks)
{
    uint32_t id = *front;
    uint32_t after = block_ring_unlink(blocks, id);
    *front = after == id ? NO_BLOCK : after;
    return after == id;
}

/* Removes a block. If the block is the front, the block after it becomes the front. Returns whether
 * the ring is then empty. */
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
