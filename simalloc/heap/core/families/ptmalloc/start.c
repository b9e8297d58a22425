/* Starting a model of glibc's malloc with the heap of a real process. */
#include "families/ptmalloc/cache.h"
#include "families/ptmalloc/lists.h"

#include <stdlib.h>

/* Kinds of blocks and lists, numbered as in simalloc/heap/start.py. */
enum block_kind { LIVE, CACHED, FREE, TOP, TABLE, WASTE };
enum list_kind { FAST_LIST, UNSORTED_LIST, BIN, CACHE };

/* Columns of the rows. */
enum { SEGMENT_ARENA, SEGMENT_SIZE, SEGMENT_EVER, SEGMENT_COLUMNS };
enum { BLOCK_SEGMENT, BLOCK_OFFSET, BLOCK_SIZE, BLOCK_KIND, BLOCK_COLUMNS };
enum { ENTRY_LIST, ENTRY_OWNER, ENTRY_BLOCK, ENTRY_COLUMNS };
enum { ARENA_ATTACHED, ARENA_SEGMENT, ARENA_OFFSET, ARENA_COLUMNS };
enum { THREAD_NUMBER, THREAD_ARENA, THREAD_CACHE, THREAD_TABLE, THREAD_COLUMNS };
enum { RUN_BLOCK, RUN_SEGMENT, RUN_START, RUN_END, RUN_COLUMNS };

/* State while a heap is placed. `rest` contains the part of each segment that is not yet cut,
 * `base` the address of each segment, and `id` each block. */
struct placing {
    struct ptmalloc *state;
    const struct heap_start *start;
    uint32_t *rest;
    uint64_t *base;
    uint32_t *id;
};

static const int64_t *row(struct numbers numbers, size_t columns, size_t number)
{
    return numbers.at + columns * number;
}

static size_t row_count(struct numbers numbers, size_t columns)
{
    return numbers.count / columns;
}

/* Maps a segment of an arena. Returns its block, or NO_BLOCK. */
static uint32_t begin_segment(struct ptmalloc *state, struct arena *arena, uint64_t size,
                              uint64_t ever)
{
    struct heap *heap = &state->heap;
    arena->system += size;
    if (arena->number == 0)
        return heap_extend(heap, size);
    if (!heap_has_room(heap, size))
        return heap_refuse(heap);
    if (!heap_needs(heap, TABLE_SPARE(arena->heaps, arena->heap_count, 1, UINT32_MAX,
                                      arena->heap_capacity)))
        return NO_BLOCK;
    uint32_t id = heap_reserve_segment(heap, HEAP_SIZE, HEAP_SIZE);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    arena->heaps[arena->heap_count++] =
        (struct arena_heap){heap->blocks[id].address, size, ever, heap->blocks[id].next};
    if (size < HEAP_SIZE)
        heap->blocks[heap_cut_high(heap, id, size)].index_slot = STATE_HOLE;
    heap_map(heap, id);
    return id;
}

static bool begin_segments(struct placing *placing)
{
    struct ptmalloc *state = placing->state;
    for (size_t i = 0; i < row_count(placing->start->segment, SEGMENT_COLUMNS); i++) {
        const int64_t *segment = row(placing->start->segment, SEGMENT_COLUMNS, i);
        struct arena *arena = state->arenas[segment[SEGMENT_ARENA]];
        uint32_t id = begin_segment(state, arena, (uint64_t)segment[SEGMENT_SIZE],
                                    (uint64_t)segment[SEGMENT_EVER]);
        if (id == NO_BLOCK)
            return false;
        placing->rest[i] = id;
        placing->base[i] = state->heap.blocks[id].address;
    }
    return true;
}

/* Maps a separate block with `front` bytes before it. Returns the block, or NO_BLOCK. */
static uint32_t begin_mapped(struct ptmalloc *state, uint64_t front, uint64_t size)
{
    struct heap *heap = &state->heap;
    uint32_t id = heap_map_segment(heap, front + size, 1);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    if (front > 0)
        heap->blocks[heap_cut_low(heap, id, front)].index_slot = STATE_WASTE;
    heap->blocks[id].family_data = IS_MAPPED;
    state->mapped_count++;
    return id;
}

