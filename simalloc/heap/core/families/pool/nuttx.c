/* NuttX's heap: best fit, the newest among equals (simalloc/policy/pool/nuttx.md). */
#include "families/pool/larger.h"

struct nuttx {
    struct pool pool;
    struct pool_list list; /* by size and, for equal sizes, newest first */
    uint64_t control;      /* bytes of the heap's own structure */
    uint64_t field;        /* bytes of the size field in a chunk's header */
    uint64_t min_chunk;
    struct pool_memory memory;
    uint64_t chunks;        /* bytes of all chunks of all regions, guards included */
    /* Bytes in use by the heap's own count, and their maximum, modulo a word. */
    uint64_t counted, peak;
    uint64_t delay;         /* number of freed chunks that wait until they are freed together, or 0
                             * if frees are immediate */
    /* Waiting chunk that was freed last, linked by family_data, or NO_BLOCK. */
    uint32_t waiting;
    uint64_t waiting_count;
};

static uint64_t chunk_of(const struct nuttx *state, uint64_t size)
{
    uint64_t chunk = round_up(size + state->field, state->pool.heap.setting.alignment);
    return chunk < state->min_chunk ? state->min_chunk : chunk;
}

/* Adds to the heap's own count of bytes in use. */
static void count(struct nuttx *state, uint64_t more)
{
    state->counted = (state->counted + more) & word_max(&state->pool.heap);
    state->peak = state->counted > state->peak ? state->counted : state->peak;
}

static void enter(struct nuttx *state, uint32_t id)
{
    pool_list_enter_by_size(&state->list, id);
}

static uint32_t find(struct nuttx *state, uint64_t wanted)
{
    uint64_t visited;
    uint32_t id = pool_list_first(&state->list, wanted, &visited);
    count_search(&state->pool.heap, visited);
    note_best_fit(&state->list, id, wanted);
    return id;
}

static void free_waiting(struct nuttx *state);

static uint32_t serve(struct nuttx *state, uint64_t wanted)
{
    struct heap *heap = &state->pool.heap;
    if (state->waiting_count > 0 && state->waiting_count >= state->delay)
        free_waiting(state);
    if (wanted > word_max(heap))
        return NO_BLOCK;
    uint32_t id = find(state, wanted);
    if (id == NO_BLOCK && state->waiting_count > 0) {
        free_waiting(state);
        id = find(state, wanted);
    }
    if (id == NO_BLOCK)
        return NO_BLOCK;
    pool_list_leave(&state->list, id);
    uint64_t rest = heap->blocks[id].size - wanted;
    if (rest >= state->min_chunk)
        enter(state, pool_split(&state->pool, id, wanted));
    else
        note_unsplit(heap, id, state->min_chunk - rest);
    pool_hand_out(&state->pool, id);
    count(state, heap->blocks[id].size);
    return id;
}

static void count_less(struct nuttx *state, uint64_t less)
{
    state->counted = (state->counted - less) & word_max(&state->pool.heap);
}

/* Frees a waste chunk without changing the heap's own count. */
static void give_back(struct nuttx *state, uint32_t id)
{
    struct heap *heap = &state->pool.heap;
    uint32_t above = heap->blocks[id].next, below = heap->blocks[id].previous;
    if (heap_is_free(heap, above)) {
        pool_list_leave(&state->list, above);
        heap_join_next(heap, id);
        heap->counters.coalescings++;
    }
    if (heap_is_free(heap, below)) {
        pool_list_leave(&state->list, below);
        heap_join_previous(heap, id);
        heap->counters.coalescings++;
    }
    enter(state, id);
}

/* Frees a chunk that is allocated or waiting. */
static void free_now(struct nuttx *state, uint32_t id)
{
    struct heap *heap = &state->pool.heap;
    uint64_t coalescings = heap->counters.coalescings;
    count_less(state, heap->blocks[id].size);
    heap_mark(heap, id, STATE_WASTE);
    give_back(state, id);
    count_deallocation(heap, 0, coalescings);
}

/* Frees all waiting chunks, the most recently freed first. */
static void free_waiting(struct nuttx *state)
{
    while (state->waiting != NO_BLOCK) {
        uint32_t id = state->waiting;
        state->waiting = state->pool.heap.blocks[id].family_data;
        free_now(state, id);
    }
    state->waiting_count = 0;
}

/* Shrinks an allocated chunk, if the remainder is large enough for a chunk or joins a free
 * chunk. */
static void shrink(struct nuttx *state, uint32_t id, uint64_t wanted)
{
    struct heap *heap = &state->pool.heap;
    uint64_t over = heap->blocks[id].size - wanted;
    if (over < state->min_chunk)
        note_unsplit(heap, id, state->min_chunk - over);
    if (over == 0 || (!heap_is_free(heap, heap->blocks[id].next) && over < state->min_chunk))
        return;
    uint32_t rest = pool_split(&state->pool, id, wanted);
    heap_mark(heap, rest, STATE_WASTE);
    give_back(state, rest);
}

