/* newlib's full malloc over an sbrk with a limit: Doug Lea's malloc of the 2.6 line
 * (simalloc/policy/pool/newlib.md). */
#include "families/pool/sbrk.h"
#include "index/size/groups.h"
#include "parts/bin_number.h"

enum { SMALL = 504, TRIM = 131072 };

struct newlib {
    struct sbrk sbrk;
    struct groups bins;
    uint64_t page;
    uint32_t top;       /* free chunk at the break, or NO_BLOCK before the first request */
    uint32_t remainder; /* last remainder, or NO_BLOCK */
};

static uint64_t min_chunk(const struct heap *heap)
{
    return 4 * heap->setting.word;
}

/* Returns the size of the chunk for a request, or UINT64_MAX if the request is impossible. */
static uint64_t chunk_of(const struct heap *heap, uint64_t size)
{
    uint64_t chunk = round_up(size + heap->setting.word, heap->setting.alignment);
    if (size > INT32_MAX || chunk > INT32_MAX)
        return UINT64_MAX;
    return chunk < min_chunk(heap) ? min_chunk(heap) : chunk;
}

/* Makes a waste chunk the top or the last remainder. */
static void give_role(struct heap *heap, uint32_t *role, uint32_t id)
{
    heap_mark(heap, id, STATE_FREE);
    *role = id;
}

/* Removes a free chunk from its bin or its role and makes it waste. */
static void take_out(struct heap *heap, uint32_t id)
{
    struct newlib *state = (struct newlib *)heap;
    if (id == state->top || id == state->remainder) {
        heap_mark(heap, id, STATE_WASTE);
        *(id == state->top ? &state->top : &state->remainder) = NO_BLOCK;
    } else {
        groups_remove(&state->bins, id, OLDEST_IS_HEAD);
        heap->blocks[id].index_slot = STATE_WASTE;
    }
}

static bool is_takable(const struct newlib *state, uint32_t id)
{
    return id != state->sbrk.room && heap_is_free(&state->sbrk.pool.heap, id);
}

/* Returns whole pages of a large top to the system. */
static void trim(struct newlib *state)
{
    struct heap *heap = &state->sbrk.pool.heap;
    uint32_t top = state->top;
    uint64_t size = heap->blocks[top].size;
    uint64_t falls = size < TRIM ? 0 : round_down(size - min_chunk(heap) - 1, state->page);
    if (falls == 0)
        return;
    heap_mark(heap, top, STATE_WASTE);
    sbrk_lower(&state->sbrk, pool_split(&state->sbrk.pool, top, size - falls));
    heap_mark(heap, top, STATE_FREE);
}

/* Frees a waste chunk. */
static void give_back(struct newlib *state, uint32_t id)
{
    struct heap *heap = &state->sbrk.pool.heap;
    uint32_t above = heap->blocks[id].next, below = heap->blocks[id].previous;
    bool was_top = above == state->top && above != NO_BLOCK, was_remainder = false;
    if (is_takable(state, below)) {
        was_remainder = below == state->remainder;
        take_out(heap, below);
        heap_join_previous(heap, id);
        heap->counters.coalescings++;
    }
    if (is_takable(state, above)) {
        was_remainder |= above == state->remainder;
        take_out(heap, above);
        heap_join_next(heap, id);
        heap->counters.coalescings++;
    }
    if (was_top) {
        give_role(heap, &state->top, id);
        trim(state);
    } else if (was_remainder) {
        give_role(heap, &state->remainder, id);
    } else {
        groups_insert(&state->bins, id);
    }
}

/* Allocates a free chunk for a request. Cuts the high end off if it is large enough for a chunk. */
static uint32_t use(struct newlib *state, uint32_t id, uint64_t wanted)
{
    struct heap *heap = &state->sbrk.pool.heap;
    bool is_top = id == state->top;
    take_out(heap, id);
    if (heap->blocks[id].size - wanted >= min_chunk(heap))
        give_role(heap, is_top ? &state->top : &state->remainder,
                  pool_split(&state->sbrk.pool, id, wanted));
    return id;
}