/* Cuts the next block off a segment. The last block is the remainder of the segment. */
static uint32_t cut_next(struct placing *placing, size_t segment, uint64_t size)
{
    struct heap *heap = &placing->state->heap;
    uint32_t id = placing->rest[segment];
    if (size < size_of(placing->state, id))
        id = heap_cut_low(heap, id, size);
    const int64_t *of = row(placing->start->segment, SEGMENT_COLUMNS, segment);
    heap->blocks[id].family_data = (uint32_t)of[SEGMENT_ARENA];
    return id;
}

/* Sets the state of a block. A block that enters a list gets its final state there. */
static void set_kind(struct ptmalloc *state, uint32_t id, enum block_kind kind)
{
    struct block *block = &state->heap.blocks[id];
    block->index_slot = kind == WASTE ? STATE_WASTE : STATE_TABLE;
    if (kind == LIVE)
        state->waiting[state->waiting_count++] = id;
    else if (kind == TOP)
        set_top(state, state->arenas[block->family_data], id);
}

static bool place_blocks(struct placing *placing)
{
    struct ptmalloc *state = placing->state;
    for (size_t i = 0; i < row_count(placing->start->block, BLOCK_COLUMNS); i++) {
        const int64_t *block = row(placing->start->block, BLOCK_COLUMNS, i);
        uint64_t size = (uint64_t)block[BLOCK_SIZE];
        uint32_t id = block[BLOCK_SEGMENT] < 0
                          ? begin_mapped(state, (uint64_t)block[BLOCK_OFFSET], size)
                          : cut_next(placing, (size_t)block[BLOCK_SEGMENT], size);
        if (id == NO_BLOCK)
            return false;
        placing->id[i] = id;
        set_kind(state, id, (enum block_kind)block[BLOCK_KIND]);
    }
    return true;
}

static void begin_arenas(struct placing *placing)
{
    struct ptmalloc *state = placing->state;
    for (uint32_t i = 0; i < state->arena_count; i++) {
        const int64_t *arena = row(placing->start->arena, ARENA_COLUMNS, i);
        state->arenas[i]->attached = (uint32_t)arena[ARENA_ATTACHED];
        if (arena[ARENA_SEGMENT] >= 0)
            state->arenas[i]->last_remainder =
                placing->base[arena[ARENA_SEGMENT]] + (uint64_t)arena[ARENA_OFFSET];
    }
    for (size_t i = 0; i < placing->start->idle.count; i++)
        state->idle[state->idle_count++] = (uint32_t)placing->start->idle.at[i];
}

static bool begin_threads(struct placing *placing)
{
    struct ptmalloc *state = placing->state;
    for (size_t i = 0; i < row_count(placing->start->thread, THREAD_COLUMNS); i++) {
        const int64_t *thread = row(placing->start->thread, THREAD_COLUMNS, i);
        if (!threads_find(state, (uint32_t)thread[THREAD_NUMBER]))
            return false;
        if (thread[THREAD_ARENA] >= 0)
            state->thread->arena = state->arenas[thread[THREAD_ARENA]];
        int64_t table = thread[THREAD_TABLE];
        if (thread[THREAD_CACHE] != 0 &&
            !threads_have_cache(state, table < 0 ? NO_BLOCK : placing->id[table]))
            return false;
    }
    return true;
}

