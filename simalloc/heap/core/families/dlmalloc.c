/* Doug Lea's malloc 2.8.6 (policy/families/dlmalloc.md). */
#include "layers/define_layer.h"
#include "parts/binned_top.h"

enum { TREES_FROM = 256 }; /* smaller blocks are in lists, the newest block first */

struct dlmalloc {
    struct binned_top base;
    uint64_t growth;
    uint64_t trim;
    uint64_t map_from;
    uint64_t foot;  /* bytes of the first memory that the allocator uses itself */
    uint64_t pad;   /* bytes that a growth of the top adds to the request */
    uint64_t extra; /* bytes that the mapping of one block adds to the request */
    uint64_t spare; /* minimum bytes that remain of the top */
    uint64_t small;
};

/* Allocates the low end of a free block. A remainder that is large enough becomes the block of
 * `role` or, if `role` is NULL, enters a bin. */
static uint32_t use(struct dlmalloc *state, uint32_t id, uint64_t size, uint32_t *role)
{
    struct heap *heap = &state->base.heap;
    uint64_t least = id == state->base.top ? 1 : heap->setting.minimum;
    take_out(heap, id);
    if (heap->blocks[id].size - size >= least) {
        uint32_t rest = heap_cut_high(heap, id, size);
        heap->counters.splits++;
        if (role == &state->base.other && state->base.other != NO_BLOCK) {
            uint32_t former = state->base.other;
            take_out(heap, former);
            groups_insert(&state->base.bins, former);
        }
        if (role == NULL)
            groups_insert(&state->base.bins, rest);
        else
            role_give(heap, role, rest);
    }
    heap->counters.allocated += heap->blocks[id].size;
    return id;
}

/* Returns the first block to use in a group of equal blocks. */
static uint32_t first_of(const struct dlmalloc *state, uint32_t head)
{
    if (head == NO_BLOCK || state->base.heap.blocks[head].size >= TREES_FROM)
        return head;
    return groups_newest(&state->base.bins, head);
}

static uint32_t place_small(struct dlmalloc *state, uint64_t size, uint64_t *visited)
{
    struct heap *heap = &state->base.heap;
    uint32_t head = groups_find(&state->base.bins, size);
    if (head == NO_BLOCK && heap->setting.minimum > 8 && size + 8 < TREES_FROM)
        head = groups_find(&state->base.bins, size + 8);
    if (head != NO_BLOCK) {
        ++*visited;
        uint32_t id = first_of(state, head);
        take_out(heap, id);
        heap->counters.allocated += heap->blocks[id].size;
        return id;
    }
    if (state->base.other != NO_BLOCK && heap->blocks[state->base.other].size >= size)
        return NO_BLOCK;
    uint32_t id = first_of(state, groups_best(&state->base.bins, size));
    if (id == NO_BLOCK)
        return NO_BLOCK;
    ++*visited;
    return use(state, id, size, &state->base.other);
}

static uint32_t place_large(struct dlmalloc *state, uint64_t size, uint64_t *visited)
{
    const struct block *blocks = state->base.heap.blocks;
    uint32_t id = groups_best(&state->base.bins, size < TREES_FROM ? TREES_FROM : size);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    ++*visited;
    uint32_t victim = state->base.other;
    if (victim != NO_BLOCK && blocks[victim].size >= size &&
        blocks[victim].size <= blocks[id].size)
        return NO_BLOCK;
    return use(state, id, size, NULL);
}

/* Raises the break. The low end of the first memory is a table. */
static bool grow(struct dlmalloc *state, uint64_t size)
{
    struct heap *heap = &state->base.heap;
    bool first = heap->brk == 0;
    uint64_t have = state->base.top == NO_BLOCK ? 0 : heap->blocks[state->base.top].size;
    if (!top_grow(heap, &state->base.top, round_up(size + state->pad - have, state->growth)))
        return false;
    if (first && state->foot > 0)
        heap->blocks[heap_cut_low(heap, state->base.top, state->foot)].index_slot = STATE_TABLE;
    return true;
}

static uint64_t segment_size(const struct dlmalloc *state, uint64_t size)
{
    return round_up(size + state->extra, state->growth);
}

