#include "bin_list.h"

/* Where to look for a block's place from: the oldest, if even that is younger; the block for which a
 * place was looked for last, if that is in the same bin; or the newest. */
static uint32_t start_near(const struct bin_set *set, const struct block *blocks, uint32_t block,
                           uint32_t newest, uint32_t oldest)
{
    uint32_t latest = set->latest;
    if (set->keys[oldest] > set->keys[block])
        return oldest;
    bool same_bin = latest != NO_BLOCK && is_free(&blocks[latest]) &&
                    blocks[latest].size == blocks[block].size;
    return same_bin ? latest : newest;
}

/* The blocks that rests come from are served in order, so that a place is mostly near the last one; and
 * on the papers' programs all are near the newest. Otherwise it costs the blocks that are passed. */
void bin_list_insert_older(struct bin_set *set, struct block *blocks, uint32_t number,
                           uint32_t block, bool newest_first)
{
    const uint64_t *keys = set->keys;
    uint32_t first = set->first[number];
    uint32_t last = blocks[first].home;
    uint32_t oldest = newest_first ? last : first;
    uint32_t later = start_near(set, blocks, block, newest_first ? first : last, oldest);
    while (keys[later] < keys[block])
        later = newest_first ? blocks[later].home : blocks[later].mark;
    while (later != oldest) {
        uint32_t older = newest_first ? blocks[later].mark : blocks[later].home;
        if (keys[older] < keys[block])
            break;
        later = older;
    }
    if (newest_first)
        block_ring_link(blocks, later, blocks[later].mark, block);
    else
        block_ring_link(blocks, blocks[later].home, later, block);
    if (later == first && !newest_first)
        set->first[number] = block;
    set->latest = block;
}

const char *bin_list_check(struct bin_check *check, uint32_t first)
{
    const struct bin_set *set = check->set;
    const struct block *blocks = check->blocks;
    uint32_t block = first;
    do {
        const char *wrong = bin_check_meet(check, block);
        if (wrong != NULL)
            return wrong;
        uint32_t after = blocks[block].mark;
        if (blocks[after].home != block)
            return "a block of a bin does not know the one before it";
        if (set->keyed && after != first &&
            (set->keys[block] > set->keys[after]) != (set->order == ORDER_LIFO))
            return "a bin is out of order";
        block = after;
    } while (block != first);
    return NULL;
}
