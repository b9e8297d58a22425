/* The malloc of Solaris' libc (policy/families/solaris.md). */
#include "index/size/groups.h"
#include "layers/define_layer.h"
#include "parts/coalescing.h"

enum { SMALL_UNITS = 4, CELL_SIZES = SMALL_UNITS + 1, CELLS_A_UNIT = 8 };

/* Cells of one size. */
struct cells {
    struct chain freed;
    uint32_t uncut; /* remainder of the latest batch, in state cached, or NO_BLOCK */
};

struct solaris {
    struct heap heap; /* `family_data` of an allocated block: 1 + its cells' number, or 0 */
    struct groups tree;
    uint64_t growth;
    uint64_t ring; /* maximum number of freed blocks that wait */
    uint64_t unit; /* bytes of two words */
    uint64_t overhead;
    uint64_t table;     /* bytes that the allocator uses in the first memory and in each batch */
    uint64_t least;     /* minimum bytes of a remainder that is split off */
    struct links links; /* links of cells and of waiting blocks */
    struct cells cells[CELL_SIZES];
    struct chain waiting;
    uint32_t remembered; /* most recently freed block, which waits, or NO_BLOCK */
    uint32_t bottom;     /* free block at the break, in state free, or NO_BLOCK */
};

static bool is_small(const struct solaris *state, uint64_t size)
{
    return size - state->overhead <= SMALL_UNITS * state->unit;
}

static uint64_t rounded(const struct heap *heap, uint64_t size)
{
    const struct solaris *state = (const struct solaris *)heap;
    if (!is_small(state, size))
        return size;
    return state->overhead + round_up(size - state->overhead, state->unit);
}

static void take_out(struct heap *heap, uint32_t id)
{
    struct solaris *state = (struct solaris *)heap;
    if (id != state->bottom) {
        groups_remove(&state->tree, id, OLDEST_IS_HEAD);
        return;
    }
    state->bottom = NO_BLOCK;
    heap->counters.free_blocks--;
    heap->blocks[id].index_slot = STATE_ALLOCATED;
}

/* Frees a block that is not a cell and is not counted as allocated. */
static void make_free(struct solaris *state, uint32_t id)
{
    struct heap *heap = &state->heap;
    coalesce(heap, id, take_out);
    if (heap_last(heap) != id) {
        groups_insert(&state->tree, id);
        return;
    }
    state->bottom = id;
    heap->blocks[id].index_slot = STATE_FREE;
    heap_count_free(heap, id);
}

/* Frees a block that no longer waits. */
static void really_free(struct solaris *state, uint32_t id)
{
    struct heap *heap = &state->heap;
    uint32_t mark = heap->blocks[id].family_data;
    if (mark != 0) {
        chain_push(&state->links, &state->cells[mark - 1].freed, id);
        return;
    }
    heap->counters.cached_blocks--;
    heap->blocks[id].index_slot = STATE_ALLOCATED;
    make_free(state, id);
}

static void free_all_that_waits(struct solaris *state)
{
    state->remembered = NO_BLOCK;
    for (;;) {
        uint32_t id = chain_pop_newest(&state->links, &state->waiting);
        if (id == NO_BLOCK)
            return;
        really_free(state, id);
    }
}

/* Cuts a block that is not a cell to `size` bytes, and counts it as allocated. Returns the
 * block. */
static uint32_t cut_to(struct solaris *state, uint32_t id, uint64_t size)
{
    struct heap *heap = &state->heap;
    heap->blocks[id].family_data = 0;
    if (heap->blocks[id].size - size >= state->least) {
        uint32_t rest = heap_cut_high(heap, id, size);
        heap->counters.splits++;
        make_free(state, rest);
    }
    heap->counters.allocated += heap->blocks[id].size;
    return id;
}

/* Raises the break to extend the bottom block. */
static bool grow(struct solaris *state, uint64_t size)
{
    struct heap *heap = &state->heap;
    bool first = heap->brk == 0;
    if (first)
        size += state->table;
    else if (state->bottom != NO_BLOCK)
        size -= heap->blocks[state->bottom].size - state->table;
    uint32_t id = heap_extend(heap, round_up(size, state->growth));
    if (id == NO_BLOCK)
        return false;
    heap->counters.growths++;
    if (first && state->table > 0)
        heap->blocks[heap_cut_low(heap, id, state->table)].index_slot = STATE_TABLE;
    heap->blocks[id].index_slot = STATE_ALLOCATED;
    make_free(state, id);
    return true;
}

