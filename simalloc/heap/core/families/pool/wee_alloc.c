/* Rust's wee_alloc over a static array (simalloc/policy/pool/wee_alloc.md).
 *
 * An area is a run of bytes that was taken from the array, or from the main list for a class. A
 * cell has neighbours only in its own area. */
#include "families/pool/sbrk.h"
#include "space/table.h"

enum { MAIN = 0, MAX_CLASS = 256, PAGE = 4096, MIN_CLASS_AREA = 8192 };

struct cell {
    uint64_t alignment;
    uint32_t area;      /* number of the area, from 1 */
    uint16_t list;      /* list that a free uses: MAIN, or the words of a class */
    /* True if the next cell in the list ends where this cell begins, and will be joined to it. */
    bool has_pending;
    /* True if the cell is free but in no list. It is then in STATE_TABLE and can never be used
     * again. */
    bool is_lost;
};

struct wee_alloc {
    struct sbrk sbrk;
    uint64_t size_classes;
    uint32_t heads[MAX_CLASS + 1];  /* heads of the lists, linked by family_data, or NO_BLOCK */
    struct cell *cells;             /* by block id */
    uint32_t cell_capacity;
    uint32_t areas;
};

static uint64_t header_of(const struct wee_alloc *state)
{
    return 2 * state->sbrk.pool.heap.setting.word;
}

/* Returns the minimum words that remain in a cell of a list when a part is split off. */
static uint64_t kept(const struct wee_alloc *state, unsigned list)
{
    return list != MAIN ? list : state->size_classes ? 512 : 16;
}

static void push(struct wee_alloc *state, unsigned list, uint32_t id)
{
    struct heap *heap = &state->sbrk.pool.heap;
    heap_mark(heap, id, STATE_FREE);
    heap->blocks[id].family_data = state->heads[list];
    state->heads[list] = id;
}

/* Inserts a cell that is a whole area. */
static void push_area(struct wee_alloc *state, unsigned list, uint32_t id)
{
    state->cells[id] = (struct cell){.area = ++state->areas, .list = (uint16_t)list};
    push(state, list, id);
}

/* Joins the head of the main list with the pending cells after it. */
static void join_pending(struct wee_alloc *state, uint32_t head)
{
    struct heap *heap = &state->sbrk.pool.heap;
    while (state->cells[head].has_pending) {
        uint32_t low = heap->blocks[head].family_data;
        heap_mark(heap, low, STATE_WASTE);
        heap->blocks[head].family_data = heap->blocks[low].family_data;
        state->cells[head].has_pending = state->cells[low].has_pending;
        heap_join_previous(heap, head);
        heap->counters.coalescings++;
    }
}

/* Cuts `words` words off the upper end of the head of a list, or removes the whole head. Returns
 * NO_BLOCK if they do not fit. */
static uint32_t take(struct wee_alloc *state, unsigned list, uint64_t words, uint64_t alignment)
{
    struct pool *pool = &state->sbrk.pool;
    uint64_t word = pool->heap.setting.word, header = header_of(state);
    uint32_t id = state->heads[list];
    uint64_t begin = pool->heap.blocks[id].address, end = begin + pool->heap.blocks[id].size;
    uint64_t data = pool->skew + begin + header;
    if (words * word > end - begin - header)
        return NO_BLOCK;
    uint64_t start = round_down(pool->skew + end - words * word, alignment);
    if (start >= data + header + kept(state, list) * word) {
        uint32_t high = pool_split(pool, id, start - data);
        state->cells[high] = (struct cell){.area = state->cells[id].area};
        return high;
    }
    if (data % alignment != 0)
        return NO_BLOCK;
    state->heads[list] = pool->heap.blocks[id].family_data;
    return id;
}

/* Allocates a cell of a list. Each cell that does not fit is lost. Returns NO_BLOCK if no cell
 * fits. */
static uint32_t walk(struct wee_alloc *state, unsigned list, uint64_t words, uint64_t alignment)
{
    struct heap *heap = &state->sbrk.pool.heap;
    uint64_t visited = 0;
    uint32_t id = NO_BLOCK;
    while (id == NO_BLOCK && state->heads[list] != NO_BLOCK) {
        uint32_t head = state->heads[list];
        visited++;
        join_pending(state, head);
        id = take(state, list, words, alignment);
        if (id == NO_BLOCK) {
            state->heads[list] = heap->blocks[head].family_data;
            state->cells[head].is_lost = true;
            heap_mark(heap, head, STATE_TABLE);
        }
    }
    count_search(heap, visited);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    pool_hand_out(&state->sbrk.pool, id);
    state->cells[id].list = (uint16_t)list;
    return id;
}

/* Allocates a cell of the main list. If no cell fits, a new area is taken from the array. */
static uint32_t serve_main(struct wee_alloc *state, uint64_t words, uint64_t alignment)
{
    uint64_t word = state->sbrk.pool.heap.setting.word, header = header_of(state);
    uint32_t id = walk(state, MAIN, words, alignment);
    if (id != NO_BLOCK)
        return id;
    uint64_t bytes = words * word, roomy = (alignment + kept(state, MAIN) * word) * header;
    bytes = (bytes > roomy ? bytes : roomy) + header;
    uint32_t new = sbrk_raise(&state->sbrk, round_up(bytes, PAGE));
    if (new == NO_BLOCK)
        return NO_BLOCK;
    state->cells[state->sbrk.room].area = 0; /* the room is neither a cell nor a neighbour */
    push_area(state, MAIN, new);
    return walk(state, MAIN, words, alignment);
}

