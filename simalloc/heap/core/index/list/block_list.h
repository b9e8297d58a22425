/* List of free blocks with a fast search for the first or last block that is large enough.
 *
 * The list is a B+ tree. A node has 64 slots. The blocks of a leaf are in list order, with empty
 * slots between them. A block that leaves empties its slot. A block that enters shifts blocks at
 * most as far as the next empty slot. An inner node stores, for each child, the number of blocks
 * below it and an upper bound of their sizes. The visits of a walk are a difference of ranks,
 * computed from these numbers. The bound is lowered only when a search finds less than the bound.
 *
 * Sizes and addresses are in granules and short (16 and 32 bits), so that many are compared in one
 * step. The few values that do not fit are read from the block table. Every operation is O(log n).
 *
 * If `ordered` is set in all calls, the list is in address order. If `ordered` is not set in any
 * call, the caller chooses the position at which each block is inserted. */
#ifndef SIMALLOC_BLOCK_LIST_H
#define SIMALLOC_BLOCK_LIST_H

#include "index/slots.h"

#define NO_NODE UINT32_MAX

/* Position of a node in the tree. */
struct place {
    /* Parent node; NO_NODE for the root; the next unused node if the node is unused. */
    uint32_t parent;
    uint32_t slot;   /* slot in the parent */
};

struct leaf {
    uint16_t size[SLOTS]; /* granules, at most SHORT_SIZE; 0 in an empty slot */
    uint32_t block[SLOTS];
    uint32_t key[SLOTS]; /* if ordered: address in granules, at most SHORT_KEY */
    uint64_t used;       /* bit i: slot i holds a block; 0 only in an empty root */
    struct place place;
};

struct inner {
    uint16_t size[SLOTS]; /* upper bound of the sizes below the child, as in a leaf; 0 from slot
                           * `count` on */
    uint32_t child[SLOTS];
    uint32_t key[SLOTS]; /* if ordered: at most each key below the child, and more than each key of
                          * earlier children; undefined for the first child */
    uint8_t few[SLOTS];      /* if the children are leaves: number of blocks in the child; undefined
                              * from slot `count` on */
    uint32_t blocks[SLOTS];  /* if the children are inner nodes: number of blocks below the child */
    uint64_t largest[SLOTS]; /* upper bound of the sizes below the child, in bytes */
    uint32_t count;          /* children are in slots 0 .. count-1 */
    struct place place;
};

struct block_list {
    struct heap *heap;
    unsigned granule; /* log2 of the granule in bytes; all sizes are multiples of the granule */
    struct leaf *leaves;
    struct inner *inners;
    uint32_t leaf_capacity, leaves_used;
    uint32_t inner_capacity, inners_used;
    uint32_t unused_leaf, unused_inner; /* heads of the lists of unused nodes, or NO_NODE */
    uint32_t root;   /* root node, a leaf if the height is 0 */
    uint32_t height; /* number of levels of inner nodes */
    uint32_t blocks;
};

/* A slot of a leaf, or no slot if `leaf` is NO_NODE. */
struct cursor {
    uint32_t leaf;
    uint32_t slot;
};

/* Maximum number of nodes that a batch of events creates. An event inserts at most three blocks,
 * each into another full leaf below another full node. Splits of nodes above that level are
 * rare. */
enum { SPARE_LEAVES = 4 * BATCH, SPARE_INNERS = 4 * BATCH };

/* Maximum number of nodes that one block creates: the first leaf and its second half, and one node
 * in each level above. At least half the slots of a node are in use. */
enum { LEAVES_OF_ONE = 2, INNERS_OF_ONE = 16 };

/* Initialises an empty list with nodes for one block. The largest power of two in `unit` divides
 * the size of every block. Returns false if memory is exhausted. */
bool block_list_init(struct block_list *list, struct heap *heap, uint64_t unit);
void block_list_release(struct block_list *list);
/* Reserves at least these numbers of new nodes. Returns false if memory is exhausted. */
bool block_list_grow_tables(struct block_list *list, uint64_t more_leaves, uint64_t more_inners);
/* Reserves nodes in an empty list for `blocks` blocks that are appended, and for a batch of events.
 * Returns false if memory is exhausted. */
