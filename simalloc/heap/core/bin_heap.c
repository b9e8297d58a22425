#include "bin_heap.h"

/* Two passes: pairs from left to right, then all of them from right to left. */
uint32_t bin_heap_combine(struct block *blocks, struct link *links, const uint64_t *keys,
                          uint32_t child)
{
    uint32_t pairs = NO_BLOCK; /* chained by `sibling`, the rightmost first */
    while (child != NO_BLOCK) {
        uint32_t pair = child;
        uint32_t other = links[child].sibling;
        child = NO_BLOCK;
        if (other != NO_BLOCK) {
            child = links[other].sibling;
            pair = bin_heap_meld(blocks, links, keys, pair, other);
        }
        links[pair].sibling = pairs;
        pairs = pair;
    }
    uint32_t first = pairs;
    pairs = links[first].sibling;
    while (pairs != NO_BLOCK) {
        uint32_t next = links[pairs].sibling;
        first = bin_heap_meld(blocks, links, keys, first, pairs);
        pairs = next;
    }
    links[first].sibling = NO_BLOCK;
    return first;
}

/* The block after one in a walk over all of a heap; NO_BLOCK after the last. */
static uint32_t walk(const struct block *blocks, const struct link *links, uint32_t block)
{
    if (links[block].child != NO_BLOCK)
        return links[block].child;
    while (block != NO_BLOCK && links[block].sibling == NO_BLOCK) {
        uint32_t back = blocks[block].home;
        while (back != HOME_LOOSE && links[back].child != block) {
            block = back;
            back = blocks[block].home;
        }
        block = back == HOME_LOOSE ? NO_BLOCK : back;
    }
    return block == NO_BLOCK ? NO_BLOCK : links[block].sibling;
}

static const char *check_links(const struct bin_check *check, uint32_t block)
{
    const struct block *blocks = check->blocks;
    const struct link *links = check->tables->links;
    const uint64_t *keys = check->tables->keys;
    const struct link *link = &links[block];
    if (link->child != NO_BLOCK && blocks[link->child].home != block)
        return "a block of a bin does not know its parent";
    if (link->sibling != NO_BLOCK && blocks[link->sibling].home != block)
        return "a block of a bin does not know its left sibling";
    for (uint32_t child = link->child; child != NO_BLOCK; child = links[child].sibling)
        if (bin_heap_key(blocks, keys, child) <= bin_heap_key(blocks, keys, block))
            return "a bin is out of order";
    return NULL;
}

const char *bin_heap_check(struct bin_check *check, uint32_t number, uint32_t first)
{
    if (check->blocks[first].home != HOME_LOOSE)
        return "the first block of a bin is not marked so";
    uint32_t block = first;
    while (block != NO_BLOCK) {
        const char *wrong = bin_check_meet(check, number, block);
        if (wrong == NULL)
            wrong = check_links(check, block);
        if (wrong != NULL)
            return wrong;
        block = walk(check->blocks, check->tables->links, block);
    }
    return NULL;
}
