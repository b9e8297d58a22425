/* The best fit with coalescing (BFC) allocator of TensorFlow and XLA (policy/device/arenas.md). */
#include "families/device/regions.h"

#define FIRST_STEP (UINT64_C(2) << 20)

struct bfc {
    struct regions regions;
    uint64_t growth;     /* nonzero if regions grow step by step; 0 for a single region */
    uint64_t collection; /* nonzero if free regions are returned before memory is exhausted */
};

static bool extend(struct regions *regions, uint64_t size)
{
    uint64_t left = regions_room(regions);
    if (size > left)
        return false;
    bool doubled = regions_reach(regions, size);
    if (!regions_take(regions, regions->step < left ? regions->step : left, size, 0))
        return false;
    if (!doubled)
        regions->step *= 2;
    return true;
}

/* Returns the free regions to the device, if that makes enough memory available. Returns false if
 * it does not. */
static bool collect(struct regions *regions, uint64_t size)
{
    const struct heap *heap = &regions->device.heap;
    uint64_t whole = 0;
    uint32_t id = NO_BLOCK;
    while ((id = regions_next_whole(regions, id)) != NO_BLOCK)
        whole += heap->blocks[id].size;
    if (whole == 0 || size > regions->limit - heap->mapped + whole)
        return false;
    regions->device.statistics.retries++;
    while ((id = regions_next_whole(regions, NO_BLOCK)) != NO_BLOCK)
        regions_give_back(regions, id);
    return true;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct bfc *state = (struct bfc *)heap;
    struct regions *regions = &state->regions;
    uint64_t rounded = round_up(size, REGION_UNIT);
    uint32_t id = regions_allocate(regions, rounded, size);
    if (id == NO_BLOCK && extend(regions, rounded))
        id = regions_allocate(regions, rounded, size);
    if (id == NO_BLOCK && state->collection && collect(regions, rounded) &&
        extend(regions, rounded))
        id = regions_allocate(regions, rounded, size);
    return id;
}

static bool init(void *memory)
{
    struct bfc *state = memory;
    bool steps = state->growth && FIRST_STEP < state->regions.limit;
    state->regions.step = steps ? FIRST_STEP : state->regions.limit;
    return device_init_single(memory);
}

DEVICE_LAYER(allocate, device_free)

static const struct parameter parameters[] = {
    {"limit", offsetof(struct bfc, regions.limit), 0, INT64_MAX, NULL},
    {"always_split", offsetof(struct bfc, regions.always_split), 0, INT64_MAX, NULL},
    PARAMETER(struct bfc, growth, 0, 1),
    PARAMETER(struct bfc, collection, 0, 1),
};

const struct family bfc = {
    .name = "bfc",
    .state_size = sizeof(struct bfc),
    PARAMETERS(parameters),
    .init = init,
    .release = device_release,
    .report = regions_report,
    DEVICE_FAMILY,
};