/* Allocates a block that is not a cell, from the tree or from the bottom block. */
static uint32_t allocate_ordinary(struct solaris *state, uint64_t size, uint64_t *visited)
{
    struct heap *heap = &state->heap;
    ++*visited;
    uint32_t id = groups_best(&state->tree, size);
    if (id != NO_BLOCK) {
        id = groups_newest(&state->tree, id);
    } else {
        bool fits = state->bottom != NO_BLOCK && heap->blocks[state->bottom].size >= size;
        if (!fits && !grow(state, size))
            return NO_BLOCK;
        id = state->bottom;
    }
    take_out(heap, id);
    return cut_to(state, id, size);
}

static bool make_batch(struct solaris *state, struct cells *cells, uint64_t size,
                       uint64_t *visited)
{
    struct heap *heap = &state->heap;
    uint64_t bytes = CELLS_A_UNIT * state->unit * size;
    uint32_t id = allocate_ordinary(state, bytes + state->table, visited);
    if (id == NO_BLOCK)
        return false;
    heap_mark(heap, id, STATE_WASTE);
    if (state->table > 0)
        heap->blocks[heap_cut_low(heap, id, state->table)].index_slot = STATE_TABLE;
    if (heap->blocks[id].size > bytes)
        heap->blocks[heap_cut_high(heap, id, bytes)].index_slot = STATE_WASTE;
    heap_mark(heap, id, STATE_CACHED);
    cells->uncut = id;
    return true;
}

static uint32_t allocate_cell(struct solaris *state, uint64_t size, uint64_t *visited)
{
    struct heap *heap = &state->heap;
    uint32_t number = (uint32_t)((size - state->overhead) / state->unit);
    struct cells *cells = &state->cells[number];
    uint32_t id = chain_pop_newest(&state->links, &cells->freed);
    ++*visited;
    if (id == NO_BLOCK) {
        if (cells->uncut == NO_BLOCK && !make_batch(state, cells, size, visited))
            return NO_BLOCK;
        id = cells->uncut;
        if (heap->blocks[id].size > size) {
            id = heap_cut_low(heap, id, size);
            heap->counters.cached_blocks++;
            heap->blocks[id].index_slot = STATE_CACHED;
        } else {
            cells->uncut = NO_BLOCK;
        }
    }
    heap_mark(heap, id, STATE_ALLOCATED);
    heap->blocks[id].family_data = number + 1;
    return id;
}

/* Step 1 of an allocation: uses the block freed last if it fits. Returns NO_BLOCK if it does
 * not. */
static uint32_t use_remembered(struct solaris *state, uint64_t size, bool small)
{
    struct heap *heap = &state->heap;
    uint32_t id = state->remembered;
    uint64_t have = heap->blocks[id].size;
    if (have != size && (small || have < size))
        return NO_BLOCK;
    state->remembered = NO_BLOCK;
    chain_remove(&state->links, &state->waiting, id);
    heap->counters.cached_blocks--;
    heap->blocks[id].index_slot = STATE_ALLOCATED;
    if (have > size)
        return cut_to(state, id, size);
    heap->counters.allocated += have;
    return id;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct solaris *state = (struct solaris *)heap;
    uint64_t visited = 0;
    uint32_t id = NO_BLOCK;
    const bool small = is_small(state, size);
    size = rounded(heap, size);
    if (state->remembered != NO_BLOCK) {
        visited++;
        id = use_remembered(state, size, small);
    }
    if (id == NO_BLOCK) {
        free_all_that_waits(state);
        id = small ? allocate_cell(state, size, &visited)
                                   : allocate_ordinary(state, size, &visited);
    }
    count_search(heap, visited);
    return id;
}

