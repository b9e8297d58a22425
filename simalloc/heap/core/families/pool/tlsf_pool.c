#include "families/pool/tlsf_pool.h"

#include "families/pool/larger.h"

enum { SECOND_POOL = 64 << 20 }; /* address of the second pool */

static uint64_t holds(const struct heap *heap, uint32_t id)
{
    return heap->blocks[id].size - heap->setting.word;
}

static void enter(struct tlsf_pool *state, uint32_t id)
{
    class_enter(&state->lists, id, holds(&state->pool.heap, id), true);
}

static void take_out(struct heap *heap, uint32_t id)
{
    class_leave(&((struct tlsf_pool *)heap)->lists, id, holds(heap, id));
}

/* Returns the payload of the block for a request of `size` bytes, or 0 if the request is
 * impossible. */
static uint64_t adjusted(const struct tlsf_pool *state, uint64_t size)
{
    const struct heap *heap = &state->pool.heap;
    uint64_t word = heap->setting.word, most = word_max(heap);
    if (size == 0 || size > most)
        return 0;
    uint64_t rounded = state->wraps ? round_up(size, word) & most : round_up(size, word);
    rounded = rounded < 3 * word ? 3 * word : rounded;
    return rounded < state->top ? rounded : 0;
}

/* Removes a block with a payload of at least `size` bytes from the first list whose blocks are all
 * large enough. Returns NO_BLOCK if these lists are empty. */
static uint32_t find(struct tlsf_pool *state, uint64_t size)
{
    struct class_lists *lists = &state->lists;
    unsigned wanted = class_of(lists, class_round_up(lists, size));
    unsigned class = class_with_block(lists, wanted);
    count_search(&state->pool.heap, class != NO_CLASS);
    note_choice(lists, wanted, class, holds(&state->pool.heap, pool_last(&state->pool.heap)));
    if (class == NO_CLASS)
        return NO_BLOCK;
    uint32_t id = lists->fronts[class];
    take_out(&state->pool.heap, id);
    return id;
}

/* Cuts off the part of an unlisted block beyond a payload of `size` bytes, if it is large enough
 * for a block. */
static void cut(struct tlsf_pool *state, uint32_t id, uint64_t size)
{
    struct heap *heap = &state->pool.heap;
    uint64_t word = heap->setting.word;
    if (holds(heap, id) < size + 4 * word) {
        note_unsplit(heap, id, size + 4 * word - holds(heap, id));
        return;
    }
    uint32_t rest = pool_split(&state->pool, id, word + size);
    heap_mark(heap, rest, STATE_WASTE);
    coalesce(heap, rest, take_out);
    enter(state, rest);
}

/* Allocates an unlisted block with a payload of `size` bytes. */
static uint32_t hand_out(struct tlsf_pool *state, uint32_t id, uint64_t size)
{
    cut(state, id, size);
    pool_hand_out(&state->pool, id);
    state->used++;
    return id;
}

/* Cuts the part before a multiple of the alignment off an unlisted block, and returns the
 * remainder. The part is large enough for a block. */
static uint32_t align(struct tlsf_pool *state, uint32_t id, uint64_t alignment)
{
    struct heap *heap = &state->pool.heap;
    uint64_t word = heap->setting.word;
    uint64_t start = state->pool.skew + heap->blocks[id].address + word;
    uint64_t aligned = round_up(start, alignment), gap = aligned - start;
    if (gap != 0 && gap < 4 * word) {
        uint64_t more = 4 * word - gap > alignment ? 4 * word - gap : alignment;
        aligned = round_up(aligned + more, alignment);
    }
    if (aligned == start)
        return id;
    uint32_t rest = pool_split(&state->pool, id, aligned - start);
    enter(state, id);
    return rest;
}