/* Ends the old top with two markers, because the new memory does not adjoin it. */
static void close_top(struct newlib *state, uint32_t id)
{
    struct heap *heap = &state->sbrk.pool.heap;
    uint64_t size = heap->blocks[id].size;
    uint64_t kept = size < min_chunk(heap) ? 0
                                       : round_down(size - 3 * heap->setting.word,
                                                    heap->setting.alignment);
    pool_close(&state->sbrk.pool, id, kept);
    if (kept >= min_chunk(heap))
        give_back(state, id);
    else
        heap_mark(heap, id, STATE_TABLE);
}

/* Makes new memory the top. Its start is aligned and, if memory remains, it ends at the end of a
 * page. */
static void begin_top(struct newlib *state, uint32_t id)
{
    struct sbrk *sbrk = &state->sbrk;
    struct heap *heap = &sbrk->pool.heap;
    uint64_t alignment = heap->setting.alignment, size = heap->blocks[id].size;
    uint64_t start = sbrk->pool.skew + heap->blocks[id].address + 2 * heap->setting.word;
    uint64_t front = round_up(start, alignment) - start;
    uint64_t end = sbrk->pool.skew + heap->blocks[id].address + front + size;
    uint64_t lost = front > 0 ? alignment - front : 0;
    if (!sbrk_extend(sbrk, id, front + state->page - end % state->page) && lost > 0)
        pool_close(&sbrk->pool, id, size - lost);
    id = pool_take_table(&sbrk->pool, id, front);
    heap_mark(heap, id, STATE_WASTE);
    give_role(heap, &state->top, id);
}

/* Raises the break for a request. Returns false if the limit is reached. */
static bool extend_top(struct newlib *state, uint64_t wanted)
{
    struct sbrk *sbrk = &state->sbrk;
    struct heap *heap = &sbrk->pool.heap;
    uint32_t old = state->top;
    uint64_t size = wanted + min_chunk(heap);
    bool joins = (sbrk->pool.skew + sbrk_break(sbrk)) % state->page == 0;
    uint32_t id = sbrk_raise(sbrk, old == NO_BLOCK ? size : round_up(size, state->page));
    if (id == NO_BLOCK)
        return false;
    heap->counters.growths++;
    if (old != NO_BLOCK)
        take_out(heap, old);
    if (old != NO_BLOCK && joins) {
        heap_join_previous(heap, id);
        give_role(heap, &state->top, id);
        return true;
    }
    begin_top(state, id);
    if (old != NO_BLOCK)
        close_top(state, old);
    return true;
}

static bool fits_closely(const struct newlib *state, uint32_t id, uint64_t wanted)
{
    const struct heap *heap = &state->sbrk.pool.heap;
    uint64_t found = heap->blocks[id].size;
    if (id == NO_BLOCK || found >= wanted + min_chunk(heap))
        return false;
    return wanted < SMALL ? found <= wanted + 8 : lea_share_bin(found, wanted);
}

/* Returns a waste chunk of at least `wanted` bytes, or NO_BLOCK. */
static uint32_t find(struct newlib *state, uint64_t wanted, uint64_t *visited)
{
    struct heap *heap = &state->sbrk.pool.heap;
    uint32_t best = groups_best(&state->bins, wanted), remainder = state->remainder;
    if (!fits_closely(state, best, wanted) && remainder != NO_BLOCK) {
        ++*visited;
        if (heap->blocks[remainder].size >= wanted)
            return use(state, remainder, wanted);
        take_out(heap, remainder);
        groups_insert(&state->bins, remainder);
    }
    if (best != NO_BLOCK) {
        ++*visited;
        return use(state, best, wanted);
    }
    uint32_t top = state->top;
    *visited += top != NO_BLOCK;
    if ((top == NO_BLOCK || heap->blocks[top].size < wanted + min_chunk(heap)) &&
        !extend_top(state, wanted))
        return NO_BLOCK;
    top = state->top;
    return heap->blocks[top].size < wanted + min_chunk(heap) ? NO_BLOCK : use(state, top, wanted);
}

