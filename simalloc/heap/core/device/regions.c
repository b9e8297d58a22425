/* Best fit with coalescing in regions: BFC, and ONNX Runtime's arena. */
#include "allocator.h"

#include <stdlib.h>

enum { UNIT = 256, LEAST_BACK_OFF = 8 << 10 };
static const uint64_t FIRST_STEP = UINT64_C(2) << 20;

struct regions {
    struct allocator allocator;
    struct tree free; /* all of one stream */
    uint64_t limit;
    uint64_t always_split; /* a rest of so much */
    uint64_t step;         /* what the next region has */
    /* BFC: */
    uint64_t growth;     /* or is there one region of all? */
    uint64_t collection; /* of free regions before memory is out? */
    /* ONNX Runtime: */
    uint64_t doubling; /* or has a region the size of its request? */
    uint64_t initial_chunk, initial_growth, max_extend;
    uint32_t has_first;
    uint64_t first; /* where the first region begins, which stays */
};

static struct regions *regions_of(struct allocator *allocator)
{
    return (struct regions *)allocator;
}

static void put(struct regions *regions, uint32_t id)
{
    tree_insert(&regions->free, &regions->allocator.blocks, id);
    regions->allocator.statistics.free_blocks++;
}

static void take(struct regions *regions, uint32_t id)
{
    tree_remove(&regions->free, &regions->allocator.blocks, id);
    regions->allocator.statistics.free_blocks--;
}

static uint32_t best_fit(struct regions *regions, uint64_t size)
{
    uint32_t id = tree_first(&regions->free, &regions->allocator.blocks,
                             (struct place){.size = size});
    if (id != NO_BLOCK)
        take(regions, id);
    return id;
}

static uint32_t hand_out(struct regions *regions, uint32_t id, uint64_t size, uint64_t requested)
{
    struct blocks *blocks = &regions->allocator.blocks;
    uint64_t whole = blocks->table[id].size;
    if (whole >= 2 * size || whole - size >= regions->always_split) {
        put(regions, blocks_cut(blocks, id, size));
        blocks->splits++;
    }
    count_handed_out(&regions->allocator, id, requested);
    return id;
}

static void free_block(struct allocator *allocator, uint32_t id)
{
    struct regions *regions = regions_of(allocator);
    struct blocks *blocks = &allocator->blocks;
    count_taken_back(allocator, id);
    for (int side = 0; side < 2; side++) {
        uint32_t neighbour = side == 0 ? blocks->table[id].next : blocks->table[id].previous;
        if (neighbour == NO_BLOCK || blocks->table[neighbour].in_use)
            continue;
        take(regions, neighbour);
        blocks_absorb(blocks, id, neighbour);
        blocks->coalescings++;
    }
    put(regions, id);
}

static uint64_t room(const struct regions *regions)
{
    return (regions->limit - regions->allocator.statistics.reserved.all.now) / UNIT * UNIT;
}

/* Takes a region, a tenth less each time the device refuses. Of nine units and fewer that is as much
   again, rounded up; the real allocator asks for it for ever. */
static bool new_region(struct regions *regions, uint64_t wanted, uint64_t size, uint64_t least)
{
    struct allocator *allocator = &regions->allocator;
    uint64_t address;
    while (!memory_allocate(&allocator->memory, wanted, &address)) {
        float tenth_less = (float)wanted * 0.9F;
        uint64_t less = round_up((uint64_t)tenth_less, UNIT);
        if (less < size || less < least || less == wanted)
            return false;
        wanted = less;
    }
    put(regions, blocks_make(&allocator->blocks, address, wanted, 0, 0));
    if (!regions->has_first) {
        regions->has_first = 1;
        regions->first = address;
    }
    count_segment(allocator, 0, wanted);
    return true;
}

static void give_back(struct regions *regions, uint32_t id)
{
    struct block block = regions->allocator.blocks.table[id];
    take(regions, id);
    blocks_drop(&regions->allocator.blocks, id);
    memory_free(&regions->allocator.memory, block.address, block.size);
    count_segment_back(&regions->allocator, 0, block.size);
}

/* Doubles the step until it has room for a size; returns whether that was needed. */
static bool reach(struct regions *regions, uint64_t size)
{
    bool doubled = false;
    for (; size > regions->step; doubled = true)
        regions->step *= 2;
    return doubled;
}

static bool bfc_extend(struct regions *regions, uint64_t size)
{
    uint64_t left = room(regions);
    if (size > left)
        return false;
    bool doubled = reach(regions, size);
    if (!new_region(regions, regions->step < left ? regions->step : left, size, 0))
        return false;
    if (!doubled)
        regions->step *= 2;
    return true;
}

/* Gives back the regions that are wholly free, if that makes room for a size. */
static bool bfc_collect(struct regions *regions, uint64_t size)
{
    struct allocator *allocator = &regions->allocator;
    uint32_t count = regions->free.count;
    uint32_t *list = tree_list(&regions->free, &allocator->blocks);
    if (list == NULL) {
        allocator->failure = "memory is exhausted";
        return false;
    }
    uint64_t whole = 0;
    for (uint32_t i = 0; i < count; i++)
        if (block_is_whole(&allocator->blocks.table[list[i]]))
            whole += allocator->blocks.table[list[i]].size;
    bool helps = whole != 0 &&
                 size <= regions->limit - allocator->statistics.reserved.all.now + whole;
    allocator->statistics.retries += helps;
    for (uint32_t i = 0; helps && i < count; i++)
        if (block_is_whole(&allocator->blocks.table[list[i]]))
            give_back(regions, list[i]);
    free(list);
    return helps;
}