static uint32_t place(struct dlmalloc *state, uint64_t size, uint64_t *visited)
{
    struct heap *heap = &state->base.heap;
    uint32_t id = size <= state->small ? place_small(state, size, visited)
                                       : place_large(state, size, visited);
    if (id != NO_BLOCK)
        return id;
    *visited += state->base.other != NO_BLOCK;
    if (state->base.other != NO_BLOCK && heap->blocks[state->base.other].size >= size)
        return use(state, state->base.other, size, &state->base.other);
    uint32_t top = state->base.top;
    *visited += top != NO_BLOCK;
    if (top == NO_BLOCK || heap->blocks[top].size < size + state->spare) {
        if (top != NO_BLOCK && state->map_from != 0 && size >= state->map_from)
            return segment_allocate(heap, segment_size(state, size));
        if (!grow(state, size))
            return NO_BLOCK;
    }
    return use(state, state->base.top, size, &state->base.top);
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    uint64_t visited = 0;
    uint32_t id = place((struct dlmalloc *)heap, size, &visited);
    count_search(heap, visited);
    return id;
}

/* Lowers the break if the top is large. */
static void trim(struct dlmalloc *state)
{
    uint64_t size = state->base.heap.blocks[state->base.top].size;
    if (state->trim == 0 || size <= state->trim || size <= state->foot)
        return;
    uint64_t falls = round_up(size - state->foot, state->growth) - state->growth;
    if (falls > 0 && !heap_lower(&state->base.heap, falls))
        state->base.top = NO_BLOCK;
}

static void release(struct heap *heap, uint32_t id)
{
    struct dlmalloc *state = (struct dlmalloc *)heap;
    if (segment_is(heap, id)) {
        heap_unmap_segment(heap, id);
        return;
    }
    heap->counters.allocated -= heap->blocks[id].size;
    enter_merged(heap, id);
    if (state->base.top == id)
        trim(state);
}

/* Extends a block by the low end of the free block above it. Returns false if that is too small. */
static bool take_above(struct dlmalloc *state, uint32_t id, uint64_t missing)
{
    struct heap *heap = &state->base.heap;
    uint32_t above = heap->blocks[id].next;
    uint64_t spare = above == state->base.top ? state->spare : 0;
    if (!heap_is_free(heap, above) || heap->blocks[above].size < missing + spare)
        return false;
    uint32_t *role = above == state->base.top      ? &state->base.top
                     : above == state->base.other ? &state->base.other
                                              : NULL;
    use(state, above, missing, role);
    heap_join_next(heap, id);
    return true;
}

static uint32_t reallocate_segment(struct dlmalloc *state, uint32_t id, uint64_t size)
{
    struct heap *heap = &state->base.heap;
    uint64_t have = heap->blocks[id].size;
    if (size <= state->small)
        return layer_move(heap, id, size);
    if (have >= size + state->extra && have - size - state->extra <= 2 * state->growth)
        return id;
    return segment_replace(heap, id, segment_size(state, size));
}

static uint32_t reallocate_block(struct heap *heap, uint32_t id, uint64_t size)
{
    struct dlmalloc *state = (struct dlmalloc *)heap;
    if (segment_is(heap, id))
        return reallocate_segment(state, id, size);
    uint64_t have = heap->blocks[id].size;
    if (have < size && !take_above(state, id, size - have))
        return layer_move(heap, id, size);
    return shrink(heap, id, size, enter_merged);
}

DEFINE_ONLY_LAYER(dlmalloc, true, allocate, release, reserve, .reallocate = reallocate_block)

static bool init(void *memory)
{
    struct dlmalloc *state = memory;
    struct heap *heap = &state->base.heap;
    uint64_t word = heap->setting.word;
    uint64_t unit = heap_unit(heap) | state->growth;
    state->small = word == 8 ? 240 : 248;
    if (heap->setting.mechanism) {
        state->foot = 10 * word;
        state->pad = 12 * word;
        state->extra = 8 * word - 1;
        state->spare = 1;
        unit |= word;
    }
    return groups_init(&state->base.bins, heap, unit);
}

static const char *check(const void *memory)
{
    return check_binned(memory);
}

static const struct parameter parameters[] = {
    UNIT_PARAMETER(struct dlmalloc, growth),
    SIZE_PARAMETER(struct dlmalloc, trim),
    SIZE_PARAMETER(struct dlmalloc, map_from),
};

const struct family dlmalloc = {
    .name = "dlmalloc",
    FAMILY_OF(struct dlmalloc),
    .blocks_an_event = 5,
};
