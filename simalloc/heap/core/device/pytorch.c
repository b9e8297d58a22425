/* Allocation and free. */
#include "pytorch.h"

#include <stdlib.h>

#define UNIT UINT64_C(512)
#define MIDDLE (UINT64_C(10) << 20)

static struct pytorch *pytorch_of(struct allocator *allocator)
{
    return (struct pytorch *)allocator;
}

void pytorch_put(struct pytorch *pytorch, uint32_t id)
{
    struct blocks *blocks = &pytorch->allocator.blocks;
    struct pool *pool = &pytorch->pools[blocks->table[id].pool];
    blocks->table[id].entered = pool->searches;
    tree_insert(&pool->free, blocks, id);
    pytorch->allocator.statistics.free_blocks++;
}

void pytorch_take(struct pytorch *pytorch, uint32_t id)
{
    struct blocks *blocks = &pytorch->allocator.blocks;
    tree_remove(&pytorch->pools[blocks->table[id].pool].free, blocks, id);
    pytorch->allocator.statistics.free_blocks--;
}

uint64_t pytorch_merge(struct pytorch *pytorch, uint32_t id)
{
    struct blocks *blocks = &pytorch->allocator.blocks;
    uint64_t swallowed = 0;
    for (int side = 0; side < 2; side++) {
        const struct block *block = &blocks->table[id];
        uint32_t neighbour = side == 0 ? block->previous : block->next;
        const struct block *other = &blocks->table[neighbour];
        if (neighbour == NO_BLOCK || other->in_use || other->mapped != block->mapped)
            continue;
        if (block->mapped)
            pytorch_take(pytorch, neighbour);
        else
            tree_remove(&pytorch->pools[block->pool].unmapped, blocks, neighbour);
        swallowed += other->size;
        blocks_absorb(blocks, id, neighbour);
        blocks->coalescings++;
    }
    return swallowed;
}

static uint64_t rounded(const struct pytorch *pytorch, uint64_t size)
{
    if (size < UNIT)
        return UNIT;
    unsigned power = 63 - (unsigned)__builtin_clzll(size);
    unsigned interval = power < 20 ? 0 : power - 20;
    uint64_t divisions = pytorch->divisions[interval < INTERVALS ? interval : INTERVALS - 1];
    if (divisions > 1 && size > UNIT * divisions)
        return round_up(size, (UINT64_C(1) << power) / divisions);
    return round_up(size, UNIT);
}

static uint64_t segment_size(const struct pytorch *pytorch, uint64_t size)
{
    if (size <= SMALL)
        return GRANULE;
    return size < MIDDLE ? pytorch->large_segment : round_up(size, GRANULE);
}

static bool pools_reserve(struct pytorch *pytorch, uint32_t number)
{
    if (number < pytorch->pool_count)
        return true;
    struct pool *pools = realloc(pytorch->pools, ((size_t)number + 2) * sizeof *pools);
    if (pools == NULL)
        return false;
    pytorch->pools = pools;
    while (pytorch->pool_count < number + 2)
        pools[pytorch->pool_count++] = (struct pool){.unmapped.by_address = true};
    return true;
}

/* The best fit among the stream's free blocks, out of the pool, if it may be taken. */
static uint32_t search(struct pytorch *pytorch, uint32_t number, uint32_t stream, uint64_t size)
{
    struct pool *pool = &pytorch->pools[number];
    const struct blocks *blocks = &pytorch->allocator.blocks;
    pool->searches += pytorch->collected_above != NO_LIMIT;
    uint32_t id = tree_first(&pool->free, blocks, (struct place){size, 0, stream});
    if (id == NO_BLOCK || blocks->table[id].stream != stream)
        return NO_BLOCK;
    while (blocks->table[id].expandable) {
        uint32_t next = tree_next(&pool->free, blocks, id);
        if (next == NO_BLOCK || blocks->table[next].stream != stream ||
            pytorch_reach(pytorch, next) >= pytorch_reach(pytorch, id))
            break;
        id = next;
    }
    uint64_t found = blocks->table[id].size;
    if (size < pytorch->max_split && found >= pytorch->max_split)
        return NO_BLOCK;
    if (size >= pytorch->max_split && found >= size + pytorch->non_split_rounding)
        return NO_BLOCK;
    pytorch_take(pytorch, id);
    return id;
}

/* A free block of new memory, which is in no pool; NO_BLOCK if the device refuses. */
static uint32_t new_segment(struct pytorch *pytorch, uint32_t pool, uint32_t stream, uint64_t size)
{
    struct allocator *allocator = &pytorch->allocator;
    uint64_t address, segment = segment_size(pytorch, size);
    if (allocator->statistics.reserved.all.now + segment > pytorch->allowed)
        return NO_BLOCK;
    if (pytorch->expandable)
        return pytorch_grow(pytorch, pool, stream, size);
    if (!memory_allocate(&allocator->memory, segment, &address))
        return NO_BLOCK;
    count_segment(allocator, pool, segment);
    gauge_add(&allocator->statistics.oversize_segments, segment >= pytorch->max_split);
    return blocks_make(&allocator->blocks, address, segment, stream, pool);
}

static void free_now(struct pytorch *pytorch, uint32_t id)
{
    struct allocator *allocator = &pytorch->allocator;
    struct block *block = &allocator->blocks.table[id];
    struct statistics *statistics = &allocator->statistics;
    gauges_add(&statistics->active, block->pool, -block->size);
    gauges_add(&statistics->requested, block->pool, -block->requested);
    block->in_use = block->shared = false;
    block->requested = 0;
    uint64_t swallowed = pytorch_merge(pytorch, id);
    pytorch_put(pytorch, id);
    if (!block->expandable)
        gauges_add(&statistics->inactive_split, block->pool,
                   (block_is_whole(block) ? 0 : block->size) - swallowed);
}

