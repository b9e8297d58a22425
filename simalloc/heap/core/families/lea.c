/* Doug Lea's malloc 2.6.6 (policy/families/lea.md). */
#include "layers/define_layer.h"
#include "parts/bin_number.h"
#include "parts/binned_top.h"

enum { MAX_SEGMENTS = 64, SMALL = 504 };

struct lea {
    struct binned_top base;
    uint64_t growth;
    uint64_t trim;
    uint64_t map_from;
    uint64_t keep; /* minimum bytes of the top that are not allocated */
    uint64_t tag;  /* additional bytes of a segment */
    uint32_t segments;
};

/* Lowers the break if the top is large. */
static void trim(struct lea *state)
{
    struct heap *heap = &state->base.heap;
    uint64_t size = heap->blocks[state->base.top].size;
    if (state->trim == 0 || size < state->trim)
        return;
    uint64_t falls = round_up(size - state->keep, state->growth) - state->growth;
    if (falls > 0 && !heap_lower(heap, falls))
        state->base.top = NO_BLOCK;
}

/* Frees a block that is not counted as allocated. Trims the top if the block joined it. */
static void make_free(struct heap *heap, uint32_t id)
{
    struct lea *state = (struct lea *)heap;
    uint32_t above = heap->blocks[id].next;
    bool was_top = above != NO_BLOCK && above == state->base.top;
    enter_merged(heap, id);
    if (was_top)
        trim(state);
}

/* Uses a free block for a request. Allocates only its low end if the remainder is large enough for
 * a block. */
static uint32_t use(struct lea *state, uint32_t id, uint64_t size)
{
    struct heap *heap = &state->base.heap;
    bool is_top = id == state->base.top;
    take_out(heap, id);
    if (heap->blocks[id].size - size >= heap->setting.minimum) {
        uint32_t rest = heap_cut_high(heap, id, size);
        heap->counters.splits++;
        role_give(heap, is_top ? &state->base.top : &state->base.other, rest);
    }
    heap->counters.allocated += heap->blocks[id].size;
    return id;
}

static uint32_t map(struct lea *state, uint64_t size)
{
    uint32_t id = segment_allocate(&state->base.heap, round_up(size + state->tag, state->growth));
    state->segments += id != NO_BLOCK;
    return id;
}

static bool fits_closely(const struct lea *state, uint32_t id, uint64_t size)
{
    uint64_t found = state->base.heap.blocks[id].size;
    if (id == NO_BLOCK || found >= size + state->base.heap.setting.minimum)
        return false;
    return size < SMALL ? found <= size + 8 : lea_share_bin(found, size);
}

static uint32_t place(struct lea *state, uint64_t size, uint64_t *visited)
{
    struct heap *heap = &state->base.heap;
    uint32_t best = groups_best(&state->base.bins, size);
    if (!fits_closely(state, best, size) && state->base.other != NO_BLOCK) {
        uint32_t remainder = state->base.other;
        ++*visited;
        if (heap->blocks[remainder].size >= size)
            return use(state, remainder, size);
        take_out(heap, remainder);
        groups_insert(&state->base.bins, remainder);
    }
    if (best != NO_BLOCK) {
        ++*visited;
        return use(state, best, size);
    }
    uint32_t top = state->base.top;
    *visited += top != NO_BLOCK;
    if (top == NO_BLOCK || heap->blocks[top].size < size + state->keep) {
        if (state->map_from != 0 && size >= state->map_from && state->segments < MAX_SEGMENTS)
            return map(state, size);
        if (!top_grow(heap, &state->base.top, round_up(size + state->keep, state->growth)))
            return NO_BLOCK;
    }
    return use(state, state->base.top, size);
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    uint64_t visited = 0;
    uint32_t id = place((struct lea *)heap, size, &visited);
    count_search(heap, visited);
    return id;
}

static void release(struct heap *heap, uint32_t id)
{
    struct lea *state = (struct lea *)heap;
    if (segment_is(heap, id)) {
        heap_unmap_segment(heap, id);
        state->segments--;
        return;
    }
    heap->counters.allocated -= heap->blocks[id].size;
    make_free(heap, id);
}

/* Returns the bytes of a free neighbour that a block can absorb, or 0. */
static uint64_t takable(const struct lea *state, uint32_t id)
{
    return heap_is_free(&state->base.heap, id) ? state->base.heap.blocks[id].size : 0;
}

static void take_in_above(struct lea *state, uint32_t id)
{
    struct heap *heap = &state->base.heap;
    uint32_t above = heap->blocks[id].next;
    take_out(heap, above);
    heap->counters.allocated += heap->blocks[above].size;
    heap_join_next(heap, id);
}

static void take_in_below(struct lea *state, uint32_t id)
{
    struct heap *heap = &state->base.heap;
    uint32_t below = heap->blocks[id].previous;
    take_out(heap, below);
    heap->counters.allocated += heap->blocks[below].size;
    heap_join_previous(heap, id);
}

/* Resizes a block of the break segment, if necessary into its free neighbours. Returns false if
 * they are too small. */
static bool resize_with_neighbours(struct heap *heap, uint32_t id, uint64_t size)
{
    struct lea *state = (struct lea *)heap;
    uint64_t have = heap->blocks[id].size;
    uint32_t next = heap->blocks[id].next;
    uint64_t above = takable(state, next);
    uint64_t below = takable(state, heap->blocks[id].previous);
    uint64_t with_above = size + (above > 0 && next == state->base.top ? state->keep : 0);
    if (have < size) {
        if (above > 0 && have + above >= with_above) {
            take_in_above(state, id);
        } else if (below > 0 && above > 0 && have + above + below >= with_above) {
            take_in_above(state, id);
            take_in_below(state, id);
        } else if (below > 0 && have + below >= size) {
            take_in_below(state, id);
        } else {
            return false;
        }
    }
    shrink(heap, id, size, make_free);
    return true;
}

static uint32_t reallocate_block(struct heap *heap, uint32_t id, uint64_t size)
{
    struct lea *state = (struct lea *)heap;
    if (segment_is(heap, id))
        return heap->blocks[id].size >= size + state->tag ? id : layer_move(heap, id, size);
    if (resize_with_neighbours(heap, id, size))
        return id;
    return move_or_join(heap, id, heap->front->allocate(heap, size), size, make_free);
}

DEFINE_ONLY_LAYER(lea, true, allocate, release, reserve, .reallocate = reallocate_block)

static bool init(void *memory)
{
    struct lea *state = memory;
    struct heap *heap = &state->base.heap;
    state->keep = heap->setting.mechanism ? heap->setting.minimum : 0;
    state->tag = heap->setting.mechanism ? heap->setting.word : 0;
    return groups_init(&state->base.bins, heap, heap_unit(heap) | state->growth);
}

static const char *check(const void *memory)
{
    const struct lea *state = memory;
    if (state->segments != state->base.heap.segment_count)
        return "the segments are miscounted";
    return check_binned(&state->base);
}

static const struct parameter parameters[] = {
    UNIT_PARAMETER(struct lea, growth),
    SIZE_PARAMETER(struct lea, trim),
    SIZE_PARAMETER(struct lea, map_from),
};

const struct family lea = {
    .name = "lea",
    FAMILY_OF(struct lea),
    .blocks_an_event = 4,
};
