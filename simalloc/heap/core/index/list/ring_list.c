#include "index/list/ring_list.h"

#include <string.h>

void ring_list_clear(struct ring_list *list)
{
    memset(list->taken, 0, list->rows * sizeof list->taken[0]);
    memset(list->size, 0, list->rows * SLOTS * sizeof list->size[0]);
    list->rows = 0;
    list->blocks = 0;
}

static uint32_t count_blocks(const struct ring_list *list, uint32_t row, uint32_t rows)
{
    uint32_t count = 0;
    for (uint32_t i = row; i < row + rows; i++)
        count += slots_count(list->taken[i]);
    return count;
}

/* Takes the blocks of some rows, in order, and empties the slots. */
static uint32_t take_all(struct ring_list *list, uint32_t row, uint32_t rows)
{
    uint32_t count = 0;
    for (uint32_t i = row; i < row + rows; i++)
        for (uint64_t taken = list->taken[i]; taken != 0; taken &= taken - 1)
            list->spread[count++] = list->block[i * SLOTS + first_slot(taken)];
    memset(&list->taken[row], 0, rows * sizeof list->taken[0]);
    memset(&list->size[row * SLOTS], 0, rows * SLOTS * sizeof list->size[0]);
    return count;
}

/* Gives `count` blocks that have been taken slots of some rows, at equal distances. */
static void give_back(struct ring_list *list, struct block *blocks, uint32_t row, uint32_t rows,
                      uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot = row * SLOTS + (uint32_t)((uint64_t)i * rows * SLOTS / count);
        ring_put(list, blocks, slot, list->spread[i]);
        ring_list_change(list, &blocks[list->spread[i]]);
        list->taken[slot / SLOTS] |= UINT64_C(1) << slot % SLOTS;
    }
}

/* The least power of two of rows in which half of the slots or more are empty. */
static uint32_t rows_due(uint32_t blocks)
{
    uint32_t rows = 1;
    while (rows < RING_ROWS && rows * SLOTS < 2 * blocks)
        rows *= 2;
    return rows;
}

void ring_list_settle(struct ring_list *list, struct block *blocks)
{
    uint32_t count = take_all(list, 0, list->rows);
    list->rows = rows_due(count);
    give_back(list, blocks, 0, list->rows, count);
}

void ring_list_make_room(struct ring_list *list, struct block *blocks, uint32_t row)
{
    for (uint32_t rows = 2; rows <= list->rows; rows *= 2) {
        uint32_t first = row & ~(rows - 1);
        uint32_t count = count_blocks(list, first, rows);
        if (count <= 3 * (rows * SLOTS / 4)) {
            take_all(list, first, rows);
            give_back(list, blocks, first, rows, count);
            return;
        }
    }
    ring_list_settle(list, blocks);
}

uint32_t ring_list_first_large(const struct ring_list *list, const struct block *blocks,
                               uint32_t from, uint64_t size, uint64_t *visited)
{
    uint32_t id = from;
    for (*visited = 1; *visited <= list->blocks; ++*visited) {
        if (blocks[id].size >= size)
            return id;
        id = ring_list_following(list, blocks, id);
    }
    *visited = list->blocks;
    return NO_BLOCK;
}

const char *ring_list_check(const struct ring_list *list, const struct heap *heap)
{
    for (uint32_t slot = 0; slot < RING_SLOTS; slot++) {
        bool taken = (list->taken[slot / SLOTS] >> slot % SLOTS & 1) != 0;
        if (!taken) {
            if (list->size[slot] != 0)
                return "an empty slot of the list has a size";
            continue;
        }
        const struct block *block = &heap->blocks[list->block[slot]];
        if (list->block[slot] >= heap->used || block->index_slot != slot || slot >= list->rows * SLOTS)
            return "a free block does not know its slot";
        if (list->size[slot] != in_short(block->size, list->granule))
            return "the list has a wrong size";
    }
    return count_blocks(list, 0, list->rows) == heap->counters.free_blocks &&
                   list->blocks == heap->counters.free_blocks
               ? NULL
               : "the list does not hold exactly the free blocks";
}
