/* List of free blocks in order of entry.
 *
 * The list is an array of slots. A block that enters takes the next slot, and a block that leaves
 * empties its slot. Before a batch of events, the blocks are compacted if too many slots are empty.
 * 64 slots form a row. Each row has a bitmap of its occupied slots and an upper bound of its block
 * sizes. The bound is lowered only when a search finds less than the bound. A search therefore
 * examines 64 rows in one step, and then one row.
 *
 * Sizes are short and in granules, as in block_list.h. */
#ifndef SIMALLOC_AGED_LIST_H
#define SIMALLOC_AGED_LIST_H

#include "index/slots.h"

/* AGED_SLOTS is sufficient for AGED_BLOCKS blocks, the same number of empty slots, and a batch of
 * events in which each event inserts at most three blocks. It is a multiple of a page of 64
 * rows. */
enum { AGED_BLOCKS = 1 << 14, AGED_PAGE = SLOTS * SLOTS, AGED_SLOTS = 9 * AGED_PAGE };

struct aged_list {
    unsigned granule; /* log2 of the granule in bytes; all sizes are multiples of the granule */
    uint32_t used;    /* slots from this index on have not been used */
    uint16_t bound[AGED_SLOTS / SLOTS]; /* upper bound of the sizes in each row */
    /* by row: upper bound in bytes of the sizes that are stored as SHORT_SIZE */
    uint64_t largest[AGED_SLOTS / SLOTS];
    uint64_t taken[AGED_SLOTS / SLOTS]; /* by row: bitmap of occupied slots */
    uint16_t count[AGED_SLOTS / SLOTS]; /* number of blocks in each row */
    uint16_t size[AGED_SLOTS]; /* granules, at most SHORT_SIZE; 0 in an empty slot */
    uint32_t block[AGED_SLOTS];
};

/* Empties the list. The caller sets `index_slot` of the removed blocks. */
void aged_list_clear(struct aged_list *list);
/* Compacts the blocks. */
void aged_list_pack(struct aged_list *list, struct block *blocks);
const char *aged_list_check(const struct aged_list *list, const struct heap *heap);

/* Does the same as aged_list_first(), for a size of at least SHORT_SIZE granules. */
uint32_t aged_list_first_large(struct aged_list *list, const struct heap *heap, uint64_t size,
                               bool newest, uint64_t *visited);

ALWAYS_INLINE bool aged_list_is_taken(const struct aged_list *list, uint32_t slot)
{
    return (list->taken[slot / SLOTS] >> slot % SLOTS & 1) != 0;
}

/* Returns whether the array needs no compaction: it has space for a batch of events, and it has few
 * slots or more blocks than empty slots. */
ALWAYS_INLINE bool aged_list_is_roomy(const struct aged_list *list, uint64_t blocks)
{
    return list->used <= 2 * blocks + 2 * BATCH && list->used + 3 * BATCH <= AGED_SLOTS;
}

/* Records the size of a block. */
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

/* Returns the number of blocks that a walk from the newest or the oldest block visits up to the
 * block in a slot. */
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

/* Returns the newest or oldest block with at least `size` bytes, or NO_BLOCK. Sets `visited` to the
 * number of blocks that a walk visits. */
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
