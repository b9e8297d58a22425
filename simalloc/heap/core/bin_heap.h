/* Bins that are pairing heaps: the block with the lowest key of a bin is served first.
 *
 * The key is the block's address, or its time of entry if the set has keys. A block that enters or
 * leaves costs amortised O(log n) in the blocks of its bin. A block's `home` is the heap's backward
 * link: HOME_LOOSE in the first block of a bin, otherwise the left sibling or, of a leftmost child,
 * the parent. */
#ifndef SIMALLOC_BIN_HEAP_H
#define SIMALLOC_BIN_HEAP_H

#include "bin_set.h"

const char *bin_heap_check(struct bin_check *check, uint32_t first);

/* Merges the children of a block that leaves into one heap; answers its first block. */
uint32_t bin_heap_combine(struct bin_set *set, struct block *blocks, uint32_t child);

ALWAYS_INLINE uint64_t bin_heap_key(const struct bin_set *set, const struct block *blocks,
                                    uint32_t block)
{
    return set->keyed ? set->keys[block] : blocks[block].address;
}

/* Makes a block the leftmost child of one that comes before it. */
ALWAYS_INLINE void bin_heap_adopt(struct bin_set *set, struct block *blocks, uint32_t parent,
                                  uint32_t block)
{
    uint32_t child = set->links[parent].child;
    set->links[block].sibling = child;
    if (child != NO_BLOCK)
        blocks[child].home = block;
    blocks[block].home = parent;
    set->links[parent].child = block;
}

/* Joins two heaps; the first blocks' backward links are the caller's to set. */
ALWAYS_INLINE uint32_t bin_heap_meld(struct bin_set *set, struct block *blocks, uint32_t a,
                                     uint32_t b)
{
    bool swap = bin_heap_key(set, blocks, b) < bin_heap_key(set, blocks, a);
    bin_heap_adopt(set, blocks, swap ? b : a, swap ? a : b);
    return swap ? b : a;
}

ALWAYS_INLINE void bin_heap_insert(struct bin_set *set, struct block *blocks, uint32_t number,
                                   uint32_t block)
{
    uint32_t first = set->first[number];
    set->links[block] = (struct link){NO_BLOCK, NO_BLOCK};
    if (first == NO_BLOCK) {
        first = block;
        bin_set_mark_used(set, number);
    } else {
        first = bin_heap_meld(set, blocks, first, block);
    }
    set->first[number] = first;
    blocks[first].home = HOME_LOOSE;
}

/* Takes a block out; those below it take its place. */
ALWAYS_INLINE void bin_heap_remove(struct bin_set *set, struct block *blocks, uint32_t number,
                                   uint32_t block)
{
    const struct link *link = &set->links[block];
    uint32_t back = blocks[block].home;
    uint32_t rest = link->child;
    blocks[block].home = HOME_ALLOCATED;
    if (rest != NO_BLOCK) {
        if (set->links[rest].sibling != NO_BLOCK)
            rest = bin_heap_combine(set, blocks, rest);
        blocks[rest].home = back;
    }
    if (back == HOME_LOOSE) {
        set->first[number] = rest;
        if (rest == NO_BLOCK)
            bin_set_mark_empty(set, number);
        return;
    }
    uint32_t next = link->sibling;
    if (rest != NO_BLOCK)
        set->links[rest].sibling = next;
    else
        rest = next;
    if (next != NO_BLOCK)
        blocks[next].home = rest != next ? rest : back;
    bool leftmost = set->links[back].child == block;
    *(leftmost ? &set->links[back].child : &set->links[back].sibling) = rest;
}

#endif
