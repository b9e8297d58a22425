#include "index/list/aged_list.h"

#include <string.h>

static uint32_t rows_used(const struct aged_list *list)
{
    return (list->used + SLOTS - 1) / SLOTS;
}

void aged_list_clear(struct aged_list *list)
{
    uint32_t rows = rows_used(list);
    memset(list->bound, 0, rows * sizeof list->bound[0]);
    memset(list->largest, 0, rows * sizeof list->largest[0]);
    memset(list->taken, 0, rows * sizeof list->taken[0]);
    memset(list->count, 0, rows * sizeof list->count[0]);
    memset(list->size, 0, list->used * sizeof list->size[0]);
    list->used = 0;
}

/* Moves a block to the same slot or an earlier slot. The row of the new slot has been cleared. */
static void move(struct aged_list *list, struct block *blocks, uint32_t from, uint32_t to)
{
    uint32_t id = list->block[from];
    list->block[to] = id;
    list->taken[to / SLOTS] |= UINT64_C(1) << to % SLOTS;
    list->count[to / SLOTS]++;
    blocks[id].index_slot = to;
    aged_list_change(list, &blocks[id]);
}

void aged_list_pack(struct aged_list *list, struct block *blocks)
{
    uint32_t rows = rows_used(list);
    uint32_t count = 0;
    for (uint32_t row = 0; row < rows; row++) {
        uint64_t taken = list->taken[row];
        list->taken[row] = list->count[row] = list->bound[row] = 0;
        list->largest[row] = 0;
        for (; taken != 0; taken &= taken - 1)
            move(list, blocks, row * SLOTS + first_slot(taken), count++);
    }
    memset(&list->size[count], 0, (list->used - count) * sizeof list->size[0]);
    list->used = count;
}

/* Returns the first or last slot of a row whose block has at least `size` bytes, for a `size` of at
 * least SHORT_SIZE granules. Without such a block, lowers the row's bound `largest` to the true
 * maximum and returns SLOTS. */
static uint32_t large_in_row(struct aged_list *list, const struct heap *heap, uint32_t row,
                             uint64_t size, bool last)
{
    uint64_t largest = 0;
    for (uint32_t i = 0; i < SLOTS; i++) {
        uint32_t slot = last ? SLOTS - 1 - i : i;
        if (list->size[row * SLOTS + slot] < SHORT_SIZE)
            continue;
        uint64_t there = heap->blocks[list->block[row * SLOTS + slot]].size;
        if (there >= size)
            return slot;
        largest = there > largest ? there : largest;
    }
    list->largest[row] = largest;
    return SLOTS;
}

uint32_t aged_list_first_large(struct aged_list *list, const struct heap *heap, uint64_t size,
                               bool newest, uint64_t *visited)
{
    uint32_t rows = rows_used(list);
    for (uint32_t i = 0; i < rows; i++) {
        uint32_t row = newest ? rows - 1 - i : i;
        if (list->bound[row] < SHORT_SIZE || list->largest[row] < size)
            continue;
        uint32_t slot = large_in_row(list, heap, row, size, newest);
        if (slot == SLOTS)
            continue;
        *visited = aged_list_visits(list, row * SLOTS + slot, newest);
        return list->block[row * SLOTS + slot];
    }
    *visited = heap->counters.free_blocks;
    return NO_BLOCK;
}

static const char *check_slot(const struct aged_list *list, const struct heap *heap, uint32_t slot)
{
    if (!aged_list_is_taken(list, slot))
        return list->size[slot] == 0 ? NULL : "an empty slot of the list has a size";
    const struct block *block = &heap->blocks[list->block[slot]];
    if (list->block[slot] >= heap->used || block->index_slot != slot)
        return "a free block records the wrong slot";
    if (list->size[slot] != in_short(block->size, list->granule))
        return "a slot of the list has the wrong size";
    bool more = list->size[slot] == SHORT_SIZE && block->size > list->largest[slot / SLOTS];
    return list->size[slot] > list->bound[slot / SLOTS] || more
               ? "the size bound of a row is less than the size of a block in it"
               : NULL;
}

const char *aged_list_check(const struct aged_list *list, const struct heap *heap)
{
    uint64_t blocks = 0;
    for (uint32_t slot = 0; slot < rows_used(list) * SLOTS; slot++) {
        const char *wrong = check_slot(list, heap, slot);
        if (wrong != NULL)
            return wrong;
    }
    for (uint32_t row = 0; row < rows_used(list); row++) {
        if (list->count[row] != slots_count(list->taken[row]))
            return "a row of the list miscounts its blocks";
        blocks += list->count[row];
    }
    return blocks == heap->counters.free_blocks ? NULL
                                                : "the list does not hold exactly the free blocks";
}
