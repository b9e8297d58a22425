/* Emscripten's emmalloc over an sbrk with a limit (simalloc/policy/pool/emmalloc.md).
 *
 * A region is [size][payload][size]. The first word is the header of the block, and the last word
 * belongs to the allocator too. A region of `lowest()` bytes at the break belongs to the
 * allocator. */
#include "families/pool/sbrk.h"
#include "index/block_ring.h"

enum { LISTS = 64, SEARCHED_FROM = 30, MAX_TRIES = 99 };
#define MAX_REQUEST UINT64_C(0xFFFFFFC7)

struct emmalloc {
    struct sbrk sbrk;
    uint64_t mask;          /* bit i is set if list i may have a region */
    uint32_t fronts[LISTS]; /* front of each list, a ring, or NO_BLOCK */
};

/* Returns the size of the smallest region. */
static uint64_t lowest(const struct emmalloc *state)
{
    return 4 * state->sbrk.pool.heap.setting.word;
}

static uint64_t payload_of(const struct emmalloc *state, uint32_t id)
{
    const struct heap *heap = &state->sbrk.pool.heap;
    return heap->blocks[id].size - 2 * heap->setting.word;
}

static unsigned list_of(uint64_t payload)
{
    if (payload < 128)
        return (unsigned)(payload >> 3) - 1;
    unsigned bits = 64 - (unsigned)__builtin_clzll(payload);
    uint64_t list = payload < 4096 ? 4 * bits - 18 + ((payload >> (bits - 3)) ^ 4)
                                   : 2 * bits + 7 + ((payload >> (bits - 2)) ^ 2);
    return list < LISTS ? (unsigned)list : LISTS - 1;
}

/* Inserts a waste region at the front of its list. */
static void enter(struct emmalloc *state, uint32_t id)
{
    struct heap *heap = &state->sbrk.pool.heap;
    unsigned list = list_of(payload_of(state, id));
    block_ring_insert(&state->fronts[list], heap->blocks, id, true);
    state->mask |= UINT64_C(1) << list;
    heap_count_free(heap, id);
}

/* Removes a region from its list and makes it waste. */
static void take_out(struct heap *heap, uint32_t id)
{
    struct emmalloc *state = (struct emmalloc *)heap;
    block_ring_remove(&state->fronts[list_of(payload_of(state, id))], heap->blocks, id);
    heap->blocks[id].index_slot = STATE_WASTE;
    heap->counters.free_blocks--;
}

/* Merges a waste region with its free neighbours and inserts the result into its list. */
static void give_back(struct emmalloc *state, uint32_t id)
{
    coalesce(&state->sbrk.pool.heap, id, take_out);
    enter(state, id);
}

/* Returns the bytes from the start of a region's payload to the next multiple of the alignment. */
static uint64_t missing(const struct emmalloc *state, uint32_t id, uint64_t alignment)
{
    const struct pool *pool = &state->sbrk.pool;
    uint64_t start = pool->skew + pool->heap.blocks[id].address + pool->heap.setting.word;
    return round_up(start, alignment) - start;
}

static bool fits(const struct emmalloc *state, uint32_t id, uint64_t size, uint64_t alignment)
{
    return missing(state, id, alignment) + size <= payload_of(state, id);
}

/* Tries the front of each list from the list of the size upwards. A front that does not fit becomes
 * the last region of its list. */
static uint32_t try_fronts(struct emmalloc *state, uint64_t size, uint64_t alignment)
{
    struct heap *heap = &state->sbrk.pool.heap;
    uint64_t visited = 0, first = list_of(size);
    uint32_t found = NO_BLOCK;
    for (uint64_t left = state->mask >> first << first; left != 0; left &= left - 1) {
        unsigned list = (unsigned)__builtin_ctzll(left);
        uint32_t front = state->fronts[list];
        visited++;
        if (front == NO_BLOCK) {
            state->mask &= ~(UINT64_C(1) << list);
        } else if (fits(state, front, size, alignment)) {
            found = front;
            break;
        } else {
            state->fronts[list] = heap->blocks[front].family_data;
        }
    }
    count_search(heap, visited);
    return found;
}

/* A walk along the highest list of the mask. */
struct walk {
    uint32_t front, at; /* `at` is the next region, or NO_BLOCK after the last region */
};

