/* FreeRTOS heap_2: best fit without merging (simalloc/policy/pool/freertos.md). */
#include "families/pool/freertos.h"
#include "families/pool/larger.h"

struct freertos_2 {
    struct pool pool;
    uint32_t first; /* the free blocks by size, those of one size newest first */
    uint64_t free_bytes;
};

/* Walks along the list up to the first block of at least a size; returns the link to it. */
static uint32_t *walk_to(struct freertos_2 *state, uint64_t size, uint64_t *visited)
{
    struct block *blocks = state->pool.heap.blocks;
    uint32_t *link = &state->first;
    for (*visited = 0; *link != NO_BLOCK && blocks[*link].size < size; ++*visited)
        link = &blocks[*link].family_data;
    return link;
}

/* Enters a block that is waste; returns how many blocks the walk to its place visits. */
static uint64_t enter(struct freertos_2 *state, uint32_t id)
{
    struct heap *heap = &state->pool.heap;
    uint64_t visited;
    uint32_t *link = walk_to(state, heap->blocks[id].size, &visited);
    heap_mark(heap, id, STATE_FREE);
    heap->blocks[id].family_data = *link;
    *link = id;
    return visited;
}

/* Notes the choice of a block for a size, NO_BLOCK if there was none: a larger last block may be
 * large enough, or no longer be the smallest that is. */
static void note_taken(struct heap *heap, uint32_t id, uint64_t wanted)
{
    const struct block *blocks = heap->blocks;
    uint32_t last = pool_last(heap);
    if (!heap_is_free(heap, last))
        return;
    if (blocks[last].size < wanted)
        differs_from(heap, wanted - blocks[last].size);
    else if (id == last && blocks[id].family_data != NO_BLOCK)
        differs_from(heap, blocks[blocks[id].family_data].size - blocks[id].size);
}

static uint32_t take(struct freertos_2 *state, uint64_t wanted)
{
    struct heap *heap = &state->pool.heap;
    uint64_t visited;
    uint32_t *link = walk_to(state, wanted, &visited), id = *link;
    count_search(heap, visited + (id != NO_BLOCK));
    note_taken(heap, id, wanted);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    *link = heap->blocks[id].family_data;
    heap_mark(heap, id, STATE_WASTE);
    return id;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct freertos_2 *state = (struct freertos_2 *)heap;
    uint64_t wanted = freertos_wanted(&state->pool);
    (void)size;
    uint32_t id = NO_BLOCK;
    if (wanted > state->free_bytes)
        note_taken(heap, NO_BLOCK, wanted);
    else if (wanted != 0)
        id = take(state, wanted);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    uint64_t rest = heap->blocks[id].size - wanted;
    if (rest > 2 * heap->setting.payload)
        enter(state, pool_split(&state->pool, id, wanted));
    else
        note_unsplit(heap, id, 2 * heap->setting.payload + 1 - rest);
    pool_hand_out(&state->pool, id);
    state->free_bytes -= heap->blocks[id].size;
    return id;
}

static void release(struct heap *heap, uint32_t id)
{
    struct freertos_2 *state = (struct freertos_2 *)heap;
    state->free_bytes += heap->blocks[id].size;
    heap_mark(heap, id, STATE_WASTE);
    count_deallocation(heap, enter(state, id), heap->counters.coalescings);
}

POOL_LAYER(allocate, release, pool_has_no_realloc, heap_reserve)

static bool init(void *memory)
{
    struct freertos_2 *state = memory;
    struct pool *pool = &state->pool;
    pool->heap.setting.payload = freertos_header(pool);
    uint32_t id = pool_add_region(pool, 0, pool->capacity);
    if (id == NO_BLOCK)
        return false;
    id = pool_take_table(pool, id, freertos_start(pool, 0));
    state->free_bytes = pool->capacity - pool->heap.setting.alignment;
    pool_close(pool, id, state->free_bytes);
    enter(state, id);
    pool->heap.same_for = UINT64_MAX;
    return true;
}

static const char *check(const void *memory)
{
    const struct freertos_2 *state = memory;
    const struct block *blocks = state->pool.heap.blocks;
    uint64_t count = 0, bytes = 0, size = 0;
    for (uint32_t id = state->first; id != NO_BLOCK; id = blocks[id].family_data) {
        if (blocks[id].size < size || blocks[id].index_slot != STATE_FREE)
            return "the list is not in order of size, or has a block that is not free";
        size = blocks[id].size;
        bytes += size;
        count++;
    }
    if (bytes != state->free_bytes)
        return "the free bytes are miscounted";
    return pool_check(&state->pool, count);
}

static const char *const figure_names[] = {"xPortGetFreeHeapSize", "largest"};

static void report(const struct heap *heap, uint64_t *figures)
{
    const struct freertos_2 *state = (const struct freertos_2 *)heap;
    uint64_t largest = 0;
    for (uint32_t id = state->first; id != NO_BLOCK; id = heap->blocks[id].family_data)
        largest = heap->blocks[id].size;
    uint64_t served = round_down(largest, heap->setting.alignment);
    figures[0] = state->free_bytes;
    figures[1] = served > heap->setting.payload ? served - heap->setting.payload : 0;
}

static const struct parameter parameters[] = {POOL_PARAMETERS};

const struct family freertos_2 = {
    .name = "freertos heap 2",
    .blocks_an_event = 1,
    POOL_FAMILY_OF(struct freertos_2),
};
