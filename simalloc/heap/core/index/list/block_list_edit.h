/* Inline functions that insert, remove and change blocks. */
#ifndef SIMALLOC_BLOCK_LIST_EDIT_H
#define SIMALLOC_BLOCK_LIST_EDIT_H

#include "index/list/block_list.h"

/* Moves the bounds that separate a leaf from its neighbours, so that `key` is within them. */
void block_list_move_bounds(struct block_list *list, uint32_t leaf, uint32_t key);
/* Makes an empty slot for the position of a cursor and returns a cursor for that position. */
struct cursor block_list_make_room(struct block_list *list, struct cursor at, uint32_t key);
/* Merges a small leaf with a neighbour that is small too. */
void block_list_merge_leaf(struct block_list *list, uint32_t leaf);

ALWAYS_INLINE struct place *place_of(const struct block_list *list, uint32_t level, uint32_t id)
{
    return level == 0 ? &list->leaves[id].place : &list->inners[id].place;
}

/* Returns the size in bytes of the largest block in a leaf. */
ALWAYS_INLINE uint64_t largest_in_leaf(const struct block_list *list, const struct leaf *leaf)
{
    uint64_t largest = (uint64_t)slots_largest(leaf->size) << list->granule;
    if (LIKELY(largest >> list->granule < SHORT_SIZE))
        return largest;
    for (uint64_t slots = slots_at_least(leaf->size, SHORT_SIZE); slots != 0; slots &= slots - 1) {
        uint64_t size = list->heap->blocks[leaf->block[first_slot(slots)]].size;
        largest = size > largest ? size : largest;
    }
    return largest;
}

/* Returns an upper bound in bytes of the sizes below an inner node. */
ALWAYS_INLINE uint64_t largest_below(const struct block_list *list, const struct inner *inner)
{
    uint64_t largest = (uint64_t)slots_largest(inner->size) << list->granule;
    if (LIKELY(largest >> list->granule < SHORT_SIZE))
        return largest;
    for (uint64_t slots = slots_at_least(inner->size, SHORT_SIZE); slots != 0; slots &= slots - 1) {
        uint64_t size = inner->largest[first_slot(slots)];
        largest = size > largest ? size : largest;
    }
    return largest;
}

ALWAYS_INLINE uint64_t largest_of(const struct block_list *list, uint32_t level, uint32_t id)
{
    return level == 0 ? largest_in_leaf(list, &list->leaves[id])
                      : largest_below(list, &list->inners[id]);
}

/* Stores the bound of a child. Returns whether the bound has changed. */
ALWAYS_INLINE bool inner_note(const struct block_list *list, struct inner *inner, uint32_t slot,
                              uint64_t largest)
{
    bool same = inner->largest[slot] == largest;
    inner->largest[slot] = largest;
    inner->size[slot] = (uint16_t)short_size(list, largest);
    return !same;
}

/* Raises the bounds in the nodes above a leaf for a new block of `size` bytes. */
ALWAYS_INLINE void block_list_promise(struct block_list *list, const struct leaf *leaf,
                                      uint64_t size)
{
    const struct place *place = &leaf->place;
    for (uint32_t level = 0; level < list->height; level++) {
        struct inner *parent = &list->inners[place->parent];
        if (LIKELY(size <= parent->largest[place->slot]))
            return;
        inner_note(list, parent, place->slot, size);
        place = &parent->place;
    }
}

/* Adds `more`, which may be negative modulo 2**32, to the number of blocks below a child. `level`
 * is the child's level. */
ALWAYS_INLINE void inner_count(struct inner *inner, uint32_t level, uint32_t slot, uint32_t more)
{
    if (level == 0)
        inner->few[slot] = (uint8_t)(inner->few[slot] + more);
    else
        inner->blocks[slot] += more;
}

/* Returns the number of blocks below a child of this level. */
ALWAYS_INLINE uint32_t inner_blocks(const struct inner *inner, uint32_t level, uint32_t slot)
{
    return level == 0 ? inner->few[slot] : inner->blocks[slot];
}

/* Adds `more`, which may be negative modulo 2**32, to the number of blocks of a leaf in all its
 * ancestors. */
ALWAYS_INLINE void block_list_count(struct block_list *list, const struct leaf *leaf,
                                    uint32_t more)
{
    list->blocks += more;
    if (list->height == 0)
        return;
    struct inner *parent = &list->inners[leaf->place.parent];
    inner_count(parent, 0, leaf->place.slot, more);
    for (uint32_t level = 1; level < list->height; level++) {
        const struct place *place = &parent->place;
        parent = &list->inners[place->parent];
        inner_count(parent, level, place->slot, more);
    }
}

/* Puts a block into an empty slot. */
ALWAYS_INLINE void leaf_put(struct block_list *list, struct block *blocks, struct cursor at,
                            uint32_t id, uint32_t size, uint32_t key, bool ordered)
{
    struct leaf *leaf = &list->leaves[at.leaf];
    leaf->size[at.slot] = (uint16_t)size;
    leaf->block[at.slot] = id;
    if (ordered)
        leaf->key[at.slot] = key;
    blocks[id].index_slot = home_of(at.leaf, at.slot);
}

/* Moves a block by one slot. */
ALWAYS_INLINE void leaf_move(struct block_list *list, struct block *blocks, uint32_t id,
                             uint32_t from, uint32_t to, bool ordered)
{
    const struct leaf *leaf = &list->leaves[id];
    leaf_put(list, blocks, (struct cursor){id, to}, leaf->block[from], leaf->size[from],
             ordered ? leaf->key[from] : 0, ordered);
}

