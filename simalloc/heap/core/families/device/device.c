#include "families/device/device.h"

#include <stdlib.h>
#include <string.h>

#include "space/table.h"

#define GAUGE(name) name ".current", name ".peak"
#define GAUGES(name) GAUGE(name ".all"), GAUGE(name ".large_pool"), GAUGE(name ".small_pool")

const char *const device_figure_names[DEVICE_FIGURES] = {
    GAUGES("requested_bytes"), GAUGES("allocated_bytes"), GAUGES("active_bytes"),
    GAUGES("reserved_bytes"), GAUGES("inactive_split_bytes"), GAUGES("segment"),
    GAUGE("oversize_allocations"), GAUGE("oversize_segments"), "segments", "device_alloc",
    "device_free", "retries", "largest", "largest_free", "requested_bytes_at_peak",
    "active_bytes_at_peak", "inactive_split_bytes_at_peak",
};

void device_copy_statistics(const struct device_statistics *statistics, uint64_t *figures)
{
    memcpy(figures, statistics, sizeof *statistics);
}

void device_report(const struct heap *heap, uint64_t *figures)
{
    device_copy_statistics(&((const struct device *)heap)->statistics, figures);
}

/* Extends the tables that are parallel to the block table to its capacity. Returns false if memory
 * is exhausted. */
static bool follow_table(struct device *device)
{
    uint32_t capacity = device->heap.capacity;
    return TABLE_FOLLOW(device->data, device->data_capacity, capacity) &&
           treap_nodes_reserve(&device->nodes, capacity);
}

bool device_init(void *state)
{
    struct device *device = state;
    device->heap.segment_address = 0;
    return follow_table(device);
}

bool device_init_single(void *state)
{
    if (!device_init(state))
        return false;
    struct device_pool *pool = device_add_pool(state, false);
    return pool != NULL && device_stream(state, pool, 0) != NULL;
}

void device_release(void *state)
{
    struct device *device = state;
    while (device->pools != NULL) {
        struct device_pool *pool = device->pools;
        device->pools = pool->next;
        while (pool->streams != NULL) {
            struct device_stream *stream = pool->streams;
            pool->streams = stream->next;
            free(stream);
        }
        free(pool);
    }
    table_release(device->data);
    treap_nodes_release(&device->nodes);
}

bool device_reserve(struct heap *heap)
{
    return heap_reserve(heap) && follow_table((struct device *)heap);
}

bool device_reserve_more(struct device *device, uint64_t blocks)
{
    if (!heap_reserve_more(&device->heap, blocks))
        return false;
    heap_needs(&device->heap, follow_table(device));
    return device->heap.failure == NULL;
}

bool device_resize(struct heap *heap, uint32_t block, uint64_t size)
{
    (void)heap, (void)block, (void)size;
    return false;
}

void device_note_peak(struct heap *heap)
{
    struct device *device = (struct device *)heap;
    struct device_statistics *statistics = &device->statistics;
    if (LIKELY(heap->mapped <= device->reserved_at_peak))
        return;
    device->reserved_at_peak = heap->mapped;
    statistics->requested_at_peak = statistics->requested.all.now;
    statistics->active_at_peak = statistics->active.all.now;
    statistics->inactive_split_at_peak = statistics->inactive_split.all.now;
}

struct device_pool *device_add_pool(struct device *device, bool is_small)
{
    struct device_pool *pool = malloc(sizeof *pool);
    if (!heap_needs(&device->heap, pool != NULL))
        return NULL;
    *pool = (struct device_pool){.next = device->pools, .is_small = is_small};
    return device->pools = pool;
}

struct device_stream *device_stream(struct device *device, struct device_pool *pool,
                                    uint32_t number)
{
    struct device_stream **link = &pool->streams;
    while (*link != NULL && (*link)->number < number)
        link = &(*link)->next;
    if (LIKELY(*link != NULL && (*link)->number == number))
        return *link;
    struct device_stream *stream = malloc(sizeof *stream);
    if (!heap_needs(&device->heap, stream != NULL))
        return NULL;
    *stream = (struct device_stream){.next = *link, .pool = pool, .number = number};
    return *link = stream;
}

