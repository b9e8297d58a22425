/* Every request is a call to the device. */
#include "allocator.h"

static bool init(struct allocator *allocator)
{
    (void)allocator;
    return true;
}

static void release(struct allocator *allocator)
{
    (void)allocator;
}

static uint32_t allocate(struct allocator *allocator, uint64_t size, uint32_t stream,
                         uint32_t pool)
{
    uint64_t address, rounded = round_up(size, GRANULE);
    (void)pool;
    if (!memory_allocate(&allocator->memory, rounded, &address))
        return NO_BLOCK;
    uint32_t id = blocks_make(&allocator->blocks, address, rounded, stream, 0);
    count_segment(allocator, 0, rounded);
    count_handed_out(allocator, id, size);
    return id;
}

static void give_back(struct allocator *allocator, uint32_t id)
{
    struct block block = allocator->blocks.table[id];
    count_taken_back(allocator, id);
    count_segment_back(allocator, 0, block.size);
    memory_free(&allocator->memory, block.address, block.size);
    blocks_drop(&allocator->blocks, id);
}

static const struct device_parameter parameters[] = {
    {"capacity", offsetof(struct allocator, memory.capacity), 1},
    {NULL, 0, 0},
};

const struct device_family no_cache_family = {
    .name = "no cache",
    .state_size = sizeof(struct allocator),
    .parameters = parameters,
    .init = init,
    .release = release,
    .allocate = allocate,
    .free = give_back,
};
