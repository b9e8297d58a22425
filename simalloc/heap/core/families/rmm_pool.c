/* The pool of the RAPIDS Memory Manager (policy/device/arenas.md). */
#include "families/device/device.h"
#include "space/segment.h"

enum { UNIT = 256 };

struct rmm {
    struct device device; /* has one pool, with a list for each stream */
    uint64_t initial;
    uint64_t maximum; /* maximum pool size in bytes, or 0 if unlimited */
};

/* Removes the best fit from a stream's list. Returns NO_BLOCK if no block fits. */
static uint32_t take_best(struct device *device, const struct device_stream *stream, uint64_t size)
{
    uint32_t id = device_best_fit(device, stream, size);
    if (id != NO_BLOCK)
        device_take(device, id);
    return id;
}

/* Moves all free blocks of a stream to another stream's list. */
static void merge_list(struct device *device, const struct device_stream *from,
                       struct device_stream *into)
{
    uint32_t id;
    while ((id = take_best(device, from, 0)) != NO_BLOCK) {
        device->data[id].stream = into;
        device_merge(device, id);
        device_put(device, id);
    }
}

static uint32_t of_others(struct device *device, struct device_stream *own, uint64_t size)
{
    struct device_stream *first = device->pools->streams;
    uint32_t id = NO_BLOCK;
    for (const struct device_stream *it = first; it != NULL && id == NO_BLOCK; it = it->next)
        if (it != own)
            id = take_best(device, it, size);
    for (const struct device_stream *it = first; it != NULL && id == NO_BLOCK; it = it->next)
        if (it != own && it->free != NO_BLOCK) {
            merge_list(device, it, own);
            id = take_best(device, own, size);
        }
    return id;
}

/* Takes new memory from the device. Requests half of the size after each refusal. Returns false if
 * the device refuses `size` bytes. */
static bool expand(struct device *device, uint64_t wanted, uint64_t size,
                   struct device_stream *stream)
{
    uint32_t id;
    while ((id = device_take_segment(device, stream, wanted)) == NO_BLOCK) {
        if (wanted == size)
            return false;
        wanted = wanted / 2 > size ? wanted / 2 : size;
    }
    device_put(device, id);
    return true;
}

/* Returns the free block at the lowest address that is a whole segment, or NO_BLOCK. */
static uint32_t lowest_whole(const struct device *device)
{
    const struct block *blocks = device->heap.blocks;
    uint32_t lowest = NO_BLOCK, id = NO_BLOCK;
    while ((id = device_walk(device, device->pools, id)) != NO_BLOCK)
        if (segment_is(&device->heap, id) &&
            (lowest == NO_BLOCK || blocks[id].address < blocks[lowest].address))
            lowest = id;
    return lowest;
}

/* Returns free segments to the device until the maximum allows `size` more bytes. */
static void reclaim(struct rmm *rmm, uint64_t size)
{
    struct device *device = &rmm->device;
    uint32_t id;
    while (size <= rmm->maximum && device->heap.mapped + size > rmm->maximum &&
           (id = lowest_whole(device)) != NO_BLOCK) {
        device_take(device, id);
        device_give_segment_back(device, id);
    }
}

static bool grow(struct rmm *rmm, uint64_t size, struct device_stream *stream)
{
    if (rmm->maximum != 0)
        reclaim(rmm, size);
    uint64_t reserved = rmm->device.heap.mapped;
    uint64_t wanted = reserved > size ? reserved : size;
    if (rmm->maximum != 0) {
        uint64_t left = rmm->maximum > reserved ? round_up(rmm->maximum - reserved, UNIT) : 0;
        if (size > left)
            return false;
        wanted = left / 2 > size ? left / 2 : size;
    }
    return expand(&rmm->device, wanted, size, stream);
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct rmm *rmm = (struct rmm *)heap;
    struct device *device = &rmm->device;
    struct device_stream *stream = device_stream(device, device->pools, heap->request.stream);
    uint64_t rounded = round_up(size, UNIT);
    if (stream == NULL)
        return NO_BLOCK;
    uint32_t id = take_best(device, stream, rounded);
    if (id == NO_BLOCK)
        id = of_others(device, stream, rounded);
    if (id == NO_BLOCK && grow(rmm, rounded, stream))
        id = take_best(device, stream, rounded);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    if (heap->blocks[id].size > rounded)
        device_split(device, id, rounded);
    device->data[id].stream = stream;
    device_hand_out(device, id, size);
    return id;
}

static bool init(void *state)
{
    struct rmm *rmm = state;
    struct device *device = &rmm->device;
    if (!device_init_single(device))
        return false;
    if (rmm->initial != 0)
        expand(device, round_up(rmm->initial, UNIT), 0, device->pools->streams);
    return true;
}

DEVICE_LAYER(allocate, device_free)

static const struct parameter parameters[] = {
    DEVICE_PARAMETER(rmm, initial),
    DEVICE_PARAMETER(rmm, maximum),
};

const struct family rmm_pool = {
    .name = "rmm pool",
    .state_size = sizeof(struct rmm),
    PARAMETERS(parameters),
    .init = init,
    .release = device_release,
    .report = device_report,
    .columns = COLUMN_STREAM,
    DEVICE_FAMILY,
};