bool device_can_grant(const struct device *device, uint64_t size)
{
    uint64_t limit = device->heap.limit < DEVICE_BYTES ? device->heap.limit : DEVICE_BYTES;
    return round_up(size, GRANULE) <= limit - device->taken;
}

static void count_granted(struct device *device, const struct device_stream *stream,
                          uint64_t size)
{
    device->taken += round_up(size, GRANULE);
    device->statistics.device_alloc++;
    device->heap.counters.growths++;
    device_gauges_add(&device->statistics.reserved, stream, size);
}

static void count_freed(struct device *device, const struct device_stream *stream, uint64_t size)
{
    device->taken -= round_up(size, GRANULE);
    device->statistics.device_free++;
    device_gauges_add(&device->statistics.reserved, stream, -size);
}

uint32_t device_take_segment(struct device *device, struct device_stream *stream, uint64_t size)
{
    uint32_t id = NO_BLOCK;
    if (device_can_grant(device, size))
        id = heap_map_segment(&device->heap, size, GRANULE);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    count_granted(device, stream, size);
    device->data[id] = (struct device_block){.stream = stream};
    device_gauges_add(&device->statistics.segment, stream, 1);
    device->statistics.segments++;
    return id;
}

void device_give_segment_back(struct device *device, uint32_t id)
{
    const struct device_stream *stream = device->data[id].stream;
    count_freed(device, stream, device->heap.blocks[id].size);
    device_gauges_add(&device->statistics.segment, stream, UINT64_C(-1));
    heap_unmap_segment(&device->heap, id);
}

uint32_t device_take_range(struct device *device, struct device_stream *stream, uint64_t size)
{
    uint32_t id = heap_reserve_segment(&device->heap, size, GRANULE);
    if (id != NO_BLOCK)
        device->data[id] = (struct device_block){
            .stream = stream, .origin = device->heap.blocks[id].address};
    return id;
}

void device_map(struct device *device, uint32_t id)
{
    count_granted(device, device->data[id].stream, device->heap.blocks[id].size);
    heap_map(&device->heap, id);
}

void device_unmap(struct device *device, uint32_t id)
{
    count_freed(device, device->data[id].stream, device->heap.blocks[id].size);
    heap_unmap(&device->heap, id);
}

static struct treap tree_at(const struct device *device, const uint32_t *root)
{
    return (struct treap){(uint32_t *)root, device->nodes.nodes, device->heap.blocks};
}

/* Returns the list that contains a block or that the block belongs in. */
static struct treap tree_of(const struct device *device, uint32_t id)
{
    const struct device_stream *stream = device->data[id].stream;
    return tree_at(device, device_is_hole(device, id) ? &stream->holes : &stream->free);
}

static struct treap_key key_of(const struct device *device, uint32_t id)
{
    const struct block *block = &device->heap.blocks[id];
    if (block->index_slot == STATE_HOLE)
        return (struct treap_key){block->address, 0};
    return (struct treap_key){block->size, block->address};
}

void device_put(struct device *device, uint32_t id)
{
    struct treap tree = tree_of(device, id);
    if (!device_is_hole(device, id)) {
        heap_mark(&device->heap, id, STATE_FREE);
        device->data[id].entered = device->data[id].stream->pool->searches;
    }
    treap_insert(&tree, id, key_of(device, id));
}

void device_take(struct device *device, uint32_t id)
{
    struct treap tree = tree_of(device, id);
    treap_remove(&tree, id);
    if (!device_is_hole(device, id))
        heap_mark(&device->heap, id, STATE_WASTE);
}

uint64_t device_merge(struct device *device, uint32_t id)
{
    struct heap *heap = &device->heap;
    uint64_t before = heap->blocks[id].size;
    uint32_t kind = device_is_hole(device, id) ? STATE_HOLE : STATE_FREE;
    for (int side = 0; side < 2; side++) {
        uint32_t neighbour = side == 0 ? device_below(device, id) : device_above(device, id);
        if (neighbour == NO_BLOCK || heap->blocks[neighbour].index_slot != kind ||
            device->data[neighbour].stream != device->data[id].stream)
            continue;
        device_take(device, neighbour);
        if (side == 0)
            heap_join_previous(heap, id);
        else
            heap_join_next(heap, id);
        heap->counters.coalescings++;
    }
    return heap->blocks[id].size - before;
}

