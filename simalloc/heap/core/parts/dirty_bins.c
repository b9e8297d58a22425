#include "parts/dirty_bins.h"

enum { ONE_SIZE_BELOW = 144 }; /* a smaller size has its own bin */

static uint32_t bin_of(uint64_t size)
{
    if (size < ONE_SIZE_BELOW)
        return (uint32_t)size;
    uint64_t eighths = size >> 3;
    uint32_t bin = ONE_SIZE_BELOW;
    for (; eighths >= 32; eighths >>= 1)
        bin += 4;
    return bin + (uint32_t)((eighths - 16) >> 2);
}

/* Inserts a free block, which is not counted yet, into its bin. */
static void enter(struct dirty_bins *state, uint32_t id, uint32_t kind)
{
    struct block *block = &state->heap->blocks[id];
    uint32_t bin = bin_of(block->size);
    block->index_slot = STATE_FREE;
    block->family_data = kind;
    chain_push(&state->links, &state->bins[kind][bin], id);
    state->used[kind][bin / 64] |= UINT64_C(1) << bin % 64;
    heap_count_free(state->heap, id);
    state->free_blocks++;
}

/* Removes a free block. Its state becomes STATE_ALLOCATED, but its bytes are not counted as
 * allocated. */
static void take_out(struct dirty_bins *state, uint32_t id)
{
    struct block *block = &state->heap->blocks[id];
    uint32_t kind = block->family_data;
    block->index_slot = STATE_ALLOCATED;
    state->heap->counters.free_blocks--;
    state->free_blocks--;
    if (kind == IS_REMAINDER) {
        state->remainder = NO_BLOCK;
        return;
    }
    uint32_t bin = bin_of(block->size);
    chain_remove(&state->links, &state->bins[kind][bin], id);
    if (state->bins[kind][bin].count == 0)
        state->used[kind][bin / 64] &= ~(UINT64_C(1) << bin % 64);
}

static void enter_remainder(struct dirty_bins *state)
{
    uint32_t id = state->remainder;
    if (id == NO_BLOCK)
        return;
    take_out(state, id);
    enter(state, id, IS_CLEAN);
}

/* Removes the newest block from the list of returned blocks. */
static uint32_t pop_returned(struct dirty_bins *state)
{
    uint32_t id = chain_pop_newest(&state->links, &state->returned);
    if (id != NO_BLOCK) {
        state->heap->counters.cached_blocks--;
        state->heap->blocks[id].index_slot = STATE_ALLOCATED;
    }
    return id;
}

/* Merges a block with all free blocks directly before and after it. */
static void consolidate(struct dirty_bins *state, uint32_t id)
{
    struct heap *heap = state->heap;
    while (heap_is_free(heap, heap->blocks[id].previous)) {
        take_out(state, heap->blocks[id].previous);
        heap_join_previous(heap, id);
        heap->counters.coalescings++;
    }
    while (heap_is_free(heap, heap->blocks[id].next)) {
        take_out(state, heap->blocks[id].next);
        heap_join_next(heap, id);
        heap->counters.coalescings++;
    }
}

static uint32_t use_whole(struct dirty_bins *state, uint32_t id)
{
    state->heap->counters.allocated += state->heap->blocks[id].size;
    return id;
}

/* Cuts up to `preallocate` further blocks of the same size off a remainder, and returns them. */
static void cut_ahead(struct dirty_bins *state, uint32_t rest, uint64_t size)
{
    struct heap *heap = state->heap;
    for (uint64_t i = 0; i < state->preallocate; i++) {
        if (heap->blocks[rest].size < size + state->minimum)
            return;
        uint32_t ahead = heap_cut_low(heap, rest, size);
        heap->counters.splits++;
        heap->blocks[ahead].index_slot = STATE_CACHED;
        heap->counters.cached_blocks++;
        chain_push(&state->links, &state->returned, ahead);
    }
}

/* Allocates the low end of a block. The remainder becomes the last remainder. */
static uint32_t use_low_end(struct dirty_bins *state, uint32_t id, uint64_t size)
{
    struct heap *heap = state->heap;
    if (heap->blocks[id].size - size >= state->minimum) {
        uint32_t rest = heap_cut_high(heap, id, size);
        heap->counters.splits++;
        if (state->split_before == size)
            cut_ahead(state, rest, size);
        state->split_before = size;
        enter_remainder(state);
        heap->blocks[rest].index_slot = STATE_FREE;
        heap->blocks[rest].family_data = IS_REMAINDER;
        heap_count_free(heap, rest);
        state->free_blocks++;
        state->remainder = rest;
    }
    return use_whole(state, id);
}

