/* ONNX Runtime's arena (policy/device/arenas.md). */
#include "families/device/regions.h"

enum { MIN_BACK_OFF = 8 << 10 };

struct ort_arena {
    struct regions regions;
    uint64_t doubling; /* 0 if each region has the size of the request that needs it */
    uint64_t initial_chunk, initial_growth, max_extend;
    bool has_first;
    uint64_t first; /* address of the first region, which is never returned */
};

static bool extend(struct ort_arena *arena, uint64_t size)
{
    struct regions *regions = &arena->regions;
    uint64_t left = regions_room(regions), wanted = size;
    if (size > left)
        return false;
    if (arena->doubling) {
        bool doubled = regions_reach(regions, size);
        wanted = regions->step < left ? regions->step : left;
        if (!doubled)
            regions->step = 2 * regions->step < arena->max_extend ? 2 * regions->step
                                                                  : arena->max_extend;
    }
    return regions_take(regions, wanted, size, MIN_BACK_OFF);
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct ort_arena *arena = (struct ort_arena *)heap;
    uint64_t rounded = round_up(size, REGION_UNIT);
    uint32_t id = regions_allocate(&arena->regions, rounded, size);
    if (id == NO_BLOCK && extend(arena, rounded))
        id = regions_allocate(&arena->regions, rounded, size);
    if (id != NO_BLOCK && !arena->has_first) {
        arena->has_first = true;
        arena->first = heap->blocks[id].address;
    }
    return id;
}

/* Returns free regions to the device (shrink). */
static void give_back(struct heap *heap)
{
    struct ort_arena *arena = (struct ort_arena *)heap;
    struct regions *regions = &arena->regions;
    uint32_t id = regions_next_whole(regions, NO_BLOCK);
    while (id != NO_BLOCK) {
        uint32_t next = regions_next_whole(regions, id);
        bool stays = arena->doubling && heap->blocks[id].address == arena->first;
        if (!stays)
            regions_give_back(regions, id);
        id = next;
    }
    regions->step = arena->initial_growth;
}

static bool init(void *state)
{
    struct ort_arena *arena = state;
    arena->regions.step = arena->initial_chunk;
    return device_init_single(state);
}

DEVICE_LAYER(allocate, device_free)

static const struct parameter parameters[] = {
    {"limit", offsetof(struct ort_arena, regions.limit), 0, INT64_MAX, NULL},
    {"max_dead", offsetof(struct ort_arena, regions.always_split), 0, INT64_MAX, NULL},
    PARAMETER(struct ort_arena, doubling, 0, 1),
    DEVICE_PARAMETER(ort_arena, initial_chunk),
    DEVICE_PARAMETER(ort_arena, initial_growth),
    DEVICE_PARAMETER(ort_arena, max_extend),
};

const struct family ort_arena = {
    .name = "ort arena",
    .state_size = sizeof(struct ort_arena),
    PARAMETERS(parameters),
    .init = init,
    .release = device_release,
    .give_back = give_back,
    .report = regions_report,
    DEVICE_FAMILY,
};