bool block_list_reserve_for(struct block_list *list, uint64_t blocks);
/* Empties the list. The caller sets `index_slot` of the removed blocks. */
void block_list_clear(struct block_list *list);
/* Returns a description of the first fault in the list, or NULL. `offers` is true if the list may
 * have offered blocks (block_list_edit.h). */
const char *block_list_check(const struct block_list *list, bool ordered, bool offers);

/* Slow paths of the search, for sizes or addresses that are not short and for neighbouring
 * leaves. */
uint32_t block_list_large_block(const struct block_list *list, const struct leaf *leaf,
                                uint32_t from, uint64_t size, bool last);
uint32_t block_list_large_child(const struct inner *inner, uint32_t from, uint64_t size, bool last);
/* Lowers the bounds of a node in its ancestors to their true values. */
void block_list_correct(struct block_list *list, uint32_t level, uint32_t id);
/* Returns the address of the first block below a node. */
uint64_t block_list_lowest_address(const struct block_list *list, uint32_t level, uint32_t id);
struct cursor block_list_far_position(const struct block_list *list, uint64_t address);
uint32_t block_list_next_leaf(const struct block_list *list, uint32_t leaf);
/* Returns the position before a cursor; the last position precedes the first. */
struct cursor block_list_preceding(const struct block_list *list, struct cursor at);

ALWAYS_INLINE bool block_list_has_spare(const struct block_list *list, uint64_t leaves,
                                        uint64_t inners)
{
    return LIKELY(list->leaf_capacity - list->leaves_used >= leaves &&
                  list->inner_capacity - list->inners_used >= inners);
}

/* Reserves nodes for a batch of events. Returns false if memory is exhausted. */
ALWAYS_INLINE bool block_list_reserve(struct block_list *list)
{
    return block_list_has_spare(list, SPARE_LEAVES, SPARE_INNERS) ||
           block_list_grow_tables(list, SPARE_LEAVES, SPARE_INNERS);
}

/* Reserves nodes for one block. Returns false if memory is exhausted. */
ALWAYS_INLINE bool block_list_reserve_one(struct block_list *list)
{
    return block_list_has_spare(list, LEAVES_OF_ONE, INNERS_OF_ONE) ||
           block_list_grow_tables(list, LEAVES_OF_ONE, INNERS_OF_ONE);
}

ALWAYS_INLINE bool found(struct cursor at)
{
    return at.leaf != NO_NODE;
}

ALWAYS_INLINE uint32_t block_at(const struct block_list *list, struct cursor at)
{
    return list->leaves[at.leaf].block[at.slot];
}

ALWAYS_INLINE uint32_t short_size(const struct block_list *list, uint64_t size)
{
    return in_short(size, list->granule);
}

ALWAYS_INLINE uint32_t short_key(const struct block_list *list, uint64_t address)
{
    uint64_t granules = address >> list->granule;
    return granules < SHORT_KEY ? (uint32_t)granules : SHORT_KEY;
}

/* Search for the first or last block with at least `size` bytes. */
struct wanted {
    uint64_t size;
    uint32_t brief; /* size in granules, or SHORT_SIZE */
    bool last;
};

/* Returns the first or last slot of a leaf whose block is large enough, or SLOTS. */
ALWAYS_INLINE uint32_t wanted_block(const struct block_list *list, const struct leaf *leaf,
                                    struct wanted wanted)
{
    if (UNLIKELY(wanted.brief == SHORT_SIZE))
        return block_list_large_block(list, leaf, 0, wanted.size, wanted.last);
    return wanted.last ? slots_last(leaf->size, wanted.brief)
                       : slots_first(leaf->size, wanted.brief);
}

/* Returns the first or last slot of an inner node whose child has a sufficient bound, or SLOTS. */
ALWAYS_INLINE uint32_t wanted_child(const struct inner *inner, struct wanted wanted)
{
    if (UNLIKELY(wanted.brief == SHORT_SIZE))
        return block_list_large_child(inner, 0, wanted.size, wanted.last);
    return wanted.last ? slots_last(inner->size, wanted.brief)
                       : slots_first(inner->size, wanted.brief);
}

