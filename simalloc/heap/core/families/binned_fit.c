/* Best fit through bins, with a wilderness and a last remainder (policy/families/binned_fit.md).
 *
 * A search visits bins of one size each, and then bins sorted by size, in ascending order. Together
 * they are ordered by (size, time of entry), which is the order of the index. */
#include "index/size/size_index.h"
#include "layers/define_layer.h"
#include "parts/coalescing.h"

enum last_remainder { LAST_REMAINDER_NONE, LAST_REMAINDER_SMALL, LAST_REMAINDER_ANY };

struct binned_fit {
    struct heap heap;
    struct size_index bins;
    uint64_t last_remainder; /* enum last_remainder: requests that the last remainder serves */
    uint64_t small;
    struct splitting splitting;
    uint32_t remainder; /* last remainder, in STATE_FREE, or NO_BLOCK */
    /* The wilderness is the last block of the heap if that block is free. It is in STATE_FREE
     * too. */
};

ALWAYS_INLINE void put_in_bin(struct binned_fit *state, uint32_t id)
{
    struct block *blocks = state->heap.blocks;
    size_index_insert(&state->bins, blocks, id, blocks[id].size, BIN_OLDEST, false);
}

ALWAYS_INLINE uint32_t wilderness(const struct binned_fit *state)
{
    uint32_t last = heap_last(&state->heap);
    return heap_is_free(&state->heap, last) ? last : NO_BLOCK;
}

/* Removes a free block from its bin, or from its role as wilderness or last remainder. */
ALWAYS_INLINE void take_out(struct heap *heap, uint32_t id)
{
    struct binned_fit *state = (struct binned_fit *)heap;
    heap->counters.free_blocks--;
    if (heap->blocks[id].index_slot != STATE_FREE) {
        size_index_remove(&state->bins, heap->blocks, id, BIN_OLDEST, false);
        return;
    }
    if (state->remainder == id)
        state->remainder = NO_BLOCK;
    heap->blocks[id].index_slot = STATE_ALLOCATED;
}

/* Makes a coalesced free block the wilderness or the last remainder, or puts it into its bin. */
ALWAYS_INLINE void give_part(struct binned_fit *state, uint32_t id, bool is_remainder)
{
    heap_count_free(&state->heap, id);
    bool is_wilderness = heap_last(&state->heap) == id;
    if (!is_wilderness && !is_remainder) {
        put_in_bin(state, id);
        return;
    }
    state->heap.blocks[id].index_slot = STATE_FREE;
    if (!is_wilderness)
        state->remainder = id;
}

/* Frees a block and merges it with its free neighbours. */
ALWAYS_INLINE void make_free(struct heap *heap, uint32_t id)
{
    struct binned_fit *state = (struct binned_fit *)heap;
    bool had_remainder = state->remainder != NO_BLOCK;
    coalesce(heap, id, take_out);
    give_part(state, id, had_remainder && state->remainder == NO_BLOCK);
}

static void enter(struct heap *heap, uint32_t id)
{
    make_free(heap, id);
}

/* Allocates the low end of a free block. The remainder becomes the last remainder if `keep_rest`;
 * otherwise it becomes the wilderness or enters a bin. */
ALWAYS_INLINE uint32_t use_and_keep(struct heap *heap, uint32_t id, uint64_t size, bool keep_rest)
{
    struct binned_fit *state = (struct binned_fit *)heap;
    take_out(heap, id);
    uint64_t old = heap->blocks[id].size;
    if (old - size < state->splitting.minimum_split) {
        heap->counters.allocated += old;
        return id;
    }
    heap->counters.allocated += size;
    uint32_t low = heap_cut_low(heap, id, size);
    heap->counters.splits++;
    give_part(state, id, keep_rest);
    return low;
}

/* Allocates the low end of a free block. If the block is the last remainder, its remainder is the
 * new last remainder. */
static uint32_t use(struct heap *heap, uint32_t id, uint64_t size)
{
    return use_and_keep(heap, id, size, ((struct binned_fit *)heap)->remainder == id);
}

/* Allocates the low end of the wilderness or the last remainder. The remainder keeps that role. */
ALWAYS_INLINE uint32_t use_role(struct heap *heap, uint32_t id, uint64_t size)
{
    uint64_t minimum_split = ((struct binned_fit *)heap)->splitting.minimum_split;
    if (UNLIKELY(heap->blocks[id].size - size < minimum_split))
        return use(heap, id, size);
    heap->counters.allocated += size;
    heap->counters.splits++;
    return heap_cut_low(heap, id, size);
}

/* Allocates a whole block from a bin. */
ALWAYS_INLINE uint32_t use_whole(struct binned_fit *state, struct sized found)
{
    struct heap *heap = &state->heap;
    size_index_take(&state->bins, heap->blocks, found.bin, found.block, BIN_OLDEST, false,
                    true);
    heap->counters.allocated += found.size;
    heap->counters.free_blocks--;
    return found.block;
}

/* Step 2 of an allocation: uses the last remainder, or moves it to its bin. Returns NO_BLOCK if it
 * is not used. */
