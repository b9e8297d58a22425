/* jserv's tlsf-bsd: TLSF over a heap that grows and shrinks in its pool
 * (simalloc/policy/pool/tlsf_bsd.md).
 *
 * The memory beyond the heap is one block in STATE_TABLE. Its first bytes are the last header. */
#include "families/pool/larger.h"

struct tlsf_bsd {
    struct pool pool;
    struct class_lists lists;
    uint64_t most; /* maximum payload of a block in bytes */
    uint32_t end;  /* memory beyond the heap */
};

static uint64_t holds(const struct heap *heap, uint32_t id)
{
    return heap->blocks[id].size - heap->setting.word;
}

static void take_out(struct heap *heap, uint32_t id)
{
    class_leave(&((struct tlsf_bsd *)heap)->lists, id, holds(heap, id));
}

static void enter(struct tlsf_bsd *state, uint32_t id)
{
    class_enter(&state->lists, id, holds(&state->pool.heap, id), true);
}

/* Returns the payload of the block for a request, or 0 if the request is impossible. */
static uint64_t adjusted(const struct heap *heap, uint64_t size)
{
    const struct tlsf_bsd *state = (const struct tlsf_bsd *)heap;
    uint64_t word = heap->setting.word;
    if (size > word_max(heap))
        return 0;
    uint64_t held = round_up(size, word) & word_max(heap);
    held = held < 3 * word ? 3 * word : held;
    return held <= state->most ? held : 0;
}

/* Returns the maximum payload of a block that can be added to the heap. */
static uint64_t room(const struct tlsf_bsd *state)
{
    const struct heap *heap = &state->pool.heap;
    uint64_t left = heap->blocks[state->end].size, used = 2 * heap->setting.word;
    return left > used ? left - used : 0;
}

/* Adds a free block with a payload of `held` bytes at the end of the heap. Returns false if it does
 * not fit. */
static bool grow(struct tlsf_bsd *state, uint64_t held)
{
    struct heap *heap = &state->pool.heap;
    if (held > room(state)) {
        differs_from(heap, held - room(state));
        return false;
    }
    uint32_t id = heap_cut_low(heap, state->end, held + heap->setting.word);
    heap->blocks[id].index_slot = STATE_WASTE;
    heap->counters.growths++;
    coalesce(heap, id, take_out);
    enter(state, id);
    return true;
}

/* Removes a block with a payload of at least `size` bytes from its list. Grows the heap if no block
 * is large enough. Stores the smallest key of the list in `begin`. Returns NO_BLOCK if the heap
 * cannot grow. */
static uint32_t find(struct tlsf_bsd *state, uint64_t size, uint64_t *begin)
{
    struct class_lists *lists = &state->lists;
    uint64_t wanted = class_round_up(lists, size);
    unsigned class = class_with_block(lists, class_of(lists, wanted));
    count_search(&state->pool.heap, class != NO_CLASS);
    if (class == NO_CLASS && grow(state, wanted))
        class = class_with_block(lists, class_of(lists, wanted));
    if (class == NO_CLASS)
        return NO_BLOCK;
    uint32_t id = lists->fronts[class];
    take_out(&state->pool.heap, id);
    *begin = class_begin(lists, class);
    return id;
}

/* Cuts off the part of an unlisted block beyond a payload of `size` bytes, if it is large enough
 * for a block. */
static void cut(struct tlsf_bsd *state, uint32_t id, uint64_t size)
{
    struct heap *heap = &state->pool.heap;
    uint64_t word = heap->setting.word;
    if (holds(heap, id) < size + 4 * word)
        return;
    uint32_t rest = pool_split(&state->pool, id, word + size);
    coalesce(heap, rest, take_out);
    enter(state, rest);
}

/* Allocates a block for an aligned request. The bytes before it always form a block. */
static uint32_t serve_aligned(struct tlsf_bsd *state, uint64_t alignment, uint64_t size)
{
    struct heap *heap = &state->pool.heap;
    uint64_t word = heap->setting.word, held = adjusted(heap, size), begin;
    uint64_t wanted = adjusted(heap, round_up(size + alignment - 1 + 4 * word, alignment));
    if (size == 0 || size % alignment != 0 || held == 0 || wanted == 0)
        return NO_BLOCK;
    uint32_t id = find(state, wanted, &begin);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    uint64_t start = state->pool.skew + heap->blocks[id].address + word;
    uint64_t aligned = round_up(start + 4 * word, alignment);
    uint32_t rest = pool_split(&state->pool, id, aligned - start);
    enter(state, id);
    cut(state, rest, held);
    pool_hand_out(&state->pool, rest);
    return rest;
}