/* Allocates a cell of a class. If no cell fits, a new area is taken from the main list. */
static uint32_t serve_class(struct wee_alloc *state, unsigned words)
{
    struct pool *pool = &state->sbrk.pool;
    uint64_t word = pool->heap.setting.word;
    uint32_t id = walk(state, words, words, word);
    if (id != NO_BLOCK)
        return id;
    uint64_t bytes = (uint64_t)(words + 2) * (words + 2) * word;
    bytes = bytes < MIN_CLASS_AREA ? MIN_CLASS_AREA : bytes;
    id = serve_main(state, bytes / word, word);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    id = pool_take_table(pool, id, header_of(state));
    pool_close(pool, id, bytes);
    push_area(state, words, id);
    return walk(state, words, words, word);
}

static uint32_t serve(struct wee_alloc *state, uint64_t size, uint64_t alignment)
{
    uint64_t word = state->sbrk.pool.heap.setting.word;
    if (size == 0 || size > word_max(&state->sbrk.pool.heap))
        return NO_BLOCK;
    uint64_t words = round_up(size, word) / word;
    uint32_t id = state->size_classes && words <= MAX_CLASS && alignment <= word
                      ? serve_class(state, (unsigned)words)
                      : serve_main(state, words, alignment);
    if (id != NO_BLOCK)
        state->cells[id].alignment = alignment;
    return id;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    uint64_t word = heap->setting.word, alignment = heap->request.alignment;
    (void)size;
    return serve((struct wee_alloc *)heap, heap->request.size,
                 alignment < word ? word : alignment);
}

static bool is_free_neighbour(const struct wee_alloc *state, uint32_t id, uint32_t neighbour)
{
    const struct cell *cell = &state->cells[neighbour];
    return cell->area == state->cells[id].area &&
           (cell->is_lost || heap_is_free(&state->sbrk.pool.heap, neighbour));
}

static void release_main(struct wee_alloc *state, uint32_t id)
{
    struct heap *heap = &state->sbrk.pool.heap;
    uint32_t above = heap->blocks[id].next, below = heap->blocks[id].previous;
    struct cell *cells = state->cells;
    if (is_free_neighbour(state, id, below)) {
        heap_mark(heap, id, STATE_WASTE);
        heap_join_next(heap, below);
        heap->counters.coalescings++;
    } else if (is_free_neighbour(state, id, above)) {
        heap_mark(heap, id, cells[above].is_lost ? STATE_TABLE : STATE_FREE);
        heap->blocks[id].family_data = heap->blocks[above].family_data;
        heap->blocks[above].family_data = id;
        cells[id].has_pending = false;
        cells[id].is_lost = cells[above].is_lost;
        cells[above].has_pending = true;
    } else {
        push(state, MAIN, id);
    }
}

static void release(struct heap *heap, uint32_t id)
{
    struct wee_alloc *state = (struct wee_alloc *)heap;
    uint64_t coalescings = heap->counters.coalescings;
    if (state->cells[id].list == MAIN)
        release_main(state, id);
    else
        push(state, state->cells[id].list, id);
    count_deallocation(heap, 0, coalescings);
}

/* Reallocates by moving the object, because Rust keeps the requested alignment. */
static uint32_t reallocate_block(struct heap *heap, uint32_t id, uint64_t size)
{
    struct wee_alloc *state = (struct wee_alloc *)heap;
    (void)size;
    if (heap->request.size == 0)
        return pool_free_instead(heap, id, release);
    return pool_moved(heap, id, serve(state, heap->request.size, state->cells[id].alignment),
                      release);
}

static bool reserve(struct heap *heap)
{
    struct wee_alloc *state = (struct wee_alloc *)heap;
    return heap_reserve(heap) && TABLE_COVER(state->cells, state->cell_capacity, heap->capacity);
}

REFUSING_LAYER(allocate, release, pool_has_no_realloc, reserve, .reallocate = reallocate_block)

static bool init(void *memory)
{
    struct wee_alloc *state = memory;
    struct heap *heap = &state->sbrk.pool.heap;
    heap->setting.payload = header_of(state);
    for (unsigned list = 0; list <= MAX_CLASS; list++)
        state->heads[list] = NO_BLOCK;
    return sbrk_init(&state->sbrk);
}

static void release_all(void *memory)
{
    table_release(((struct wee_alloc *)memory)->cells);
}

static const char *check(const void *memory)
{
    const struct wee_alloc *state = memory;
    const struct heap *heap = &state->sbrk.pool.heap;
    uint64_t free = state->sbrk.room != NO_BLOCK;
    for (unsigned list = 0; list <= MAX_CLASS; list++)
        for (uint32_t id = state->heads[list]; id != NO_BLOCK; id = heap->blocks[id].family_data)
            if (state->cells[id].list != list || state->cells[id].is_lost || ++free > heap->used)
                return "a cell is in the wrong list";
    return pool_check(&state->sbrk.pool, free);
}

static const char *const figure_names[] = {"offset"};

static void report(const struct heap *heap, uint64_t *figures)
{
    figures[0] = sbrk_break((const struct sbrk *)heap);
}

static const struct parameter parameters[] = {
    POOL_PARAMETERS,
    PARAMETER(struct wee_alloc, size_classes, 0, 1),
};

const struct family wee_alloc = {
    .name = "wee alloc",
    .blocks_an_event = 8,
    .columns = COLUMN_ALIGNMENT,
    .release = release_all,
    POOL_FAMILY_OF(struct wee_alloc),
};
