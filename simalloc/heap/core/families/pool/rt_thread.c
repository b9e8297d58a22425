/* RT-Thread's small memory algorithm (simalloc/policy/pool/rt_thread.md). */
#include "families/pool/larger.h"
#include "families/pool/walked.h"

struct rt_thread {
    struct walked walked;
    uint64_t control;     /* bytes of the control block before the first header */
    uint64_t min_payload; /* minimum payload of a block in bytes */
    uint64_t room;        /* largest request that succeeds in the empty pool */
    uint64_t peak;        /* maximum bytes in use so far, headers included */
};

static uint64_t rounded(const struct heap *heap)
{
    uint64_t size = heap->request.size;
    return size > word_max(heap) ? UINT64_MAX
                                  : round_up(size, heap->setting.alignment) & word_max(heap);
}

/* Allocates a block with a payload of `held` bytes. Returns NO_BLOCK if no block is large
 * enough. */
static uint32_t serve(struct rt_thread *state, uint64_t held)
{
    struct heap *heap = &state->walked.pool.heap;
    uint64_t header = heap->setting.payload;
    held = held < state->min_payload ? state->min_payload : held;
    if (held > state->room)
        differs_from(heap, held - state->room);
    uint32_t id = held > state->room ? NO_BLOCK : walked_take(&state->walked, held + header);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    walked_hand_out(&state->walked, id, held + header, header + state->min_payload);
    uint64_t used = heap->counters.allocated;
    state->peak = used > state->peak ? used : state->peak;
    return id;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct rt_thread *state = (struct rt_thread *)heap;
    uint64_t alignment = round_up(heap->request.alignment, heap->setting.word);
    (void)size;
    if (heap->request.size == 0 && alignment == 0)
        return NO_BLOCK;
    if (alignment == 0)
        return serve(state, rounded(heap));
    uint64_t requested = round_up(heap->request.size, heap->setting.word) + alignment;
    if (requested > word_max(heap))
        return NO_BLOCK;
    uint32_t id = serve(state, round_up(requested, heap->setting.alignment));
    if (id == NO_BLOCK)
        return NO_BLOCK;
    struct block *block = &heap->blocks[id];
    uint64_t start = state->walked.pool.skew + block->address + heap->setting.payload;
    block->family_data = (uint32_t)(round_down(start, alignment) + alignment - start);
    return id;
}

static uint32_t reallocate_block(struct heap *heap, uint32_t id, uint64_t size)
{
    struct rt_thread *state = (struct rt_thread *)heap;
    uint64_t header = heap->setting.payload, held = heap->blocks[id].size - header;
    uint64_t wanted = rounded(heap);
    (void)size;
    if (wanted > state->room) {
        differs_from(heap, wanted - state->room);
        return NO_BLOCK;
    }
    if (wanted == 0)
        return pool_free_instead(heap, id, walked_free);
    /* An aligned object can only be freed, so it moves. */
    bool is_aligned = heap->blocks[id].family_data != 0;
    if (wanted == held && !is_aligned) {
        note_unsplit(heap, id, 1);
        return id;
    }
    if (!is_aligned && wanted + header + 3 * heap->setting.word < held) {
        walked_cut(&state->walked, id, wanted + header);
        return id;
    }
    uint64_t to_cut = wanted + header + 3 * heap->setting.word + 1;
    note_unsplit(heap, id, wanted > held ? wanted - held : to_cut - held);
    return pool_moved(heap, id, serve(state, wanted), walked_free);
}

REFUSING_LAYER(allocate, walked_free, pool_has_no_realloc, heap_reserve,
               .reallocate = reallocate_block)

static bool init(void *memory)
{
    struct rt_thread *state = memory;
    struct pool *pool = &state->walked.pool;
    uint64_t alignment = pool->heap.setting.alignment, skew = pool->skew;
    uint64_t header = round_up(3 * pool->heap.setting.word, alignment);
    uint64_t first = round_up(round_up(skew, alignment) + state->control, alignment);
    uint64_t end = round_down(skew + pool->capacity, alignment) - header;
    pool->heap.setting.payload = state->min_payload = header;
    state->room = end - first - header;
    pool->heap.same_for = UINT64_MAX;
    return walked_init(&state->walked, first - skew, end - skew, pool->capacity);
}

static const char *check(const void *memory)
{
    return walked_check(&((const struct rt_thread *)memory)->walked);
}

static const char *const figure_names[] = {"used", "max", "largest"};

static void report(const struct heap *heap, uint64_t *figures)
{
    const struct rt_thread *state = (const struct rt_thread *)heap;
    uint64_t largest = walked_largest(&state->walked), header = heap->setting.payload;
    figures[0] = heap->counters.allocated;
    figures[1] = state->peak;
    figures[2] = largest >= header + state->min_payload ? largest - header : 0;
}

static const struct parameter parameters[] = {
    POOL_PARAMETERS,
    SIZE_PARAMETER(struct rt_thread, control),
};

const struct family rt_thread = {
    .name = "rt thread",
    .blocks_an_event = 2,
    .columns = COLUMN_ALIGNMENT,
    POOL_FAMILY_OF(struct rt_thread),
};