/* Puts a block that is in no list yet into its list. */
static bool enter_list(struct placing *placing, const int64_t *entry)
{
    struct ptmalloc *state = placing->state;
    uint32_t id = placing->id[entry[ENTRY_BLOCK]];
    struct arena *arena = state->arenas[entry[ENTRY_LIST] == CACHE ? 0 : entry[ENTRY_OWNER]];
    switch ((enum list_kind)entry[ENTRY_LIST]) {
    case FAST_LIST:
        unmerged_put(&state->heap, &state->tables.links, &arena->fast, id);
        return true;
    case UNSORTED_LIST:
        enter_unsorted(state, arena, id);
        return true;
    case BIN:
        enter_bin(state, arena, id);
        return state->heap.failure == NULL;
    case CACHE:
        break;
    }
    const int64_t *thread = row(placing->start->thread, THREAD_COLUMNS, (size_t)entry[ENTRY_OWNER]);
    if (!threads_find(state, (uint32_t)thread[THREAD_NUMBER]))
        return false;
    cache_put(state, id);
    return true;
}

static bool enter_lists(struct placing *placing)
{
    for (size_t i = 0; i < row_count(placing->start->entry, ENTRY_COLUMNS); i++)
        if (!enter_list(placing, row(placing->start->entry, ENTRY_COLUMNS, i)))
            return false;
    return true;
}

static void touch_resident(struct placing *placing)
{
    struct ptmalloc *state = placing->state;
    for (size_t i = 0; i < row_count(placing->start->resident, RUN_COLUMNS); i++) {
        const int64_t *run = row(placing->start->resident, RUN_COLUMNS, i);
        uint64_t base;
        if (run[RUN_BLOCK] < 0) {
            base = placing->base[run[RUN_SEGMENT]];
        } else {
            uint32_t id = placing->id[run[RUN_BLOCK]];
            base = state->heap.blocks[id].address + size_of(state, id) - mapped_bytes(state, id);
        }
        heap_touch(&state->heap, base + (uint64_t)run[RUN_START],
                   (uint64_t)(run[RUN_END] - run[RUN_START]));
    }
}

static bool reserve_all(struct placing *placing)
{
    struct ptmalloc *state = placing->state;
    struct heap *heap = &state->heap;
    const struct heap_start *start = placing->start;
    size_t segments = row_count(start->segment, SEGMENT_COLUMNS);
    size_t blocks = row_count(start->block, BLOCK_COLUMNS);
    for (size_t i = 0; i < row_count(start->arena, ARENA_COLUMNS); i++)
        if (threads_make_arena(state) == NULL)
            return false;
    placing->rest = calloc(segments + 1, sizeof *placing->rest);
    placing->base = calloc(segments + 1, sizeof *placing->base);
    placing->id = calloc(blocks + 1, sizeof *placing->id);
    state->waiting = calloc(blocks + 1, sizeof *state->waiting);
    bool has_room = placing->rest != NULL && placing->base != NULL && placing->id != NULL &&
                    state->waiting != NULL;
    return heap_needs(heap, has_room) && heap_reserve_more(heap, 3 * (blocks + segments)) &&
           heap_needs(heap, threads_reserve(state));
}

bool ptmalloc_begin_with(struct heap *heap, const struct heap_start *start)
{
    struct placing placing = {.state = ptmalloc_of(heap), .start = start};
    bool done = reserve_all(&placing) && begin_segments(&placing) && place_blocks(&placing) &&
                begin_threads(&placing) && enter_lists(&placing);
    if (done) {
        begin_arenas(&placing);
        touch_resident(&placing);
        heap->reported_arenas += row_count(start->arena, ARENA_COLUMNS);
    }
    free(placing.rest);
    free(placing.base);
    free(placing.id);
    return done;
}

uint32_t ptmalloc_give_waiting(struct ptmalloc *state, uint64_t size)
{
    struct heap *heap = &state->heap;
    uint32_t id = state->waiting[state->waiting_given];
    if (size_of(state, id) < size) {
        heap_fail(heap, ptmalloc_not_live);
        return NO_BLOCK;
    }
    heap->blocks[id].index_slot = STATE_ALLOCATED;
    heap->request.unwritten = heap->request.size;
    heap->request.is_zeroed = false;
    if (++state->waiting_given == state->waiting_count)
        threads_note_cache(state);
    return use_whole(state, id);
}

const char ptmalloc_not_live[] =
    "the trace does not begin with one allocation for each live block of the initial heap, in "
    "address order";