/* Makes an empty slot before a cursor by moving blocks by one slot towards the nearest empty slot.
 * The leaf must have an empty slot. Returns the new empty slot. */
ALWAYS_INLINE uint32_t leaf_open(struct block_list *list, struct block *blocks, struct cursor at,
                                 bool ordered)
{
    struct leaf *leaf = &list->leaves[at.leaf];
    uint64_t above = ~leaf->used & ~slots_before(at.slot);
    uint64_t below = ~leaf->used & slots_before(at.slot);
    uint32_t up = above == 0 ? SLOTS : first_slot(above) - at.slot;
    uint32_t down = below == 0 ? SLOTS : at.slot - 1 - last_slot(below);
    if (up <= down) {
        leaf->used |= UINT64_C(1) << (at.slot + up);
        for (uint32_t i = at.slot + up; i > at.slot; i--)
            leaf_move(list, blocks, at.leaf, i - 1, i, ordered);
        return at.slot;
    }
    leaf->used |= UINT64_C(1) << (at.slot - 1 - down);
    for (uint32_t i = at.slot - 1 - down; i < at.slot - 1; i++)
        leaf_move(list, blocks, at.leaf, i + 1, i, ordered);
    return at.slot - 1;
}

/* Inserts a block before a cursor. */
ALWAYS_INLINE void block_list_insert(struct block_list *list, struct block *blocks,
                                     struct cursor at, uint32_t id, bool ordered)
{
    const struct block *block = &blocks[id];
    uint32_t size = short_size(list, block->size);
    uint32_t key = ordered ? short_key(list, block->address) : 0;
    if (UNLIKELY(list->leaves[at.leaf].used == UINT64_MAX || at.slot == SLOTS))
        at = block_list_make_room(list, at, key);
    at.slot = leaf_open(list, blocks, at, ordered);
    leaf_put(list, blocks, at, id, size, key, ordered);
    block_list_count(list, &list->leaves[at.leaf], 1);
    block_list_promise(list, &list->leaves[at.leaf], block->size);
}

/* Returns whether a leaf is small enough to examine its neighbours for a merge. The condition on
 * multiples of four makes the examination rare. */
ALWAYS_INLINE bool is_small(const struct leaf *leaf)
{
    uint32_t blocks = slots_count(leaf->used);
    return blocks < SLOTS / 4 && blocks % 4 == 0;
}

ALWAYS_INLINE void block_list_remove(struct block_list *list, struct block *blocks,
                                     struct cursor at)
{
    struct leaf *leaf = &list->leaves[at.leaf];
    blocks[leaf->block[at.slot]].index_slot = STATE_ALLOCATED;
    leaf->size[at.slot] = 0;
    leaf->used &= ~(UINT64_C(1) << at.slot);
    block_list_count(list, leaf, UINT32_MAX); /* minus one */
    if (list->height > 0 && UNLIKELY(is_small(leaf)))
        block_list_merge_leaf(list, at.leaf);
}

/* Returns whether a key is certainly within the bounds of a leaf in its parent. The bounds of a
 * first or last child are in higher nodes, or do not exist. */
ALWAYS_INLINE bool is_in_bounds(const struct block_list *list, const struct leaf *leaf,
                                uint32_t key)
{
    const struct inner *parent = &list->inners[leaf->place.parent];
    uint32_t slot = leaf->place.slot;
    bool root = list->height == 1;
    return (slot > 0 ? key >= parent->key[slot] : root) &&
           (slot + 1 < parent->count ? key < parent->key[slot + 1] : root);
}

/* Change of a block in the list: its low end was cut off, it grew upwards, or it grew downwards. */
enum change { GAVE_LOW_END, GREW_UP, GREW_DOWN };

/* Returns whether a leaf has no other block on the side towards which the block in a slot has
 * moved. */
ALWAYS_INLINE bool is_outermost(const struct leaf *leaf, uint32_t slot, enum change change)
{
    return change == GAVE_LOW_END ? leaf->used >> slot == 1
                                  : (leaf->used & slots_before(slot)) == 0;
}

/* Updates the size and address of a block that keeps its place in the list. `change` is a
 * compile-time constant. */
ALWAYS_INLINE void block_list_change(struct block_list *list, struct cursor at,
                                     const struct block *block, enum change change, bool ordered)
{
    struct leaf *leaf = &list->leaves[at.leaf];
    leaf->size[at.slot] = (uint16_t)short_size(list, block->size);
    if (ordered && change != GREW_UP) {
        uint32_t key = short_key(list, block->address);
        leaf->key[at.slot] = key;
        if (list->height > 0 && UNLIKELY(is_outermost(leaf, at.slot, change)) &&
            !is_in_bounds(list, leaf, key))
            block_list_move_bounds(list, at.leaf, key);
    }
    if (change != GAVE_LOW_END)
        block_list_promise(list, leaf, block->size);
}

/* Offers a block: until its next change, searches for less than SHORT_SIZE granules find it
 * whatever its size. */
ALWAYS_INLINE void block_list_offer(struct block_list *list, struct cursor at)
{
    struct leaf *leaf = &list->leaves[at.leaf];
    leaf->size[at.slot] = SHORT_SIZE;
    block_list_promise(list, leaf, (uint64_t)SHORT_SIZE << list->granule);
}

ALWAYS_INLINE bool block_list_is_offered(const struct block_list *list, struct cursor at)
{
    return list->leaves[at.leaf].size[at.slot] == SHORT_SIZE;
}

#endif
