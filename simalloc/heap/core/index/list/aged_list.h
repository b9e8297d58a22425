/* A list of free blocks in the order in which they entered.
 *
 * It is an array of slots: a block that enters takes the next one, and a block that leaves leaves
 * its slot empty. When too many are, the blocks move together before a batch of events. Slots stand
 * in rows of 64. A row knows which of its slots are taken, and of what size the blocks in it are at
 * most; that is lowered when a search finds less than it was promised, and not before. So a search
 * looks at 64 rows at once, and then at one of them.
 *
 * Sizes are kept in granules and short, as in block_list.h. */
#ifndef SIMALLOC_AGED_LIST_H
#define SIMALLOC_AGED_LIST_H

#include "index/slots.h"

/* Room for the blocks, as many slots that are empty, and a batch of events, of which each enters
 * three blocks at most; in whole pages of 64 rows. */
enum { AGED_BLOCKS = 1 << 14, AGED_PAGE = SLOTS * SLOTS, AGED_SLOTS = 9 * AGED_PAGE };

struct aged_list {
    unsigned granule; /* log2 of the bytes in one, of which all sizes are multiples */
    uint32_t used;    /* slots from this one on have not been used */
    uint16_t bound[AGED_SLOTS / SLOTS]; /* of a row: at least the largest size in it */
    uint64_t largest[AGED_SLOTS / SLOTS]; /* of a row: at least the bytes of its largest block, if
                                             that has SHORT_SIZE */
    uint64_t taken[AGED_SLOTS / SLOTS]; /* of a row: bit i: slot i holds a block */
    uint16_t count[AGED_SLOTS / SLOTS]; /* of a row: its blocks */
    uint16_t size[AGED_SLOTS]; /* granules, at most SHORT_SIZE; 0 in an empty slot */
    uint32_t block[AGED_SLOTS];
};

/* Takes all blocks out, whose homes are the caller's to set. */
void aged_list_clear(struct aged_list *list);
/* Moves the blocks together. */
void aged_list_pack(struct aged_list *list, struct block *blocks);
const char *aged_list_check(const struct aged_list *list, const struct heap *heap);

/* The same as aged_list_first() for a size that is not short. */
uint32_t aged_list_first_large(struct aged_list *list, const struct heap *heap, uint64_t size,
                               bool newest, uint64_t *visited);

ALWAYS_INLINE bool aged_list_is_taken(const struct aged_list *list, uint32_t slot)
{
    return (list->taken[slot / SLOTS] >> slot % SLOTS & 1) != 0;
}

/* Whether there is room for a batch of events, and more blocks than empty slots or few slots. */
ALWAYS_INLINE bool aged_list_is_roomy(const struct aged_list *list, uint64_t blocks)
{
    return list->used <= 2 * blocks + 2 * BATCH && list->used + 3 * BATCH <= AGED_SLOTS;
}

/* Notes the size of a block. */
ALWAYS_INLINE void aged_list_change(struct aged_list *list, const struct block *block)
{
    uint32_t row = block->index_slot / SLOTS;
    uint16_t size = (uint16_t)in_short(block->size, list->granule);
    list->size[block->index_slot] = size;
    if (size > list->bound[row])
        list->bound[row] = size;
    if (UNLIKELY(size == SHORT_SIZE) && block->size > list->largest[row])
        list->largest[row] = block->size;
}

ALWAYS_INLINE void aged_list_insert(struct aged_list *list, struct block *blocks, uint32_t id)
{
    uint32_t slot = list->used++;
    list->block[slot] = id;
    list->taken[slot / SLOTS] |= UINT64_C(1) << slot % SLOTS;
    list->count[slot / SLOTS]++;
    blocks[id].index_slot = slot;
    aged_list_change(list, &blocks[id]);
}

ALWAYS_INLINE void aged_list_remove(struct aged_list *list, struct block *blocks, uint32_t id)
{
    uint32_t slot = blocks[id].index_slot;
    list->size[slot] = 0;
    list->taken[slot / SLOTS] &= ~(UINT64_C(1) << slot % SLOTS);
    list->count[slot / SLOTS]--;
    blocks[id].index_slot = STATE_ALLOCATED;
}

/* How many blocks a walk visits, from the newest or from the oldest on, to the one in a slot. */
ALWAYS_INLINE uint64_t aged_list_visits(const struct aged_list *list, uint32_t slot, bool newest)
{
    uint32_t row = slot / SLOTS;
    uint64_t before = slots_before(slot % SLOTS);
    uint32_t visits = 1 + slots_count(list->taken[row] & (newest ? ~before << 1 : before));
    uint32_t rows = (list->used + SLOTS - 1) / SLOTS;
    uint32_t end = newest ? rows : row;
    for (uint32_t other = newest ? row + 1 : 0; other < end; other++)
        visits += list->count[other];
    return visits;
}

/* The newest block with at least `size` bytes, or the oldest; or NO_BLOCK. Counts what a walk would
 * have visited. */
ALWAYS_INLINE uint32_t aged_list_first(struct aged_list *list, const struct heap *heap,
                                       uint64_t size, bool newest, uint64_t *visited)
{
    uint32_t brief = in_short(size, list->granule);
    if (UNLIKELY(brief == SHORT_SIZE))
        return aged_list_first_large(list, heap, size, newest, visited);
    uint32_t pages = (list->used + AGED_PAGE - 1) / AGED_PAGE;
    for (uint32_t i = 0; i < pages; i++) {
        uint16_t *bounds = &list->bound[(newest ? pages - 1 - i : i) * SLOTS];
        for (;;) {
            uint32_t in_page = newest ? slots_last(bounds, brief) : slots_first(bounds, brief);
            if (in_page == SLOTS)
                break;
            uint32_t row = (uint32_t)(&bounds[in_page] - list->bound);
            const uint16_t *sizes = &list->size[row * SLOTS];
            uint32_t in_row = newest ? slots_last(sizes, brief) : slots_first(sizes, brief);
            if (LIKELY(in_row < SLOTS)) {
                *visited = aged_list_visits(list, row * SLOTS + in_row, newest);
                return list->block[row * SLOTS + in_row];
            }
            bounds[in_page] = (uint16_t)slots_largest(sizes);
        }
    }
    *visited = heap->counters.free_blocks;
    return NO_BLOCK;
}

#endif
