#include "index/list/flat_list.h"

void flat_list_clear(struct flat_list *list)
{
    list->clock = 0;
    list->steps = 1;
    list->empty = 0;
    for (uint32_t slot = 0; slot < FLAT_SLOTS; slot++) {
        list->size[slot] = 0;
        list->place[slot] = FLAT_EMPTY;
        list->block[slot] = slot + 1;
    }
}

void flat_list_blocks(const struct flat_list *list, bool ordered, uint32_t *blocks)
{
    uint32_t rank = 0;
    for (uint32_t slot = 0; slot < list->steps * FLAT_STEP; slot++) {
        if (list->place[slot] == FLAT_EMPTY)
            continue;
        if (!ordered)
            rank = flat_list_rank(list, (uint32_t)list->place[slot]);
        blocks[rank++] = list->block[slot];
    }
}

/* Returns the sort key of the block in a slot, or UINT64_MAX if the slot is empty. */
static uint64_t position(const struct flat_list *list, const struct heap *heap, uint32_t slot,
                         bool ordered)
{
    if (list->place[slot] == FLAT_EMPTY)
        return UINT64_MAX;
    return ordered ? heap->blocks[list->block[slot]].address : (uint64_t)list->place[slot];
}

uint32_t flat_list_ask(const struct flat_list *list, const struct heap *heap, uint64_t size,
                       bool ordered, uint64_t *visited)
{
    uint32_t slots = list->steps * FLAT_STEP;
    uint32_t first = FLAT_NOWHERE;
    uint64_t least = UINT64_MAX;
    for (uint32_t slot = 0; slot < slots; slot++) {
        uint64_t at = position(list, heap, slot, ordered);
        if (at < least && heap->blocks[list->block[slot]].size >= size) {
            first = slot;
            least = at;
        }
    }
    *visited = first != FLAT_NOWHERE;
    for (uint32_t slot = 0; slot < slots; slot++)
        *visited += position(list, heap, slot, ordered) < least;
    return first;
}

/* Returns whether the list of empty slots contains each empty slot exactly once. */
static bool is_chained(const struct flat_list *list)
{
    uint32_t empty = 0;
    for (uint32_t slot = 0; slot < FLAT_SLOTS; slot++)
        empty += list->place[slot] == FLAT_EMPTY;
    uint32_t slot = list->empty;
    for (; empty > 0 && slot < FLAT_SLOTS && list->place[slot] == FLAT_EMPTY; empty--)
        slot = list->block[slot];
    return empty == 0 && slot == FLAT_SLOTS;
}

static const char *check_slot(const struct flat_list *list, const struct heap *heap, uint32_t slot,
                              bool ordered)
{
    const struct block *block = &heap->blocks[list->block[slot]];
    if (list->block[slot] >= heap->used || block->index_slot != slot)
        return "a free block records the wrong slot";
    if (slot >= list->steps * FLAT_STEP)
        return "a used slot of the list would not be searched";
    if (list->size[slot] != (int32_t)(block->size >> list->granule))
        return "a slot of the list has the wrong size";
    uint32_t key = (uint32_t)list->place[slot] >> FLAT_SLOT_BITS;
    if (ordered ? list->place[slot] != flat_place(block->address >> list->granule, slot)
                : list->place[slot] < 0 || key >= list->clock)
        return "a slot of the list has the wrong place in the order";
    return NULL;
}

const char *flat_list_check(const struct flat_list *list, const struct heap *heap, bool ordered)
{
    uint64_t blocks = 0;
    for (uint32_t slot = 0; slot < FLAT_SLOTS; slot++) {
        if (list->place[slot] == FLAT_EMPTY) {
            if (list->size[slot] != 0)
                return "an empty slot of the list has a size";
            continue;
        }
        blocks++;
        const char *wrong = check_slot(list, heap, slot, ordered);
        if (wrong != NULL)
            return wrong;
    }
    if (blocks != heap->counters.free_blocks)
        return "the list does not hold exactly the free blocks";
    return is_chained(list) ? NULL : "an empty slot is missing from the chain of empty slots";
}
