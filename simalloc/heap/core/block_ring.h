/* Free blocks linked in a ring: in each `home` is the block before it and `mark` the one after it.
 *
 * A list that is a ring has its last block before its first, so that no link needs a branch. */
#ifndef SIMALLOC_BLOCK_RING_H
#define SIMALLOC_BLOCK_RING_H

#include "heap.h"

/* Makes a block the only one of a ring. */
ALWAYS_INLINE void block_ring_start(struct block *blocks, uint32_t id)
{
    blocks[id].home = blocks[id].mark = id;
}

/* Puts a block between two that follow each other. */
ALWAYS_INLINE void block_ring_link(struct block *blocks, uint32_t before, uint32_t after,
                                   uint32_t id)
{
    blocks[id].home = before;
    blocks[id].mark = after;
    blocks[before].mark = id;
    blocks[after].home = id;
}

/* Takes a block out and answers the one after it: itself, if it was the only one. */
ALWAYS_INLINE uint32_t block_ring_unlink(struct block *blocks, uint32_t id)
{
    uint32_t before = blocks[id].home;
    uint32_t after = blocks[id].mark;
    blocks[before].mark = after;
    blocks[after].home = before;
    blocks[id].home = HOME_ALLOCATED;
    return after;
}

#endif
