/* Solaris' -lmalloc: a queue merged while it is searched, and cells by the hundred
 * (simalloc/policy/families/solaris_3x.md). */
#include "index/block_ring.h"
#include "replay/replay.h"
#include "space/table.h"

enum { CELL_SIZES = 6, NO_HOLDING = UINT32_MAX };

/* A holding block: its cells, and its neighbours in the circle of its size. */
struct holding {
    uint32_t size_number;
    uint32_t before;
    uint32_t after;
    uint32_t freed; /* cells given back, chained by `mark`, the newest first; or NO_BLOCK */
    uint32_t uncut; /* the cells never used yet, one cached block; or NO_BLOCK */
};

struct solaris_3x {
    struct heap heap; /* an allocated cell's `mark` is its holding block's number plus one, else 0 */
    uint64_t cells;
    uint64_t growth;
    uint64_t minimum_split;
    uint64_t least;  /* what is split off has so many bytes */
    uint64_t unit;   /* two words */
    uint64_t header;
    uint64_t tag;    /* bytes of the table block where memory ends */
    uint32_t queue;  /* the head, or NO_BLOCK */
    uint32_t end;    /* the block behind the last that may be free: that table, or the edge */
    uint64_t visited; /* in this event */
    bool has_table;
    uint32_t first[CELL_SIZES]; /* of the circles of holding blocks, or NO_HOLDING */
    struct holding *holdings;
    uint32_t holding_count;
    uint32_t holding_capacity;
};

static void leave(struct solaris_3x *state, uint32_t id)
{
    block_ring_remove(&state->queue, state->heap.blocks, id);
    state->heap.counters.free_blocks--;
}

static void enter(struct solaris_3x *state, uint32_t id)
{
    block_ring_insert(&state->queue, state->heap.blocks, id, true);
    state->heap.counters.free_blocks++;
}

/* Joins the free blocks that follow a block in memory to it. */
static void absorb(struct solaris_3x *state, uint32_t id)
{
    struct heap *heap = &state->heap;
    while (heap_is_free(heap, heap->blocks[id].next)) {
        leave(state, heap->blocks[id].next);
        heap_join_next(heap, id);
        heap->counters.coalescings++;
    }
}

/* Allocates the low end of a block that is in no queue; the rest is the queue's head. */
static void cut(struct solaris_3x *state, uint32_t id, uint64_t size)
{
    struct heap *heap = &state->heap;
    if (heap->blocks[id].size - size >= state->least) {
        uint32_t rest = heap_cut_high(heap, id, size);
        heap->counters.splits++;
        enter(state, rest);
    }
    heap->counters.allocated += heap->blocks[id].size;
    heap->blocks[id].mark = 0;
}

static uint32_t search(struct solaris_3x *state, uint64_t size)
{
    struct heap *heap = &state->heap;
    uint32_t id = state->queue;
    if (id == NO_BLOCK)
        return NO_BLOCK;
    do {
        state->visited++;
        absorb(state, id);
        uint32_t after = heap->blocks[id].mark;
        if (heap->blocks[id].size >= size) {
            leave(state, id);
            state->queue = after == id ? NO_BLOCK : after;
            return id;
        }
        id = after;
    } while (id != state->queue);
    return NO_BLOCK;
}

static uint32_t grow(struct solaris_3x *state, uint64_t size)
{
    struct heap *heap = &state->heap;
    bool first = heap->brk == 0;
    uint32_t last = heap->blocks[state->end].previous;
    bool merges = heap_is_free(heap, last);
    uint64_t need = first ? size + state->tag : size - (merges ? heap->blocks[last].size : 0);
    uint32_t id = heap_extend(heap, round_up(need, state->growth));
    if (id == NO_BLOCK)
        return NO_BLOCK;
    heap->counters.growths++;
    heap->blocks[id].home = STATE_ALLOCATED;
    if (state->tag != 0) {
        if (!first)
            heap_join_previous(heap, id); /* where the end was */
        state->end = heap_cut_high(heap, id, heap->blocks[id].size - state->tag);
        heap->blocks[state->end].home = STATE_TABLE;
    }
    if (merges) {
        leave(state, last);
        heap_join_previous(heap, id);
        heap->counters.coalescings++;
    }
    return id;
}

/* Allocates an ordinary block. */
static uint32_t ordinary(struct solaris_3x *state, uint64_t size)
{
    uint32_t id = search(state, size);
    if (id == NO_BLOCK)
        id = grow(state, size);
    if (id != NO_BLOCK)
        cut(state, id, size);
    return id;
}

