/* umm_malloc: best fit or first fit in one list, in the order of frees
 * (simalloc/policy/pool/umm_malloc.md). */
#include "families/pool/larger.h"

enum { HEADER = 4, MAX_BLOCKS = 32767 };

struct umm_malloc {
    struct pool pool;
    uint64_t block;
    uint64_t is_first; /* 1 for first fit, 0 for best fit */
    uint64_t defrags;  /* 1 if a realloc moves the object down whenever possible */
    uint32_t front;    /* front of the list, a ring, or NO_BLOCK */
    /* Numbers of free runs, allocated runs and requests refused for lack of memory. */
    uint64_t listed, used, refused;
};

/* Returns the size of the run for the request. */
static uint64_t needed(const struct umm_malloc *state)
{
    return round_up(state->pool.heap.request.size + HEADER, state->block);
}

static void enter(struct umm_malloc *state, uint32_t id)
{
    block_ring_insert(&state->front, state->pool.heap.blocks, id, true);
    heap_count_free(&state->pool.heap, id);
    state->listed++;
}

static void leave(struct umm_malloc *state, uint32_t id)
{
    struct heap *heap = &state->pool.heap;
    block_ring_remove(&state->front, heap->blocks, id);
    heap->blocks[id].index_slot = STATE_WASTE;
    heap->counters.free_blocks--;
    state->listed--;
}

/* Records the choice of run `id`, or NO_BLOCK. The second-best run has `next` bytes. */
static void note_taken(struct umm_malloc *state, uint32_t id, uint64_t wanted, uint64_t next)
{
    struct heap *heap = &state->pool.heap;
    uint32_t last = pool_last(heap);
    if (!heap_is_free(heap, last))
        return;
    uint64_t size = heap->blocks[last].size;
    if (size < wanted)
        differs_from(heap, wanted - size);
    else if (id == last && !state->is_first && next != UINT64_MAX)
        differs_from(heap, next - size);
}

/* Returns a free run with at least `wanted` bytes, or NO_BLOCK. */
static uint32_t find(struct umm_malloc *state, uint64_t wanted)
{
    struct heap *heap = &state->pool.heap;
    const struct block *blocks = heap->blocks;
    uint32_t id = state->front, last = pool_last(heap), best = NO_BLOCK;
    uint64_t visited = 0, least = UINT64_MAX, next = UINT64_MAX;
    for (uint64_t left = state->listed; left > 0; left--, id = blocks[id].family_data) {
        uint64_t size = blocks[id].size;
        visited++;
        if (size < wanted)
            continue;
        if (size < least) {
            next = least;
            least = size;
            best = id;
        } else if (size < next) {
            next = size;
        }
        if (state->is_first)
            break;
        /* An exact fit cannot be improved, but the real code visits all runs. */
        if (size == wanted && id != last) {
            visited = state->listed;
            break;
        }
    }
    count_search(heap, visited);
    note_taken(state, best, wanted, next);
    return best;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct umm_malloc *state = (struct umm_malloc *)heap;
    uint64_t wanted = needed(state);
    (void)size;
    if (heap->request.size == 0)
        return NO_BLOCK;
    uint32_t id = find(state, wanted);
    if (id == NO_BLOCK) {
        state->refused++;
        return NO_BLOCK;
    }
    if (heap->blocks[id].size > wanted) {
        id = heap_cut_low(heap, id, wanted);
        heap->blocks[id].index_slot = STATE_WASTE;
        heap->counters.splits++;
    } else {
        note_unsplit(heap, id, 1);
        leave(state, id);
    }
    pool_hand_out(&state->pool, id);
    state->used++;
    return id;
}

/* Frees a waste run. If the run below it is free, both are joined and keep that run's place in the
 * list. */
static void give_back(struct umm_malloc *state, uint32_t id)
{
    struct heap *heap = &state->pool.heap;
    uint32_t above = heap->blocks[id].next, below = heap->blocks[id].previous;
    if (heap_is_free(heap, above)) {
        leave(state, above);
        heap_join_next(heap, id);
        heap->counters.coalescings++;
    }
    if (heap_is_free(heap, below)) {
        heap_join_next(heap, below);
        heap->counters.coalescings++;
    } else {
        enter(state, id);
    }
}

static void release(struct heap *heap, uint32_t id)
{
    struct umm_malloc *state = (struct umm_malloc *)heap;
    uint64_t coalescings = heap->counters.coalescings;
    heap_mark(heap, id, STATE_WASTE);
    give_back(state, id);
    state->used--;
    count_deallocation(heap, 0, coalescings);
}

/* Returns the size of a neighbour if it is free, or 0. */
static uint64_t free_bytes(const struct heap *heap, uint32_t id)
{
    return heap_is_free(heap, id) ? heap->blocks[id].size : 0;
}

/* Plan of a realloc: the free neighbours that it uses. */
struct plan {
    bool is_possible, takes_below, takes_above;
};

/* Plans a realloc of the ESP8266 version, which moves the object down if it fits there. */
static struct plan plan_defragmenting(uint64_t below, uint64_t held, uint64_t above, uint64_t wanted)
{
    if (below > 0 && below + held + above >= wanted)
        return (struct plan){true, true, below + held < wanted};
    return (struct plan){held + above >= wanted, false, held < wanted};
}

