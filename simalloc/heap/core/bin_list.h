/* Bins that are lists of their blocks in order of entry, served from the newest or the oldest on.
 *
 * A bin is a ring (block_ring.h) from the block that is served first. A block that enters is the
 * newest, so that its place is at an end. One that is the rest of another takes that one's place in
 * time, which needs the times of entry (`keys`). */
#ifndef SIMALLOC_BIN_LIST_H
#define SIMALLOC_BIN_LIST_H

#include "bin_set.h"
#include "block_ring.h"

const char *bin_list_check(struct bin_check *check, uint32_t first);

/* Enters the newest block, which is served first or last. */
ALWAYS_INLINE void bin_list_insert(struct bin_set *set, struct block *blocks, uint32_t number,
                                   uint32_t block, bool newest_first)
{
    uint32_t first = set->first[number];
    if (first == NO_BLOCK) {
        block_ring_start(blocks, block);
        set->first[number] = block;
        bin_set_mark_used(set, number);
        return;
    }
    block_ring_link(blocks, blocks[first].home, first, block);
    if (newest_first)
        set->first[number] = block;
}

/* Enters a block that is older than the newest of its bin. */
void bin_list_insert_older(struct bin_set *set, struct block *blocks, uint32_t number,
                           uint32_t block, bool newest_first);

/* Enters a block at its place in time. All blocks of a bin are of one size. */
ALWAYS_INLINE void bin_list_insert_by_key(struct bin_set *set, struct block *blocks,
                                          uint32_t number, uint32_t block, bool newest_first)
{
    uint32_t first = set->first[number];
    uint32_t newest = newest_first ? first : blocks[first].home;
    if (first == NO_BLOCK || LIKELY(set->keys[newest] < set->keys[block]))
        bin_list_insert(set, blocks, number, block, newest_first);
    else
        bin_list_insert_older(set, blocks, number, block, newest_first);
}

ALWAYS_INLINE void bin_list_remove(struct bin_set *set, struct block *blocks, uint32_t number,
                                   uint32_t block)
{
    uint32_t after = block_ring_unlink(blocks, block);
    if (after == block) {
        set->first[number] = NO_BLOCK;
        bin_set_mark_empty(set, number);
    } else if (set->first[number] == block) {
        set->first[number] = after;
    }
}

#endif