/* Cursors without a slot: NOWHERE means that no block was found, AGAIN that the search must be
 * repeated. */
#define NOWHERE ((struct cursor){NO_NODE, 0})
#define AGAIN ((struct cursor){NO_NODE, 1})

/* Returns the position of the first or last large enough block below a node. If a bound was too
 * high, corrects the bounds and returns AGAIN. Returns NOWHERE if the whole list has no such
 * block. */
ALWAYS_INLINE struct cursor block_list_below(struct block_list *list, uint32_t level, uint32_t top,
                                             struct wanted wanted)
{
    uint32_t id = top;
    for (; level > 0; level--) {
        const struct inner *inner = &list->inners[id];
        uint32_t slot = wanted_child(inner, wanted);
        if (UNLIKELY(slot == SLOTS))
            break;
        id = inner->child[slot];
    }
    if (LIKELY(level == 0)) {
        uint32_t slot = wanted_block(list, &list->leaves[id], wanted);
        if (LIKELY(slot < SLOTS))
            return (struct cursor){id, slot};
    }
    if (level == list->height)
        return NOWHERE;
    block_list_correct(list, level, id);
    return AGAIN;
}

ALWAYS_INLINE struct cursor block_list_search(struct block_list *list, struct wanted wanted)
{
    struct cursor at;
    do
        at = block_list_below(list, list->height, list->root, wanted);
    while (UNLIKELY(at.leaf == NO_NODE && at.slot == AGAIN.slot));
    return at;
}

/* Returns the position of the first block with at least `size` bytes, or NOWHERE. */
ALWAYS_INLINE struct cursor block_list_first(struct block_list *list, uint64_t size)
{
    return block_list_search(list, (struct wanted){size, short_size(list, size), false});
}

/* Returns the position of the last block with at least `size` bytes, or NOWHERE. */
ALWAYS_INLINE struct cursor block_list_last(struct block_list *list, uint64_t size)
{
    return block_list_search(list, (struct wanted){size, short_size(list, size), true});
}

/* Returns the position of the first large enough block in a later leaf, or NOWHERE or AGAIN. */
ALWAYS_INLINE struct cursor block_list_later(struct block_list *list, const struct leaf *leaf,
                                             struct wanted wanted)
{
    const struct place *place = &leaf->place;
    for (uint32_t level = 0; level < list->height; level++) {
        const struct inner *parent = &list->inners[place->parent];
        uint32_t slot = UNLIKELY(wanted.brief == SHORT_SIZE)
                            ? block_list_large_child(parent, place->slot + 1, wanted.size, false)
                            : slots_first_from(parent->size, place->slot + 1, wanted.brief);
        if (slot < SLOTS)
            return block_list_below(list, level, parent->child[slot], wanted);
        place = &parent->place;
    }
    return NOWHERE;
}

/* Returns the position of the first block at or after a cursor with at least `size` bytes, or
 * NOWHERE. */
ALWAYS_INLINE struct cursor block_list_first_from(struct block_list *list, struct cursor from,
                                                  uint64_t size)
{
    struct wanted wanted = {size, short_size(list, size), false};
    const struct leaf *leaf = &list->leaves[from.leaf];
    uint32_t slot = UNLIKELY(wanted.brief == SHORT_SIZE)
                        ? block_list_large_block(list, leaf, from.slot, size, false)
                        : slots_first_from(leaf->size, from.slot, wanted.brief);
    if (LIKELY(slot < SLOTS))
        return (struct cursor){from.leaf, slot};
    struct cursor at;
    do
        at = block_list_later(list, leaf, wanted);
    while (UNLIKELY(at.leaf == NO_NODE && at.slot == AGAIN.slot));
    return at;
}

/* Returns the position of the first block at or after a cursor with at least `size` bytes, or
 * NOWHERE. The search wraps around at the end. */
