/* A list of free blocks that finds the first, or the last, block that is large enough.
 *
 * The list is a B+ tree of nodes of 64 slots. The blocks of a leaf are in list order, separated by
 * empty slots: a block that leaves empties its slot, and a block that enters shifts others no
 * further than to the next empty slot. An inner node knows the number of blocks below each child,
 * which gives the visits of a walk as a difference of ranks, and an upper bound of their sizes. The
 * bound is lowered only when a search finds less.
 *
 * Sizes and addresses are kept in granules and short, so that many are compared in one step. A few
 * are too large for that; they are read from the block table. Every operation is O(log n).
 *
 * The caller defines the order: by address, if `ordered`, the same in all calls, or by position. */
#ifndef SIMALLOC_BLOCK_LIST_H
#define SIMALLOC_BLOCK_LIST_H

#include "index/slots.h"

#define NO_NODE UINT32_MAX

/* Position of a node in the tree. */
struct place {
    uint32_t parent; /* NO_NODE of the root; while the node is unused, the next unused one */
    uint32_t slot;   /* slot in the parent */
};

struct leaf {
    uint16_t size[SLOTS]; /* granules, at most SHORT_SIZE; 0 in an empty slot */
    uint32_t block[SLOTS];
    uint32_t key[SLOTS]; /* if ordered: the address in granules, at most SHORT_KEY */
    uint64_t used;       /* bit i: slot i holds a block; 0 only in an empty root */
    struct place place;
};

struct inner {
    uint16_t size[SLOTS]; /* at least the largest below the child, as in a leaf; 0 from slot `count`
                             on */
    uint32_t child[SLOTS];
    uint32_t key[SLOTS]; /* if ordered: no key below the child is less, all of earlier ones are; the
                            first one's says nothing */
    uint8_t few[SLOTS];      /* if the children are leaves: the blocks in the child; any number from
                                slot `count` on */
    uint32_t blocks[SLOTS];  /* if they are not: the blocks below the child */
    uint64_t largest[SLOTS]; /* bytes of the largest block below the child, or more */
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
    uint32_t unused_leaf, unused_inner; /* heads of the chains of unused nodes */
    uint32_t root;   /* a leaf if the height is 0 */
    uint32_t height; /* levels of inner nodes */
    uint32_t blocks; /* number of blocks in the list */
};

/* A slot of a leaf. leaf is NO_NODE for no slot. */
struct cursor {
    uint32_t leaf;
    uint32_t slot;
};

/* The most nodes that a batch of events may create: an event inserts at most three blocks, each into
 * another full leaf below another full node; of the levels above few nodes are split. */
enum { SPARE_LEAVES = 4 * BATCH, SPARE_INNERS = 4 * BATCH };

/* Maximum number of nodes that one block creates: a leaf, or the first leaf's second half, and a
 * node in each level above. At least half the slots of a node are in use. */
enum { LEAVES_OF_ONE = 2, INNERS_OF_ONE = 16 };

/* Makes an empty list, which has nodes for one block. The largest power of two in `unit` divides all
 * sizes of blocks. Returns false when memory is exhausted. */
bool block_list_init(struct block_list *list, struct heap *heap, uint64_t unit);
void block_list_release(struct block_list *list);
/* Makes room for at least these numbers of new nodes. Returns false if memory is exhausted. */
bool block_list_grow_tables(struct block_list *list, uint64_t more_leaves, uint64_t more_inners);
/* Ensures nodes in an empty list for `blocks` blocks, entering one behind the other, and for a
 * batch of events. Returns false when memory is exhausted. */
bool block_list_reserve_for(struct block_list *list, uint64_t blocks);
/* Takes all blocks out, whose homes are the caller's to set. */
void block_list_clear(struct block_list *list);
/* Returns a description of the first fault in the list, or NULL. `offers`: blocks may be offered
 * (block_list_edit.h). */
const char *block_list_check(const struct block_list *list, bool ordered, bool offers);

/* Rare cases: sizes or addresses that are not short, and other leaves. */
uint32_t block_list_large_block(const struct block_list *list, const struct leaf *leaf,
                                uint32_t from, uint64_t size, bool last);
uint32_t block_list_large_child(const struct inner *inner, uint32_t from, uint64_t size, bool last);
/* Lowers the bounds in the nodes above a node to their true values. */
void block_list_correct(struct block_list *list, uint32_t level, uint32_t id);
/* The address of the first block below a node. */
uint64_t block_list_lowest_address(const struct block_list *list, uint32_t level, uint32_t id);
struct cursor block_list_far_position(const struct block_list *list, uint64_t address);
uint32_t block_list_next_leaf(const struct block_list *list, uint32_t leaf);
/* The block before a cursor's, the last before the first. */
struct cursor block_list_preceding(const struct block_list *list, struct cursor at);

