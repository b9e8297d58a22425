/* lwIP's mem.c: first fit by a walk over all blocks from the lowest free one
 * (simalloc/policy/pool/lwip.md). */
#include "families/pool/pool.h"

struct lwip {
    struct pool pool;
    uint64_t index; /* the largest number in an index */
    uint64_t least; /* bytes that a block holds */
    uint32_t lowest; /* the lowest free block, or the end */
    uint64_t most;   /* that was in use */
    uint64_t errors; /* requests for which there was no room */
};

/* Where the first header lies. */
static uint64_t first_address(const struct lwip *state)
{
    uint64_t skew = state->pool.skew;
    return round_up(skew, state->pool.heap.setting.alignment) - skew;
}

static bool is_end(const struct lwip *state, uint32_t id)
{
    return state->pool.heap.blocks[id].index_slot == STATE_TABLE;
}

/* The first free block of at least a size from one on, or the end. */
static uint32_t walk(const struct lwip *state, uint32_t from, uint64_t size, uint64_t *visited)
{
    const struct heap *heap = &state->pool.heap;
    uint32_t id = from;
    for (*visited = 1; !is_end(state, id); ++*visited) {
        if (heap_is_free(heap, id) && heap->blocks[id].size >= size)
            break;
        id = heap->blocks[id].next;
    }
    return id;
}

/* The bytes of the block that a request needs; 0: there is none so large. */
static uint64_t wanted(const struct lwip *state)
{
    const struct heap *heap = &state->pool.heap;
    uint64_t size = heap->request.size, held = round_up(size, heap->setting.alignment);
    held = held < state->least ? state->least : held;
    return size > state->index || held > state->pool.capacity ? 0 : held + heap->setting.payload;
}

/* Gives a block up that is in no index: it is free, merged with its neighbours, and may be the
 * lowest. */
static void give_back(struct lwip *state, uint32_t id)
{
    struct heap *heap = &state->pool.heap;
    uint64_t lowest = heap->blocks[state->lowest].address;
    uint32_t above = heap->blocks[id].next, below = heap->blocks[id].previous;
    if (heap_is_free(heap, above)) {
        heap_mark(heap, above, STATE_WASTE);
        heap_join_next(heap, id);
        heap->counters.coalescings++;
    }
    if (heap_is_free(heap, below)) {
        heap_mark(heap, below, STATE_WASTE);
        heap_join_previous(heap, id);
        heap->counters.coalescings++;
    }
    heap_mark(heap, id, STATE_FREE);
    if (heap->blocks[id].address <= lowest)
        state->lowest = id;
}

static void note_use(struct lwip *state)
{
    uint64_t used = state->pool.heap.counters.allocated;
    state->most = used > state->most ? used : state->most;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct lwip *state = (struct lwip *)heap;
    uint64_t needed = wanted(state), visited, more;
    (void)size;
    if (heap->request.size == 0 || needed == 0)
        return NO_BLOCK;
    uint32_t id = walk(state, state->lowest, needed, &visited);
    count_search(heap, visited);
    if (is_end(state, id)) {
        state->errors++;
        return NO_BLOCK;
    }
    heap_mark(heap, id, STATE_WASTE);
    if (heap->blocks[id].size >= needed + heap->setting.payload + state->least)
        heap_mark(heap, pool_split(&state->pool, id, needed), STATE_FREE);
    pool_hand_out(&state->pool, id);
    if (id == state->lowest)
        state->lowest = walk(state, id, 0, &more);
    note_use(state);
    return id;
}

static void release(struct heap *heap, uint32_t id)
{
    uint64_t coalescings = heap->counters.coalescings;
    heap_mark(heap, id, STATE_WASTE);
    give_back((struct lwip *)heap, id);
    count_deallocation(heap, 0, coalescings);
}

/* mem_trim: a block only becomes smaller. */
static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    struct lwip *state = (struct lwip *)heap;
    uint64_t needed = wanted(state), held = heap->blocks[id].size;
    (void)size;
    if (needed == 0 || needed > held)
        return false;
    bool joins = heap_is_free(heap, heap->blocks[id].next);
    if (needed < held && (joins || held >= needed + heap->setting.payload + state->least)) {
        uint32_t rest = pool_split(&state->pool, id, needed);
        heap_mark(heap, rest, STATE_WASTE);
        give_back(state, rest);
    }
    return true;
}

POOL_LAYER(allocate, release, resize, heap_reserve)

static bool init(void *memory)
{
    struct lwip *state = memory;
    struct pool *pool = &state->pool;
    uint64_t alignment = pool->heap.setting.alignment;
    pool->heap.setting.payload = round_up(state->index == UINT16_MAX ? 6 : 12, alignment);
    state->least = round_up(12, alignment);
    uint64_t end = round_up(pool->capacity, alignment);
    uint64_t start = first_address(state);
    uint32_t id = pool_add_region(pool, 0, start + end + pool->heap.setting.payload);
    if (id == NO_BLOCK)
        return false;
    id = pool_take_table(pool, id, start);
    pool_close(pool, id, end);
    state->lowest = id;
    heap_mark(&pool->heap, id, STATE_FREE);
    return true;
}

static const char *check(const void *memory)
{
    const struct lwip *state = memory;
    const struct heap *heap = &state->pool.heap;
    uint64_t count = 0, visited;
    for (uint32_t id = heap_first(heap); id != NO_BLOCK; id = heap->blocks[id].next) {
        count += heap_is_free(heap, id);
        if (heap_is_free(heap, id) && heap_is_free(heap, heap->blocks[id].next))
            return "two free blocks are neighbours";
    }
    uint32_t first = heap_first(heap);
    if (first_address(state) > 0)
        first = heap->blocks[first].next;
    if (walk(state, first, 0, &visited) != state->lowest)
        return "another free block is the lowest";
    return pool_check(&state->pool, count);
}

static const char *const figure_names[] = {"used", "max", "err", "lfree", "free_blocks",
                                           "largest"};

static void report(const struct heap *heap, uint64_t *figures)
{
    const struct lwip *state = (const struct lwip *)heap;
    uint64_t largest = heap->setting.payload;
    for (uint32_t id = state->lowest; !is_end(state, id); id = heap->blocks[id].next)
        if (heap_is_free(heap, id) && heap->blocks[id].size > largest)
            largest = heap->blocks[id].size;
    const uint64_t told[] = {
        heap->counters.allocated,
        state->most,
        state->errors,
        heap->blocks[state->lowest].address - first_address(state),
        heap->counters.free_blocks,
        largest - heap->setting.payload,
    };
    memcpy(figures, told, sizeof told);
}

static const struct parameter parameters[] = {
    POOL_PARAMETERS(struct lwip),
    PARAMETER(struct lwip, index, UINT16_MAX, UINT32_MAX),
};

const struct family lwip = {
    .name = "lwip",
    .blocks_an_event = 2,
    POOL_FAMILY_OF(struct lwip),
};