ALWAYS_INLINE struct cursor block_list_first_around(struct block_list *list, struct cursor from,
                                                    uint64_t size)
{
    uint32_t brief = short_size(list, size);
    if (brief < SHORT_SIZE && list->leaves[from.leaf].size[from.slot] >= brief)
        return from; /* often the result; this test does not wait for vector instructions */
    struct cursor at = block_list_first_from(list, from, size);
    return found(at) ? at : block_list_first(list, size);
}

ALWAYS_INLINE uint32_t home_of(uint32_t leaf, uint32_t slot)
{
    return leaf * SLOTS + slot;
}

/* Returns the position of a block in the list. */
ALWAYS_INLINE struct cursor block_list_locate(const struct block *blocks, uint32_t block)
{
    uint32_t index_slot = blocks[block].index_slot;
    return (struct cursor){index_slot / SLOTS, index_slot % SLOTS};
}

/* Returns the size in bytes of the block at a cursor. The size is usually in the slot. */
ALWAYS_INLINE uint64_t block_list_size_at(const struct block_list *list,
                                          const struct block *blocks, struct cursor at)
{
    uint64_t brief = list->leaves[at.leaf].size[at.slot];
    return LIKELY(brief < SHORT_SIZE) ? brief << list->granule
                                      : blocks[block_at(list, at)].size;
}

/* Returns the block after a cursor; the first block follows the last. */
ALWAYS_INLINE uint32_t block_list_following(const struct block_list *list, struct cursor at)
{
    const struct leaf *leaf = &list->leaves[at.leaf];
    uint64_t later = leaf->used & ~slots_before(at.slot + 1);
    if (UNLIKELY(later == 0)) {
        leaf = &list->leaves[block_list_next_leaf(list, at.leaf)];
        later = leaf->used;
    }
    return leaf->block[first_slot(later)];
}

/* Returns the number of blocks before a cursor. */
ALWAYS_INLINE uint32_t block_list_rank(const struct block_list *list, struct cursor at)
{
    const struct leaf *leaf = &list->leaves[at.leaf];
    uint32_t rank = slots_count(leaf->used & slots_before(at.slot));
    if (list->height == 0)
        return rank;
    const struct inner *parent = &list->inners[leaf->place.parent];
    rank += slots_sum_few_before(parent->few, leaf->place.slot);
    for (uint32_t level = 1; level < list->height; level++) {
        const struct place *place = &parent->place;
        parent = &list->inners[place->parent];
        rank += slots_sum_before(parent->blocks, place->slot);
    }
    return rank;
}

/* Returns the number of blocks that a walk visits before `to` when it starts at `from`. The walk
 * wraps around at the end. */
ALWAYS_INLINE uint32_t block_list_distance(const struct block_list *list, struct cursor from,
                                           struct cursor to)
{
    if (from.leaf == to.leaf && from.slot <= to.slot)
        return slots_count(list->leaves[to.leaf].used & slots_before(to.slot) &
                           ~slots_before(from.slot));
    uint32_t first = block_list_rank(list, from);
    uint32_t rank = block_list_rank(list, to);
    return (rank < first ? rank + list->blocks : rank) - first;
}

/* Returns the position at which a block with this address enters a list ordered by address. */
ALWAYS_INLINE struct cursor block_list_position(const struct block_list *list, uint64_t address)
{
    uint32_t key = short_key(list, address);
    if (UNLIKELY(key == SHORT_KEY))
        return block_list_far_position(list, address);
    uint32_t id = list->root;
    for (uint32_t level = list->height; level > 0; level--) {
        const struct inner *inner = &list->inners[id];
        uint64_t up_to = slots_below(inner->key, key + 1) & slots_before(inner->count);
        id = inner->child[last_slot(up_to | 1)];
    }
    const struct leaf *leaf = &list->leaves[id];
    return (struct cursor){id, slot_behind(slots_below(leaf->key, key) & leaf->used)};
}

/* Returns the position after the last block. */
ALWAYS_INLINE struct cursor block_list_back(const struct block_list *list)
{
    uint32_t id = list->root;
    for (uint32_t level = list->height; level > 0; level--)
        id = list->inners[id].child[list->inners[id].count - 1];
    return (struct cursor){id, slot_behind(list->leaves[id].used)};
}

#endif