static struct walk begin_walk(const struct emmalloc *state)
{
    uint32_t front =
        state->mask == 0 ? NO_BLOCK : state->fronts[63 - __builtin_clzll(state->mask)];
    return (struct walk){front, front};
}

/* Returns the next region that fits among the next `tries` regions, or NO_BLOCK. */
static uint32_t go_on(struct emmalloc *state, struct walk *walk, uint64_t tries, uint64_t size,
                      uint64_t alignment)
{
    struct heap *heap = &state->sbrk.pool.heap;
    uint64_t visited = 0;
    uint32_t found = NO_BLOCK;
    while (walk->at != NO_BLOCK && found == NO_BLOCK && visited < tries) {
        visited++;
        found = fits(state, walk->at, size, alignment) ? walk->at : NO_BLOCK;
        uint32_t next = heap->blocks[walk->at].family_data;
        walk->at = next == walk->front ? NO_BLOCK : next;
    }
    count_search(heap, visited);
    return found;
}

/* Raises the break. The new bytes join the last region if it is free. Returns false if the limit is
 * reached. */
static bool claim(struct emmalloc *state, uint64_t size)
{
    struct heap *heap = &state->sbrk.pool.heap;
    uint32_t marker = state->sbrk.room == NO_BLOCK ? heap_last(heap)
                                                   : heap->blocks[state->sbrk.room].previous;
    uint32_t new = sbrk_raise(&state->sbrk, round_up(size, 8));
    if (new == NO_BLOCK)
        return false;
    heap_mark(heap, marker, STATE_WASTE);
    heap_join_next(heap, marker);
    pool_close(&state->sbrk.pool, marker, heap->blocks[marker].size - lowest(state));
    give_back(state, marker);
    return true;
}

/* Returns a listed region that fits. Returns NO_BLOCK if no region fits and the break is at the
 * limit. */
static uint32_t find(struct emmalloc *state, uint64_t size, uint64_t alignment)
{
    for (;;) {
        uint32_t id = try_fronts(state, size, alignment);
        if (id != NO_BLOCK)
            return id;
        struct walk walk = begin_walk(state);
        if (state->mask >> SEARCHED_FROM != 0)
            id = go_on(state, &walk, MAX_TRIES, size, alignment);
        if (id != NO_BLOCK)
            return id;
        if (!claim(state, size + 3 * lowest(state) + (alignment > 8 ? alignment : 0)))
            return go_on(state, &walk, UINT64_MAX, size, alignment);
    }
}

/* Moves the low bytes of a waste region to the allocated region below it. Returns the remaining
 * region. */
static uint32_t move_up(struct emmalloc *state, uint32_t id, uint64_t bytes)
{
    struct heap *heap = &state->sbrk.pool.heap;
    uint32_t below = heap->blocks[id].previous, state_below = heap->blocks[below].index_slot;
    id = pool_split(&state->sbrk.pool, id, bytes);
    heap_mark(heap, below, STATE_WASTE);
    heap_join_next(heap, below);
    heap_mark(heap, below, state_below);
    return id;
}

static uint32_t serve(struct emmalloc *state, uint64_t size, uint64_t alignment)
{
    struct pool *pool = &state->sbrk.pool;
    uint32_t id = find(state, size, alignment);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    take_out(&state->sbrk.pool.heap, id);
    uint64_t bytes = missing(state, id, alignment);
    if (bytes > 0)
        id = move_up(state, id, bytes);
    uint64_t region = size + 2 * pool->heap.setting.word;
    if (pool->heap.blocks[id].size >= region + lowest(state))
        enter(state, pool_split(pool, id, region));
    pool_hand_out(pool, id);
    return id;
}

static uint64_t rounded(const struct emmalloc *state, uint64_t size)
{
    uint64_t word = state->sbrk.pool.heap.setting.word;
    return size < 2 * word ? 2 * word : round_up(size, word);
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct emmalloc *state = (struct emmalloc *)heap;
    uint64_t alignment = heap->request.alignment;
    (void)size;
    if (heap->request.size > MAX_REQUEST || (alignment & (alignment - 1)) != 0)
        return NO_BLOCK;
    return serve(state, rounded(state, heap->request.size), alignment < 8 ? 8 : alignment);
}

