/* Bins that are lists of their blocks in order of entry, served from the newest or the oldest on.
 *
 * A bin is a ring (block_ring.h) whose front is served first. A block that enters is the newest, so
 * that it goes to an end, and leads if the newest is served first. One that is the rest of another
 * takes that one's place in time, which needs the times of entry (`keys`). */
#ifndef SIMALLOC_BIN_LIST_H
#define SIMALLOC_BIN_LIST_H

#include "bin.h"
#include "block_ring.h"

const char *bin_list_check(struct bin_check *check, uint32_t number, uint32_t first);

/* Enters a block that is older than the newest of its bin. `latest` is the block for which a place
 * was looked for last, or NO_BLOCK. */
void bin_list_insert_older(uint32_t *bin, struct block *blocks, uint32_t block,
                           const uint64_t *keys, bool newest_first, uint32_t *latest);

/* Enters a block at its place in time. Answers whether the bin was empty. All blocks of a bin are
 * of one size. */
ALWAYS_INLINE bool bin_list_insert_by_key(uint32_t *bin, struct block *blocks, uint32_t block,
                                          const uint64_t *keys, bool newest_first,
                                          uint32_t *latest)
{
    uint32_t first = *bin;
    uint32_t newest = newest_first ? first : blocks[first].home;
    if (first == NO_BLOCK || LIKELY(keys[newest] < keys[block]))
        return block_ring_insert(bin, blocks, block, newest_first);
    bin_list_insert_older(bin, blocks, block, keys, newest_first, latest);
    return false;
}

#endif
