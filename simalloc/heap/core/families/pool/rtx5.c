/* CMSIS-RTX's memory: first fit in address order over holes without headers
 * (simalloc/policy/pool/rtx5.md). */
#include "families/pool/walked.h"

enum { HEADER = 8 };

struct rtx5 {
    struct walked walked;
    uint64_t most; /* maximum bytes in use so far, headers included */
};

static uint64_t in_use(const struct heap *heap)
{
    return 2 * HEADER + heap->counters.allocated;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct rtx5 *state = (struct rtx5 *)heap;
    uint64_t needed = round_up(heap->request.size + HEADER, HEADER);
    (void)size;
    uint32_t id = NO_BLOCK;
    if (heap->request.size > 0 && needed <= UINT32_MAX)
        id = walked_take(&state->walked, needed);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    walked_hand_out(&state->walked, id, needed, 1);
    state->most = in_use(heap) > state->most ? in_use(heap) : state->most;
    return id;
}

REFUSING_LAYER(allocate, walked_free, pool_has_no_realloc, heap_reserve)

static bool init(void *memory)
{
    struct rtx5 *state = memory;
    struct pool *pool = &state->walked.pool;
    pool->heap.setting.payload = HEADER;
    state->most = 2 * HEADER;
    return walked_init(&state->walked, HEADER, pool->capacity - HEADER, pool->capacity);
}

static const char *check(const void *memory)
{
    return walked_check(&((const struct rtx5 *)memory)->walked);
}

static const char *const figure_names[] = {"used", "max_used", "largest"};

static void report(const struct heap *heap, uint64_t *figures)
{
    const struct rtx5 *state = (const struct rtx5 *)heap;
    uint64_t largest = walked_largest(&state->walked);
    figures[0] = in_use(heap);
    figures[1] = state->most;
    figures[2] = largest > HEADER ? largest - HEADER : 0;
}

static const struct parameter parameters[] = {POOL_PARAMETERS};

const struct family rtx5 = {
    .name = "rtx5",
    .blocks_an_event = 2,
    POOL_FAMILY_OF(struct rtx5),
};