static bool fits_exactly(const struct dirty_bins *state, uint32_t id, uint64_t size)
{
    uint64_t have = state->heap->blocks[id].size;
    return have >= size && have < size + state->minimum;
}

/* Merges the dirty blocks of a bin, and the returned blocks. */
static void clean_bin(struct dirty_bins *state, uint32_t bin)
{
    enter_remainder(state);
    for (;;) {
        uint32_t id = state->bins[IS_DIRTY][bin].oldest;
        if (id == NO_BLOCK)
            break;
        take_out(state, id);
        consolidate(state, id);
        enter(state, id, IS_CLEAN);
    }
    for (;;) {
        uint32_t id = pop_returned(state);
        if (id == NO_BLOCK)
            return;
        consolidate(state, id);
        enter(state, id, IS_CLEAN);
    }
}

/* Step 2 of an allocation: find a block that fits exactly in the bin of the request. */
static uint32_t find_in_own(struct dirty_bins *state, uint32_t own, uint64_t size,
                            uint64_t *visited)
{
    if (size < ONE_SIZE_BELOW) {
        uint32_t id = state->bins[IS_DIRTY][own].newest;
        if (id == NO_BLOCK)
            id = state->bins[IS_CLEAN][own].oldest;
        *visited += id != NO_BLOCK;
        return id;
    }
    uint32_t id = state->bins[IS_DIRTY][own].newest;
    if (id == NO_BLOCK)
        return NO_BLOCK;
    for (; id != NO_BLOCK; id = state->links.of[id].older) {
        ++*visited;
        if (fits_exactly(state, id, size))
            return id;
    }
    clean_bin(state, own);
    return NO_BLOCK;
}

/* Step 3: find a returned block that fits exactly. The blocks before it become dirty. */
static uint32_t find_returned(struct dirty_bins *state, uint64_t size, uint64_t *visited)
{
    for (;;) {
        uint32_t id = pop_returned(state);
        if (id == NO_BLOCK)
            return NO_BLOCK;
        ++*visited;
        if (fits_exactly(state, id, size))
            return id;
        enter(state, id, IS_DIRTY);
    }
}

/* Returns the first bin from `from` on with a block of a kind, or DIRTY_BINS. */
static uint32_t bin_from(const struct dirty_bins *state, uint32_t kind, uint32_t from)
{
    for (uint32_t word = from / 64; word < DIRTY_BIN_WORDS; word++) {
        uint64_t bits = state->used[kind][word];
        if (word == from / 64)
            bits &= UINT64_MAX << from % 64;
        if (bits != 0)
            return 64 * word + (uint32_t)__builtin_ctzll(bits);
    }
    return DIRTY_BINS;
}

/* Steps 5 and 6: find a clean block. */
static uint32_t find_clean(const struct dirty_bins *state, uint32_t own, uint64_t size,
                           uint64_t *visited)
{
    uint32_t id = state->bins[IS_CLEAN][own].oldest;
    for (; id != NO_BLOCK; id = state->links.of[id].newer) {
        ++*visited;
        if (state->heap->blocks[id].size >= size)
            return id;
    }
    uint32_t bin = bin_from(state, IS_CLEAN, own + 1);
    if (bin == DIRTY_BINS)
        return NO_BLOCK;
    ++*visited;
    return state->bins[IS_CLEAN][bin].oldest;
}

/* Step 7: merge dirty blocks until a merged block fits, bin by bin downwards from the rover. */
static uint32_t merge_until(struct dirty_bins *state, uint64_t size, uint64_t *visited)
{
    enter_remainder(state);
    uint32_t bin = state->rover;
    for (uint32_t i = 0; i < DIRTY_BINS; i++) {
        while (state->bins[IS_DIRTY][bin].oldest != NO_BLOCK) {
            uint32_t id = state->bins[IS_DIRTY][bin].oldest;
            take_out(state, id);
            consolidate(state, id);
            ++*visited;
            if (state->heap->blocks[id].size >= size) {
                state->rover = bin;
                return id;
            }
            enter(state, id, IS_CLEAN);
        }
        bin = bin == 0 ? DIRTY_BINS - 1 : bin - 1;
    }
    return NO_BLOCK;
}

