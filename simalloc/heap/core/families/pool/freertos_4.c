/* FreeRTOS heap_4, and heap_5 with several regions (simalloc/policy/pool/freertos.md). */
#include "families/pool/pool_list.h"
#include "families/pool/freertos.h"

struct freertos_4 {
    struct pool pool;
    struct pool_list list;
    uint64_t lazy;     /* 1 if the first request creates the heap, else 0 */
    struct pool_memory memory;
    bool is_made;
    bool is_listed[MAX_REGIONS]; /* by region: true if its end marker is in the list */
    uint64_t free_bytes, min_free_bytes;
    uint64_t allocations, frees; /* numbers of successful calls */
};

/* Returns the number of end markers in the list below an address. A walk visits them too. */
static uint64_t markers_below(const struct freertos_4 *state, uint64_t address)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < state->pool.region_count; i++)
        count += state->is_listed[i] && state->pool.regions[i].end <= address;
    return count;
}

static uint64_t address_of(const struct freertos_4 *state, uint32_t id)
{
    return id == NO_BLOCK ? UINT64_MAX : state->pool.heap.blocks[id].address;
}

static uint32_t find(struct freertos_4 *state, uint64_t wanted)
{
    uint64_t visited;
    uint32_t id = pool_list_first(&state->list, wanted, &visited);
    count_search(&state->pool.heap, visited + markers_below(state, address_of(state, id)));
    return id;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct freertos_4 *state = (struct freertos_4 *)heap;
    uint64_t wanted = freertos_wanted(&state->pool);
    (void)size;
    state->is_made = true;
    uint32_t id = wanted == 0 || wanted > state->free_bytes ? NO_BLOCK : find(state, wanted);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    if (heap->blocks[id].size - wanted > 2 * heap->setting.payload)
        id = pool_list_cut(&state->list, id, wanted);
    else
        pool_list_leave(&state->list, id);
    pool_hand_out(&state->pool, id);
    state->allocations++;
    state->free_bytes -= heap->blocks[id].size;
    if (state->free_bytes < state->min_free_bytes)
        state->min_free_bytes = state->free_bytes;
    return id;
}

static void take_out(struct heap *heap, uint32_t id)
{
    pool_list_leave(&((struct freertos_4 *)heap)->list, id);
}

/* Removes the end marker of a region from the list if a freed block ends at the marker. The marker
 * then becomes a part of 0 bytes of the free block. */
static void swallow_marker(struct freertos_4 *state, uint32_t id)
{
    const struct heap *heap = &state->pool.heap;
    uint64_t address = heap->blocks[id].address;
    if (heap->blocks[heap->blocks[id].next].index_slot == STATE_TABLE)
        state->is_listed[pool_region_of(&state->pool, address) - state->pool.regions] = false;
}

static void release(struct heap *heap, uint32_t id)
{
    struct freertos_4 *state = (struct freertos_4 *)heap;
    uint64_t coalescings = heap->counters.coalescings;
    uint64_t address = heap->blocks[id].address;
    uint64_t visited = pool_list_rank(&state->list, address) + markers_below(state, address);
    state->free_bytes += heap->blocks[id].size;
    state->frees++;
    heap_mark(heap, id, STATE_WASTE);
    swallow_marker(state, id);
    coalesce(heap, id, take_out);
    pool_list_enter(&state->list, id);
    count_deallocation(heap, visited, coalescings);
}

static bool reserve(struct heap *heap)
{
    return pool_list_reserve(&((struct freertos_4 *)heap)->list, heap);
}

REFUSING_LAYER(allocate, release, pool_has_no_realloc, reserve)

/* Creates the free block and the end marker of a region. Returns false if memory is exhausted. */
static bool add_region(struct freertos_4 *state, uint64_t start, uint64_t size)
{
    struct pool *pool = &state->pool;
    struct heap *heap = &pool->heap;
    uint64_t alignment = heap->setting.alignment, header = heap->setting.payload;
    uint64_t first = freertos_start(pool, start);
    uint64_t end = round_down(pool->skew + start + size - header, alignment) - pool->skew;
    uint32_t id = pool_add_region(pool, start, size);
    if (id == NO_BLOCK)
        return false;
    id = pool_take_table(pool, id, first - start);
    pool_close(pool, id, end - first);
    pool_list_enter(&state->list, id);
    state->free_bytes += end - first;
    return true;
}

static bool init(void *memory)
{
    struct freertos_4 *state = memory;
    struct heap *heap = &state->pool.heap;
    heap->setting.payload = freertos_header(&state->pool);
    if (!pool_list_init(&state->list, heap, heap->setting.alignment))
        return false;
    for (int i = 0; i < MAX_REGIONS; i++)
        if (state->memory.size[i] != 0 &&
            !add_region(state, state->memory.start[i], state->memory.size[i]))
            return false;
    for (uint32_t i = 0; i + 1 < state->pool.region_count; i++)
        state->is_listed[i] = true;
    state->is_made = !state->lazy;
    state->min_free_bytes = state->free_bytes;
    return true;
}

static void release_all(void *memory)
{
    block_list_release(&((struct freertos_4 *)memory)->list.tree);
}

static const char *check(const void *memory)
{
    const struct freertos_4 *state = memory;
    const char *wrong = block_list_check(&state->list.tree, true, false);
    uint64_t bytes = 0;
    POOL_LIST_EACH(&state->list, id)
        bytes += state->pool.heap.blocks[id].size;
    if (wrong == NULL && bytes != state->free_bytes)
        wrong = "the free bytes are miscounted";
    return wrong != NULL ? wrong : pool_check(&state->pool, state->list.tree.blocks);
}

static const char *const figure_names[] = {
    "xAvailableHeapSpaceInBytes", "xSizeOfLargestFreeBlockInBytes",
    "xSizeOfSmallestFreeBlockInBytes", "xNumberOfFreeBlocks", "xMinimumEverFreeBytesRemaining",
    "xNumberOfSuccessfulAllocations", "xNumberOfSuccessfulFrees", "largest",
};

/* Computes the figures of vPortGetHeapStats() and the largest request that would succeed. */
static void report(const struct heap *heap, uint64_t *figures)
{
    const struct freertos_4 *state = (const struct freertos_4 *)heap;
    uint64_t largest = 0, smallest = NO_FIGURE;
    POOL_LIST_EACH(&state->list, id)
    {
        uint64_t size = heap->blocks[id].size;
        largest = size > largest ? size : largest;
        smallest = size < smallest ? size : smallest;
    }
    uint64_t served = largest > 0 ? largest - heap->setting.payload : 0;
    bool is_made = state->is_made;
    const uint64_t values[] = {
        is_made ? state->free_bytes : 0,
        is_made ? largest : 0,
        is_made ? smallest : NO_FIGURE,
        is_made ? state->list.tree.blocks + markers_below(state, UINT64_MAX) : 0,
        is_made ? state->min_free_bytes : 0,
        state->allocations,
        state->frees,
        served,
    };
    memcpy(figures, values, sizeof values);
}

static const struct parameter parameters[] = {
    POOL_PARAMETERS,
    PARAMETER(struct freertos_4, lazy, 0, 1),
    POOL_REGION_PARAMETERS(struct freertos_4),
};

const struct family freertos_4 = {
    .name = "freertos heap 4",
    .blocks_an_event = 2,
    .release = release_all,
    POOL_FAMILY_OF(struct freertos_4),
};
