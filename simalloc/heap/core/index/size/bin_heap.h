/* Bins that are pairing heaps by address: the lowest block of a bin is served first.
 *
 * Entering and leaving cost amortised O(log n) in the blocks of the bin. For a block in a heap,
 * `family_data` is the leftmost child or NO_BLOCK, `siblings` is the sibling to the right or
 * NO_BLOCK, and `index_slot` is the link back: STATE_FREE in the first block of a bin, the parent
 * for a leftmost child, otherwise the left sibling. No child is lower than its parent. */
#ifndef SIMALLOC_BIN_HEAP_H
#define SIMALLOC_BIN_HEAP_H

#include "index/size/bin.h"

const char *bin_heap_check(struct bin_check *check, uint32_t number, uint32_t first);

/* The block after one in a walk over all of a heap; NO_BLOCK after the last. */
uint32_t bin_heap_walk(const struct block *blocks, const uint32_t *siblings, uint32_t block);

/* Merges the children of a block that leaves into one heap; returns its first block. */
uint32_t bin_heap_combine(struct block *blocks, uint32_t *siblings, uint32_t child);

/* Makes a block the leftmost child of a lower one. */
ALWAYS_INLINE void bin_heap_adopt(struct block *blocks, uint32_t *siblings, uint32_t parent,
                                  uint32_t block)
{
    uint32_t child = blocks[parent].family_data;
    siblings[block] = child;
    if (child != NO_BLOCK)
        blocks[child].index_slot = block;
    blocks[block].index_slot = parent;
    blocks[parent].family_data = block;
}

/* Joins two heaps; the first blocks' backward links are the caller's to set. */
ALWAYS_INLINE uint32_t bin_heap_meld(struct block *blocks, uint32_t *siblings, uint32_t a,
                                     uint32_t b)
{
    bool swap = blocks[b].address < blocks[a].address;
    bin_heap_adopt(blocks, siblings, swap ? b : a, swap ? a : b);
    return swap ? b : a;
}

/* Enters a block. Returns whether the bin was empty. */
ALWAYS_INLINE bool bin_heap_insert(uint32_t *bin, struct block *blocks, uint32_t *siblings,
                                   uint32_t block)
{
    uint32_t first = *bin;
    bool empty = first == NO_BLOCK;
    blocks[block].family_data = siblings[block] = NO_BLOCK;
    first = empty ? block : bin_heap_meld(blocks, siblings, first, block);
    blocks[first].index_slot = STATE_FREE;
    *bin = first;
    return empty;
}

/* Takes the first block out. Returns whether the bin is empty then. */
ALWAYS_INLINE bool bin_heap_remove_first(uint32_t *bin, struct block *blocks, uint32_t *siblings)
{
    uint32_t rest = blocks[*bin].family_data;
    blocks[*bin].index_slot = STATE_ALLOCATED;
    if (rest != NO_BLOCK && siblings[rest] != NO_BLOCK)
        rest = bin_heap_combine(blocks, siblings, rest);
    *bin = rest;
    if (rest == NO_BLOCK)
        return true;
    blocks[rest].index_slot = STATE_FREE;
    return false;
}

/* Takes a block out; those below it take its place. Returns whether the bin is empty then. */
ALWAYS_INLINE bool bin_heap_remove(uint32_t *bin, struct block *blocks, uint32_t *siblings,
                                   uint32_t block)
{
    uint32_t back = blocks[block].index_slot;
    uint32_t rest = blocks[block].family_data;
    blocks[block].index_slot = STATE_ALLOCATED;
    if (rest != NO_BLOCK) {
        if (siblings[rest] != NO_BLOCK)
            rest = bin_heap_combine(blocks, siblings, rest);
        blocks[rest].index_slot = back;
    }
    if (back == STATE_FREE) {
        *bin = rest;
        return rest == NO_BLOCK;
    }
    uint32_t next = siblings[block];
    if (rest != NO_BLOCK)
        siblings[rest] = next;
    if (next != NO_BLOCK)
        blocks[next].index_slot = rest != NO_BLOCK ? rest : back;
    bool leftmost = blocks[back].family_data == block;
    *(leftmost ? &blocks[back].family_data : &siblings[back]) = rest != NO_BLOCK ? rest : next;
    return false;
}

#endif
