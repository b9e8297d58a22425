/* Zephyr's sys_heap, and the functions above it that programs call
 * (simalloc/policy/pool/zephyr.md).
 *
 * A chunk is a block of a whole number of units. */
#include "families/pool/larger.h"

enum { UNIT = 8 };

struct zephyr {
    struct pool pool;
    struct class_lists lists; /* buckets by the units of a chunk; the front is the first chunk */
    uint64_t chunk_header;
    uint64_t first;        /* bytes of the first chunk, which belongs to the heap */
    uint64_t end;          /* end of the last chunk */
    uint64_t min_units;    /* minimum units of a chunk in a bucket */
    uint64_t loops;        /* maximum number of chunks tried in a bucket */
    uint64_t front;        /* bytes before each object for a reference to the heap */
    uint64_t program_alignment; /* alignment of all requests, or 0 for the alignment of chunks */
    uint64_t lone;         /* bytes of free chunks that are too small for a bucket */
};

static uint64_t units(const struct heap *heap, uint32_t id)
{
    return heap->blocks[id].size / UNIT;
}

/* Returns the key of a chunk. The number of its bucket is floor(log2(key)). */
static uint64_t key_of(const struct heap *heap, uint32_t id)
{
    return units(heap, id) - ((const struct zephyr *)heap)->min_units + 1;
}

static bool is_lone(const struct zephyr *state, uint32_t id)
{
    return units(&state->pool.heap, id) < state->min_units;
}

/* Inserts a chunk at the end of its bucket. */
static void enter(struct zephyr *state, uint32_t id)
{
    struct heap *heap = &state->pool.heap;
    if (!is_lone(state, id)) {
        class_enter(&state->lists, id, key_of(heap, id), false);
        return;
    }
    heap_mark(heap, id, STATE_FREE);
    state->lone += heap->blocks[id].size;
}

/* Removes a chunk from its bucket. The chunk after it becomes the first of the bucket. */
static void take_out(struct heap *heap, uint32_t id)
{
    struct zephyr *state = (struct zephyr *)heap;
    if (is_lone(state, id)) {
        heap_mark(heap, id, STATE_WASTE);
        state->lone -= heap->blocks[id].size;
        return;
    }
    unsigned class = class_of(&state->lists, key_of(heap, id));
    if (id == pool_last(heap))
        note_list(&state->lists, class, key_of(heap, id), UNIT);
    state->lists.fronts[class] = class_leave(&state->lists, id, key_of(heap, id));
}

/* Returns the first large enough chunk among the next few chunks of a bucket, or NO_BLOCK. Chunks
 * that are too small move to the end of the bucket. */
static uint32_t try_bucket(struct zephyr *state, unsigned class, uint64_t wanted, uint64_t *visited)
{
    const struct heap *heap = &state->pool.heap;
    uint32_t *front = &state->lists.fronts[class], begin = *front;
    if (begin == NO_BLOCK)
        return NO_BLOCK;
    do {
        ++*visited;
        if (units(heap, *front) >= wanted)
            return *front;
        *front = heap->blocks[*front].family_data;
    } while (*visited < state->loops && *front != begin);
    return NO_BLOCK;
}

/* Records a search in the bucket `class` for `wanted` units, and in the buckets above. The recorded
 * number of bytes is the smallest growth of the pool that moves the last chunk across a limit of
 * the bucket. It does not depend on the chunk that the search chooses in a bucket. */
static void note_search(struct zephyr *state, unsigned class, uint64_t wanted, unsigned above)
{
    struct heap *heap = &state->pool.heap;
    const struct class_lists *lists = &state->lists;
    uint32_t last = pool_last(heap);
    if (!heap_is_free(heap, last))
        return;
    uint64_t have = units(heap, last), below = state->min_units - 1;
    uint64_t begin = class_begin(lists, class) + below, end = class_begin(lists, class + 1) + below;
    if (have < begin)
        differs_from(heap, (begin - have) * UNIT);
    else if (have < end)
        differs_from(heap, ((have < wanted ? wanted : end) - have) * UNIT);
    else if (above != NO_CLASS && lists->fronts[above] == last)
        note_list(lists, above, have - below, UNIT);
}

/* Removes a chunk with at least `wanted` units from its bucket. Returns NO_BLOCK if no chunk is
 * large enough. */
