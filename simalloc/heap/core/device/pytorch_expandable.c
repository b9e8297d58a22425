/* Ranges of addresses, of which pages are mapped and unmapped. */
#include "pytorch.h"

static uint64_t page_size(const struct pytorch *pytorch, uint32_t pool)
{
    return pool_is_small(pool) ? GRANULE : pytorch->large_segment;
}

uint64_t pytorch_reach(const struct pytorch *pytorch, uint32_t id)
{
    const struct block *table = pytorch->allocator.blocks.table;
    uint32_t next = table[id].next;
    return table[id].size + (next != NO_BLOCK && !table[next].mapped ? table[next].size : 0);
}

static bool has_room(const struct pytorch *pytorch, uint32_t id, uint64_t size)
{
    const struct block *table = pytorch->allocator.blocks.table;
    for (uint64_t found = 0; found < size; id = table[id].next) {
        if (id == NO_BLOCK || table[id].in_use)
            return false;
        found += table[id].size;
    }
    return true;
}

/* A new range of addresses, none of which is mapped; NO_BLOCK if it is shorter than `size`: it is
 * given up at once, and its addresses are lost. */
static uint32_t new_range(struct pytorch *pytorch, uint32_t pool, uint32_t stream, uint64_t size)
{
    struct allocator *allocator = &pytorch->allocator;
    uint64_t range = round_up(pytorch->range, page_size(pytorch, pool));
    uint64_t address = memory_reserve(&allocator->memory, range);
    if (range < size)
        return NO_BLOCK;
    uint32_t id = blocks_make(&allocator->blocks, address, range, stream, pool);
    allocator->blocks.table[id].mapped = false;
    allocator->blocks.table[id].expandable = true;
    allocator->blocks.table[id].origin = address;
    tree_insert(&pytorch->pools[pool].unmapped, &allocator->blocks, id);
    return id;
}

/* The first block from which free and unmapped ones reach far enough; NO_BLOCK if none does. */
static uint32_t start(struct pytorch *pytorch, uint32_t pool, uint32_t stream, uint64_t size)
{
    const struct tree *unmapped = &pytorch->pools[pool].unmapped;
    const struct blocks *blocks = &pytorch->allocator.blocks;
    uint32_t id = tree_first(unmapped, blocks, (struct place){.stream = stream});
    while (id != NO_BLOCK && blocks->table[id].stream == stream) {
        uint32_t before = blocks->table[id].previous;
        uint32_t from = before != NO_BLOCK && !blocks->table[before].in_use ? before : id;
        if (has_room(pytorch, from, size))
            return from;
        id = tree_next(unmapped, blocks, id);
    }
    return new_range(pytorch, pool, stream, size);
}

/* Maps whole pages from the beginning of an unmapped block on; false if they are refused. */
static bool map(struct pytorch *pytorch, uint32_t id, uint64_t size)
{
    struct allocator *allocator = &pytorch->allocator;
    struct blocks *blocks = &allocator->blocks;
    struct tree *unmapped = &pytorch->pools[blocks->table[id].pool].unmapped;
    size = round_up(size, page_size(pytorch, blocks->table[id].pool));
    if (!memory_map(&allocator->memory, blocks->table[id].address, size))
        return false;
    tree_remove(unmapped, blocks, id);
    if (blocks->table[id].size > size)
        tree_insert(unmapped, blocks, blocks_cut(blocks, id, size));
    blocks->table[id].mapped = true;
    gauges_add(&allocator->statistics.reserved, blocks->table[id].pool, size);
    pytorch_merge(pytorch, id);
    pytorch_put(pytorch, id);
    return true;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint32_t pytorch_grow(struct pytorch *pytorch, uint32_t pool, uint32_t stream, uint64_t size)
{
    struct blocks *blocks = &pytorch->allocator.blocks;
    uint32_t id = start(pytorch, pool, stream, size);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    if (!blocks->table[id].mapped && !map(pytorch, id, least(blocks->table[id].size, size)))
        return NO_BLOCK;
    while (blocks->table[id].size < size) {
        uint32_t next = blocks->table[id].next; /* it takes in the block before it */
        uint64_t missing = size - blocks->table[id].size;
        if (!blocks_reserve(blocks, BLOCKS_AN_EVENT)) {
            pytorch->allocator.failure = "memory is exhausted";
            return NO_BLOCK;
        }
        if (!map(pytorch, next, least(missing, blocks->table[next].size)))
            return NO_BLOCK;
        id = next;
    }
    pytorch_take(pytorch, id);
    return id;
}

void pytorch_unmap(struct pytorch *pytorch, uint32_t id)
{
    struct allocator *allocator = &pytorch->allocator;
    struct blocks *blocks = &allocator->blocks;
    struct block block = blocks->table[id];
    uint64_t page = page_size(pytorch, block.pool);
    uint64_t inside = block.address - block.origin;
    uint64_t low = block.origin + round_up(inside, page);
    uint64_t high = block.origin + (inside + block.size) / page * page;
    if (low >= high)
        return;
    pytorch_take(pytorch, id);
    if (block.address + block.size > high)
        pytorch_put(pytorch, blocks_cut(blocks, id, high - block.address));
    if (block.address < low) {
        uint32_t rest = blocks_cut(blocks, id, low - block.address);
        pytorch_put(pytorch, id);
        id = rest;
    }
    blocks->table[id].mapped = false;
    memory_unmap(&allocator->memory, low, high - low);
    gauges_add(&allocator->statistics.reserved, block.pool, low - high);
    pytorch_merge(pytorch, id);
    if (block_is_whole(&blocks->table[id]))
        blocks_drop(blocks, id); /* the range is gone */
    else
        tree_insert(&pytorch->pools[block.pool].unmapped, blocks, id);
}
