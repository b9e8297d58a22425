#include "bin_set.h"

#include "table.h"

void bin_set_release(struct bin_set *set)
{
    table_release(set->links);
    set->links = NULL;
}

bool bin_set_grow_table(struct bin_set *set, uint32_t capacity)
{
    struct link *links = table_resize(set->links, sizeof *links, set->capacity, capacity);
    if (links == NULL)
        return false;
    set->links = links;
    set->capacity = capacity;
    return true;
}

/* Two passes: pairs from left to right, then all of them from right to left. */
uint32_t bin_set_combine(struct bin_set *set, struct block *blocks, uint32_t child)
{
    uint32_t pairs = NO_BLOCK; /* chained by `sibling`, the rightmost first */
    while (child != NO_BLOCK) {
        uint32_t pair = child;
        uint32_t other = set->links[child].sibling;
        child = NO_BLOCK;
        if (other != NO_BLOCK) {
            child = set->links[other].sibling;
            pair = bin_set_meld(set, blocks, pair, other);
        }
        set->links[pair].sibling = pairs;
        pairs = pair;
    }
    uint32_t first = pairs;
    pairs = set->links[first].sibling;
    while (pairs != NO_BLOCK) {
        uint32_t next = set->links[pairs].sibling;
        first = bin_set_meld(set, blocks, first, pairs);
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
        if (set->links[child].key <= link->key)
            return "a bin is out of order";
    return NULL;
}

#define MISPLACED "a block is in a bin of another size"

static const char *check_bin(const struct bin_set *set, const struct block *blocks, uint32_t bin,
                             bin_of_function *bin_of, const void *context, uint64_t *met)
{
    uint32_t first = set->bins[bin].first;
    if ((first != NO_BLOCK) != (set->words[bin / 64] >> bin % 64 & 1))
        return "a bin's bit is wrong";
    if (first != NO_BLOCK && blocks[first].home != HOME_LOOSE)
        return "the first block of a bin is not marked so";
    if (first != NO_BLOCK && set->bins[bin].last == NO_BLOCK) {
        ++*met;
        return bin_of(context, blocks[first].size) == bin ? NULL : MISPLACED;
    }
    bool met_last = first == NO_BLOCK;
    for (uint32_t block = first; block != NO_BLOCK; block = walk(set, blocks, block)) {
        met_last |= block == set->bins[bin].last;
        if (bin_of(context, blocks[block].size) != bin)
            return MISPLACED;
        const char *wrong = check_links(set, blocks, block);
        if (wrong != NULL)
            return wrong;
        ++*met;
    }
    return met_last ? NULL : "the last block of a bin is not in it";
}

static const char *check_summaries(const struct bin_set *set)
{
    for (uint32_t word = 0; word < BIN_WORDS; word++)
        if ((set->words[word] != 0) != (set->groups[word / 64] >> word % 64 & 1))
            return "the summary of a group of bins is wrong";
    return NULL;
}

const char *bin_set_check(const struct bin_set *set, const struct block *blocks,
                          bin_of_function *bin_of, const void *context, uint64_t count)
{
    uint64_t met = 0;
    const char *wrong = check_summaries(set);
    for (uint32_t bin = 0; bin < BINS && wrong == NULL; bin++)
        wrong = check_bin(set, blocks, bin, bin_of, context, &met);
    if (wrong != NULL)
        return wrong;
    return met == count ? NULL : "the bins do not hold exactly the free blocks";
}
