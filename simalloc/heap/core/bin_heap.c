#include "bin_heap.h"

/* Two passes: pairs from left to right, then all of them from right to left. */
uint32_t bin_heap_combine(struct bin_set *set, struct block *blocks, uint32_t child)
{
    uint32_t pairs = NO_BLOCK; /* chained by `sibling`, the rightmost first */
    while (child != NO_BLOCK) {
        uint32_t pair = child;
        uint32_t other = set->links[child].sibling;
        child = NO_BLOCK;
        if (other != NO_BLOCK) {
            child = set->links[other].sibling;
            pair = bin_heap_meld(set, blocks, pair, other);
        }
        set->links[pair].sibling = pairs;
        pairs = pair;
    }
    uint32_t first = pairs;
    pairs = set->links[first].sibling;
    while (pairs != NO_BLOCK) {
        uint32_t next = set->links[pairs].sibling;
        first = bin_heap_meld(set, blocks, first, pairs);
        pairs = next;
    }
    set->links[first].sibling = NO_BLOCK;
    return first;
}

/* The block after one in a walk over all of a heap; NO_BLOCK after the last. */
static uint32_t walk(const struct bin_set *set, const struct block *blocks, uint32_t block)
{
    if (set->links[block].child != NO_BLOCK)
        return set->links[block].child;
    while (block != NO_BLOCK && set->links[block].sibling == NO_BLOCK) {
        uint32_t back = blocks[block].home;
        while (back != HOME_LOOSE && set->links[back].child != block) {
            block = back;
            back = blocks[block].home;
        }
        block = back == HOME_LOOSE ? NO_BLOCK : back;
    }
    return block == NO_BLOCK ? NO_BLOCK : set->links[block].sibling;
}

static const char *check_links(const struct bin_set *set, const struct block *blocks,
                               uint32_t block)
{
    const struct link *link = &set->links[block];
    if (link->child != NO_BLOCK && blocks[link->child].home != block)
        return "a block of a bin does not know its parent";
    if (link->sibling != NO_BLOCK && blocks[link->sibling].home != block)
        return "a block of a bin does not know its left sibling";
    for (uint32_t child = link->child; child != NO_BLOCK; child = set->links[child].sibling)
        if (bin_heap_key(set, blocks, child) <= bin_heap_key(set, blocks, block))
            return "a bin is out of order";
    return NULL;
}

const char *bin_heap_check(struct bin_check *check, uint32_t first)
{
    if (check->blocks[first].home != HOME_LOOSE)
        return "the first block of a bin is not marked so";
    for (uint32_t block = first; block != NO_BLOCK; block = walk(check->set, check->blocks, block)) {
        const char *wrong = bin_check_meet(check, block);
        if (wrong == NULL)
            wrong = check_links(check->set, check->blocks, block);
        if (wrong != NULL)
            return wrong;
    }
    return NULL;
}
