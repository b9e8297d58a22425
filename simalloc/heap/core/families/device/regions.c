#include "families/device/regions.h"

#include "space/segment.h"

uint32_t regions_allocate(struct regions *regions, uint64_t rounded, uint64_t requested)
{
    struct device *device = &regions->device;
    uint32_t id = device_best_fit(device, device->pools->streams, rounded);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    device_take(device, id);
    uint64_t whole = device->heap.blocks[id].size;
    if (whole >= 2 * rounded || whole - rounded >= regions->always_split)
        device_split(device, id, rounded);
    device_hand_out(device, id, requested);
    return id;
}

uint64_t regions_room(const struct regions *regions)
{
    return (regions->limit - regions->device.heap.mapped) / REGION_UNIT * REGION_UNIT;
}

bool regions_reach(struct regions *regions, uint64_t size)
{
    bool doubled = false;
    for (; size > regions->step; doubled = true)
        regions->step *= 2;
    return doubled;
}

/* Requests a tenth less after each refusal. At nine units or fewer, rounding up yields the same
 * size, which the real allocators request forever. */
bool regions_take(struct regions *regions, uint64_t wanted, uint64_t size, uint64_t least)
{
    struct device *device = &regions->device;
    uint32_t id;
    while ((id = device_take_segment(device, device->pools->streams, wanted)) == NO_BLOCK) {
        float tenth_less = (float)wanted * 0.9F;
        uint64_t less = round_up((uint64_t)tenth_less, REGION_UNIT);
        if (less < size || less < least || less == wanted)
            return false;
        wanted = less;
    }
    device_put(device, id);
    return true;
}

void regions_give_back(struct regions *regions, uint32_t id)
{
    device_take(&regions->device, id);
    device_give_segment_back(&regions->device, id);
}

uint32_t regions_next_whole(const struct regions *regions, uint32_t id)
{
    const struct device *device = &regions->device;
    do
        id = device_walk(device, device->pools, id);
    while (id != NO_BLOCK && !segment_is(&device->heap, id));
    return id;
}

void regions_report(const struct heap *heap, uint64_t *figures)
{
    const struct device *device = (const struct device *)heap;
    struct device_statistics statistics = device->statistics;
    uint32_t id = device_largest_below(device, device->pools->streams, UINT64_MAX);
    statistics.largest_free = id == NO_BLOCK ? 0 : heap->blocks[id].size;
    device_copy_statistics(&statistics, figures);
}
