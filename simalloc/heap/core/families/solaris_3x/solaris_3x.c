/* Solaris' -lmalloc (policy/families/solaris_3x.md): a queue that is merged while it is searched,
 * and holding blocks that contain cells for small requests. */
#include "families/solaris_3x/solaris_3x.h"
#include "layers/define_layer.h"
#include "space/table.h"

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
    heap->blocks[id].index_slot = STATE_ALLOCATED;
    if (state->tag != 0) {
        if (!first)
            heap_join_previous(heap, id); /* replaces the old end */
        state->end = heap_cut_high(heap, id, heap->blocks[id].size - state->tag);
        heap->blocks[state->end].index_slot = STATE_TABLE;
    }
    if (merges) {
        solaris_3x_leave(state, last);
        heap_join_previous(heap, id);
        heap->counters.coalescings++;
    }
    return id;
}

/* Allocates a block that is not a cell. */
static uint32_t ordinary(struct solaris_3x *state, uint64_t size)
{
    uint32_t id = solaris_3x_search(state, size);
    if (id != NO_BLOCK)
        return solaris_3x_use(state, id, size);
    id = grow(state, size);
    if (id != NO_BLOCK)
        solaris_3x_cut(state, id, size);
    return id;
}

static void make_table(struct heap *heap, uint32_t id)
{
    heap->counters.allocated -= heap->blocks[id].size;
    heap->blocks[id].index_slot = STATE_TABLE;
}

/* Inserts a holding block at the front of the ring of its size. */
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

static void move_to_front(struct solaris_3x *state, uint32_t number)
{
    struct holding *holding = &state->holdings[number];
    if (state->first[holding->size_number] == number)
        return;
    state->holdings[holding->before].after = holding->after;
    state->holdings[holding->after].before = holding->before;
    lead(state, number);
}

/* Makes a holding block for cells of a size. Returns false if memory is refused. */
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

/* Allocates a free cell of a holding block. */
static uint32_t take_cell(struct solaris_3x *state, uint32_t number, uint64_t cell)
{
    struct heap *heap = &state->heap;
    struct holding *holding = &state->holdings[number];
    uint32_t id = holding->freed;
    if (id != NO_BLOCK) {
        holding->freed = heap->blocks[id].family_data;
        heap_mark(heap, id, STATE_ALLOCATED);
    } else if (heap->blocks[holding->uncut].size >= 2 * cell) {
        id = heap_cut_low(heap, holding->uncut, cell);
        heap->counters.allocated += cell;
    } else {
        id = holding->uncut;
        holding->uncut = NO_BLOCK;
        heap_mark(heap, id, STATE_ALLOCATED);
    }
    heap->blocks[id].family_data = number + 1;
    return id;
}

static bool has_free_cell(const struct solaris_3x *state, uint32_t number)
{
    return number != NO_HOLDING && (state->holdings[number].freed != NO_BLOCK ||
                                    state->holdings[number].uncut != NO_BLOCK);
}

/* Returns the units of data in the cell for a small request, or 0 for other requests. */
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
    uint32_t number = heap->blocks[id].family_data;
    if (number != 0) {
        heap_mark(heap, id, STATE_CACHED);
        heap->blocks[id].family_data = state->holdings[number - 1].freed;
        state->holdings[number - 1].freed = id;
        move_to_front(state, number - 1);
        return;
    }
    heap->counters.allocated -= heap->blocks[id].size;
    solaris_3x_absorb(state, id);
    solaris_3x_enter(state, id);
}

static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    struct solaris_3x *state = (struct solaris_3x *)heap;
    if (heap->blocks[id].family_data != 0)
        return false;
    heap->counters.allocated -= heap->blocks[id].size;
    solaris_3x_absorb(state, id);
    if (heap->blocks[id].size < size) {
        heap->counters.allocated += heap->blocks[id].size;
        return false;
    }
    solaris_3x_cut(state, id, size);
    return true;
}

static bool reserve(struct heap *heap)
{
    struct solaris_3x *state = (struct solaris_3x *)heap;
    return heap_reserve(heap) && TABLE_SPARE(state->holdings, state->holding_count, BATCH,
                                             UINT32_MAX - 1, state->holding_capacity);
}

static uint64_t rounded(const struct heap *heap, uint64_t size)
{
    const struct solaris_3x *state = (const struct solaris_3x *)heap;
    unsigned units = cell_units(state, size);
    return units != 0 ? units * state->unit + state->header : size;
}

DEFINE_ONLY_LAYER(solaris_3x, false, allocate, release, reserve, .resize = resize,
                  .rounded = rounded)

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
    uint64_t unit = heap_unit(&state->heap) | state->growth | state->unit | state->header | state->tag;
    state->queue.offers = true;
    roving_list_init(&state->queue, &state->heap, unit);
    return true;
}

static void release_all(void *memory)
{
    struct solaris_3x *state = memory;
    table_release(state->holdings);
    roving_list_release(&state->queue);
}

static const char *check(const void *memory)
{
    const struct solaris_3x *state = memory;
    const struct heap *heap = &state->heap;
    const char *wrong = roving_list_check(&state->queue, state->head);
    if (wrong == NULL && state->queue.count != heap->counters.free_blocks)
        wrong = "the queue does not hold exactly the free blocks";
    return wrong == NULL ? heap_check(heap) : wrong;
}

static uint64_t cached(const void *memory)
{
    const struct solaris_3x *state = memory;
    uint64_t found = 0;
    for (uint32_t number = 0; number < state->holding_count; number++) {
        const struct holding *holding = &state->holdings[number];
        found += holding->uncut != NO_BLOCK;
        for (uint32_t id = holding->freed; id != NO_BLOCK; id = state->heap.blocks[id].family_data)
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
    FAMILY_OF(struct solaris_3x),
    .blocks_an_event = 10,
    .cached = cached,
};
