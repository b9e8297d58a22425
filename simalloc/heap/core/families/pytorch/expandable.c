/* Expandable segments of PyTorch's caching allocator: ranges of addresses whose pages are mapped
 * and unmapped. */
#include "families/pytorch/pytorch.h"

#include "space/segment.h"

enum { BLOCKS_A_PAGE = 4 }; /* maximum number of new blocks for each page mapped or unmapped */

static uint64_t page_size(const struct pytorch *state, const struct device_stream *stream)
{
    return stream->pool->is_small ? GRANULE : state->large_segment;
}

uint64_t pytorch_reach(const struct pytorch *state, uint32_t id)
{
    const struct device *device = &state->device;
    const struct block *blocks = device->heap.blocks;
    uint32_t above = blocks[id].next; /* an edge of a segment is a hole of 0 bytes */
    return blocks[id].size + (device_is_hole(device, above) ? blocks[above].size : 0);
}

static bool is_in_use(const struct device *device, uint32_t id)
{
    return !heap_is_free(&device->heap, id) && !device_is_hole(device, id);
}

static bool has_room(const struct device *device, uint32_t id, uint64_t size)
{
    for (uint64_t found = 0; found < size; id = device_above(device, id)) {
        if (id == NO_BLOCK || is_in_use(device, id))
            return false;
        found += device->heap.blocks[id].size;
    }
    return true;
}

/* Returns a new range of unmapped addresses. If the range is shorter than `size`, unmaps it, loses
 * its addresses, and returns NO_BLOCK. */
static uint32_t new_range(struct pytorch *state, struct device_stream *stream, uint64_t size)
{
    struct device *device = &state->device;
    uint64_t range = round_up(state->range, page_size(state, stream));
    uint32_t id = device_take_range(device, stream, range);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    if (range < size) {
        heap_unmap_segment(&device->heap, id);
        return NO_BLOCK;
    }
    device_put(device, id);
    return id;
}

/* Returns the first block from which free and unmapped blocks provide `size` bytes, or a new range.
 * Returns NO_BLOCK if neither exists. */
static uint32_t start(struct pytorch *state, struct device_stream *stream, uint64_t size)
{
    const struct device *device = &state->device;
    uint32_t hole = device_first_hole(device, stream);
    for (; hole != NO_BLOCK; hole = device_behind(device, hole)) {
        uint32_t below = device_below(device, hole);
        uint32_t from = below != NO_BLOCK && !is_in_use(device, below) ? below : hole;
        if (has_room(device, from, size))
            return from;
    }
    return new_range(state, stream, size);
}

/* Maps whole pages from the beginning of a hole on. Returns false if the device refuses them. */
static bool map(struct pytorch *state, uint32_t id, uint64_t size)
{
    struct device *device = &state->device;
    size = round_up(size, page_size(state, device->data[id].stream));
    if (!device_can_grant(device, size) || !device_reserve_more(device, BLOCKS_A_PAGE))
        return false;
    device_take(device, id);
    if (device->heap.blocks[id].size > size)
        device_put(device, device_cut(device, id, size));
    device_map(device, id);
    device_merge(device, id);
    device_put(device, id);
    return true;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint32_t pytorch_grow(struct pytorch *state, struct device_stream *stream, uint64_t size)
{
    struct device *device = &state->device;
    uint32_t id = start(state, stream, size);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    if (device_is_hole(device, id) &&
        !map(state, id, least(device->heap.blocks[id].size, size)))
        return NO_BLOCK;
    while (device->heap.blocks[id].size < size) {
        /* mapping this block absorbs the previous one */
        uint32_t next = device->heap.blocks[id].next;
        uint64_t missing = size - device->heap.blocks[id].size;
        if (!map(state, next, least(missing, device->heap.blocks[next].size)))
            return NO_BLOCK;
        id = next;
    }
    device_take(device, id);
    return id;
}

void pytorch_unmap(struct pytorch *state, uint32_t id)
{
    struct device *device = &state->device;
    const struct block block = device->heap.blocks[id];
    uint64_t origin = device->data[id].origin;
    uint64_t page = page_size(state, device->data[id].stream);
    uint64_t inside = block.address - origin;
    uint64_t low = origin + round_up(inside, page);
    uint64_t high = origin + (inside + block.size) / page * page;
    if (low >= high || !device_reserve_more(device, BLOCKS_A_PAGE))
        return;
    device_take(device, id);
    if (block.address + block.size > high)
        device_put(device, device_cut(device, id, high - block.address));
    if (block.address < low) {
        uint32_t rest = device_cut(device, id, low - block.address);
        device_put(device, id);
        id = rest;
    }
    device_unmap(device, id);
    device_merge(device, id);
    if (segment_is(&device->heap, id))
        heap_unmap_segment(&device->heap, id); /* all of the range is unmapped */
    else
        device_put(device, id);
}