/* Makes a block that has just been allocated a table. */
static void make_table(struct heap *heap, uint32_t id)
{
    heap->counters.allocated -= heap->blocks[id].size;
    heap->blocks[id].home = STATE_TABLE;
}

/* Puts a holding block into the circle of its size, as its first. */
static void lead(struct solaris_3x *state, uint32_t number)
{
    struct holding *holdings = state->holdings;
    uint32_t *first = &state->first[holdings[number].size_number];
    uint32_t after = *first == NO_HOLDING ? number : *first;
    uint32_t before = *first == NO_HOLDING ? number : holdings[after].before;
    holdings[number].after = after;
    holdings[number].before = before;
    holdings[before].after = number;
    holdings[after].before = number;
    *first = number;
}

/* Makes a holding block the first of its circle. */
static void move_to_front(struct solaris_3x *state, uint32_t number)
{
    struct holding *holding = &state->holdings[number];
    if (state->first[holding->size_number] == number)
        return;
    state->holdings[holding->before].after = holding->after;
    state->holdings[holding->after].before = holding->before;
    lead(state, number);
}

/* Makes a holding block for cells of a size; false if memory cannot be had. */
static bool new_holding(struct solaris_3x *state, unsigned size_number, uint64_t cell)
{
    struct heap *heap = &state->heap;
    uint64_t front = state->tag == 0 ? 0 : state->header + 3 * state->unit;
    uint32_t id = ordinary(state, front + state->cells * cell);
    if (id == NO_BLOCK)
        return false;
    if (front != 0) {
        uint32_t cells = heap_cut_high(heap, id, front);
        heap->counters.allocated -= heap->blocks[cells].size;
        make_table(heap, id);
        heap->counters.allocated += heap->blocks[cells].size;
        id = cells;
    }
    heap_mark(heap, id, STATE_CACHED);
    uint32_t number = state->holding_count++;
    state->holdings[number] =
        (struct holding){.size_number = size_number, .freed = NO_BLOCK, .uncut = id};
    lead(state, number);
    return true;
}

/* Takes a free cell of a holding block. */
static uint32_t take_cell(struct solaris_3x *state, uint32_t number, uint64_t cell)
{
    struct heap *heap = &state->heap;
    struct holding *holding = &state->holdings[number];
    uint32_t id = holding->freed;
    if (id != NO_BLOCK) {
        holding->freed = heap->blocks[id].mark;
        heap_mark(heap, id, STATE_ALLOCATED);
    } else if (heap->blocks[holding->uncut].size >= 2 * cell) {
        id = heap_cut_low(heap, holding->uncut, cell);
        heap->counters.allocated += cell;
    } else {
        id = holding->uncut;
        holding->uncut = NO_BLOCK;
        heap_mark(heap, id, STATE_ALLOCATED);
    }
    heap->blocks[id].mark = number + 1;
    return id;
}

static bool has_free_cell(const struct solaris_3x *state, uint32_t number)
{
    return number != NO_HOLDING && (state->holdings[number].freed != NO_BLOCK ||
                                    state->holdings[number].uncut != NO_BLOCK);
}

/* A small request's cell, in units of its data; 0 for other requests. */
static unsigned cell_units(const struct solaris_3x *state, uint64_t size)
{
    uint64_t data = size > state->header ? size - state->header : 1;
    uint64_t units = (data + state->unit - 1) / state->unit;
    return units <= CELL_SIZES ? (unsigned)units : 0;
}

static uint32_t allocate_cell(struct solaris_3x *state, unsigned units)
{
    uint64_t cell = units * state->unit + state->header;
    unsigned number = units - 1;
    if (state->tag != 0 && !state->has_table) {
        uint32_t table = ordinary(state, round_up(7 * state->unit / 2 + state->header, state->unit));
        if (table == NO_BLOCK)
            return NO_BLOCK;
        make_table(&state->heap, table);
        state->has_table = true;
    }
    if (has_free_cell(state, state->first[number]))
        state->visited++;
    else if (!new_holding(state, number, cell))
        return NO_BLOCK;
    uint32_t first = state->first[number];
    uint32_t id = take_cell(state, first, cell);
    if (!has_free_cell(state, first))
        state->first[number] = state->holdings[first].after;
    return id;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct solaris_3x *state = (struct solaris_3x *)heap;
    unsigned units = cell_units(state, size);
    state->visited = 0;
    uint32_t id = units != 0 ? allocate_cell(state, units) : ordinary(state, size);
    count_search(heap, state->visited);
    return id;
}

