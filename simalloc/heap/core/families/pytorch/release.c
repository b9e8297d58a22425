/* Returning memory of PyTorch's caching allocator to the device. */
#include "families/pytorch/pytorch.h"

#include "space/segment.h"

static void release(struct pytorch *state, uint32_t id)
{
    struct device *device = &state->device;
    uint64_t size = device->heap.blocks[id].size;
    device_take(device, id);
    device_give_segment_back(device, id);
    device_gauge_add(&device->statistics.oversize_segments,
                     -(uint64_t)(size >= state->max_split));
}

static void release_pool(struct pytorch *state, const struct device_pool *pool)
{
    struct device *device = &state->device;
    uint32_t next;
    for (uint32_t id = device_walk(device, pool, NO_BLOCK); id != NO_BLOCK; id = next) {
        next = device_walk(device, pool, id);
        if (state->expandable)
            pytorch_unmap(state, id);
        else if (segment_is(&device->heap, id))
            release(state, id);
    }
}

void pytorch_release_all(struct pytorch *state)
{
    release_pool(state, state->large);
    release_pool(state, state->small);
}

bool pytorch_release_oversize(struct pytorch *state, struct device_stream *stream, uint64_t size)
{
    if (state->max_split == NO_LIMIT || state->expandable)
        return false;
    struct device *device = &state->device;
    uint64_t wanted = size > state->max_split ? size : state->max_split;
    uint32_t id = device_best_fit(device, stream, wanted);
    if (id != NO_BLOCK) {
        release(state, id);
        return true;
    }
    uint64_t released = 0;
    while (released < wanted) {
        id = device_largest_below(device, stream, wanted);
        if (id == NO_BLOCK || device->heap.blocks[id].size < state->max_split)
            break;
        released += device->heap.blocks[id].size;
        release(state, id);
    }
    return released >= wanted;
}

/* Number and total age of the whole segments in the large pool. */
struct freeable {
    uint64_t count, ages;
};

static uint64_t age_of(const struct pytorch *state, uint32_t id)
{
    return state->large->searches - state->device.data[id].entered;
}

/* Returns whole segments of at least the average age to the device. Returns their total bytes. */
static uint64_t collect_round(struct pytorch *state, struct freeable *freeable)
{
    struct device *device = &state->device;
    double limit = (double)freeable->ages / (double)freeable->count;
    uint64_t reclaimed = 0;
    uint32_t next;
    for (uint32_t id = device_walk(device, state->large, NO_BLOCK); id != NO_BLOCK; id = next) {
        next = device_walk(device, state->large, id);
        uint64_t age = age_of(state, id);
        if (!segment_is(&device->heap, id) || state->expandable || (double)age < limit)
            continue;
        reclaimed += device->heap.blocks[id].size;
        freeable->ages -= age;
        freeable->count--;
        release(state, id);
    }
    return reclaimed;
}

void pytorch_collect_garbage(struct pytorch *state)
{
    struct device *device = &state->device;
    uint64_t reserved = device->heap.mapped;
    if (reserved <= state->collected_above)
        return;
    struct freeable freeable = {0, 0};
    uint32_t id = NO_BLOCK;
    while ((id = device_walk(device, state->large, id)) != NO_BLOCK) {
        if (segment_is(&device->heap, id)) {
            freeable.count++;
            freeable.ages += age_of(state, id);
        }
    }
    uint64_t target = reserved - state->collected_above;
    uint64_t reclaimed = 0, last = 1;
    while (reclaimed < target && last != 0 && freeable.count != 0) {
        last = collect_round(state, &freeable);
        reclaimed += last;
    }
}