ALWAYS_INLINE uint32_t use_remainder(struct binned_fit *state, uint64_t size, uint64_t *visited)
{
    uint32_t id = state->remainder;
    bool may = state->last_remainder == LAST_REMAINDER_ANY ||
               (state->last_remainder == LAST_REMAINDER_SMALL && size < state->small);
    *visited += may;
    if (may && state->heap.blocks[id].size >= size)
        return use_role(&state->heap, id, size);
    state->remainder = NO_BLOCK;
    put_in_bin(state, id);
    return NO_BLOCK;
}

/* Steps 4 and 5: uses the wilderness, and raises the break first if the wilderness is too small. */
static uint32_t use_wilderness(struct binned_fit *state, uint64_t size, uint64_t *visited)
{
    struct heap *heap = &state->heap;
    uint32_t id = wilderness(state);
    *visited += id != NO_BLOCK;
    if (id == NO_BLOCK || heap->blocks[id].size < size) {
        uint32_t grown = heap_extend(heap, growth_for(heap, size, &state->splitting));
        if (grown == NO_BLOCK)
            return NO_BLOCK;
        heap->counters.growths++;
        enter(heap, grown);
        id = grown; /* merged with the former wilderness, if any */
    }
    return use_role(heap, id, size);
}

/* Returns whether a block of exactly this size is among the blocks without a bin. */
ALWAYS_INLINE bool is_exact_and_large(const struct binned_fit *state, uint64_t size)
{
    return UNLIKELY(size_index_bin(&state->bins, size) == BINS) &&
           size_index_best(&state->bins, state->heap.blocks, size).size == size;
}

ALWAYS_INLINE uint32_t place(struct binned_fit *state, uint64_t size, uint64_t *visited)
{
    struct sized exact = size_index_exact(&state->bins, size);
    if (exact.block != NO_BLOCK) {
        ++*visited;
        return use_whole(state, exact);
    }
    if (state->remainder != NO_BLOCK && !is_exact_and_large(state, size)) {
        uint32_t id = use_remainder(state, size, visited);
        if (id != NO_BLOCK)
            return id;
    }
    struct sized found = size_index_best(&state->bins, state->heap.blocks, size);
    if (found.block == NO_BLOCK)
        return use_wilderness(state, size, visited);
    ++*visited;
    return use_and_keep(&state->heap, found.block, size, state->last_remainder != LAST_REMAINDER_NONE);
}

ALWAYS_INLINE uint32_t allocate(struct heap *heap, uint64_t size)
{
    uint64_t visited = 0;
    uint32_t id = place((struct binned_fit *)heap, size, &visited);
    count_search(heap, visited);
    return id;
}

ALWAYS_INLINE void release(struct heap *heap, uint32_t id)
{
    heap->counters.allocated -= heap->blocks[id].size;
    make_free(heap, id);
}

static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    return resize_in_place(heap, id, size,
                           ((struct binned_fit *)heap)->splitting.minimum_split, enter, use);
}

static bool reserve(struct heap *heap)
{
    struct binned_fit *state = (struct binned_fit *)heap;
    return heap_reserve(heap) && size_index_reserve(&state->bins, heap->capacity);
}

DEFINE_ONLY_LAYER(binned_fit, false, allocate, release, reserve, .resize = resize,
                  .take_out = take_out)

static bool init(void *memory)
{
    struct binned_fit *state = memory;
    struct heap *heap = &state->heap;
    state->remainder = NO_BLOCK;
    splitting_init(heap, &state->splitting);
    return size_index_init(&state->bins, heap, heap_unit(heap) | state->splitting.growth,
                           ORDER_FIFO, false);
}

static void release_all(void *memory)
{
    struct binned_fit *state = memory;
    size_index_release(&state->bins);
}

static const char *check(const void *memory)
{
    const struct binned_fit *state = memory;
    const struct heap *heap = &state->heap;
    uint64_t binned = heap->counters.free_blocks;
    if (wilderness(state) != NO_BLOCK)
        binned--;
    if (state->remainder != NO_BLOCK) {
        if (!heap_is_free(heap, state->remainder) || state->remainder == heap_last(heap))
            return "the last remainder is not free, or it is the wilderness";
        binned--;
    }
    const char *wrong = heap_check(heap);
    if (wrong == NULL)
        wrong = check_coalesced(heap);
    if (wrong == NULL)
        wrong = size_index_check(&state->bins, binned);
    return wrong;
}

static const char *const last_remainder_names[] = {
    [LAST_REMAINDER_NONE] = "none", [LAST_REMAINDER_SMALL] = "small", [LAST_REMAINDER_ANY] = "any"};

static const struct parameter parameters[] = {
    CHOICE_PARAMETER(struct binned_fit, last_remainder, last_remainder_names),
    UNIT_PARAMETER(struct binned_fit, small),
    SPLITTING_PARAMETERS(struct binned_fit, splitting),
};

const struct family binned_fit = {
    .name = "binned fit",
    FAMILY_OF(struct binned_fit),
    .blocks_an_event = 4,
};