ALWAYS_INLINE bool block_list_has_spare(const struct block_list *list, uint64_t leaves,
                                        uint64_t inners)
{
    return LIKELY(list->leaf_capacity - list->leaves_used >= leaves &&
                  list->inner_capacity - list->inners_used >= inners);
}

/* Makes sure of nodes for a batch of events; false when memory is exhausted. */
ALWAYS_INLINE bool block_list_reserve(struct block_list *list)
{
    return block_list_has_spare(list, SPARE_LEAVES, SPARE_INNERS) ||
           block_list_grow_tables(list, SPARE_LEAVES, SPARE_INNERS);
}

/* Makes sure of nodes for one more block; false when memory is exhausted. */
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

/* Blocks are looked for by size, and by which end of the list they are nearer to. */
struct wanted {
    uint64_t size;
    uint32_t brief; /* size in granules, or SHORT_SIZE */
    bool last;
};

/* Returns the first, or last, slot of a leaf with a wanted block, or SLOTS. */
ALWAYS_INLINE uint32_t wanted_block(const struct block_list *list, const struct leaf *leaf,
                                    struct wanted wanted)
{
    if (UNLIKELY(wanted.brief == SHORT_SIZE))
        return block_list_large_block(list, leaf, 0, wanted.size, wanted.last);
    return wanted.last ? slots_last(leaf->size, wanted.brief)
                       : slots_first(leaf->size, wanted.brief);
}

/* Returns the first, or last, slot of an inner node with a wanted block below it, or SLOTS. */
ALWAYS_INLINE uint32_t wanted_child(const struct inner *inner, struct wanted wanted)
{
    if (UNLIKELY(wanted.brief == SHORT_SIZE))
        return block_list_large_child(inner, 0, wanted.size, wanted.last);
    return wanted.last ? slots_last(inner->size, wanted.brief)
                       : slots_first(inner->size, wanted.brief);
}

/* No block; and a cursor that tells the caller to search again. */
#define NOWHERE ((struct cursor){NO_NODE, 0})
#define AGAIN ((struct cursor){NO_NODE, 1})

/* The first, or last, block below a node of some level that is wanted; or, if the nodes promised
 * one that is not there, they are corrected. */
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

/* The first block of the list with at least `size` bytes. */
ALWAYS_INLINE struct cursor block_list_first(struct block_list *list, uint64_t size)
{
    return block_list_search(list, (struct wanted){size, short_size(list, size), false});
}

/* The last block of the list with at least `size` bytes. */
ALWAYS_INLINE struct cursor block_list_last(struct block_list *list, uint64_t size)
{
    return block_list_search(list, (struct wanted){size, short_size(list, size), true});
}

/* The first block in a leaf later than one that is wanted. */
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

/* The first block at or after a cursor with at least `size` bytes. */
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

/* Returns the first block at or after a cursor with at least `size` bytes; the search wraps around
 * at the end. */
ALWAYS_INLINE struct cursor block_list_first_around(struct block_list *list, struct cursor from,
                                                    uint64_t size)
{
    uint32_t brief = short_size(list, size);
    if (brief < SHORT_SIZE && list->leaves[from.leaf].size[from.slot] >= brief)
        return from; /* often the first, and a guess does not wait for vectors */
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

/* The bytes of the block at a cursor, which its slot mostly tells. */
ALWAYS_INLINE uint64_t block_list_size_at(const struct block_list *list,
                                          const struct block *blocks, struct cursor at)
{
    uint64_t brief = list->leaves[at.leaf].size[at.slot];
    return LIKELY(brief < SHORT_SIZE) ? brief << list->granule
                                      : blocks[block_at(list, at)].size;
}

/* The block after a cursor, the first after the last. */
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

/* Returns the number of blocks that a walk passes from one cursor to another; the walk wraps around
 * at the end. */
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

/* Returns the position for a block with this address in a list ordered by address. */
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

/* Behind the last block. */
ALWAYS_INLINE struct cursor block_list_back(const struct block_list *list)
{
    uint32_t id = list->root;
    for (uint32_t level = list->height; level > 0; level--)
        id = list->inners[id].child[list->inners[id].count - 1];
    return (struct cursor){id, slot_behind(list->leaves[id].used)};
}

#endif