static void release(struct heap *heap, uint32_t id)
{
    struct solaris *state = (struct solaris *)heap;
    if (state->waiting.count == state->ring) {
        uint32_t oldest = chain_pop_oldest(&state->links, &state->waiting);
        if (state->remembered == oldest)
            state->remembered = NO_BLOCK;
        really_free(state, oldest);
    }
    heap_mark(heap, id, STATE_CACHED);
    chain_push(&state->links, &state->waiting, id);
    state->remembered = id;
}

/* Extends a block that is not a cell in place as far as possible: into the free block above, and at
 * the end of the heap by raising the break. Returns false if memory is refused. */
static bool extend_block(struct solaris *state, uint32_t id, uint64_t size)
{
    struct heap *heap = &state->heap;
    uint32_t above = heap->blocks[id].next;
    if (heap_is_free(heap, above)) {
        take_out(heap, above);
        heap->counters.allocated += heap->blocks[above].size;
        heap_join_next(heap, id);
    }
    uint64_t have = heap->blocks[id].size;
    if (have >= size || heap_last(heap) != id)
        return true;
    uint32_t more =
        heap_extend(heap, round_up(size - (have - state->table), state->growth));
    if (more == NO_BLOCK)
        return false;
    heap->counters.growths++;
    heap->counters.allocated += heap->blocks[more].size;
    heap_join_next(heap, id);
    return true;
}

static uint32_t reallocate_block(struct heap *heap, uint32_t id, uint64_t size)
{
    struct solaris *state = (struct solaris *)heap;
    free_all_that_waits(state);
    uint64_t wanted = rounded(heap, size);
    if (heap->blocks[id].size == wanted)
        return id;
    if (heap->blocks[id].family_data != 0 || is_small(state, size))
        return layer_move(heap, id, size);
    if (heap->blocks[id].size < size && !extend_block(state, id, size))
        return NO_BLOCK;
    if (heap->blocks[id].size < size)
        return layer_move(heap, id, size);
    heap->counters.allocated -= heap->blocks[id].size;
    return cut_to(state, id, size);
}

static bool reserve(struct heap *heap)
{
    struct solaris *state = (struct solaris *)heap;
    return heap_reserve(heap) && groups_reserve(&state->tree) &&
           links_reserve(&state->links, heap->capacity);
}

DEFINE_ONLY_LAYER(solaris, true, allocate, release, reserve, .reallocate = reallocate_block,
                  .rounded = rounded)

static bool init(void *memory)
{
    struct solaris *state = memory;
    struct heap *heap = &state->heap;
    const struct setting *setting = &heap->setting;
    state->unit = 2 * setting->word;
    state->overhead = setting->header + setting->footer;
    state->table = setting->mechanism ? state->unit : 0;
    state->least = setting->mechanism ? 6 * state->unit : 1;
    uint64_t unit = heap_unit(heap) | state->growth | state->unit | state->overhead;
    return groups_init(&state->tree, heap, unit);
}

static void release_all(void *memory)
{
    struct solaris *state = memory;
    groups_release(&state->tree);
    links_release(&state->links);
}

static uint64_t cached(const void *memory)
{
    const struct solaris *state = memory;
    uint64_t count = state->waiting.count;
    for (unsigned number = 0; number < CELL_SIZES; number++)
        count += state->cells[number].freed.count + (state->cells[number].uncut != NO_BLOCK);
    return count;
}

static const char *check(const void *memory)
{
    const struct solaris *state = memory;
    const struct heap *heap = &state->heap;
    uint32_t last = heap_last(heap);
    if (state->bottom != (heap_is_free(heap, last) ? last : NO_BLOCK))
        return "the bottom block is not the free block at the break";
    if (heap->counters.free_blocks != state->tree.block_count + (state->bottom != NO_BLOCK))
        return "the free blocks are miscounted";
    if (state->waiting.count > state->ring)
        return "more blocks wait than the ring can hold";
    const char *wrong = heap_check(heap);
    return wrong == NULL ? groups_check(&state->tree) : wrong;
}

static const struct parameter parameters[] = {
    UNIT_PARAMETER(struct solaris, growth),
    PARAMETER(struct solaris, ring, 1, 4096),
};

const struct family solaris = {
    .name = "solaris",
    FAMILY_OF(struct solaris),
    .blocks_an_event = 8,
    .cached = cached,
};
