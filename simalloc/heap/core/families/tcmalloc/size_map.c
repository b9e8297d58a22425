#include "families/tcmalloc/size_map.h"

enum { MOVED_BYTES = 64 * 1024, CHAINED_BYTES = 1024 * 1024 };

/* Returns the candidate size after `size`. */
static uint32_t next_size(uint32_t size, uint64_t page)
{
    uint32_t power = UINT32_C(1) << (31 - (unsigned)__builtin_clz(size));
    uint32_t step = size < 16 ? 8 : power < 128 ? 16 : power / 8;
    return size + (step < page ? step : (uint32_t)page);
}

/* Returns the minimum number of pages that waste at most an eighth and contain at least a quarter
 * of the blocks that move together. */
static uint32_t pages_for(uint32_t size, uint32_t move, uint64_t page)
{
    uint32_t pages = 1;
    while (pages * page % size > pages * page / 8 || pages * page / size < move / 4)
        pages++;
    return pages;
}

static struct size_class class_for(uint32_t size, uint64_t page, uint64_t max_moved)
{
    uint32_t move = MOVED_BYTES / size > 2 ? MOVED_BYTES / size : 2;
    if (move > max_moved)
        move = (uint32_t)max_moved;
    uint32_t pages = pages_for(size, move, page);
    uint32_t chains = CHAINED_BYTES / (size * move);
    return (struct size_class){
        .size = size,
        .pages = pages,
        .blocks = (uint32_t)(pages * page / size),
        .move = move,
        .max_cache_size = chains < 1 ? 1 : chains > MAX_SLOTS ? MAX_SLOTS : chains,
    };
}

/* Sets the smallest sufficient class for each rounded request. */
static void fill(uint8_t *table, uint32_t unit, uint32_t most, const struct size_classes *classes)
{
    uint8_t number = 1;
    for (uint32_t size = 0; size <= most; size += unit) {
        while (classes->classes[number].size < size)
            number++;
        table[size / unit] = number;
    }
}

void tcmalloc_classes_init(struct size_classes *table, uint64_t page, uint64_t max_moved)
{
    table->classes[0] = (struct size_class){.max_cache_size = MAX_SLOTS};
    table->count = 1;
    for (uint32_t size = 8; size <= LARGEST; size = next_size(size, page)) {
        struct size_class new = class_for(size, page, max_moved);
        const struct size_class *last = &table->classes[table->count - 1];
        if (last->pages == new.pages && last->blocks == new.blocks)
            table->count--;
        table->classes[table->count++] = new;
    }
    fill(table->fine, FINE, FINE_UP_TO, table);
    fill(table->coarse, COARSE, LARGEST, table);
}
