/* o1heap: blocks of power-of-two sizes, cut from fragments in lists by powers of two
 * (simalloc/policy/pool/o1heap.md). */
#include "families/pool/larger.h"

struct o1heap {
    struct pool pool;
    struct class_lists lists;
    uint64_t instance;      /* bytes of the heap's own structure */
    uint64_t area;          /* bytes of all fragments */
    uint64_t peak;          /* maximum bytes in use so far */
    uint64_t max_requested; /* largest request so far in bytes, refused or not */
    uint64_t refused;       /* number of refused requests, without requests for 0 bytes */
};

static uint64_t size_of(const struct heap *heap, uint32_t id)
{
    return heap->blocks[id].size;
}

static void take_out(struct heap *heap, uint32_t id)
{
    class_leave(&((struct o1heap *)heap)->lists, id, size_of(heap, id));
}

static void enter(struct o1heap *state, uint32_t id)
{
    class_enter(&state->lists, id, size_of(&state->pool.heap, id), true);
}

/* Returns the size of the fragment for the request, a power of two. */
static uint64_t wanted(const struct heap *heap)
{
    uint64_t needed = heap->request.size + heap->setting.payload;
    uint64_t minimum = 2 * heap->setting.payload;
    return needed <= minimum ? minimum : UINT64_C(1) << (64 - __builtin_clzll(needed - 1));
}

static uint32_t find(struct o1heap *state)
{
    struct heap *heap = &state->pool.heap;
    unsigned class = NO_CLASS;
    uint64_t needed = heap->request.size + heap->setting.payload;
    if (heap->request.size > 0 && needed <= state->area) {
        unsigned lowest = class_of(&state->lists, wanted(heap));
        class = class_with_block(&state->lists, lowest);
        note_choice(&state->lists, lowest, class, size_of(heap, pool_last(heap)));
    } else if (heap->request.size > 0) {
        differs_from(heap, needed - state->area);
    }
    count_search(heap, class != NO_CLASS);
    if (class == NO_CLASS)
        return NO_BLOCK;
    uint32_t id = state->lists.fronts[class];
    take_out(heap, id);
    return id;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct o1heap *state = (struct o1heap *)heap;
    uint64_t requested = heap->request.size;
    (void)size;
    uint32_t id = find(state);
    state->max_requested = requested > state->max_requested ? requested : state->max_requested;
    if (id == NO_BLOCK) {
        state->refused += requested > 0;
        return NO_BLOCK;
    }
    if (size_of(heap, id) > wanted(heap))
        enter(state, pool_split(&state->pool, id, wanted(heap)));
    else
        note_unsplit(heap, id, 1);
    pool_hand_out(&state->pool, id);
    uint64_t used = heap->counters.allocated;
    state->peak = used > state->peak ? used : state->peak;
    return id;
}

static void release(struct heap *heap, uint32_t id)
{
    uint64_t coalescings = heap->counters.coalescings;
    heap_mark(heap, id, STATE_WASTE);
    coalesce(heap, id, take_out);
    enter((struct o1heap *)heap, id);
    count_deallocation(heap, 0, coalescings);
}

REFUSING_LAYER(allocate, release, pool_has_no_realloc, heap_reserve)

static bool init(void *memory)
{
    struct o1heap *state = memory;
    struct pool *pool = &state->pool;
    pool->heap.setting.payload = 4 * pool->heap.setting.word;
    uint64_t unit = 2 * pool->heap.setting.payload;
    state->lists.heap = &pool->heap;
    state->lists.grain = (unsigned)__builtin_ctzll(unit);
    state->area = round_down(pool->capacity - state->instance, unit);
    uint32_t id = pool_add_region(pool, 0, pool->capacity);
    if (id == NO_BLOCK)
        return false;
    id = pool_take_table(pool, id, state->instance);
    pool_close(pool, id, state->area);
    enter(state, id);
    pool->heap.same_for = UINT64_MAX;
    return true;
}

static const char *check(const void *memory)
{
    const struct o1heap *state = memory;
    return pool_check(&state->pool, class_lists_count(&state->lists, size_of));
}

static const char *const figure_names[] = {"capacity", "allocated", "peak_allocated",
                                           "peak_request_size", "oom_count", "largest"};

static void report(const struct heap *heap, uint64_t *figures)
{
    const struct o1heap *state = (const struct o1heap *)heap;
    unsigned class = class_last(&state->lists);
    const uint64_t values[] = {
        state->area,
        heap->counters.allocated,
        state->peak,
        state->max_requested,
        state->refused,
        class == NO_CLASS ? 0 : class_begin(&state->lists, class) - heap->setting.payload,
    };
    memcpy(figures, values, sizeof values);
}

static const struct parameter parameters[] = {
    POOL_PARAMETERS,
    SIZE_PARAMETER(struct o1heap, instance),
};

const struct family o1heap = {
    .name = "o1heap",
    .blocks_an_event = 1,
    POOL_FAMILY_OF(struct o1heap),
};
