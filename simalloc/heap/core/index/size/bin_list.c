#include "index/size/bin_list.h"

/* Returns the block at which the search for a block's place starts. The search starts at the oldest
 * block of the bin if all blocks of the bin are younger than `block`. Otherwise it starts at the
 * block of the latest search, if this block is in the same bin, or else at the newest block. */
static uint32_t start_near(const struct block *blocks, uint32_t block, const uint64_t *keys,
                           uint32_t newest, uint32_t oldest, uint32_t latest)
{
    if (keys[oldest] > keys[block])
        return oldest;
    bool same_bin = latest != NO_BLOCK && is_free(&blocks[latest]) &&
                    blocks[latest].family_data != NOT_LISTED &&
                    blocks[latest].size == blocks[block].size;
    return same_bin ? latest : newest;
}

/* Blocks that are split are served in order, so the place of a remainder is usually near the place
 * of the latest remainder. In the papers' programs, all places are near the newest block. */
bool bin_list_insert_older(uint32_t *bin, struct block *blocks, uint32_t block,
                           const uint64_t *keys, bool newest_first, struct bin_places *places)
{
    uint32_t first = *bin;
    uint32_t last = blocks[first].index_slot;
    uint32_t newest = newest_first ? first : last;
    uint32_t oldest = newest_first ? last : first;
    uint32_t later = start_near(blocks, block, keys, newest, oldest, places->latest);
    uint64_t left = places->passes + PASSES_A_BLOCK;
    for (; keys[later] < keys[block] && left > 0; left--)
        later = newest_first ? blocks[later].index_slot : blocks[later].family_data;
    for (; later != oldest && left > 0; left--) {
        uint32_t older = newest_first ? blocks[later].family_data : blocks[later].index_slot;
        if (keys[older] < keys[block])
            break;
        later = older;
    }
    places->passes = left;
    if (left == 0)
        return false;
    if (newest_first)
        block_ring_link(blocks, later, blocks[later].family_data, block);
    else
        block_ring_link(blocks, blocks[later].index_slot, later, block);
    if (later == first && !newest_first)
        *bin = block;
    places->latest = block;
    return true;
}

const char *bin_list_check(struct bin_check *check, uint32_t number, uint32_t first)
{
    const struct block *blocks = check->blocks;
    const uint64_t *keys = check->tables->keys;
    uint32_t block = first;
    do {
        const char *wrong = bin_check_meet(check, number, block);
        if (wrong != NULL)
            return wrong;
        uint32_t after = blocks[block].family_data;
        if (blocks[after].index_slot != block)
            return "a block of a bin has the wrong predecessor";
        if (keys != NULL && after != first &&
            (keys[block] > keys[after]) != (check->tables->kind == BIN_NEWEST))
            return "a bin is out of order";
        block = after;
    } while (block != first);
    return NULL;
}
