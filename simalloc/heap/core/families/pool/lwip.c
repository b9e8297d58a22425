/* lwIP's mem.c (simalloc/policy/pool/lwip.md). */
#include "families/pool/larger.h"
#include "families/pool/walked.h"

struct lwip {
    struct walked walked;
    uint64_t index;  /* largest number that an index can store */
    uint64_t least;  /* minimum payload of a block in bytes */
    uint64_t most;   /* maximum bytes in use so far */
    uint64_t errors; /* number of requests refused for lack of memory */
};

/* Returns the address of the first header. */
static uint64_t first_address(const struct lwip *state)
{
    const struct pool *pool = &state->walked.pool;
    return round_up(pool->skew, pool->heap.setting.alignment) - pool->skew;
}

/* Returns the size of the block for the request, or 0 if the request is impossible. */
static uint64_t wanted(const struct lwip *state)
{
    const struct heap *heap = &state->walked.pool.heap;
    uint64_t size = heap->request.size, held = round_up(size, heap->setting.alignment);
    held = held < state->least ? state->least : held;
    bool fits = size <= state->index && held <= state->walked.pool.capacity;
    return fits ? held + heap->setting.payload : 0;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct lwip *state = (struct lwip *)heap;
    uint64_t needed = wanted(state);
    (void)size;
    if (heap->request.size == 0)
        return NO_BLOCK;
    if (needed == 0) {
        differs_from(heap, 1);
        return NO_BLOCK;
    }
    uint32_t id = walked_take(&state->walked, needed);
    if (id == NO_BLOCK) {
        state->errors++;
        return NO_BLOCK;
    }
    walked_hand_out(&state->walked, id, needed, heap->setting.payload + state->least);
    uint64_t used = heap->counters.allocated;
    state->most = used > state->most ? used : state->most;
    return id;
}

/* Shrinks a block, as mem_trim does. Returns false if the block would have to grow. */
static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    struct lwip *state = (struct lwip *)heap;
    uint64_t needed = wanted(state), held = heap->blocks[id].size;
    (void)size;
    if (needed == 0 || needed > held) {
        note_unsplit(heap, id, needed == 0 ? 0 : needed - held);
        return false;
    }
    bool joins = heap_is_free(heap, heap->blocks[id].next);
    if (needed < held && (joins || held >= needed + heap->setting.payload + state->least))
        walked_cut(&state->walked, id, needed);
    else
        note_unsplit(heap, id, needed + heap->setting.payload + state->least - held);
    return true;
}

REFUSING_LAYER(allocate, walked_free, resize, heap_reserve)

static bool init(void *memory)
{
    struct lwip *state = memory;
    struct pool *pool = &state->walked.pool;
    uint64_t alignment = pool->heap.setting.alignment;
    pool->heap.setting.payload = round_up(state->index == UINT16_MAX ? 6 : 12, alignment);
    state->least = round_up(12, alignment);
    pool->heap.same_for = UINT64_MAX;
    uint64_t start = first_address(state), end = start + round_up(pool->capacity, alignment);
    return walked_init(&state->walked, start, end, end + pool->heap.setting.payload);
}

static const char *check(const void *memory)
{
    return walked_check(&((const struct lwip *)memory)->walked);
}

static const char *const figure_names[] = {"used", "max", "err", "lfree", "free_blocks",
                                           "largest"};

static void report(const struct heap *heap, uint64_t *figures)
{
    const struct lwip *state = (const struct lwip *)heap;
    uint64_t largest = walked_largest(&state->walked);
    const uint64_t values[] = {
        heap->counters.allocated,
        state->most,
        state->errors,
        heap->blocks[state->walked.lowest].address - first_address(state),
        heap->counters.free_blocks,
        largest > 0 ? largest - heap->setting.payload : 0,
    };
    memcpy(figures, values, sizeof values);
}

static const struct parameter parameters[] = {
    POOL_PARAMETERS,
    PARAMETER(struct lwip, index, UINT16_MAX, UINT32_MAX),
};

const struct family lwip = {
    .name = "lwip",
    .blocks_an_event = 2,
    POOL_FAMILY_OF(struct lwip),
};
