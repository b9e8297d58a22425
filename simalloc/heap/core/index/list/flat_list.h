/* Short, unordered list of free blocks; a search examines every block.
 *
 * Each block has a slot. The slot stores the place of the block in the list, a number that is
 * computed from its address or from a counter of entries. The first large enough block is the block
 * with the smallest place among all large enough blocks. A walk would have visited exactly the
 * blocks with smaller places. The search and the count of its visits are loops without branches,
 * which compilers vectorise. Inserting, removing and changing a block writes to one slot. */
#ifndef SIMALLOC_FLAT_LIST_H
#define SIMALLOC_FLAT_LIST_H

#include "space/heap.h"

/* A place consists of a key and, in the low bits, the number of the slot. It is not negative as a
 * signed number, because AVX2 compares only signed numbers in one step. */
enum { FLAT_SLOT_BITS = 10, FLAT_KEY_BITS = 21, FLAT_KEYS = 1 << FLAT_KEY_BITS };

/* A search examines FLAT_STEP slots in one step. No slot has the number whose bits are all set. */
enum { FLAT_STEP = 16, FLAT_SLOTS = (1 << FLAT_SLOT_BITS) - FLAT_STEP };

/* Maximum number of blocks before a batch of events. Each event inserts at most three blocks. */
enum { FLAT_BLOCKS = FLAT_SLOTS - 3 * BATCH };

#define FLAT_EMPTY INT32_MAX    /* place in an empty slot */
#define FLAT_NOWHERE UINT32_MAX /* no slot */

struct flat_list {
    unsigned granule; /* log2 of the granule in bytes; all sizes and addresses are multiples of the
                       * granule */
    uint32_t clock;   /* if ordered by entry: key of the next block */
    uint32_t steps;   /* slots from steps * FLAT_STEP on have not been used */
    /* Head of the list of empty slots, in which unused slots are last and in ascending order. */
    uint32_t empty;
    int32_t size[FLAT_SLOTS];  /* granules; 0 in an empty slot */
    int32_t place[FLAT_SLOTS]; /* key and number of the slot, or FLAT_EMPTY */
    uint32_t block[FLAT_SLOTS]; /* block in the slot; in an empty slot, the next empty slot */
};

/* Empties the list. The caller sets `index_slot` of the removed blocks. */
void flat_list_clear(struct flat_list *list);
/* Writes all blocks to `blocks`, fewer than FLAT_SLOTS. They are in list order, or in any order if
 * the list is ordered by address. */
void flat_list_blocks(const struct flat_list *list, bool ordered, uint32_t *blocks);
const char *flat_list_check(const struct flat_list *list, const struct heap *heap, bool ordered);

/* Returns whether all sizes up to `most` and, if `ordered` is set, all addresses up to `most` fit
 * into a slot. */
ALWAYS_INLINE bool flat_list_fits(const struct flat_list *list, uint64_t most, bool ordered)
{
    return most >> list->granule >> (ordered ? FLAT_KEY_BITS : 31) == 0;
}

ALWAYS_INLINE int32_t flat_place(uint64_t key, uint32_t slot)
{
    return (int32_t)((uint32_t)key << FLAT_SLOT_BITS | slot);
}

/* Updates the size of a block and, if `ordered` is set, its address. */
ALWAYS_INLINE void flat_list_change(struct flat_list *list, const struct block *block,
                                    uint32_t slot, bool ordered)
{
    list->size[slot] = (int32_t)(block->size >> list->granule);
    if (ordered)
        list->place[slot] = flat_place(block->address >> list->granule, slot);
}

/* Inserts a block by its address, or at the end. */
ALWAYS_INLINE void flat_list_insert(struct flat_list *list, struct block *blocks, uint32_t id,
                                    bool ordered)
{
    uint32_t slot = list->empty;
    list->empty = list->block[slot];
    if (UNLIKELY(slot == list->steps * FLAT_STEP))
        list->steps++;
    list->block[slot] = id;
    blocks[id].index_slot = slot;
    flat_list_change(list, &blocks[id], slot, ordered);
    if (!ordered)
        list->place[slot] = flat_place(list->clock++, slot);
}

ALWAYS_INLINE void flat_list_remove(struct flat_list *list, struct block *blocks, uint32_t id)
{
    uint32_t slot = blocks[id].index_slot;
    blocks[id].index_slot = STATE_ALLOCATED;
    list->size[slot] = 0;
    list->place[slot] = FLAT_EMPTY;
    list->block[slot] = list->empty;
    list->empty = slot;
}

/* Returns the smallest place of a block with at least `size` granules, or UINT32_MAX. */
ALWAYS_INLINE uint32_t flat_list_min(const struct flat_list *list, int32_t size)
{
    size_t slots = (size_t)list->steps * FLAT_STEP;
    uint32_t least = UINT32_MAX;
#pragma GCC unroll 2
    for (size_t i = 0; i < slots; i++) {
        uint32_t too_small = -(uint32_t)(list->size[i] < size);
        uint32_t place = (uint32_t)list->place[i] | too_small;
        least = place < least ? place : least;
    }
    return least;
}

/* Returns the number of blocks with a smaller place. */
ALWAYS_INLINE uint32_t flat_list_rank(const struct flat_list *list, uint32_t place)
{
    size_t slots = (size_t)list->steps * FLAT_STEP;
    uint32_t rank = 0;
#pragma GCC unroll 2
    for (size_t i = 0; i < slots; i++)
        rank += list->place[i] < (int32_t)place;
    return rank;
}

/* Does the same as flat_list_first() with sizes and addresses of the block table. It is needed
 * until the end of a batch in which a size or address became too large for a slot. */
uint32_t flat_list_ask(const struct flat_list *list, const struct heap *heap, uint64_t size,
                       bool ordered, uint64_t *visited);

/* Returns the slot of the first block with at least `size` bytes, or FLAT_NOWHERE. Sets `visited`
 * to the number of blocks that a walk visits. */
ALWAYS_INLINE uint32_t flat_list_first(const struct flat_list *list, const struct heap *heap,
                                       uint64_t size, bool ordered, uint64_t *visited)
{
    if (UNLIKELY(!flat_list_fits(list, heap->brk | size, ordered)))
        return flat_list_ask(list, heap, size, ordered, visited);
    uint32_t place = flat_list_min(list, (int32_t)(size >> list->granule));
    if (UNLIKELY(place == UINT32_MAX)) {
        *visited = heap->counters.free_blocks;
        return FLAT_NOWHERE;
    }
    *visited = flat_list_rank(list, place) + 1;
    return place % (1 << FLAT_SLOT_BITS);
}

#endif
