/* Bins that are pairing heaps: the block with the lowest key of a bin is served first.
 *
 * The key is the block's address, or what a table says (`keys`). A block that enters or leaves costs
 * amortised O(log n) in the blocks of its bin. A block's `home` is the heap's backward link:
 * HOME_LOOSE in the first block of a bin, otherwise the left sibling or, of a leftmost child, the
 * parent. */
#ifndef SIMALLOC_BIN_HEAP_H
#define SIMALLOC_BIN_HEAP_H

#include "bin.h"

const char *bin_heap_check(struct bin_check *check, uint32_t number, uint32_t first);

/* Merges the children of a block that leaves into one heap; answers its first block. */
uint32_t bin_heap_combine(struct block *blocks, struct link *links, const uint64_t *keys,
                          uint32_t child);

ALWAYS_INLINE uint64_t bin_heap_key(const struct block *blocks, const uint64_t *keys,
                                    uint32_t block)
{
    return keys != NULL ? keys[block] : blocks[block].address;
}

/* Makes a block the leftmost child of one that comes before it. */
ALWAYS_INLINE void bin_heap_adopt(struct block *blocks, struct link *links, uint32_t parent,
                                  uint32_t block)
{
    uint32_t child = links[parent].child;
    links[block].sibling = child;
    if (child != NO_BLOCK)
        blocks[child].home = block;
    blocks[block].home = parent;
    links[parent].child = block;
}

/* Joins two heaps; the first blocks' backward links are the caller's to set. */
ALWAYS_INLINE uint32_t bin_heap_meld(struct block *blocks, struct link *links,
                                     const uint64_t *keys, uint32_t a, uint32_t b)
{
    bool swap = bin_heap_key(blocks, keys, b) < bin_heap_key(blocks, keys, a);
    bin_heap_adopt(blocks, links, swap ? b : a, swap ? a : b);
    return swap ? b : a;
}

/* Enters a block. Answers whether the bin was empty. */
ALWAYS_INLINE bool bin_heap_insert(uint32_t *bin, struct block *blocks, struct link *links,
                                   const uint64_t *keys, uint32_t block)
{
    uint32_t first = *bin;
    bool empty = first == NO_BLOCK;
    links[block] = (struct link){NO_BLOCK, NO_BLOCK};
    first = empty ? block : bin_heap_meld(blocks, links, keys, first, block);
    blocks[first].home = HOME_LOOSE;
    *bin = first;
    return empty;
}

/* Takes a block out; those below it take its place. Answers whether the bin is empty then. */
ALWAYS_INLINE bool bin_heap_remove(uint32_t *bin, struct block *blocks, struct link *links,
                                   const uint64_t *keys, uint32_t block)
{
    const struct link *link = &links[block];
    uint32_t back = blocks[block].home;
    uint32_t rest = link->child;
    blocks[block].home = HOME_ALLOCATED;
    if (rest != NO_BLOCK) {
        if (links[rest].sibling != NO_BLOCK)
            rest = bin_heap_combine(blocks, links, keys, rest);
        blocks[rest].home = back;
    }
    if (back == HOME_LOOSE) {
        *bin = rest;
        return rest == NO_BLOCK;
    }
    uint32_t next = link->sibling;
    if (rest != NO_BLOCK)
        links[rest].sibling = next;
    if (next != NO_BLOCK)
        blocks[next].home = rest != NO_BLOCK ? rest : back;
    bool leftmost = links[back].child == block;
    *(leftmost ? &links[back].child : &links[back].sibling) = rest != NO_BLOCK ? rest : next;
    return false;
}

#endif