static uint32_t serve(struct newlib *state, uint64_t wanted)
{
    struct pool *pool = &state->sbrk.pool;
    uint64_t visited = 0;
    uint32_t id = wanted == UINT64_MAX ? NO_BLOCK : find(state, wanted, &visited);
    count_search(&pool->heap, visited);
    if (id != NO_BLOCK)
        pool_hand_out(pool, id);
    return id;
}

/* Frees the part of an allocated chunk beyond `wanted` bytes, if it is large enough for a chunk. */
static void cut(struct newlib *state, uint32_t id, uint64_t wanted)
{
    struct heap *heap = &state->sbrk.pool.heap;
    if (heap->blocks[id].size < wanted + min_chunk(heap))
        return;
    uint32_t rest = pool_split(&state->sbrk.pool, id, wanted);
    heap_mark(heap, rest, STATE_WASTE);
    give_back(state, rest);
}

static uint32_t serve_aligned(struct newlib *state, uint64_t alignment, uint64_t size)
{
    struct pool *pool = &state->sbrk.pool;
    struct heap *heap = &pool->heap;
    alignment = alignment < min_chunk(heap) ? min_chunk(heap) : alignment;
    uint64_t wanted = chunk_of(heap, size);
    if (wanted == UINT64_MAX)
        return NO_BLOCK;
    uint32_t id = serve(state, chunk_of(heap, wanted + alignment + min_chunk(heap)));
    if (id == NO_BLOCK)
        return NO_BLOCK;
    uint64_t start = pool->skew + heap->blocks[id].address + heap->setting.payload;
    uint64_t before = round_up(start, alignment) - start;
    if (before > 0) {
        before += before < min_chunk(heap) ? alignment : 0;
        heap_mark(heap, id, STATE_WASTE);
        uint32_t front = id;
        id = pool_split(pool, front, before);
        pool_hand_out(pool, id);
        give_back(state, front);
    }
    cut(state, id, wanted);
    return id;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct newlib *state = (struct newlib *)heap;
    uint64_t alignment = heap->request.alignment;
    (void)size;
    return alignment <= heap->setting.alignment
               ? serve(state, chunk_of(heap, heap->request.size))
               : serve_aligned(state, alignment, heap->request.size);
}

static void release(struct heap *heap, uint32_t id)
{
    uint64_t coalescings = heap->counters.coalescings;
    heap_mark(heap, id, STATE_WASTE);
    give_back((struct newlib *)heap, id);
    count_deallocation(heap, 0, coalescings);
}

/* Joins an allocated chunk with free neighbours. */
static void join(struct newlib *state, uint32_t id, bool takes_above, bool takes_below)
{
    struct heap *heap = &state->sbrk.pool.heap;
    heap_mark(heap, id, STATE_WASTE);
    if (takes_above) {
        take_out(heap, heap->blocks[id].next);
        heap_join_next(heap, id);
    }
    if (takes_below) {
        take_out(heap, heap->blocks[id].previous);
        heap_join_previous(heap, id);
    }
}

/* Extends a chunk by its neighbours. Returns false if they are not large enough. */
static bool grow(struct newlib *state, uint32_t id, uint64_t wanted)
{
    struct heap *heap = &state->sbrk.pool.heap;
    const struct block *block = &heap->blocks[id];
    uint32_t next = block->next, previous = block->previous;
    bool is_top = next == state->top;
    uint64_t above = is_takable(state, next) ? heap->blocks[next].size : 0;
    uint64_t below = is_takable(state, previous) ? heap->blocks[previous].size : 0;
    uint64_t with_above = wanted + (is_top ? min_chunk(heap) : 0), held = block->size;
    if (above > 0 && held + above >= with_above)
        join(state, id, true, false);
    else if (below > 0 && above > 0 && held + above + below >= with_above)
        join(state, id, true, true);
    else if (below > 0 && held + below >= wanted)
        join(state, id, false, true);
    else
        return false;
    if (state->top == NO_BLOCK) /* the top was used; the bytes beyond the request are the new top */
        give_role(heap, &state->top, pool_split(&state->sbrk.pool, id, wanted));
    pool_hand_out(&state->sbrk.pool, id);
    return true;
}

