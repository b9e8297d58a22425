/* PyTorch's caching allocator (policy/device/pytorch.md): allocating and freeing. */
#include "families/pytorch/pytorch.h"

#include "space/segment.h"

#define UNIT UINT64_C(512)
#define SMALL (UINT64_C(1) << 20)
#define MIDDLE (UINT64_C(10) << 20)

static uint64_t rounded(const struct pytorch *state, uint64_t size)
{
    if (size < UNIT)
        return UNIT;
    unsigned power = 63 - (unsigned)__builtin_clzll(size);
    unsigned interval = power < 20 ? 0 : power - 20;
    uint64_t divisions = state->divisions[interval < INTERVALS ? interval : INTERVALS - 1];
    if (divisions > 1 && size > UNIT * divisions)
        return round_up(size, (UINT64_C(1) << power) / divisions);
    return round_up(size, UNIT);
}

static uint64_t segment_size(const struct pytorch *state, uint64_t size)
{
    if (size <= SMALL)
        return GRANULE;
    return size < MIDDLE ? state->large_segment : round_up(size, GRANULE);
}

/* Makes the two private pools of a number. Returns the large one, or NULL, with the heap's failure
 * set, if memory is exhausted. */
static struct device_pool *new_pools(struct pytorch *state, uint32_t number)
{
    struct device *device = &state->device;
    if (device_add_pool(device, true) == NULL)
        return NULL;
    struct device_pool *large = device_add_pool(device, false);
    if (!heap_needs(&device->heap, thread_table_add(&state->private_pools, number)))
        return NULL;
    thread_table_keep(&state->private_pools, number, large);
    return large;
}

/* Returns the request's stream in the pool for blocks of a size. Returns NULL, with the heap's
 * failure set, if memory is exhausted. */
static struct device_stream *stream_for(struct pytorch *state, uint64_t size)
{
    const struct request *request = &state->device.heap.request;
    struct device_pool *pool = state->large;
    if (request->pool != 0)
        pool = thread_table_find(&state->private_pools, request->pool);
    if (pool == NULL)
        pool = new_pools(state, request->pool);
    if (pool != NULL && size <= SMALL)
        pool = pool->next;
    return pool == NULL ? NULL : device_stream(&state->device, pool, request->stream);
}

/* Removes and returns the best fit among the stream's free blocks. Returns NO_BLOCK if no block
 * fits or if the best fit must not be used. */
static uint32_t search(struct pytorch *state, struct device_stream *stream, uint64_t size)
{
    struct device *device = &state->device;
    stream->pool->searches += state->collected_above != NO_LIMIT;
    uint32_t id = device_best_fit(device, stream, size);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    while (state->expandable) {
        uint32_t next = device_behind(device, id);
        if (next == NO_BLOCK || pytorch_reach(state, next) >= pytorch_reach(state, id))
            break;
        id = next;
    }
    uint64_t found = device->heap.blocks[id].size;
    if (size < state->max_split && found >= state->max_split)
        return NO_BLOCK;
    if (size >= state->max_split && found >= size + state->non_split_rounding)
        return NO_BLOCK;
    device_take(device, id);
    return id;
}

/* Returns a free block of new memory, which is in no list, or NO_BLOCK if the device refuses. */
static uint32_t new_segment(struct pytorch *state, struct device_stream *stream, uint64_t size)
{
    struct device *device = &state->device;
    uint64_t segment = segment_size(state, size);
    if (device->heap.mapped + segment > state->allowed)
        return NO_BLOCK;
    if (state->expandable)
        return pytorch_grow(state, stream, size);
    uint32_t id = device_take_segment(device, stream, segment);
    if (id != NO_BLOCK)
        device_gauge_add(&device->statistics.oversize_segments, segment >= state->max_split);
    return id;
}

static void free_now(struct pytorch *state, uint32_t id)
{
    struct device *device = &state->device;
    struct device_block *data = &device->data[id];
    struct device_statistics *statistics = &device->statistics;
    device_gauges_add(&statistics->active, data->stream, -device->heap.blocks[id].size);
    device_gauges_add(&statistics->requested, data->stream, -data->requested);
    data->is_shared = false;
    uint64_t swallowed = device_merge(device, id);
    device_put(device, id);
    bool whole = segment_is(&device->heap, id);
    if (!state->expandable)
        device_gauges_add(&statistics->inactive_split, data->stream,
                          (whole ? 0 : device->heap.blocks[id].size) - swallowed);
}

/* Frees the blocks that waited for other streams, which have finished with them. */
static void free_waiting(struct pytorch *state)
{
    uint32_t id = state->first_waiting;
    state->first_waiting = state->last_waiting = NO_BLOCK;
    while (id != NO_BLOCK) {
        uint32_t next = state->device.heap.blocks[id].family_data;
        free_now(state, id);
        id = next;
    }
}

/* Requests memory from the device. After each refusal, returns more memory to the device and
 * repeats the request. Returns NO_BLOCK after the last refusal. */
