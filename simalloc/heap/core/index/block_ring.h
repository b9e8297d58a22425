/* Free blocks linked in a ring with a front: in each `home` is the block before it and `mark` the
 * one after it.
 *
 * The last block of the list stands before its front, so that no link needs a branch. The front is
 * the caller's; it is NO_BLOCK if there are no blocks. */
#ifndef SIMALLOC_BLOCK_RING_H
#define SIMALLOC_BLOCK_RING_H

#include "space/heap.h"

/* Puts a block between two that follow each other. */
ALWAYS_INLINE void block_ring_link(struct block *blocks, uint32_t before, uint32_t after,
                                   uint32_t id)
{
    blocks[id].home = before;
    blocks[id].mark = after;
    blocks[before].mark = id;
    blocks[after].home = id;
}

/* Puts a block behind the last; `leads` makes it the front. Answers whether it is the only one. */
ALWAYS_INLINE bool block_ring_insert(uint32_t *front, struct block *blocks, uint32_t id, bool leads)
{
    uint32_t first = *front;
    if (first == NO_BLOCK) {
        blocks[id].home = blocks[id].mark = id;
        *front = id;
        return true;
    }
    block_ring_link(blocks, blocks[first].home, first, id);
    if (leads)
        *front = id;
    return false;
}

/* Takes a block out of the ring and answers the one after it, itself if it was the only one. */
ALWAYS_INLINE uint32_t block_ring_unlink(struct block *blocks, uint32_t id)
{
    uint32_t before = blocks[id].home;
    uint32_t after = blocks[id].mark;
    blocks[before].mark = after;
    blocks[after].home = before;
    blocks[id].home = STATE_ALLOCATED;
    return after;
}

/* Takes the front out, and makes the block after it the front. Answers whether none is left. */
ALWAYS_INLINE bool block_ring_remove_front(uint32_t *front, struct block *blocks)
{
    uint32_t id = *front;
    uint32_t after = block_ring_unlink(blocks, id);
    *front = after == id ? NO_BLOCK : after;
    return after == id;
}

/* Takes a block out; if it was the front, the one after it is. Answers whether none is left. */
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
