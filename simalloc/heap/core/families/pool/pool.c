#include "families/pool/pool.h"

uint32_t pool_add_region(struct pool *pool, uint64_t start, uint64_t size)
{
    struct heap *heap = &pool->heap;
    if (size == 0 || pool->region_count == MAX_REGIONS)
        return NO_BLOCK;
    if (start > heap->brk) {
        uint32_t gap = heap_extend(heap, start - heap->brk);
        if (gap == NO_BLOCK)
            return NO_BLOCK;
        heap_unmap(heap, gap);
    }
    uint32_t id = heap_extend(heap, size);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    pool->regions[pool->region_count++] = (struct pool_region){start, start + size, start};
    heap->mapped -= size;
    heap->untouched += size;
    return id;
}

uint32_t pool_take_table(struct pool *pool, uint32_t id, uint64_t size)
{
    struct heap *heap = &pool->heap;
    uint64_t address = heap->blocks[id].address;
    if (size == 0)
        return id;
    uint32_t rest = size < heap->blocks[id].size ? heap_cut_off(heap, id, size) : NO_BLOCK;
    pool_hand_out(pool, id);
    heap_mark(heap, id, STATE_TABLE);
    heap_touch(heap, address, size);
    return rest;
}

void pool_close(struct pool *pool, uint32_t id, uint64_t size)
{
    if (size >= pool->heap.blocks[id].size)
        return;
    heap_mark(&pool->heap, size == 0 ? id : heap_cut_off(&pool->heap, id, size), STATE_TABLE);
}

struct pool_region *pool_region_of(struct pool *pool, uint64_t address)
{
    struct pool_region *region = pool->regions;
    while (address >= region->end)
        region++;
    return region;
}

void pool_locate(const struct heap *heap, uint32_t block, struct location *location)
{
    struct pool *pool = (struct pool *)heap;
    uint64_t address = heap->blocks[block].address;
    const struct pool_region *region = pool_region_of(pool, address);
    location->region = region - pool->regions;
    location->number = heap->blocks[block].index_slot == STATE_TABLE;
    location->offset =
        (int64_t)(address + heap->setting.payload + heap->blocks[block].family_data);
}

bool pool_has_no_realloc(struct heap *heap, uint32_t block, uint64_t size)
{
    (void)heap, (void)block, (void)size;
    return false;
}

const char *pool_check(const struct pool *pool, uint64_t free_blocks)
{
    const struct heap *heap = &pool->heap;
    if (free_blocks != heap->counters.free_blocks)
        return "the indexes do not hold exactly the free blocks";
    for (uint32_t id = heap_first(heap); id != NO_BLOCK; id = heap->blocks[id].next)
        if (heap->blocks[id].index_slot == STATE_WASTE)
            return "a block is neither free nor in use";
    for (uint32_t i = 0; i < pool->region_count; i++)
        if (pool->regions[i].high > pool->regions[i].end)
            return "the peak of a region exceeds its size";
    return heap_check(heap);
}