static uint32_t reallocate_block(struct heap *heap, uint32_t id, uint64_t size)
{
    struct newlib *state = (struct newlib *)heap;
    uint64_t wanted = chunk_of(heap, heap->request.size);
    (void)size;
    if (wanted == UINT64_MAX)
        return NO_BLOCK;
    if (wanted > heap->blocks[id].size && !grow(state, id, wanted)) {
        uint32_t other = serve(state, wanted);
        if (other == NO_BLOCK)
            return NO_BLOCK;
        if (heap->blocks[id].next != other) {
            release(heap, id);
            return other;
        }
        heap_join_next(heap, id);
    }
    cut(state, id, wanted);
    return id;
}

static bool reserve(struct heap *heap)
{
    return heap_reserve(heap) && groups_reserve(&((struct newlib *)heap)->bins);
}

REFUSING_LAYER(allocate, release, pool_has_no_realloc, reserve, .reallocate = reallocate_block)

static void release_all(void *memory)
{
    groups_release(&((struct newlib *)memory)->bins);
}

static bool init(void *memory)
{
    struct newlib *state = memory;
    struct heap *heap = &state->sbrk.pool.heap;
    heap->setting.payload = 2 * heap->setting.word;
    return sbrk_init(&state->sbrk) && groups_init(&state->bins, heap, heap->setting.alignment);
}

static const char *check(const void *memory)
{
    const struct newlib *state = memory;
    uint64_t count = state->bins.block_count + (state->top != NO_BLOCK) +
                     (state->remainder != NO_BLOCK) + (state->sbrk.room != NO_BLOCK);
    const char *wrong = groups_check(&state->bins);
    return wrong != NULL ? wrong : pool_check(&state->sbrk.pool, count);
}

/* Returns the largest request that would succeed. */
static uint64_t largest_request(const struct newlib *state, uint64_t largest)
{
    const struct heap *heap = &state->sbrk.pool.heap;
    uint64_t room = sbrk_room(&state->sbrk), kept = min_chunk(heap);
    if (state->top != NO_BLOCK) {
        uint64_t top = heap->blocks[state->top].size;
        room = round_down(room, state->page);
        room = top > room ? top : room;
    }
    uint64_t served = room > kept ? room - kept : 0;
    served = round_down(largest > served ? largest : served, heap->setting.alignment);
    return served >= kept ? served - heap->setting.word : 0;
}

static const char *const figure_names[] = {"arena", "ordblks", "uordblks", "fordblks", "keepcost",
                                           "largest"};

static void report(const struct heap *heap, uint64_t *figures)
{
    const struct newlib *state = (const struct newlib *)heap;
    uint64_t top = state->top == NO_BLOCK ? 0 : heap->blocks[state->top].size;
    uint64_t free = top, count = top >= min_chunk(heap), largest = 0;
    for (uint32_t id = heap_first(heap); id != NO_BLOCK; id = heap->blocks[id].next) {
        if (!is_takable(state, id) || id == state->top)
            continue;
        free += heap->blocks[id].size;
        count++;
        largest = heap->blocks[id].size > largest ? heap->blocks[id].size : largest;
    }
    figures[0] = sbrk_break(&state->sbrk);
    figures[1] = count;
    figures[2] = figures[0] - free;
    figures[3] = free;
    figures[4] = top;
    figures[5] = largest_request(state, largest);
}

static const struct parameter parameters[] = {
    POOL_PARAMETERS,
    UNIT_PARAMETER(struct newlib, page),
};

const struct family newlib = {
    .name = "newlib",
    .blocks_an_event = 8,
    .columns = COLUMN_ALIGNMENT,
    .release = release_all,
    POOL_FAMILY_OF(struct newlib),
};
