/* Bins that are pairing heaps by address: the lowest block of a bin is served first.
 *
 * Inserting and removing a block of a bin with n blocks takes amortised O(log n) time. The links of
 * a block are:
 *
 * - `family_data`: the leftmost child, or NO_BLOCK.
 * - `siblings`: the right sibling, or NO_BLOCK.
 * - `index_slot`: STATE_FREE in the first block of a bin, the parent in a leftmost child, otherwise
 *   the left sibling.
 *
 * No child is lower than its parent. */
#ifndef SIMALLOC_BIN_HEAP_H
#define SIMALLOC_BIN_HEAP_H

#include "index/size/bin.h"

const char *bin_heap_check(struct bin_check *check, uint32_t number, uint32_t first);

/* Returns the block after `block` in a walk over a whole heap, or NO_BLOCK after the last block. */
uint32_t bin_heap_walk(const struct block *blocks, const uint32_t *siblings, uint32_t block);

/* Merges the children of a removed block into one heap. Returns the first block of that heap. */
uint32_t bin_heap_combine(struct block *blocks, uint32_t *siblings, uint32_t child);

/* Makes a block the leftmost child of a lower block. */
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

/* Joins two heaps. Returns the first block of the result. The caller sets `index_slot` of that
 * block. */
ALWAYS_INLINE uint32_t bin_heap_meld(struct block *blocks, uint32_t *siblings, uint32_t a,
                                     uint32_t b)
{
    bool swap = blocks[b].address < blocks[a].address;
    bin_heap_adopt(blocks, siblings, swap ? b : a, swap ? a : b);
    return swap ? b : a;
}

/* Inserts a block. Returns whether the bin was empty. */
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

/* Removes the first block. Returns whether the bin is then empty. */
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

/* Removes a block and puts its descendants in its place. Returns whether the bin is then empty. */
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