static void release(struct heap *heap, uint32_t id)
{
    uint64_t coalescings = heap->counters.coalescings;
    heap_mark(heap, id, STATE_WASTE);
    give_back((struct emmalloc *)heap, id);
    count_deallocation(heap, 0, coalescings);
}

/* Moves the end of an allocated region. Returns whether the region then has `wanted` bytes. */
static bool move_end(struct emmalloc *state, uint32_t id, uint64_t wanted)
{
    struct pool *pool = &state->sbrk.pool;
    struct heap *heap = &pool->heap;
    uint32_t above = heap->blocks[id].next;
    bool is_free = heap_is_free(heap, above);
    uint64_t held = heap->blocks[id].size + (is_free ? heap->blocks[above].size : 0);
    if (wanted > held || (!is_free && wanted + lowest(state) > held))
        return wanted <= held;
    heap_mark(heap, id, STATE_WASTE);
    if (is_free) {
        take_out(heap, above);
        heap_join_next(heap, id);
    }
    if (wanted + lowest(state) <= held)
        enter(state, pool_split(pool, id, wanted));
    pool_hand_out(pool, id);
    return true;
}

static uint32_t reallocate_block(struct heap *heap, uint32_t id, uint64_t size)
{
    struct emmalloc *state = (struct emmalloc *)heap;
    uint64_t asked = heap->request.size;
    (void)size;
    if (asked == 0)
        return pool_free_instead(heap, id, release);
    if (asked > MAX_REQUEST)
        return NO_BLOCK;
    asked = rounded(state, asked);
    if (move_end(state, id, asked + 2 * heap->setting.word))
        return id;
    return pool_moved(heap, id, serve(state, asked, 8), release);
}

REFUSING_LAYER(allocate, release, pool_has_no_realloc, heap_reserve, .reallocate = reallocate_block)

static bool init(void *memory)
{
    struct emmalloc *state = memory;
    struct pool *pool = &state->sbrk.pool;
    struct heap *heap = &pool->heap;
    heap->setting.payload = heap->setting.word;
    if (!sbrk_init(&state->sbrk))
        return false;
    for (unsigned list = 0; list < LISTS; list++)
        state->fronts[list] = NO_BLOCK;
    uint32_t id = sbrk_raise(&state->sbrk, 3 * lowest(state));
    id = pool_take_table(pool, id, lowest(state));
    pool_close(pool, id, lowest(state));
    heap_mark(heap, id, STATE_WASTE);
    enter(state, id);
    return true;
}

static const char *check(const void *memory)
{
    const struct emmalloc *state = memory;
    const struct heap *heap = &state->sbrk.pool.heap;
    uint64_t listed = state->sbrk.room != NO_BLOCK;
    for (unsigned list = 0; list < LISTS; list++) {
        uint32_t front = state->fronts[list], id = front;
        while (id != NO_BLOCK) {
            if (list_of(payload_of(state, id)) != list || (state->mask >> list & 1) == 0 ||
                ++listed > heap->used)
                return "a region is in the wrong list";
            id = heap->blocks[id].family_data;
            id = id == front ? NO_BLOCK : id;
        }
    }
    return pool_check(&state->sbrk.pool, listed);
}

static const char *const figure_names[] = {
    "dynamic_heap_size", "free_dynamic_memory", "free_regions",
};

static void report(const struct heap *heap, uint64_t *figures)
{
    const struct emmalloc *state = (const struct emmalloc *)heap;
    uint64_t bytes = 0, count = 0;
    for (uint32_t id = heap_first(heap); id != NO_BLOCK; id = heap->blocks[id].next)
        if (heap_is_free(heap, id) && id != state->sbrk.room) {
            bytes += payload_of(state, id);
            count++;
        }
    figures[0] = sbrk_break(&state->sbrk);
    figures[1] = bytes;
    figures[2] = count;
}

static const struct parameter parameters[] = {POOL_PARAMETERS};

const struct family emmalloc = {
    .name = "emmalloc",
    .blocks_an_event = 6,
    .columns = COLUMN_ALIGNMENT,
    POOL_FAMILY_OF(struct emmalloc),
};
