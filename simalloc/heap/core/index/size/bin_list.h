/* Bins that are lists of their blocks in order of entry, served from the newest or the oldest on.
 *
 * A bin is a ring (block_ring.h) whose front is served first. A block that enters is the newest, so
 * that it goes to an end, and leads if the newest is served first. One that is the rest of another
 * takes that one's place in time, which needs the times of entry (`keys`). */
#ifndef SIMALLOC_BIN_LIST_H
#define SIMALLOC_BIN_LIST_H

#include "index/size/bin.h"
#include "index/block_ring.h"

const char *bin_list_check(struct bin_check *check, uint32_t number, uint32_t first);

/* The mark of a block that belongs into a list and is not in it. */
#define NOT_LISTED UINT32_MAX

/* Returns whether a block would be the newest of a bin. */
ALWAYS_INLINE bool bin_list_is_newest(uint32_t bin, const struct block *blocks, uint32_t block,
                                      const uint64_t *keys, bool newest_first)
{
    return bin == NO_BLOCK || keys[newest_first ? bin : blocks[bin].index_slot] < keys[block];
}

/* Budget for a walk by time of entry: blocks that may be passed at first, and further ones for each
 * block, which bounds the average. */
enum { PASSES_AT_FIRST = 1 << 16, PASSES_A_BLOCK = 16 };

struct bin_places {
    uint32_t latest; /* the block for which a place was looked for last, or NO_BLOCK */
    uint64_t passes; /* blocks that may still be passed */
};

/* Enters a block that is older than the newest of its bin, unless too many would have to be passed
 * to find its place; returns whether it has. All blocks of a bin are of one size. */
bool bin_list_insert_older(uint32_t *bin, struct block *blocks, uint32_t block,
                           const uint64_t *keys, bool newest_first, struct bin_places *places);

#endif
