/* Bins that are lists of blocks in order of entry, served from the newest or the oldest on.
 *
 * A bin is a ring (block_ring.h) whose front is served first. A block that enters is the newest
 * block of its bin. It is the front if the newest block is served first. A remainder keeps the time
 * of entry (`keys`) of the block from which it was cut. */
#ifndef SIMALLOC_BIN_LIST_H
#define SIMALLOC_BIN_LIST_H

#include "index/size/bin.h"
#include "index/block_ring.h"

const char *bin_list_check(struct bin_check *check, uint32_t number, uint32_t first);

/* Mark of a block that is not in the list of its bin. */
#define NOT_LISTED UINT32_MAX

/* Returns whether a block would be the newest of a bin. */
ALWAYS_INLINE bool bin_list_is_newest(uint32_t bin, const struct block *blocks, uint32_t block,
                                      const uint64_t *keys, bool newest_first)
{
    return bin == NO_BLOCK || keys[newest_first ? bin : blocks[bin].index_slot] < keys[block];
}

/* Budget of passed blocks for searches by time of entry: an initial number, and an additional
 * number per search, which bounds the average. */
enum { PASSES_AT_FIRST = 1 << 16, PASSES_A_BLOCK = 16 };

struct bin_places {
    uint32_t latest; /* block whose place was searched last, or NO_BLOCK */
    uint64_t passes; /* number of blocks that may still be passed */
};

/* Inserts a block that is older than the newest block of its bin. Returns false, without inserting
 * it, if the search for its place would pass too many blocks. All blocks of the bin have the same
 * size. */
bool bin_list_insert_older(uint32_t *bin, struct block *blocks, uint32_t block,
                           const uint64_t *keys, bool newest_first, struct bin_places *places);

#endif