static uint32_t serve(struct tlsf_pool *state, uint64_t size, uint64_t alignment)
{
    const struct heap *heap = &state->pool.heap;
    uint64_t held = adjusted(state, size), word = heap->setting.word, wanted = held;
    bool is_aligned = state->aligns && alignment > word;
    if (is_aligned && held != 0)
        wanted = adjusted(state, round_up(held + alignment + 4 * word, alignment));
    uint32_t id = wanted == 0 ? NO_BLOCK : find(state, wanted);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    if (is_aligned)
        id = align(state, id, alignment);
    else if (state->cuts_to_class && alignment == 0)
        held = class_round_up(&state->lists, held);
    return hand_out(state, id, held);
}

/* Updates the extremes of the bytes in use after a call. */
static void note(struct tlsf_pool *state)
{
    const struct heap *heap = &state->pool.heap;
    uint64_t used = heap->counters.allocated - state->used * heap->setting.word;
    uint64_t free = state->pool.capacity - heap->counters.allocated;
    if (used > state->most_used)
        state->most_used = used;
    if (free < state->min_free)
        state->min_free = free;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct tlsf_pool *state = (struct tlsf_pool *)heap;
    (void)size;
    if (state->has_zero && heap->request.size == 0)
        return state->zero;
    uint32_t id = serve(state, heap->request.size, heap->request.alignment);
    note(state);
    return id;
}

static void release(struct heap *heap, uint32_t id)
{
    struct tlsf_pool *state = (struct tlsf_pool *)heap;
    uint64_t coalescings = heap->counters.coalescings;
    if (id == state->zero)
        return;
    state->used--;
    heap_mark(heap, id, STATE_WASTE);
    coalesce(heap, id, take_out);
    enter(state, id);
    count_deallocation(heap, 0, coalescings);
}

/* Resizes a block to a payload of `size` bytes. If necessary, it is first joined with all of the
 * free block above it. Returns false if that is not large enough. */
static bool resize_to(struct tlsf_pool *state, uint32_t id, uint64_t size)
{
    struct heap *heap = &state->pool.heap;
    uint32_t above = heap->blocks[id].next;
    if (size > holds(heap, id)) {
        uint64_t room = holds(heap, id) + (heap_is_free(heap, above) ? heap->blocks[above].size : 0);
        note_unsplit(heap, id, size - holds(heap, id));
        if (room < size) {
            note_unsplit(heap, above, size - room);
            return false;
        }
        take_out(heap, above);
        heap_mark(heap, id, STATE_WASTE);
        heap_join_next(heap, id);
        heap->counters.coalescings++;
    } else {
        heap_mark(heap, id, STATE_WASTE);
    }
    cut(state, id, size);
    pool_hand_out(&state->pool, id);
    return true;
}

static uint32_t reallocate_block(struct heap *heap, uint32_t id, uint64_t size)
{
    struct tlsf_pool *state = (struct tlsf_pool *)heap;
    (void)size;
    if (id == state->zero)
        return allocate(heap, 0);
    if (heap->request.size == 0) {
        release(heap, id);
        heap->request.is_freed = !state->has_zero;
        return state->zero;
    }
    uint64_t held = adjusted(state, heap->request.size);
    uint32_t moved = id;
    if (held == 0)
        return NO_BLOCK;
    if (!resize_to(state, id, held)) {
        moved = serve(state, heap->request.size, 0);
        if (moved != NO_BLOCK)
            release(heap, id);
    }
    note(state);
    return moved;
}

static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    struct tlsf_pool *state = (struct tlsf_pool *)heap;
    uint64_t held = adjusted(state, heap->request.size);
    (void)size;
    return id != state->zero && held != 0 && resize_to(state, id, held);
}

REFUSING_LAYER(allocate, release, resize, heap_reserve, .reallocate = reallocate_block)

const struct layer *tlsf_pool_next_layer(struct heap *heap)
{
    return next_layer(heap);
}

/* Creates the free block of a pool, if the pool is large enough, and the last header. Returns false
 * if memory is exhausted. */
