/* A short list of free blocks in no order, of which a search looks at every one.
 *
 * A block has a slot, and there a number that says its place in the list: by its address, or by
 * when it entered. The first block that is large enough is the one with the least number among
 * those that are, and a walk would have visited those with lesser numbers too: loops without
 * branches, of which compilers make vectors. To enter, to leave and to change is to write to one
 * slot. */
#ifndef SIMALLOC_FLAT_LIST_H
#define SIMALLOC_FLAT_LIST_H

#include "space/heap.h"

/* A place is a key and, in the low bits, the number of the slot. It is not negative when read as
 * signed: AVX2 compares nothing else in one step. */
enum { FLAT_SLOT_BITS = 10, FLAT_KEY_BITS = 21, FLAT_KEYS = 1 << FLAT_KEY_BITS };

/* How many slots are looked at at a time. None has the number of which all bits are set. */
enum { FLAT_STEP = 16, FLAT_SLOTS = (1 << FLAT_SLOT_BITS) - FLAT_STEP };

/* How many blocks a list may have: there is room then for a batch of events, of which each enters
 * three at most. */
enum { FLAT_BLOCKS = FLAT_SLOTS - 3 * BATCH };

#define FLAT_EMPTY INT32_MAX    /* the place in an empty slot */
#define FLAT_NOWHERE UINT32_MAX /* no slot */

struct flat_list {
    unsigned granule; /* log2 of the bytes in one, of which all sizes and addresses are multiples */
    uint32_t clock;   /* if not ordered by address: the key of the next block to enter */
    uint32_t steps;   /* no slot from this many times FLAT_STEP on has been used */
    uint32_t empty;   /* chain of empty slots; those never used are last, and in order */
    int32_t size[FLAT_SLOTS];  /* granules; 0 in an empty slot */
    int32_t place[FLAT_SLOTS]; /* a key and the slot itself, or FLAT_EMPTY */
    uint32_t block[FLAT_SLOTS]; /* in an empty slot: the next empty one */
};

/* Takes all blocks out, whose slots are the caller's to set. */
void flat_list_clear(struct flat_list *list);
/* Fills in all blocks, of which there are fewer than FLAT_SLOTS: if ordered by address, in any
 * order. */
void flat_list_blocks(const struct flat_list *list, bool ordered, uint32_t *blocks);
const char *flat_list_check(const struct flat_list *list, const struct heap *heap, bool ordered);

/* Whether no size and, if it is a key, no address up to `most` is too large for a slot. */
ALWAYS_INLINE bool flat_list_fits(const struct flat_list *list, uint64_t most, bool ordered)
{
    return most >> list->granule >> (ordered ? FLAT_KEY_BITS : 31) == 0;
}

ALWAYS_INLINE int32_t flat_place(uint64_t key, uint32_t slot)
{
    return (int32_t)((uint32_t)key << FLAT_SLOT_BITS | slot);
}

/* Notes the size and the address of a block. */
ALWAYS_INLINE void flat_list_change(struct flat_list *list, const struct block *block,
                                    uint32_t slot, bool ordered)
{
    list->size[slot] = (int32_t)(block->size >> list->granule);
    if (ordered)
        list->place[slot] = flat_place(block->address >> list->granule, slot);
}

/* Puts a block into its place by address, or last. */
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

/* The least place of a block of at least `size` granules, or UINT32_MAX. */
ALWAYS_INLINE uint32_t flat_list_least(const struct flat_list *list, int32_t size)
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

/* How many places are before one. */
ALWAYS_INLINE uint32_t flat_list_rank(const struct flat_list *list, uint32_t place)
{
    size_t slots = (size_t)list->steps * FLAT_STEP;
    uint32_t rank = 0;
#pragma GCC unroll 2
    for (size_t i = 0; i < slots; i++)
        rank += list->place[i] < (int32_t)place;
    return rank;
}

/* The same as flat_list_first(), but asks the blocks themselves. That is what is done for the rest
 * of a batch in which sizes or addresses have become too large for slots. */
uint32_t flat_list_ask(const struct flat_list *list, const struct heap *heap, uint64_t size,
                       bool ordered, uint64_t *visited);

/* The slot of the first block with at least `size` bytes, or FLAT_NOWHERE. Counts what a walk would
 * have visited. */
ALWAYS_INLINE uint32_t flat_list_first(const struct flat_list *list, const struct heap *heap,
                                       uint64_t size, bool ordered, uint64_t *visited)
{
    if (UNLIKELY(!flat_list_fits(list, heap->brk | size, ordered)))
        return flat_list_ask(list, heap, size, ordered, visited);
    uint32_t place = flat_list_least(list, (int32_t)(size >> list->granule));
    if (UNLIKELY(place == UINT32_MAX)) {
        *visited = heap->counters.free_blocks;
        return FLAT_NOWHERE;
    }
    *visited = flat_list_rank(list, place) + 1;
    return place % (1 << FLAT_SLOT_BITS);
}

#endif