void device_free(struct heap *heap, uint32_t id)
{
    struct device *device = (struct device *)heap;
    uint64_t coalescings = heap->counters.coalescings;
    device_take_back(device, id);
    device_merge(device, id);
    device_put(device, id);
    count_deallocation(heap, 0, coalescings);
}

uint32_t device_cut(struct device *device, uint32_t id, uint64_t size)
{
    uint32_t rest = heap_cut_off(&device->heap, id, size);
    device->data[rest] = device->data[id];
    return rest;
}

void device_split(struct device *device, uint32_t id, uint64_t size)
{
    device_put(device, device_cut(device, id, size));
    device->heap.counters.splits++;
}

void device_hand_out(struct device *device, uint32_t id, uint64_t requested)
{
    struct device_statistics *statistics = &device->statistics;
    struct device_block *data = &device->data[id];
    uint64_t size = device->heap.blocks[id].size;
    heap_mark(&device->heap, id, STATE_ALLOCATED);
    data->requested = requested;
    device_gauges_add(&statistics->allocated, data->stream, size);
    device_gauges_add(&statistics->active, data->stream, size);
    device_gauges_add(&statistics->requested, data->stream, requested);
    if (size > statistics->largest)
        statistics->largest = size;
}

void device_take_back(struct device *device, uint32_t id)
{
    struct device_statistics *statistics = &device->statistics;
    const struct device_block *data = &device->data[id];
    uint64_t size = device->heap.blocks[id].size;
    heap_mark(&device->heap, id, STATE_WASTE);
    device_gauges_add(&statistics->allocated, data->stream, -size);
    device_gauges_add(&statistics->active, data->stream, -size);
    device_gauges_add(&statistics->requested, data->stream, -data->requested);
}

uint32_t device_best_fit(const struct device *device, const struct device_stream *stream,
                         uint64_t size)
{
    struct treap tree = tree_at(device, &stream->free);
    return treap_from(&tree, (struct treap_key){size, 0}).block;
}

uint32_t device_largest_below(const struct device *device, const struct device_stream *stream,
                              uint64_t size)
{
    struct treap tree = tree_at(device, &stream->free);
    return treap_before(&tree, (struct treap_key){size, 0});
}

uint32_t device_first_hole(const struct device *device, const struct device_stream *stream)
{
    struct treap tree = tree_at(device, &stream->holes);
    return treap_from(&tree, (struct treap_key){0, 0}).block;
}

uint32_t device_behind(const struct device *device, uint32_t id)
{
    struct treap tree = tree_of(device, id);
    struct treap_key key = key_of(device, id);
    key.minor++;
    return treap_from(&tree, key).block;
}

uint32_t device_walk(const struct device *device, const struct device_pool *pool, uint32_t id)
{
    uint32_t found = id == NO_BLOCK ? NO_BLOCK : device_behind(device, id);
    const struct device_stream *stream =
        id == NO_BLOCK ? pool->streams : device->data[id].stream->next;
    for (; found == NO_BLOCK && stream != NULL; stream = stream->next)
        found = device_best_fit(device, stream, 0);
    return found;
}

const char *device_check(const void *state)
{
    const struct device *device = state;
    const struct device_statistics *statistics = &device->statistics;
    const char *wrong = heap_check(&device->heap);
    uint64_t free_blocks = 0;
    for (const struct device_pool *pool = device->pools; pool != NULL; pool = pool->next)
        for (const struct device_stream *stream = pool->streams; stream != NULL && wrong == NULL;
             stream = stream->next) {
            struct treap tree = tree_at(device, &stream->free);
            wrong = treap_check(&tree);
            free_blocks += treap_count(&tree);
        }
    if (wrong != NULL)
        return wrong;
    if (free_blocks != device->heap.counters.free_blocks)
        return "the free blocks are miscounted";
    if (statistics->reserved.all.now != device->heap.mapped ||
        device->heap.mapped > device->taken || device->taken > device->heap.limit)
        return "the reserved bytes are miscounted, or exceed the memory of the device";
    if (statistics->allocated.all.now != device->heap.counters.allocated ||
        statistics->allocated.all.now > statistics->active.all.now ||
        statistics->active.all.now > statistics->reserved.all.now)
        return "the allocated or active bytes are miscounted, or exceed the reserved bytes";
    return NULL;
}
