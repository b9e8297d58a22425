/* How memory goes back to the device. */
#include "pytorch.h"

#include <stdlib.h>

static void release(struct pytorch *pytorch, uint32_t id)
{
    struct allocator *allocator = &pytorch->allocator;
    struct block block = allocator->blocks.table[id];
    pytorch_take(pytorch, id);
    blocks_drop(&allocator->blocks, id);
    memory_free(&allocator->memory, block.address, block.size);
    count_segment_back(allocator, block.pool, block.size);
    gauge_add(&allocator->statistics.oversize_segments, -(uint64_t)(block.size >= pytorch->max_split));
}

/* The free blocks of a pool in order, in memory to be freed; NULL, and it cannot go on, if memory
 * is exhausted. */
static uint32_t *listed(struct pytorch *pytorch, uint32_t pool)
{
    uint32_t *list = tree_list(&pytorch->pools[pool].free, &pytorch->allocator.blocks);
    if (list == NULL)
        pytorch->allocator.failure = "memory is exhausted";
    return list;
}

static void release_pool(struct pytorch *pytorch, uint32_t pool)
{
    struct blocks *blocks = &pytorch->allocator.blocks;
    uint32_t count = pytorch->pools[pool].free.count, pages = 0;
    uint32_t *list = listed(pytorch, pool);
    if (list == NULL)
        return;
    for (uint32_t i = 0; i < count; i++) {
        const struct block *block = &blocks->table[list[i]];
        if (block->expandable)
            list[pages++] = list[i];
        else if (block_is_whole(block))
            release(pytorch, list[i]);
    }
    for (uint32_t i = 0; i < pages; i++) {
        if (!blocks_reserve(blocks, BLOCKS_AN_EVENT)) {
            pytorch->allocator.failure = "memory is exhausted";
            break;
        }
        pytorch_unmap(pytorch, list[i]);
    }
    free(list);
}

void pytorch_release_all(struct pytorch *pytorch)
{
    release_pool(pytorch, 0);
    release_pool(pytorch, 1);
}

bool pytorch_release_oversize(struct pytorch *pytorch, uint32_t pool, uint32_t stream,
                              uint64_t size)
{
    if (pytorch->max_split == NO_LIMIT)
        return false;
    const struct tree *tree = &pytorch->pools[pool].free;
    const struct blocks *blocks = &pytorch->allocator.blocks;
    uint64_t wanted = size > pytorch->max_split ? size : pytorch->max_split;
    struct place place = {wanted, 0, stream};
    uint32_t id = tree_first(tree, blocks, place);
    if (id != NO_BLOCK && blocks->table[id].stream == stream && !blocks->table[id].expandable) {
        release(pytorch, id);
        return true;
    }
    uint64_t released = 0;
    while (released < wanted) {
        id = tree_last_before(tree, blocks, place);
        if (id == NO_BLOCK || blocks->table[id].stream != stream ||
            blocks->table[id].size < pytorch->max_split)
            break;
        place = tree_place(blocks, id);
        if (!blocks->table[id].expandable) {
            released += blocks->table[id].size;
            release(pytorch, id);
        }
    }
    return released >= wanted;
}

/* Gives back the whole blocks of a list, at least as old as the average, and takes them out of the
 * list and the sums; returns their bytes. */
static uint64_t collect_round(struct pytorch *pytorch, uint32_t *list, uint32_t *count,
                              uint64_t *whole, uint64_t *ages)
{
    const struct block *table = pytorch->allocator.blocks.table;
    uint64_t searches = pytorch->pools[0].searches, reclaimed = 0;
    double limit = (double)*ages / (double)*whole;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < *count; i++) {
        const struct block *block = &table[list[i]];
        uint64_t age = searches - block->entered;
        if (!block_is_whole(block) || block->expandable || (double)age < limit) {
            list[kept++] = list[i];
            continue;
        }
        reclaimed += block->size;
        *ages -= age;
        --*whole;
        release(pytorch, list[i]);
    }
    *count = kept;
    return reclaimed;
}

void pytorch_collect_garbage(struct pytorch *pytorch)
{
    const struct block *table = pytorch->allocator.blocks.table;
    uint64_t reserved = pytorch->allocator.statistics.reserved.all.now;
    if (reserved <= pytorch->collected_above)
        return;
    uint64_t target = reserved - pytorch->collected_above, whole = 0, ages = 0;
    uint32_t count = pytorch->pools[0].free.count;
    uint32_t *list = listed(pytorch, 0);
    if (list == NULL)
        return;
    for (uint32_t i = 0; i < count; i++) {
        if (block_is_whole(&table[list[i]])) {
            whole++;
            ages += pytorch->pools[0].searches - table[list[i]].entered;
        }
    }
    for (uint64_t reclaimed = 0, last = 1; reclaimed < target && last != 0 && whole != 0;) {
        last = collect_round(pytorch, list, &count, &whole, &ages);
        reclaimed += last;
    }
    free(list);
}