static bool add_pool(struct tlsf_pool *state, uint64_t start, uint64_t size, uint64_t control)
{
    struct pool *pool = &state->pool;
    uint64_t word = pool->heap.setting.word;
    uint32_t id = pool_add_region(pool, start, size);
    if (id == NO_BLOCK)
        return false;
    uint64_t room = size > control + 2 * word ? round_down(size - control - 2 * word, word) : 0;
    if (room < 3 * word || room >= state->top) {
        pool_close(pool, id, 0);
        return true;
    }
    id = pool_take_table(pool, id, control);
    pool_close(pool, id, word + room);
    state->area += word + room;
    enter(state, id);
    return true;
}

bool tlsf_pool_init(void *memory)
{
    struct tlsf_pool *state = memory;
    struct heap *heap = &state->pool.heap;
    heap->setting.payload = heap->setting.word;
    state->lists.heap = heap;
    state->lists.grain = heap->setting.word == 4 ? 2 : 3;
    state->lists.division = (unsigned)state->division;
    if (!add_pool(state, 0, state->pool.capacity, state->control) ||
        (state->second != 0 && !add_pool(state, SECOND_POOL, state->second, 0)))
        return false;
    /* True if a last block grows with the pool. */
    bool has_last = state->second == 0 && state->area > 0;
    heap->same_for = has_last ? UINT64_MAX : 0;
    state->zero = state->has_zero ? heap_first(heap) : NO_BLOCK;
    state->min_free = UINT64_MAX;
    if (state->node != 0)
        serve(state, state->node, 0);
    note(state);
    return true;
}

const char *tlsf_pool_check(const void *memory)
{
    const struct tlsf_pool *state = memory;
    return pool_check(&state->pool, class_lists_count(&state->lists, holds));
}

/* Returns the largest request that would succeed, or 0. */
uint64_t tlsf_pool_largest_request(const struct tlsf_pool *state)
{
    unsigned class = class_last(&state->lists);
    return class == NO_CLASS ? 0 : class_begin(&state->lists, class);
}

uint64_t tlsf_pool_largest_free(const struct tlsf_pool *state)
{
    uint64_t largest = class_lists_largest(&state->lists);
    return largest == 0 ? 0 : largest - state->pool.heap.setting.word;
}

/* Returns the total payload of all free blocks. */
uint64_t tlsf_pool_free_bytes(const struct tlsf_pool *state)
{
    const struct counters *counters = &state->pool.heap.counters;
    return state->area - counters->allocated -
           counters->free_blocks * state->pool.heap.setting.word;
}

const struct parameter tlsf_pool_parameters[TLSF_POOL_PARAMETERS] = {
    POOL_PARAMETERS,
    SIZE_PARAMETER(struct tlsf_pool, control),
    PARAMETER(struct tlsf_pool, division, 0, 5),
    SIZE_PARAMETER(struct tlsf_pool, top),
    SIZE_PARAMETER(struct tlsf_pool, second),
    PARAMETER(struct tlsf_pool, wraps, 0, 1),
    PARAMETER(struct tlsf_pool, cuts_to_class, 0, 1),
    PARAMETER(struct tlsf_pool, aligns, 0, 1),
    SIZE_PARAMETER(struct tlsf_pool, node),
    PARAMETER(struct tlsf_pool, has_zero, 0, 1),
};

static const char *const figure_names[] = {"free", "largest_free", "free_blocks", "largest"};

static void report(const struct heap *heap, uint64_t *figures)
{
    const struct tlsf_pool *state = (const struct tlsf_pool *)heap;
    const uint64_t values[] = {tlsf_pool_free_bytes(state), tlsf_pool_largest_free(state),
                               heap->counters.free_blocks, tlsf_pool_largest_request(state)};
    memcpy(figures, values, sizeof values);
}

const struct family tlsf_pool = {.name = "tlsf pool", TLSF_FAMILY};