static uint32_t serve_aligned(struct nuttx *state, uint64_t alignment, uint64_t size)
{
    struct pool *pool = &state->pool;
    struct heap *heap = &pool->heap;
    uint64_t unit = heap->setting.alignment, lowest = state->min_chunk - state->field;
    alignment = alignment < state->min_chunk ? state->min_chunk : alignment;
    size = size < lowest ? lowest : size;
    uint32_t id = serve(state, chunk_of(state, round_up(size, unit) + 2 * alignment));
    if (id == NO_BLOCK)
        return NO_BLOCK;
    uint64_t start = pool->skew + heap->blocks[id].address + heap->setting.payload;
    uint64_t before = round_up(start, alignment) - start;
    uint64_t wanted = round_up(size + state->field, unit), held = heap->blocks[id].size;
    if (before > 0) {
        before += before < state->min_chunk ? alignment : 0;
        uint32_t front = id;
        heap_mark(heap, id, STATE_WASTE);
        id = pool_split(pool, front, before);
        pool_hand_out(pool, id);
        give_back(state, front);
    }
    if (before == 0 || heap->blocks[id].size - state->field > wanted)
        shrink(state, id, wanted);
    else
        note_unsplit(heap, id, wanted + state->min_chunk - heap->blocks[id].size);
    count_less(state, held - heap->blocks[id].size);
    return id;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct nuttx *state = (struct nuttx *)heap;
    uint64_t alignment = heap->request.alignment, requested = heap->request.size;
    (void)size;
    if (requested > word_max(heap))
        return NO_BLOCK;
    return alignment <= heap->setting.alignment ? serve(state, chunk_of(state, requested))
                                                : serve_aligned(state, alignment, requested);
}

static void release(struct heap *heap, uint32_t id)
{
    struct nuttx *state = (struct nuttx *)heap;
    if (state->delay == 0) {
        free_now(state, id);
        return;
    }
    heap_mark(heap, id, STATE_CACHED);
    heap->blocks[id].family_data = state->waiting;
    state->waiting = id;
    state->waiting_count++;
}

static uint64_t free_bytes(const struct heap *heap, uint32_t id)
{
    return heap_is_free(heap, id) ? heap->blocks[id].size : 0;
}

/* Returns the bytes taken from a free neighbour of `size` bytes. All bytes are taken if the
 * remainder would be too small for a chunk. */
static uint64_t taken_of(const struct nuttx *state, uint64_t size, uint64_t wanted)
{
    return wanted > 0 && size - wanted < state->min_chunk ? size : wanted;
}

/* Records the use of the free chunk above a chunk that grows. If the free chunk were larger, it
 * might be sufficient, no longer be the smaller neighbour, or leave a remainder that is large
 * enough for a chunk. */
static void note_growth(struct nuttx *state, uint32_t next, uint64_t below, uint64_t needed,
                        uint64_t of_above)
{
    struct heap *heap = &state->pool.heap;
    uint64_t above = free_bytes(heap, next);
    if (next != pool_last(heap) || above == 0)
        return;
    if (above + below < needed)
        differs_from(heap, needed - above - below);
    if (above <= below)
        differs_from(heap, of_above == above ? 1 : below - above + 1);
    if (of_above > 0 && above - of_above < state->min_chunk)
        differs_from(heap, state->min_chunk - (above - of_above));
}

/* Extends a chunk by parts of its free neighbours, first of the smaller one. Returns false if they
 * are not large enough. */
static bool grow(struct nuttx *state, uint32_t id, uint64_t wanted)
{
    struct heap *heap = &state->pool.heap;
    uint32_t next = heap->blocks[id].next, previous = heap->blocks[id].previous;
    uint64_t above = free_bytes(heap, next), below = free_bytes(heap, previous);
    uint64_t needed = wanted - heap->blocks[id].size;
    uint64_t of_below, of_above;
    if (above > below) {
        of_below = needed < below ? needed : below;
        of_above = needed - of_below;
    } else {
        of_above = needed < above ? needed : above;
        of_below = needed - of_above;
    }
    note_growth(state, next, below, needed, of_above);
    if (above + below < needed)
        return false;
    of_below = taken_of(state, below, of_below);
    of_above = taken_of(state, above, of_above);
    heap_mark(heap, id, STATE_WASTE);
    if (of_below > 0) {
        pool_list_leave(&state->list, previous);
        if (of_below < below) {
            pool_split(&state->pool, previous, below - of_below);
            enter(state, previous);
        }
        heap_join_previous(heap, id);
    }
    if (of_above > 0) {
        pool_list_leave(&state->list, next);
        if (of_above < above)
            enter(state, pool_split(&state->pool, next, of_above));
        heap_join_next(heap, id);
    }
    pool_hand_out(&state->pool, id);
    count(state, of_below + of_above);
    return true;
}