/* Frees the blocks that waited for other streams, which are done by now. */
static void free_waiting(struct pytorch *pytorch)
{
    for (size_t i = 0; i < pytorch->waiting_count; i++)
        free_now(pytorch, pytorch->waiting[i]);
    pytorch->waiting_count = 0;
}

/* Asks the device for memory, and gives back more and more until it has some. */
static uint32_t from_device(struct pytorch *pytorch, uint32_t pool, uint32_t stream, uint64_t size)
{
    pytorch_collect_garbage(pytorch);
    uint32_t id = new_segment(pytorch, pool, stream, size);
    if (id == NO_BLOCK && pytorch_release_oversize(pytorch, pool, stream, size))
        id = new_segment(pytorch, pool, stream, size);
    if (id != NO_BLOCK)
        return id;
    pytorch->allocator.statistics.retries++;
    pytorch_release_all(pytorch);
    return new_segment(pytorch, pool, stream, size);
}

/* Puts what is left of a block back, if it is worth it. */
static void split(struct pytorch *pytorch, uint32_t id, uint64_t size)
{
    struct blocks *blocks = &pytorch->allocator.blocks;
    struct gauges *inactive = &pytorch->allocator.statistics.inactive_split;
    struct block block = blocks->table[id];
    uint64_t rest = block.size - size;
    bool whole = block_is_whole(&block);
    bool splits = pool_is_small(block.pool) || pytorch->expandable
                      ? rest >= UNIT
                      : size < pytorch->max_split && rest > SMALL;
    if (splits) {
        pytorch_put(pytorch, blocks_cut(blocks, id, size));
        blocks->splits++;
    }
    if (block.expandable)
        return;
    if (!whole)
        gauges_add(inactive, block.pool, -(splits ? size : block.size));
    else if (splits)
        gauges_add(inactive, block.pool, rest);
}

static uint32_t allocate(struct allocator *allocator, uint64_t requested, uint32_t stream,
                         uint32_t private_pool)
{
    struct pytorch *pytorch = pytorch_of(allocator);
    free_waiting(pytorch);
    uint64_t size = rounded(pytorch, requested);
    uint32_t pool = 2 * private_pool + (size <= SMALL);
    if (!pools_reserve(pytorch, 2 * private_pool)) {
        allocator->failure = "memory is exhausted";
        return NO_BLOCK;
    }
    uint32_t id = search(pytorch, pool, stream, size);
    if (id == NO_BLOCK)
        id = from_device(pytorch, pool, stream, size);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    split(pytorch, id, size);
    count_handed_out(allocator, id, requested);
    gauge_add(&allocator->statistics.oversize_allocations,
              allocator->blocks.table[id].size >= pytorch->max_split);
    return id;
}

static bool wait(struct pytorch *pytorch, uint32_t id)
{
    if (pytorch->waiting_count == pytorch->waiting_capacity) {
        size_t capacity = 2 * pytorch->waiting_capacity + 16;
        uint32_t *waiting = realloc(pytorch->waiting, capacity * sizeof *waiting);
        if (waiting == NULL)
            return false;
        pytorch->waiting = waiting;
        pytorch->waiting_capacity = capacity;
    }
    pytorch->waiting[pytorch->waiting_count++] = id;
    return true;
}

static void free_block(struct allocator *allocator, uint32_t id)
{
    struct pytorch *pytorch = pytorch_of(allocator);
    const struct block *block = &allocator->blocks.table[id];
    gauges_add(&allocator->statistics.allocated, block->pool, -block->size);
    gauge_add(&allocator->statistics.oversize_allocations,
              -(uint64_t)(block->size >= pytorch->max_split));
    if (!block->shared)
        free_now(pytorch, id);
    else if (!wait(pytorch, id))
        allocator->failure = "memory is exhausted";
}

static void empty(struct allocator *allocator)
{
    free_waiting(pytorch_of(allocator));
    pytorch_release_all(pytorch_of(allocator));
}

static bool init(struct allocator *allocator)
{
    return pools_reserve(pytorch_of(allocator), 0);
}

static void release(struct allocator *allocator)
{
    free(pytorch_of(allocator)->pools);
    free(pytorch_of(allocator)->waiting);
}

static const struct device_parameter parameters[] = {
    {"capacity", offsetof(struct pytorch, allocator.memory.capacity), 1},
    {"divisions", offsetof(struct pytorch, divisions), INTERVALS},
    {"max_split", offsetof(struct pytorch, max_split), 1},
    {"non_split_rounding", offsetof(struct pytorch, non_split_rounding), 1},
    {"large_segment", offsetof(struct pytorch, large_segment), 1},
    {"allowed", offsetof(struct pytorch, allowed), 1},
    {"collected_above", offsetof(struct pytorch, collected_above), 1},
    {"expandable", offsetof(struct pytorch, expandable), 1},
    {"range", offsetof(struct pytorch, range), 1},
    {NULL, 0, 0},
};

const struct device_family pytorch_family = {
    .name = "pytorch",
    .state_size = sizeof(struct pytorch),
    .parameters = parameters,
    .init = init,
    .release = release,
    .allocate = allocate,
    .free = free_block,
    .empty = empty,
    .knows_streams = true,
};