static void release(struct heap *heap, uint32_t id)
{
    struct solaris_3x *state = (struct solaris_3x *)heap;
    uint32_t number = heap->blocks[id].mark;
    if (number != 0) {
        heap_mark(heap, id, STATE_CACHED);
        heap->blocks[id].mark = state->holdings[number - 1].freed;
        state->holdings[number - 1].freed = id;
        move_to_front(state, number - 1);
        return;
    }
    heap->counters.allocated -= heap->blocks[id].size;
    absorb(state, id);
    enter(state, id);
}

static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    struct solaris_3x *state = (struct solaris_3x *)heap;
    if (heap->blocks[id].mark != 0)
        return false;
    heap->counters.allocated -= heap->blocks[id].size;
    absorb(state, id);
    if (heap->blocks[id].size < size) {
        heap->counters.allocated += heap->blocks[id].size;
        return false;
    }
    cut(state, id, size);
    return true;
}

static bool reserve(struct heap *heap)
{
    struct solaris_3x *state = (struct solaris_3x *)heap;
    if (!heap_reserve(heap))
        return false;
    if (LIKELY(state->holding_capacity - state->holding_count >= BATCH))
        return true;
    struct holding *holdings = table_grow(state->holdings, sizeof *holdings, state->holding_count,
                                          BATCH, UINT32_MAX - 1, &state->holding_capacity);
    if (holdings == NULL)
        return false;
    state->holdings = holdings;
    return true;
}

static uint64_t rounded(const struct heap *heap, uint64_t size)
{
    const struct solaris_3x *state = (const struct solaris_3x *)heap;
    unsigned units = cell_units(state, size);
    return units != 0 ? units * state->unit + state->header : size;
}

DEFINE_LAYER(solaris_3x, false, allocate, release, reserve, .resize = resize, .rounded = rounded)

static const struct layer *settle(struct heap *heap)
{
    (void)heap;
    return &layer_solaris_3x;
}

static bool init(void *memory)
{
    struct solaris_3x *state = memory;
    const struct setting *setting = &state->heap.setting;
    state->least =
        setting->minimum > state->minimum_split ? setting->minimum : state->minimum_split;
    state->unit = 2 * setting->word;
    state->header = setting->header;
    state->tag = setting->mechanism ? 4 * setting->word : 0;
    for (unsigned number = 0; number < CELL_SIZES; number++)
        state->first[number] = NO_HOLDING;
    return heap_init(&state->heap);
}

static void release_all(void *memory)
{
    struct solaris_3x *state = memory;
    table_release(state->holdings);
    heap_release(&state->heap);
}

static const char *check(const void *memory)
{
    const struct solaris_3x *state = memory;
    const struct heap *heap = &state->heap;
    uint64_t found = 0;
    uint32_t id = state->queue;
    if (id != NO_BLOCK)
        do {
            if (!heap_is_free(heap, id))
                return "a block of the queue is not free";
            if (++found > heap->counters.free_blocks)
                return "the queue has no end, or the free blocks are miscounted";
            id = heap->blocks[id].mark;
        } while (id != state->queue);
    if (found != heap->counters.free_blocks)
        return "the queue does not hold exactly the free blocks";
    return heap_check(heap);
}

static uint64_t cached(const void *memory)
{
    const struct solaris_3x *state = memory;
    uint64_t found = 0;
    for (uint32_t number = 0; number < state->holding_count; number++) {
        const struct holding *holding = &state->holdings[number];
        found += holding->uncut != NO_BLOCK;
        for (uint32_t id = holding->freed; id != NO_BLOCK; id = state->heap.blocks[id].mark)
            found++;
    }
    return found;
}

static const struct parameter parameters[] = {
    UNIT_PARAMETER(struct solaris_3x, cells),
    UNIT_PARAMETER(struct solaris_3x, growth),
    UNIT_PARAMETER(struct solaris_3x, minimum_split),
};

const struct family solaris_3x = {
    .name = "solaris-3x",
    .state_size = sizeof(struct solaris_3x),
    PARAMETERS(parameters),
    .blocks_an_event = 10,
    .init = init,
    .release = release_all,
    .settle = settle,
    .check = check,
    .cached = cached,
};
