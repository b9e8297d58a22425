/* FreeRTOS heap_1: a mark that only rises (simalloc/policy/pool/freertos.md). */
#include "families/pool/freertos.h"

struct freertos_1 {
    struct pool pool;
    uint32_t rest; /* free block above the mark */
};

/* Returns the bytes of the free block that no request can get. */
static uint64_t kept(const struct freertos_1 *state)
{
    return state->pool.heap.setting.alignment;
}

static uint64_t room(const struct freertos_1 *state)
{
    return state->pool.heap.blocks[state->rest].size;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct freertos_1 *state = (struct freertos_1 *)heap;
    uint64_t wanted = round_up(heap->request.size, heap->setting.alignment);
    (void)size;
    count_search(heap, 1);
    if (wanted == 0 || wanted >= room(state))
        return NO_BLOCK;
    uint32_t id = heap_cut_low(heap, state->rest, wanted);
    heap->blocks[id].index_slot = STATE_WASTE;
    heap->counters.splits++;
    pool_hand_out(&state->pool, id);
    return id;
}

/* Counts a deallocation, but frees nothing, because this heap never frees. */
static void release(struct heap *heap, uint32_t id)
{
    heap_mark(heap, id, STATE_TABLE);
    count_deallocation(heap, 0, heap->counters.coalescings);
}

REFUSING_LAYER(allocate, release, pool_has_no_realloc, heap_reserve)

static bool init(void *memory)
{
    struct freertos_1 *state = memory;
    struct pool *pool = &state->pool;
    uint64_t start = freertos_start(pool, 0);
    uint32_t id = pool_add_region(pool, 0, pool->capacity);
    if (id == NO_BLOCK)
        return false;
    state->rest = pool_take_table(pool, id, start);
    pool_close(pool, state->rest, pool->capacity - pool->heap.setting.alignment);
    heap_mark(&pool->heap, state->rest, STATE_FREE);
    return true;
}

static const char *check(const void *memory)
{
    const struct freertos_1 *state = memory;
    if (state->pool.heap.blocks[state->rest].index_slot != STATE_FREE)
        return "the block above the mark is not free";
    return pool_check(&state->pool, 1);
}

static const char *const figure_names[] = {"xPortGetFreeHeapSize", "largest"};

static void report(const struct heap *heap, uint64_t *figures)
{
    const struct freertos_1 *state = (const struct freertos_1 *)heap;
    figures[0] = room(state);
    figures[1] = round_down(room(state) - 1, kept(state));
}

static const struct parameter parameters[] = {POOL_PARAMETERS};

const struct family freertos_1 = {
    .name = "freertos heap 1",
    .blocks_an_event = 1,
    POOL_FAMILY_OF(struct freertos_1),
};
