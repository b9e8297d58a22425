/* The list of a next fit in the order of its blocks, searched by vectors from the rover on.
 *
 * It is an array of slots, of which some are empty, so that a block can enter anywhere by moving
 * few others: at most those between it and the nearest empty slot of its row of 64. When a row has
 * none, the blocks of it and of rows beside it are spread evenly anew (a packed-memory array:
 * Bender, Demaine and Farach-Colton 2000). The last slot is followed by the first one.
 *
 * A block's `index_slot` is its slot. Sizes are kept in granules and short, as in block_list.h. */
#ifndef SIMALLOC_RING_LIST_H
#define SIMALLOC_RING_LIST_H

#include "index/slots.h"

/* So many blocks, and those that enter in a batch of events, three in each at most, leave more than
 * a quarter of the slots empty. */
enum { RING_BLOCKS = 1 << 13, RING_SLOTS = 1 << 14, RING_ROWS = RING_SLOTS / SLOTS };

struct ring_list {
    unsigned granule;          /* log2 of the bytes in one, of which all sizes are multiples */
    uint32_t rows;             /* a power of two; those from here on are empty */
    uint32_t blocks;           /* in the list */
    uint64_t taken[RING_ROWS]; /* bit i: slot i of the row holds a block */
    uint16_t size[RING_SLOTS]; /* granules, at most SHORT_SIZE; 0 in an empty slot */
    uint32_t block[RING_SLOTS];
    uint32_t spread[RING_SLOTS]; /* blocks that are being spread */
};

/* Takes all blocks out, whose homes are the caller's to set. */
void ring_list_clear(struct ring_list *list);
/* Spreads all blocks over as many rows as are due. */
void ring_list_settle(struct ring_list *list, struct block *blocks);
/* Makes an empty slot in a row; what stood in its slots may stand elsewhere then. */
void ring_list_make_room(struct ring_list *list, struct block *blocks, uint32_t row);
const char *ring_list_check(const struct ring_list *list, const struct heap *heap);

/* The same as ring_list_first() for a size that is not short. */
uint32_t ring_list_first_large(const struct ring_list *list, const struct block *blocks,
                               uint32_t from, uint64_t size, uint64_t *visited);

/* Whether far too many slots are empty. */
ALWAYS_INLINE bool ring_list_is_sparse(const struct ring_list *list)
{
    return list->rows > 1 && list->rows * SLOTS > 16 * list->blocks;
}

ALWAYS_INLINE uint32_t ring_row_behind(const struct ring_list *list, uint32_t row)
{
    return (row + 1) & (list->rows - 1);
}

/* Notes the size of a block. */
ALWAYS_INLINE void ring_list_change(struct ring_list *list, const struct block *block)
{
    list->size[block->index_slot] = (uint16_t)in_short(block->size, list->granule);
}

ALWAYS_INLINE void ring_put(struct ring_list *list, struct block *blocks, uint32_t slot,
                            uint32_t id)
{
    list->block[slot] = id;
    blocks[id].index_slot = slot;
}

ALWAYS_INLINE void ring_move(struct ring_list *list, struct block *blocks, uint32_t from,
                             uint32_t to)
{
    list->size[to] = list->size[from];
    ring_put(list, blocks, to, list->block[from]);
}

/* Makes an empty slot in a row that has one, before slot `place` of the row, which may be SLOTS, by
 * moving the blocks between by one; returns the slot. */
ALWAYS_INLINE uint32_t ring_open(struct ring_list *list, struct block *blocks, uint32_t row,
                                 uint32_t place)
{
    uint64_t empty = ~list->taken[row];
    uint64_t below = empty & slots_before(place);
    uint64_t above = empty & ~slots_before(place);
    uint32_t first = row * SLOTS;
    uint32_t down = below == 0 ? SLOTS : place - 1 - last_slot(below);
    uint32_t up = above == 0 ? SLOTS : first_slot(above) - place;
    if (down <= up) {
        list->taken[row] |= UINT64_C(1) << (place - 1 - down);
        for (uint32_t slot = first + place - 1 - down; slot < first + place - 1; slot++)
            ring_move(list, blocks, slot + 1, slot);
        return first + place - 1;
    }
    list->taken[row] |= UINT64_C(1) << (place + up);
    for (uint32_t slot = first + place + up; slot > first + place; slot--)
        ring_move(list, blocks, slot - 1, slot);
    return first + place;
}

