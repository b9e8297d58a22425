/* Quick fit, as reconstructed: cells on top of libg++'s malloc (policy/families/quick_fit.md). */
#include "layers/define_layer.h"
#include "parts/dirty_bins.h"

enum { MAX_SMALL = 1 << 15, CELL_SIZES = MAX_SMALL / 4 + 1 };

struct quick_fit {
    struct heap heap; /* `family_data` of an allocated block: nonzero if it is a cell */
    struct dirty_bins bins;
    uint64_t small;
    uint64_t area;
    uint64_t overhead;        /* bytes of a cell in excess of its words */
    uint64_t large_overhead;  /* bytes of a large block in excess of its request */
    uint64_t large_alignment; /* alignment of large blocks */
    uint64_t table;           /* bytes of an area that the allocator uses itself */
    uint32_t tail;            /* uncut remainder of the latest area, in state cached, or NO_BLOCK */
    struct chain *cells;      /* freed cells by number of words */
    uint64_t cached_cells;
};

static uint64_t request_of(const struct quick_fit *state, uint64_t size)
{
    return size - state->overhead;
}

static uint64_t rounded(const struct heap *heap, uint64_t size)
{
    const struct quick_fit *state = (const struct quick_fit *)heap;
    uint64_t request = request_of(state, size);
    if (request <= state->small)
        return round_up(request, heap->setting.word) + state->overhead;
    uint64_t large = round_up(request + state->large_overhead, state->large_alignment);
    return large < state->bins.minimum ? state->bins.minimum : large;
}

/* Cuts a cell off the tail. Returns NO_BLOCK if the tail is too small. */
static uint32_t cut_cell(struct quick_fit *state, uint64_t size)
{
    struct heap *heap = &state->heap;
    uint32_t id = state->tail;
    if (id == NO_BLOCK || heap->blocks[id].size < size)
        return NO_BLOCK;
    if (heap->blocks[id].size > size) {
        id = heap_cut_low(heap, id, size);
        heap->counters.splits++;
        heap->counters.allocated += size;
        return id;
    }
    state->tail = NO_BLOCK;
    heap_mark(heap, id, STATE_ALLOCATED);
    return id;
}

/* Allocates a new area as the tail. The remainder of the previous tail becomes waste. */
static bool new_area(struct quick_fit *state, uint64_t cell, uint64_t *visited)
{
    struct heap *heap = &state->heap;
    if (state->tail != NO_BLOCK)
        heap_mark(heap, state->tail, STATE_WASTE);
    state->tail = NO_BLOCK;
    uint64_t area = state->area < cell ? cell : state->area;
    uint64_t size = round_up(area + state->large_overhead, state->large_alignment);
    if (size < state->bins.minimum)
        size = state->bins.minimum;
    uint32_t id = dirty_bins_allocate(&state->bins, size, visited);
    if (id == NO_BLOCK)
        return false;
    heap_mark(heap, id, STATE_WASTE);
    if (state->table > 0)
        heap->blocks[heap_cut_low(heap, id, state->table)].index_slot = STATE_TABLE;
    heap_mark(heap, id, STATE_CACHED);
    state->tail = id;
    return true;
}

static uint32_t allocate_cell(struct quick_fit *state, uint64_t size, uint64_t *visited)
{
    struct heap *heap = &state->heap;
    struct chain *cells = &state->cells[request_of(state, size) / heap->setting.word];
    uint32_t id = chain_pop_newest(&state->bins.links, cells);
    if (id != NO_BLOCK) {
        ++*visited;
        state->cached_cells--;
        heap_mark(heap, id, STATE_ALLOCATED);
    } else {
        id = cut_cell(state, size);
        if (id == NO_BLOCK && new_area(state, size, visited))
            id = cut_cell(state, size);
    }
    if (id != NO_BLOCK)
        heap->blocks[id].family_data = true;
    return id;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct quick_fit *state = (struct quick_fit *)heap;
    uint64_t visited = 0;
    uint32_t id;
    if (request_of(state, size) <= state->small) {
        id = allocate_cell(state, rounded(heap, size), &visited);
    } else {
        id = dirty_bins_allocate(&state->bins, rounded(heap, size), &visited);
        if (id != NO_BLOCK)
            heap->blocks[id].family_data = false;
    }
    count_search(heap, visited);
    return id;
}

static void release(struct heap *heap, uint32_t id)
{
    struct quick_fit *state = (struct quick_fit *)heap;
    if (!heap->blocks[id].family_data) {
        dirty_bins_free(&state->bins, id);
        return;
    }
    uint64_t words = request_of(state, heap->blocks[id].size) / heap->setting.word;
    heap_mark(heap, id, STATE_CACHED);
    chain_push(&state->bins.links, &state->cells[words], id);
    state->cached_cells++;
}

static uint32_t reallocate_block(struct heap *heap, uint32_t id, uint64_t size)
{
    struct quick_fit *state = (struct quick_fit *)heap;
    bool small = request_of(state, size) <= state->small;
    uint64_t wanted = rounded(heap, size);
    if (small && heap->blocks[id].family_data && heap->blocks[id].size == wanted)
        return id;
    if (small || heap->blocks[id].family_data)
        return layer_move(heap, id, size);
    if (dirty_bins_resize(&state->bins, id, wanted))
        return id;
    return layer_move(heap, id,
                      round_up(wanted + state->overhead, heap->setting.alignment));
}

static bool reserve(struct heap *heap)
{
    return heap_reserve(heap) &&
           links_reserve(&((struct quick_fit *)heap)->bins.links, heap->capacity);
}

DEFINE_ONLY_LAYER(quick_fit, false, allocate, release, reserve, .reallocate = reallocate_block,
                  .rounded = rounded)

static bool init(void *memory)
{
    struct quick_fit *state = memory;
    const struct setting *setting = &state->heap.setting;
    uint64_t word = setting->word;
    bool tags = setting->mechanism;
    state->overhead = setting->header + setting->footer;
    state->large_overhead = tags ? 2 * word : state->overhead;
    state->large_alignment = tags ? 2 * word : setting->alignment;
    state->bins.minimum = tags ? 4 * word : setting->minimum;
    state->bins.ends = state->table = tags ? 2 * word : 0;
    dirty_bins_init(&state->bins, &state->heap);
    state->cells = table_make(sizeof *state->cells, CELL_SIZES);
    return state->cells != NULL;
}

static void release_all(void *memory)
{
    struct quick_fit *state = memory;
    table_release(state->cells);
    dirty_bins_release(&state->bins);
}

static uint64_t cached(const void *memory)
{
    const struct quick_fit *state = memory;
    return state->bins.returned.count + state->cached_cells + (state->tail != NO_BLOCK);
}

static const char *check(const void *memory)
{
    const struct quick_fit *state = memory;
    const char *wrong = heap_check(&state->heap);
    return wrong == NULL ? dirty_bins_check(&state->bins) : wrong;
}

static const struct parameter parameters[] = {
    {"growth", offsetof(struct quick_fit, bins.growth), 1, UINT64_C(1) << 50, NULL},
    {"preallocate", offsetof(struct quick_fit, bins.preallocate), 0, 64, NULL},
    PARAMETER(struct quick_fit, small, 1, MAX_SMALL),
    UNIT_PARAMETER(struct quick_fit, area),
};

const struct family quick_fit = {
    .name = "quick fit",
    FAMILY_OF(struct quick_fit),
    .blocks_an_event = 80,
    .cached = cached,
};