/* Plans a realloc of the upstream version, which copies as few bytes as possible. */
static struct plan plan_in_place(uint64_t below, uint64_t held, uint64_t above, uint64_t wanted)
{
    if (held >= wanted)
        return (struct plan){true, false, false};
    if (held + above == wanted || (below == 0 && held + above >= wanted))
        return (struct plan){true, false, true};
    return (struct plan){below + held + above >= wanted, true, below + held < wanted};
}

/* Records that a larger last run above an object of `held` bytes might be sufficient for a realloc,
 * alone or with the `below` free bytes below the object. */
static void note_resized(struct heap *heap, uint32_t id, uint64_t below, uint64_t held,
                         uint64_t wanted)
{
    uint32_t last = pool_last(heap);
    if (heap->blocks[id].next != last || !heap_is_free(heap, last))
        return;
    uint64_t room = held + heap->blocks[last].size;
    if (below + room < wanted)
        differs_from(heap, wanted - below - room);
    else if (room < wanted)
        differs_from(heap, wanted - room);
}

static uint32_t reallocate_block(struct heap *heap, uint32_t id, uint64_t size)
{
    struct umm_malloc *state = (struct umm_malloc *)heap;
    const struct block *block = &heap->blocks[id];
    if (heap->request.size == 0)
        return pool_free_instead(heap, id, release);
    uint64_t wanted = needed(state), held = block->size;
    uint64_t below = free_bytes(heap, block->previous), above = free_bytes(heap, block->next);
    struct plan plan = state->defrags ? plan_defragmenting(below, held, above, wanted)
                                      : plan_in_place(below, held, above, wanted);
    note_resized(heap, id, below, held, wanted);
    if (!plan.is_possible)
        return layer_move(heap, id, size);
    if (!plan.takes_below && !plan.takes_above && held == wanted)
        return id;
    heap_mark(heap, id, STATE_WASTE);
    if (plan.takes_above) {
        leave(state, block->next);
        heap_join_next(heap, id);
    }
    if (plan.takes_below) {
        leave(state, block->previous);
        heap_join_previous(heap, id);
    }
    heap->counters.coalescings += plan.takes_above + plan.takes_below;
    if (block->size > wanted)
        give_back(state, pool_split(&state->pool, id, wanted));
    else
        note_unsplit(heap, id, 1);
    pool_hand_out(&state->pool, id);
    return id;
}

REFUSING_LAYER(allocate, release, pool_has_no_realloc, heap_reserve, .reallocate = reallocate_block)

static bool init(void *memory)
{
    struct umm_malloc *state = memory;
    struct pool *pool = &state->pool;
    uint64_t blocks = pool->capacity / state->block;
    blocks = blocks < MAX_BLOCKS ? blocks : MAX_BLOCKS;
    pool->heap.setting.payload = HEADER;
    uint32_t id = pool_add_region(pool, 0, pool->capacity);
    if (id == NO_BLOCK)
        return false;
    id = pool_take_table(pool, id, state->block);
    pool_close(pool, id, (blocks - 2) * state->block);
    enter(state, id);
    pool->heap.same_for = UINT64_MAX;
    return true;
}

static const char *check(const void *memory)
{
    const struct umm_malloc *state = memory;
    return pool_check(&state->pool, state->listed);
}

static uint64_t square_root(uint64_t square)
{
    uint64_t root = 0;
    for (uint64_t bit = UINT64_C(1) << 31; bit > 0; bit >>= 1)
        root += (root + bit) * (root + bit) <= square ? bit : 0;
    return root;
}

static const char *const figure_names[] = {
    "freeBlocks", "freeEntries", "maxFreeContiguousBlocks", "usedBlocks", "usedEntries",
    "fragmentation_metric", "stats_free_blocks", "oom_count", "largest",
};

static void report(const struct heap *heap, uint64_t *figures)
{
    const struct umm_malloc *state = (const struct umm_malloc *)heap;
    uint64_t blocks = 0, largest = 0, squares = 0;
    uint32_t id = state->front;
    for (uint64_t left = state->listed; left > 0; left--, id = heap->blocks[id].family_data) {
        uint64_t run = heap->blocks[id].size / state->block;
        blocks += run;
        squares += run * run;
        largest = run > largest ? run : largest;
    }
    const uint64_t values[] = {
        blocks,
        state->listed,
        largest,
        heap->counters.allocated / state->block,
        state->used,
        blocks == 0 ? 0 : 100 - square_root(squares) * 100 / blocks,
        blocks,
        state->refused,
        largest == 0 ? 0 : largest * state->block - HEADER,
    };
    memcpy(figures, values, sizeof values);
}

static const struct parameter parameters[] = {
    POOL_PARAMETERS,
    PARAMETER(struct umm_malloc, block, 8, 1024),
    PARAMETER(struct umm_malloc, is_first, 0, 1),
    PARAMETER(struct umm_malloc, defrags, 0, 1),
};

const struct family umm_malloc = {
    .name = "umm malloc",
    .blocks_an_event = 2,
    POOL_FAMILY_OF(struct umm_malloc),
};