static uint32_t find(struct zephyr *state, uint64_t wanted)
{
    struct heap *heap = &state->pool.heap;
    struct class_lists *lists = &state->lists;
    if (wanted > state->end / UNIT) {
        differs_from(heap, wanted * UNIT - state->end);
        return NO_BLOCK;
    }
    wanted = wanted < state->min_units ? state->min_units : wanted;
    unsigned class = class_of(lists, wanted - state->min_units + 1);
    uint64_t visited = 0;
    uint32_t id = try_bucket(state, class, wanted, &visited);
    note_search(state, class, wanted, id == NO_BLOCK ? class_with_block(lists, class + 1) : NO_CLASS);
    if (id == NO_BLOCK) {
        class = class_with_block(lists, class + 1);
        id = class == NO_CLASS ? NO_BLOCK : lists->fronts[class];
        visited += id != NO_BLOCK;
    }
    count_search(heap, visited);
    if (id != NO_BLOCK)
        take_out(heap, id);
    return id;
}

/* Returns the units of a chunk with `size` program bytes and `gap` bytes before them. */
static uint64_t needed(const struct zephyr *state, uint64_t size, uint64_t gap)
{
    return round_up(size + gap + state->chunk_header, UNIT) / UNIT;
}

/* Cuts an unlisted chunk down to `wanted` units. The remainder enters its own bucket. */
static void cut(struct zephyr *state, uint32_t id, uint64_t wanted)
{
    if (units(&state->pool.heap, id) > wanted)
        enter(state, pool_split(&state->pool, id, wanted * UNIT));
    else
        note_unsplit(&state->pool.heap, id, UNIT);
}

/* Allocates a chunk whose object begins `gap` bytes after its header. */
static uint32_t hand_out(struct zephyr *state, uint32_t id, uint64_t gap)
{
    pool_hand_out(&state->pool, id);
    state->pool.heap.blocks[id].family_data = (uint32_t)gap;
    return id;
}

static uint32_t serve(struct zephyr *state, uint64_t size)
{
    uint64_t wanted = needed(state, size, 0);
    uint32_t id = size == 0 ? NO_BLOCK : find(state, wanted);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    cut(state, id, wanted < state->min_units ? state->min_units : wanted);
    return hand_out(state, id, 0);
}

/* Allocates a chunk for an aligned request. The address `rewind` bytes after the start of the
 * object is a multiple of the alignment. */
static uint32_t serve_aligned(struct zephyr *state, uint64_t alignment, uint64_t rewind,
                              uint64_t size)
{
    struct heap *heap = &state->pool.heap;
    uint64_t header = state->chunk_header, skew = state->pool.skew;
    uint64_t spared = rewind != 0 && rewind < header ? rewind : header;
    if (rewind == 0 && alignment <= header)
        return serve(state, size);
    uint32_t id = size == 0 ? NO_BLOCK : find(state, needed(state, size, alignment - spared));
    if (id == NO_BLOCK)
        return NO_BLOCK;
    uint64_t start = heap->blocks[id].address;
    uint64_t object = round_up(skew + start + header + rewind, alignment) - rewind - skew;
    uint64_t chunk = round_down(object - header, UNIT), end = round_up(object + size, UNIT);
    if (chunk > start) {
        uint32_t before = id;
        id = pool_split(&state->pool, before, chunk - start);
        enter(state, before);
    }
    cut(state, id, (end - chunk) / UNIT);
    return hand_out(state, id, object - chunk - header);
}

/* Allocates a chunk for the request, by the rule of the function that the program calls. */
static uint32_t serve_request(struct zephyr *state, uint64_t alignment)
{
    const struct heap *heap = &state->pool.heap;
    uint64_t size = heap->request.size + state->front;
    if (size > word_max(heap))
        return NO_BLOCK;
    if (alignment < state->program_alignment)
        alignment = state->program_alignment;
    if (alignment == 0 || state->front == 0)
        return alignment == 0 ? serve(state, size) : serve_aligned(state, alignment, 0, size);
    uint64_t both = alignment | state->front, rewind = both & -both;
    return both == rewind ? serve_aligned(state, both, 0, size)
                          : serve_aligned(state, both - rewind, rewind, size);
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    (void)size;
    return serve_request((struct zephyr *)heap, heap->request.alignment);
}

/* Merges an unlisted chunk with its free neighbours, first with the one above, and inserts the
 * result into its bucket. */
static void give_back(struct zephyr *state, uint32_t id)
{
    struct heap *heap = &state->pool.heap;
    uint32_t above = heap->blocks[id].next, below = heap->blocks[id].previous;
    if (heap_is_free(heap, above)) {
        take_out(heap, above);
        heap_join_next(heap, id);
        heap->counters.coalescings++;
    }
    if (heap_is_free(heap, below)) {
        take_out(heap, below);
        heap_join_previous(heap, id);
        heap->counters.coalescings++;
    }
    enter(state, id);
}

static void release(struct heap *heap, uint32_t id)
{
    uint64_t coalescings = heap->counters.coalescings;
    heap_mark(heap, id, STATE_WASTE);
    give_back((struct zephyr *)heap, id);
    count_deallocation(heap, 0, coalescings);
}