static uint32_t reallocate_block(struct heap *heap, uint32_t id, uint64_t size)
{
    struct nuttx *state = (struct nuttx *)heap;
    uint64_t wanted = chunk_of(state, heap->request.size);
    (void)size;
    if (heap->request.size > word_max(heap))
        return NO_BLOCK;
    if (wanted <= heap->blocks[id].size) {
        /* the count falls even if nothing is cut off */
        count_less(state, heap->blocks[id].size - wanted);
        shrink(state, id, wanted);
        return id;
    }
    if (id == pool_last(heap))
        differs_from(heap, 1); /* the missing bytes depend on the size of the last chunk */
    if (grow(state, id, wanted))
        return id;
    return pool_moved(heap, id, serve(state, wanted), release);
}

static bool reserve(struct heap *heap)
{
    return pool_list_reserve(&((struct nuttx *)heap)->list, heap);
}

REFUSING_LAYER(allocate, release, pool_has_no_realloc, reserve, .reallocate = reallocate_block)

static void release_all(void *memory)
{
    block_list_release(&((struct nuttx *)memory)->list.tree);
}

/* Creates the free chunk of a region between two guards, after `control` bytes for the heap.
 * Returns false if memory is exhausted. */
static bool add_region(struct nuttx *state, uint64_t start, uint64_t size, uint64_t control)
{
    struct pool *pool = &state->pool;
    struct heap *heap = &pool->heap;
    uint64_t guard = 2 * state->field, unit = heap->setting.alignment;
    uint64_t begin = control == 0 ? pool->skew + start : round_up(pool->skew + start, unit) + control;
    uint64_t base = round_up(begin + 2 * guard, unit) - 2 * guard - pool->skew;
    uint64_t end = round_down(pool->skew + start + size, unit) - pool->skew;
    uint32_t id = pool_add_region(pool, start, size);
    if (id == NO_BLOCK)
        return false;
    id = pool_take_table(pool, id, base + guard - start);
    pool_close(pool, id, end - base - 2 * guard);
    heap_mark(heap, id, STATE_WASTE);
    enter(state, id);
    state->chunks += end - base;
    count(state, control + 2 * guard);
    return true;
}

static bool init(void *memory)
{
    struct nuttx *state = memory;
    struct heap *heap = &state->pool.heap;
    heap->setting.payload = 2 * state->field;
    heap->same_for = state->memory.size[1] == 0 ? UINT64_MAX : 0;
    state->waiting = NO_BLOCK;
    if (!pool_list_init(&state->list, heap, heap->setting.alignment))
        return false;
    for (int i = 0; i < MAX_REGIONS; i++)
        if (state->memory.size[i] != 0 && !add_region(state, state->memory.start[i],
                                                      state->memory.size[i],
                                                      i == 0 ? state->control : 0))
            return false;
    return true;
}

static const char *check(const void *memory)
{
    const struct nuttx *state = memory;
    const char *wrong = block_list_check(&state->list.tree, false, false);
    return wrong != NULL ? wrong : pool_check(&state->pool, state->list.tree.blocks);
}

static uint64_t cached(const void *memory)
{
    return ((const struct nuttx *)memory)->waiting_count;
}

static const char *const figure_names[] = {
    "arena", "ordblks", "aordblks", "mxordblk", "uordblks", "fordblks", "usmblks", "mm_heapfree",
    "largest",
};

/* Computes the figures. The real heap frees all waiting chunks before it reports, so a run of free
 * and waiting chunks counts as one free chunk. */
static void report(const struct heap *heap, uint64_t *figures)
{
    const struct nuttx *state = (const struct nuttx *)heap;
    uint64_t arena = state->chunks + state->control, used = 2 * state->pool.region_count;
    uint64_t largest = 0, free = 0, waiting = 0, run = 0, runs = 0;
    for (uint32_t id = heap_first(heap); id != NO_BLOCK; id = heap->blocks[id].next) {
        uint64_t cached = heap->blocks[id].index_slot == STATE_CACHED ? heap->blocks[id].size : 0;
        uint64_t size = cached + free_bytes(heap, id);
        runs += run == 0 && size > 0;
        run = size == 0 ? 0 : run + size;
        free += size;
        waiting += cached;
        largest = run > largest ? run : largest;
        used += heap->blocks[id].index_slot == STATE_ALLOCATED;
    }
    const uint64_t values[] = {
        arena,
        runs,
        used,
        largest,
        arena - free,
        free,
        (uint64_t)(int64_t)(int32_t)(state->peak + state->control), /* the figure is an int */
        (state->chunks + waiting - state->counted) & word_max(heap),
        largest > 0 ? largest - state->field : 0,
    };
    memcpy(figures, values, sizeof values);
}

static const struct parameter parameters[] = {
    POOL_PARAMETERS,
    SIZE_PARAMETER(struct nuttx, control),
    PARAMETER(struct nuttx, field, 2, 8),
    UNIT_PARAMETER(struct nuttx, min_chunk),
    SIZE_PARAMETER(struct nuttx, delay),
    POOL_REGION_PARAMETERS(struct nuttx),
};

const struct family nuttx = {
    .name = "nuttx",
    .blocks_an_event = 4,
    .columns = COLUMN_ALIGNMENT,
    .release = release_all,
    .cached = cached,
    POOL_FAMILY_OF(struct nuttx),
};