static uint32_t bfc_allocate(struct allocator *allocator, uint64_t size, uint32_t stream,
                             uint32_t pool)
{
    struct regions *regions = regions_of(allocator);
    uint64_t rounded = round_up(size, UNIT);
    (void)stream;
    (void)pool;
    uint32_t id = best_fit(regions, rounded);
    if (id == NO_BLOCK && bfc_extend(regions, rounded))
        id = best_fit(regions, rounded);
    if (id == NO_BLOCK && regions->collection && bfc_collect(regions, rounded) &&
        bfc_extend(regions, rounded))
        id = best_fit(regions, rounded);
    return id == NO_BLOCK ? NO_BLOCK : hand_out(regions, id, rounded, size);
}

static bool bfc_init(struct allocator *allocator)
{
    struct regions *regions = regions_of(allocator);
    bool steps = regions->growth && FIRST_STEP < regions->limit;
    regions->step = steps ? FIRST_STEP : regions->limit;
    return true;
}

static bool ort_extend(struct regions *regions, uint64_t size)
{
    uint64_t left = room(regions), wanted = size;
    if (size > left)
        return false;
    if (regions->doubling) {
        bool doubled = reach(regions, size);
        wanted = regions->step < left ? regions->step : left;
        if (!doubled)
            regions->step = 2 * regions->step < regions->max_extend ? 2 * regions->step
                                                                    : regions->max_extend;
    }
    return new_region(regions, wanted, size, LEAST_BACK_OFF);
}

static uint32_t ort_allocate(struct allocator *allocator, uint64_t size, uint32_t stream,
                             uint32_t pool)
{
    struct regions *regions = regions_of(allocator);
    uint64_t rounded = round_up(size, UNIT);
    (void)stream;
    (void)pool;
    uint32_t id = best_fit(regions, rounded);
    if (id == NO_BLOCK && ort_extend(regions, rounded))
        id = best_fit(regions, rounded);
    return id == NO_BLOCK ? NO_BLOCK : hand_out(regions, id, rounded, size);
}

static void ort_shrink(struct allocator *allocator)
{
    struct regions *regions = regions_of(allocator);
    const struct blocks *blocks = &allocator->blocks;
    uint32_t count = regions->free.count;
    uint32_t *list = tree_list(&regions->free, blocks);
    if (list == NULL) {
        allocator->failure = "memory is exhausted";
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct block *block = &blocks->table[list[i]];
        bool stays = regions->doubling && block->address == regions->first;
        if (block_is_whole(block) && !stays)
            give_back(regions, list[i]);
    }
    free(list);
    regions->step = regions->initial_growth;
}

static bool ort_init(struct allocator *allocator)
{
    struct regions *regions = regions_of(allocator);
    regions->step = regions->initial_chunk;
    return true;
}

static uint64_t largest_free(const struct allocator *allocator)
{
    const struct regions *regions = (const struct regions *)allocator;
    uint32_t id = tree_last_before(&regions->free, &allocator->blocks,
                                   (struct place){.size = UINT64_MAX});
    return id == NO_BLOCK ? 0 : allocator->blocks.table[id].size;
}

static void release(struct allocator *allocator)
{
    (void)allocator;
}

static const struct device_parameter bfc_parameters[] = {
    {"capacity", offsetof(struct regions, allocator.memory.capacity), 1},
    {"limit", offsetof(struct regions, limit), 1},
    {"always_split", offsetof(struct regions, always_split), 1},
    {"growth", offsetof(struct regions, growth), 1},
    {"collection", offsetof(struct regions, collection), 1},
    {NULL, 0, 0},
};

static const struct device_parameter ort_parameters[] = {
    {"capacity", offsetof(struct regions, allocator.memory.capacity), 1},
    {"limit", offsetof(struct regions, limit), 1},
    {"max_dead", offsetof(struct regions, always_split), 1},
    {"doubling", offsetof(struct regions, doubling), 1},
    {"initial_chunk", offsetof(struct regions, initial_chunk), 1},
    {"initial_growth", offsetof(struct regions, initial_growth), 1},
    {"max_extend", offsetof(struct regions, max_extend), 1},
    {NULL, 0, 0},
};

const struct device_family bfc_family = {
    .name = "bfc",
    .state_size = sizeof(struct regions),
    .parameters = bfc_parameters,
    .init = bfc_init,
    .release = release,
    .allocate = bfc_allocate,
    .free = free_block,
    .largest_free = largest_free,
};

const struct device_family ort_family = {
    .name = "ort arena",
    .state_size = sizeof(struct regions),
    .parameters = ort_parameters,
    .init = ort_init,
    .release = release,
    .allocate = ort_allocate,
    .free = free_block,
    .largest_free = largest_free,
    .empty = ort_shrink,
};