/* Resizes a chunk to `wanted` units. Additional units come from the free chunk above. Returns false
 * if that chunk is not large enough. */
static bool resize_to(struct zephyr *state, uint32_t id, uint64_t wanted)
{
    struct heap *heap = &state->pool.heap;
    uint32_t above = heap->blocks[id].next, gap = heap->blocks[id].family_data;
    uint64_t have = units(heap, id);
    uint64_t room = have + (heap_is_free(heap, above) ? units(heap, above) : 0);
    if (wanted > room) {
        note_unsplit(heap, above, (wanted - room) * UNIT);
        return false;
    }
    heap_mark(heap, id, STATE_WASTE);
    if (wanted > have) {
        take_out(heap, above);
        cut(state, above, wanted - have);
        heap_join_next(heap, id);
        heap->counters.coalescings++;
    } else if (wanted < have) {
        give_back(state, pool_split(&state->pool, id, wanted * UNIT));
    }
    hand_out(state, id, gap);
    return true;
}

static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    struct zephyr *state = (struct zephyr *)heap;
    uint64_t alignment = state->front > 0 ? state->front : state->program_alignment;
    uint64_t gap = heap->blocks[id].family_data, requested = heap->request.size + state->front;
    uint64_t object = state->pool.skew + heap->blocks[id].address + state->chunk_header + gap;
    (void)size;
    if (requested > word_max(heap) || (alignment != 0 && object % alignment != 0))
        return false;
    uint64_t wanted = needed(state, requested, gap);
    return resize_to(state, id, wanted < state->min_units ? state->min_units : wanted);
}

static uint32_t reallocate_block(struct heap *heap, uint32_t id, uint64_t size)
{
    if (heap->request.size == 0)
        return pool_free_instead(heap, id, release);
    return resize(heap, id, size) ? id : layer_move(heap, id, size);
}

REFUSING_LAYER(allocate, release, resize, heap_reserve, .reallocate = reallocate_block)

static bool init(void *memory)
{
    struct zephyr *state = memory;
    struct pool *pool = &state->pool;
    pool->heap.setting.payload = state->chunk_header + state->front;
    state->lists.heap = &pool->heap;
    uint32_t id = pool_add_region(pool, 0, pool->capacity);
    if (id == NO_BLOCK)
        return false;
    id = pool_take_table(pool, id, state->first);
    pool_close(pool, id, state->end - state->first);
    enter(state, id);
    pool->heap.same_for = UINT64_MAX;
    return true;
}

static const char *check(const void *memory)
{
    const struct zephyr *state = memory;
    const struct heap *heap = &state->pool.heap;
    uint64_t lone = 0;
    for (uint32_t id = heap_first(heap); id != NO_BLOCK; id = heap->blocks[id].next)
        lone += heap->blocks[id].index_slot == STATE_FREE ? heap->blocks[id].size : 0;
    if (lone != state->lone)
        return "the free chunks outside the buckets are miscounted";
    return pool_check(&state->pool, class_lists_count(&state->lists, key_of) + lone / UNIT);
}

static const char *const figure_names[] = {"free_bytes", "allocated_bytes", "largest"};

static void report(const struct heap *heap, uint64_t *figures)
{
    const struct zephyr *state = (const struct zephyr *)heap;
    unsigned class = class_last(&state->lists);
    uint32_t front = class == NO_CLASS ? NO_BLOCK : state->lists.fronts[class], id = front;
    uint64_t largest = 0;
    for (uint64_t tried = 0; id != NO_BLOCK && tried < state->loops; tried++) {
        largest = heap->blocks[id].size > largest ? heap->blocks[id].size : largest;
        id = heap->blocks[id].family_data == front ? NO_BLOCK : heap->blocks[id].family_data;
    }
    figures[0] = state->end - state->first - heap->counters.allocated - state->lone;
    figures[1] = heap->counters.allocated;
    /* Largest request that would succeed. */
    figures[2] = largest > 0 ? largest - state->chunk_header : 0;
}

static const struct parameter parameters[] = {
    POOL_PARAMETERS,
    SIZE_PARAMETER(struct zephyr, chunk_header),
    SIZE_PARAMETER(struct zephyr, first),
    SIZE_PARAMETER(struct zephyr, end),
    PARAMETER(struct zephyr, min_units, 1, 2),
    PARAMETER(struct zephyr, loops, 1, UINT32_MAX),
    SIZE_PARAMETER(struct zephyr, front),
    SIZE_PARAMETER(struct zephyr, program_alignment),
};

const struct family zephyr = {
    .name = "zephyr",
    .blocks_an_event = 3,
    .columns = COLUMN_ALIGNMENT,
    POOL_FAMILY_OF(struct zephyr),
};
