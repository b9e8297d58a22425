#include "index/size/bin_heap.h"

/* Melds the children in two passes: first in pairs from left to right, then all pairs from right to
 * left. */
uint32_t bin_heap_combine(struct block *blocks, uint32_t *siblings, uint32_t child)
{
    uint32_t pairs = NO_BLOCK; /* linked as siblings, with the rightmost pair first */
    while (child != NO_BLOCK) {
        uint32_t pair = child;
        uint32_t other = siblings[child];
        child = NO_BLOCK;
        if (other != NO_BLOCK) {
            child = siblings[other];
            pair = bin_heap_meld(blocks, siblings, pair, other);
        }
        siblings[pair] = pairs;
        pairs = pair;
    }
    uint32_t first = pairs;
    pairs = siblings[first];
    while (pairs != NO_BLOCK) {
        uint32_t next = siblings[pairs];
        first = bin_heap_meld(blocks, siblings, first, pairs);
        pairs = next;
    }
    siblings[first] = NO_BLOCK;
    return first;
}

uint32_t bin_heap_walk(const struct block *blocks, const uint32_t *siblings, uint32_t block)
{
    if (blocks[block].family_data != NO_BLOCK)
        return blocks[block].family_data;
    while (block != NO_BLOCK && siblings[block] == NO_BLOCK) {
        uint32_t back = blocks[block].index_slot;
        while (back != STATE_FREE && blocks[back].family_data != block) {
            block = back;
            back = blocks[block].index_slot;
        }
        block = back == STATE_FREE ? NO_BLOCK : back;
    }
    return block == NO_BLOCK ? NO_BLOCK : siblings[block];
}

static const char *check_links(const struct bin_check *check, uint32_t block)
{
    const struct block *blocks = check->blocks;
    const uint32_t *siblings = check->tables->siblings;
    uint32_t leftmost = blocks[block].family_data;
    if (leftmost != NO_BLOCK && blocks[leftmost].index_slot != block)
        return "a block of a bin has the wrong parent";
    if (siblings[block] != NO_BLOCK && blocks[siblings[block]].index_slot != block)
        return "a block of a bin has the wrong left sibling";
    for (uint32_t child = leftmost; child != NO_BLOCK; child = siblings[child])
        if (blocks[child].address <= blocks[block].address)
            return "a bin is out of order";
    return NULL;
}

const char *bin_heap_check(struct bin_check *check, uint32_t number, uint32_t first)
{
    uint32_t block = first;
    while (block != NO_BLOCK) {
        const char *wrong = bin_check_meet(check, number, block);
        if (wrong == NULL)
            wrong = check_links(check, block);
        if (wrong != NULL)
            return wrong;
        block = bin_heap_walk(check->blocks, check->tables->siblings, block);
    }
    return NULL;
}