static uint32_t serve(struct tlsf_bsd *state, uint64_t size)
{
    uint64_t held = adjusted(&state->pool.heap, size), begin;
    uint32_t id = held == 0 ? NO_BLOCK : find(state, held, &begin);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    cut(state, id, begin);
    pool_hand_out(&state->pool, id);
    return id;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct tlsf_bsd *state = (struct tlsf_bsd *)heap;
    uint64_t alignment = heap->request.alignment;
    (void)size;
    if (alignment > heap->setting.word)
        return serve_aligned(state, alignment, heap->request.size);
    if (alignment != 0 && (heap->request.size == 0 || heap->request.size % alignment != 0))
        return NO_BLOCK;
    return serve(state, heap->request.size);
}

/* Frees a block. If it becomes the last block, the heap shrinks instead. */
static void release(struct heap *heap, uint32_t id)
{
    struct tlsf_bsd *state = (struct tlsf_bsd *)heap;
    uint64_t coalescings = heap->counters.coalescings;
    heap_mark(heap, id, STATE_WASTE);
    coalesce(heap, id, take_out);
    count_deallocation(heap, 0, coalescings);
    if (heap->blocks[id].next == state->end)
        heap_join_previous(heap, state->end);
    else
        enter(state, id);
}

static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    struct tlsf_bsd *state = (struct tlsf_bsd *)heap;
    uint64_t held = adjusted(heap, heap->request.size);
    uint32_t above = heap->blocks[id].next;
    bool grows = held > holds(heap, id);
    (void)size;
    if (held == 0 || (grows && (!heap_is_free(heap, above) ||
                                holds(heap, id) + heap->blocks[above].size < held)))
        return false;
    heap_mark(heap, id, STATE_WASTE);
    if (grows) {
        take_out(heap, above);
        heap_join_next(heap, id);
        heap->counters.coalescings++;
    }
    cut(state, id, held);
    pool_hand_out(&state->pool, id);
    return true;
}

static uint32_t reallocate_block(struct heap *heap, uint32_t id, uint64_t size)
{
    if (heap->request.size == 0)
        return pool_free_instead(heap, id, release);
    if (adjusted(heap, heap->request.size) == 0)
        return NO_BLOCK;
    return resize(heap, id, size) ? id : layer_move(heap, id, size);
}

REFUSING_LAYER(allocate, release, resize, heap_reserve, .reallocate = reallocate_block)

static bool init(void *memory)
{
    struct tlsf_bsd *state = memory;
    struct pool *pool = &state->pool;
    pool->heap.setting.payload = pool->heap.setting.word;
    state->lists.heap = &pool->heap;
    state->lists.grain = pool->heap.setting.word == 4 ? 2 : 3;
    state->lists.division = 4;
    state->end = pool_add_region(pool, 0, pool->capacity);
    if (state->end == NO_BLOCK)
        return false;
    pool->heap.blocks[state->end].index_slot = STATE_TABLE;
    pool->heap.same_for = UINT64_MAX;
    return true;
}

static const char *check(const void *memory)
{
    const struct tlsf_bsd *state = memory;
    if (heap_last(&state->pool.heap) != state->end)
        return "a block is located beyond the end of the heap";
    return pool_check(&state->pool, class_lists_count(&state->lists, holds));
}

/* Returns the size of the largest free block. The bytes by which the heap can grow count as a
 * block. */
static uint64_t largest_free(const struct heap *heap)
{
    const struct tlsf_bsd *state = (const struct tlsf_bsd *)heap;
    uint64_t largest = class_lists_largest(&state->lists);
    uint64_t grown = room(state) == 0 ? 0 : room(state) + heap->setting.word;
    return grown > largest ? grown : largest;
}

static const char *const figure_names[] = {"size", "free", "free_blocks", "largest"};

static void report(const struct heap *heap, uint64_t *figures)
{
    const struct tlsf_bsd *state = (const struct tlsf_bsd *)heap;
    const struct class_lists *lists = &state->lists;
    uint64_t word = heap->setting.word, blocks = heap->blocks[state->end].address;
    uint64_t free = blocks - heap->counters.allocated - heap->counters.free_blocks * word;
    unsigned class = class_last(lists);
    uint64_t grown = class_begin(lists, class_of(lists, room(state)));
    uint64_t largest = class == NO_CLASS ? 0 : class_begin(lists, class);
    largest = grown > largest ? grown : largest;
    figures[0] = blocks == 0 ? 0 : blocks + word;
    figures[1] = free;
    figures[2] = heap->counters.free_blocks;
    figures[3] = largest < 3 * word ? 0 : largest < state->most ? largest : state->most;
}

static const struct parameter parameters[] = {
    POOL_PARAMETERS,
    SIZE_PARAMETER(struct tlsf_bsd, most),
};

const struct family tlsf_bsd = {
    .name = "tlsf bsd",
    .blocks_an_event = 3,
    .columns = COLUMN_ALIGNMENT,
    .largest_free = largest_free,
    POOL_FAMILY_OF(struct tlsf_bsd),
};
