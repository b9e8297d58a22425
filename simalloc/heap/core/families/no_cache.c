/* A device allocator without a cache: every request is a call to the device
 * (policy/device/arenas.md). */
#include "families/device/device.h"

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct device *device = (struct device *)heap;
    uint32_t id = device_take_segment(device, device->pools->streams, round_up(size, GRANULE));
    if (id != NO_BLOCK)
        device_hand_out(device, id, size);
    return id;
}

static void release(struct heap *heap, uint32_t id)
{
    struct device *device = (struct device *)heap;
    device_take_back(device, id);
    device_give_segment_back(device, id);
}

static bool init(void *state)
{
    return device_init_single(state);
}

DEVICE_LAYER(allocate, release)

const struct family no_cache = {
    .name = "no cache",
    .state_size = sizeof(struct device),
    .init = init,
    .release = device_release,
    .report = device_report,
    DEVICE_FAMILY,
};
