/* FreeRTOS heap_2: best fit without merging (simalloc/policy/pool/freertos.md). */
#include "families/pool/freertos.h"
#include "families/pool/larger.h"

struct freertos_2 {
    struct pool pool;
    struct pool_list list; /* by size and, for equal sizes, newest first */
    uint64_t free_bytes;
};

static uint32_t take(struct freertos_2 *state, uint64_t wanted)
{
    uint64_t visited;
    uint32_t id = pool_list_first(&state->list, wanted, &visited);
    count_search(&state->pool.heap, visited);
    note_best_fit(&state->list, id, wanted);
    if (id != NO_BLOCK)
        pool_list_leave(&state->list, id);
    return id;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct freertos_2 *state = (struct freertos_2 *)heap;
    uint64_t wanted = freertos_wanted(&state->pool);
    (void)size;
    uint32_t id = NO_BLOCK;
    if (wanted > state->free_bytes)
        note_best_fit(&state->list, NO_BLOCK, wanted);
    else if (wanted != 0)
        id = take(state, wanted);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    uint64_t rest = heap->blocks[id].size - wanted;
    if (rest > 2 * heap->setting.payload)
        pool_list_enter_by_size(&state->list, pool_split(&state->pool, id, wanted));
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
    uint64_t visited = pool_list_enter_by_size(&state->list, id);
    count_deallocation(heap, visited, heap->counters.coalescings);
}

static bool reserve(struct heap *heap)
{
    return pool_list_reserve(&((struct freertos_2 *)heap)->list, heap);
}

REFUSING_LAYER(allocate, release, pool_has_no_realloc, reserve)

static bool init(void *memory)
{
    struct freertos_2 *state = memory;
    struct pool *pool = &state->pool;
    pool->heap.setting.payload = freertos_header(pool);
    uint64_t unit = common_divisor(pool->heap.setting.alignment, pool->capacity);
    if (!pool_list_init(&state->list, &pool->heap, unit))
        return false;
    uint32_t id = pool_add_region(pool, 0, pool->capacity);
    if (id == NO_BLOCK)
        return false;
    id = pool_take_table(pool, id, freertos_start(pool, 0));
    state->free_bytes = pool->capacity - pool->heap.setting.alignment;
    pool_close(pool, id, state->free_bytes);
    pool_list_enter_by_size(&state->list, id);
    pool->heap.same_for = UINT64_MAX;
    return true;
}

static void release_all(void *memory)
{
    block_list_release(&((struct freertos_2 *)memory)->list.tree);
}

static const char *check(const void *memory)
{
    const struct freertos_2 *state = memory;
    const struct block *blocks = state->pool.heap.blocks;
    const char *wrong = block_list_check(&state->list.tree, false, false);
    uint64_t bytes = 0, size = 0;
    POOL_LIST_EACH(&state->list, id)
    {
        if (blocks[id].size < size)
            wrong = "the list is not in size order";
        size = blocks[id].size;
        bytes += size;
    }
    if (wrong == NULL && bytes != state->free_bytes)
        wrong = "the free bytes are miscounted";
    return wrong != NULL ? wrong : pool_check(&state->pool, state->list.tree.blocks);
}

static const char *const figure_names[] = {"xPortGetFreeHeapSize", "largest"};

static void report(const struct heap *heap, uint64_t *figures)
{
    const struct freertos_2 *state = (const struct freertos_2 *)heap;
    uint64_t largest = 0;
    POOL_LIST_EACH(&state->list, id)
        largest = heap->blocks[id].size;
    uint64_t served = round_down(largest, heap->setting.alignment);
    figures[0] = state->free_bytes;
    figures[1] = served > heap->setting.payload ? served - heap->setting.payload : 0;
}

static const struct parameter parameters[] = {POOL_PARAMETERS};

const struct family freertos_2 = {
    .name = "freertos heap 2",
    .blocks_an_event = 1,
    .release = release_all,
    POOL_FAMILY_OF(struct freertos_2),
};