/* Puts a block before or behind another one. */
ALWAYS_INLINE void ring_list_insert(struct ring_list *list, struct block *blocks, uint32_t id,
                                    uint32_t other, bool behind)
{
    uint32_t row = blocks[other].index_slot / SLOTS;
    if (UNLIKELY(list->taken[row] == UINT64_MAX)) {
        ring_list_make_room(list, blocks, row);
        row = blocks[other].index_slot / SLOTS;
    }
    uint32_t slot = ring_open(list, blocks, row, blocks[other].index_slot % SLOTS + behind);
    ring_put(list, blocks, slot, id);
    ring_list_change(list, &blocks[id]);
    list->blocks++;
}

/* Puts a block behind all others of a list that is to be settled. */
ALWAYS_INLINE void ring_list_append(struct ring_list *list, struct block *blocks, uint32_t id)
{
    uint32_t slot = list->blocks++;
    list->rows = slot / SLOTS + 1;
    list->taken[slot / SLOTS] |= UINT64_C(1) << slot % SLOTS;
    ring_put(list, blocks, slot, id);
}

/* Makes a block the only one. */
ALWAYS_INLINE void ring_list_start(struct ring_list *list, struct block *blocks, uint32_t id)
{
    list->rows = 1;
    list->blocks = 1;
    list->taken[0] = 1;
    ring_put(list, blocks, 0, id);
    ring_list_change(list, &blocks[id]);
}

ALWAYS_INLINE void ring_list_remove(struct ring_list *list, struct block *blocks, uint32_t id)
{
    uint32_t slot = blocks[id].index_slot;
    list->size[slot] = 0;
    list->taken[slot / SLOTS] &= ~(UINT64_C(1) << slot % SLOTS);
    list->blocks--;
    blocks[id].index_slot = STATE_ALLOCATED;
}

/* The block behind one, which is itself if it is the only one. */
ALWAYS_INLINE uint32_t ring_list_following(const struct ring_list *list,
                                           const struct block *blocks, uint32_t id)
{
    uint32_t slot = blocks[id].index_slot;
    uint32_t row = slot / SLOTS;
    uint64_t later = list->taken[row] & ~slots_before(slot % SLOTS + 1);
    while (UNLIKELY(later == 0)) {
        row = ring_row_behind(list, row);
        later = list->taken[row];
    }
    return list->block[row * SLOTS + first_slot(later)];
}

/* The first block from block `from` on with at least `size` bytes, or NO_BLOCK; counts what a walk
 * visits. */
ALWAYS_INLINE uint32_t ring_list_first(const struct ring_list *list, const struct block *blocks,
                                       uint32_t from, uint64_t size, uint64_t *visited)
{
    uint32_t brief = in_short(size, list->granule);
    uint32_t start = blocks[from].index_slot;
    *visited = 1;
    if (UNLIKELY(brief == SHORT_SIZE))
        return ring_list_first_large(list, blocks, from, size, visited);
    if (list->size[start] >= brief)
        return from; /* it is often the first, and to guess so is not to wait for vectors */
    uint32_t row = start / SLOTS;
    uint64_t ahead = ~slots_before(start % SLOTS);
    uint32_t slot = slots_first_from(&list->size[row * SLOTS], start % SLOTS, brief);
    uint64_t passed = 0;
    for (uint32_t rows = 0; slot == SLOTS; rows++) {
        if (rows == list->rows) {
            *visited = list->blocks;
            return NO_BLOCK;
        }
        passed += slots_count(list->taken[row] & ahead);
        ahead = UINT64_MAX;
        row = ring_row_behind(list, row);
        slot = slots_first(&list->size[row * SLOTS], brief);
    }
    *visited = 1 + passed + slots_count(list->taken[row] & ahead & slots_before(slot));
    return list->block[row * SLOTS + slot];
}

#endif