/* Step 8: new memory, merged with a free block before it. */
static uint32_t grow(struct dirty_bins *state, uint64_t size)
{
    struct heap *heap = state->heap;
    bool first = heap->brk == 0;
    uint32_t id = heap_extend(heap, round_up(size + state->ends, state->growth));
    if (id == NO_BLOCK)
        return NO_BLOCK;
    heap->counters.growths++;
    heap->blocks[id].index_slot = STATE_ALLOCATED;
    if (first && state->ends > 0)
        heap->blocks[heap_cut_low(heap, id, state->ends)].index_slot = STATE_TABLE;
    if (heap_is_free(heap, heap->blocks[id].previous)) {
        take_out(state, heap->blocks[id].previous);
        heap_join_previous(heap, id);
        heap->counters.coalescings++;
    }
    return id;
}

uint32_t dirty_bins_allocate(struct dirty_bins *state, uint64_t size, uint64_t *visited)
{
    struct heap *heap = state->heap;
    uint32_t own = bin_of(size);
    uint32_t id = state->returned.newest;
    *visited += id != NO_BLOCK;
    if (id != NO_BLOCK && fits_exactly(state, id, size))
        return use_whole(state, pop_returned(state));
    id = find_in_own(state, own, size, visited);
    if (id != NO_BLOCK) {
        take_out(state, id);
        return use_whole(state, id);
    }
    id = find_returned(state, size, visited);
    if (id != NO_BLOCK)
        return use_whole(state, id);
    id = state->remainder;
    *visited += id != NO_BLOCK;
    if (id == NO_BLOCK || heap->blocks[id].size < size)
        id = find_clean(state, own, size, visited);
    if (id != NO_BLOCK)
        take_out(state, id);
    if (id == NO_BLOCK)
        id = merge_until(state, size, visited);
    if (id == NO_BLOCK)
        id = grow(state, size);
    return id == NO_BLOCK ? NO_BLOCK : use_low_end(state, id, size);
}

bool dirty_bins_resize(struct dirty_bins *state, uint32_t id, uint64_t size)
{
    struct heap *heap = state->heap;
    enter_remainder(state);
    for (uint32_t other = pop_returned(state); other != NO_BLOCK; other = pop_returned(state))
        enter(state, other, IS_DIRTY);
    while (heap_is_free(heap, heap->blocks[id].next)) {
        uint32_t above = heap->blocks[id].next;
        take_out(state, above);
        heap->counters.allocated += heap->blocks[above].size;
        heap_join_next(heap, id);
    }
    if (heap->blocks[id].size < size)
        return false;
    uint64_t over = heap->blocks[id].size - size;
    if (over >= state->minimum) {
        uint32_t high = heap_cut_high(heap, id, size);
        heap->counters.splits++;
        heap->counters.allocated -= over;
        enter(state, high, IS_CLEAN);
    }
    return true;
}

void dirty_bins_init(struct dirty_bins *state, struct heap *heap)
{
    state->heap = heap;
    state->rover = DIRTY_BINS - 1;
}

void dirty_bins_release(struct dirty_bins *state)
{
    links_release(&state->links);
}

const char *dirty_bins_check(const struct dirty_bins *state)
{
    const struct block *blocks = state->heap->blocks;
    uint64_t met = state->remainder != NO_BLOCK;
    for (uint32_t kind = IS_DIRTY; kind <= IS_CLEAN; kind++)
        for (uint32_t bin = 0; bin < DIRTY_BINS; bin++) {
            const struct chain *chain = &state->bins[kind][bin];
            if ((chain->count != 0) != (state->used[kind][bin / 64] >> bin % 64 & 1))
                return "the bit of a bin does not match the bin";
            for (uint32_t id = chain->newest; id != NO_BLOCK; id = state->links.of[id].older) {
                if (blocks[id].index_slot != STATE_FREE || blocks[id].family_data != kind ||
                    bin_of(blocks[id].size) != bin)
                    return "a bin holds a block of another kind or size";
                if (++met > state->free_blocks)
                    return "a bin has a cycle, or the free blocks are miscounted";
            }
        }
    if (met != state->free_blocks || met != state->heap->counters.free_blocks)
        return "the free blocks are miscounted";
    return NULL;
}