static uint32_t from_device(struct pytorch *state, struct device_stream *stream, uint64_t size)
{
    pytorch_collect_garbage(state);
    uint32_t id = new_segment(state, stream, size);
    if (id == NO_BLOCK && pytorch_release_oversize(state, stream, size))
        id = new_segment(state, stream, size);
    if (id != NO_BLOCK)
        return id;
    state->device.statistics.retries++;
    pytorch_release_all(state);
    return new_segment(state, stream, size);
}

/* Splits a block after `size` bytes and frees the high part, if that part is large enough for a
 * remainder. */
static void split(struct pytorch *state, uint32_t id, uint64_t size)
{
    struct device *device = &state->device;
    struct device_gauges *inactive = &device->statistics.inactive_split;
    const struct device_stream *stream = device->data[id].stream;
    uint64_t has = device->heap.blocks[id].size, rest = has - size;
    bool whole = segment_is(&device->heap, id);
    bool splits = stream->pool->is_small || state->expandable ? rest >= UNIT
                                                        : size < state->max_split && rest > SMALL;
    if (splits)
        device_split(device, id, size);
    if (state->expandable)
        return;
    if (!whole)
        device_gauges_add(inactive, stream, -(splits ? size : has));
    else if (splits)
        device_gauges_add(inactive, stream, rest);
}

static uint32_t allocate(struct heap *heap, uint64_t requested)
{
    struct pytorch *state = (struct pytorch *)heap;
    struct device *device = &state->device;
    free_waiting(state);
    uint64_t size = rounded(state, requested);
    struct device_stream *stream = stream_for(state, size);
    if (stream == NULL)
        return NO_BLOCK;
    uint32_t id = search(state, stream, size);
    if (id == NO_BLOCK)
        id = from_device(state, stream, size);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    split(state, id, size);
    device_hand_out(device, id, requested);
    device_gauge_add(&device->statistics.oversize_allocations,
                     heap->blocks[id].size >= state->max_split);
    return id;
}

static void wait(struct pytorch *state, uint32_t id)
{
    struct block *blocks = state->device.heap.blocks;
    blocks[id].family_data = NO_BLOCK;
    if (state->first_waiting == NO_BLOCK)
        state->first_waiting = id;
    else
        blocks[state->last_waiting].family_data = id;
    state->last_waiting = id;
}

static void release(struct heap *heap, uint32_t id)
{
    struct pytorch *state = (struct pytorch *)heap;
    struct device_statistics *statistics = &state->device.statistics;
    const struct device_block *data = &state->device.data[id];
    uint64_t size = heap->blocks[id].size, coalescings = heap->counters.coalescings;
    heap_mark(heap, id, STATE_WASTE);
    device_gauges_add(&statistics->allocated, data->stream, -size);
    device_gauge_add(&statistics->oversize_allocations,
                     -(uint64_t)(size >= state->max_split));
    if (data->is_shared)
        wait(state, id);
    else
        free_now(state, id);
    count_deallocation(heap, 0, coalescings);
}

/* Records a stream's use of a block (record_stream). */
static void use(struct heap *heap, uint32_t id)
{
    struct device_block *data = &((struct device *)heap)->data[id];
    data->is_shared |= heap->request.stream != data->stream->number;
}

/* Returns all unused memory to the device (empty_cache). */
static void give_back(struct heap *heap)
{
    free_waiting((struct pytorch *)heap);
    pytorch_release_all((struct pytorch *)heap);
}

static bool init(void *memory)
{
    struct pytorch *state = memory;
    if (!device_init(memory))
        return false;
    state->large = new_pools(state, 0);
    if (state->large != NULL)
        state->small = state->large->next;
    return state->large != NULL;
}

static void release_all(void *state)
{
    thread_table_release(&((struct pytorch *)state)->private_pools);
    device_release(state);
}

DEVICE_LAYER(allocate, release)

#define DIVISIONS(n)                                                                  \
    {"divisions." #n, offsetof(struct pytorch, divisions) + (n) * sizeof(uint64_t), 0, \
     UINT64_C(1) << 34, NULL}

static const struct parameter parameters[] = {
    DIVISIONS(0), DIVISIONS(1), DIVISIONS(2), DIVISIONS(3),
    DIVISIONS(4), DIVISIONS(5), DIVISIONS(6), DIVISIONS(7),
    DIVISIONS(8), DIVISIONS(9), DIVISIONS(10), DIVISIONS(11),
    DIVISIONS(12), DIVISIONS(13), DIVISIONS(14), DIVISIONS(15),
    DEVICE_PARAMETER(pytorch, max_split),
    DEVICE_PARAMETER(pytorch, non_split_rounding),
    DEVICE_PARAMETER(pytorch, large_segment),
    DEVICE_PARAMETER(pytorch, allowed),
    DEVICE_PARAMETER(pytorch, collected_above),
    DEVICE_PARAMETER(pytorch, expandable),
    DEVICE_PARAMETER(pytorch, range),
};

const struct family pytorch = {
    .name = "pytorch",
    .state_size = sizeof(struct pytorch),
    PARAMETERS(parameters),
    DEVICE_FAMILY,
    .init = init,
    .release = release_all,
    .report = device_report,
    .use = use,
    .give_back = give_back,
    .columns = COLUMN_STREAM | COLUMN_POOL,
};
