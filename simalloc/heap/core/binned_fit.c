/* Best fit through bins, with a wilderness and a last remainder (docs/policies.md).
 *
 * Bins of one size each, and bins sorted by size, visited upwards, are together one order by
 * (size, time of entry): the index holds the blocks of all bins in it. */
#include "free_index.h"
#include "replay.h"

struct binned_fit {
    struct heap heap;
    struct free_index bins;
    enum last_remainder rule;
    uint64_t small;
    uint64_t growth;
    uint64_t entered;   /* blocks that have entered the bins */
    uint32_t remainder; /* the last remainder, HOME_LOOSE, or NO_BLOCK */
    /* The wilderness is heap.last whenever that is free, HOME_LOOSE too. */
};

ALWAYS_INLINE void put_in_bin(struct binned_fit *state, uint32_t id)
{
    uint64_t size = state->heap.blocks[id].size;
    uint64_t key = ++state->entered;
    free_index_insert(&state->bins, free_index_position(&state->bins, true, size, key), id, size,
                      key);
}

ALWAYS_INLINE uint32_t wilderness(const struct binned_fit *state)
{
    return heap_is_free(&state->heap, state->heap.last) ? state->heap.last : NO_BLOCK;
}

/* Takes a free block out of its bin or its role. */
ALWAYS_INLINE void take_out(struct binned_fit *state, uint32_t id)
{
    if (state->heap.blocks[id].home != HOME_LOOSE)
        free_index_remove(&state->bins, free_index_locate(&state->bins, id));
    else if (state->remainder == id)
        state->remainder = NO_BLOCK;
    state->heap.blocks[id].home = HOME_ALLOCATED;
    state->heap.counters.free_blocks--;
}

/* Gives a free block, already coalesced, the role that it has or a bin. */
ALWAYS_INLINE void settle(struct binned_fit *state, uint32_t id, bool is_remainder)
{
    state->heap.counters.free_blocks++;
    if (state->heap.last == id) {
        state->heap.blocks[id].home = HOME_LOOSE;
    } else if (is_remainder) {
        state->heap.blocks[id].home = HOME_LOOSE;
        state->remainder = id;
    } else {
        put_in_bin(state, id);
    }
}

static void enter(struct binned_fit *state, uint32_t id)
{
    struct heap *heap = &state->heap;
    uint32_t below = heap->blocks[id].previous;
    uint32_t above = heap->blocks[id].next;
    bool is_remainder = false;
    if (heap_is_free(heap, below)) {
        is_remainder = state->remainder == below;
        take_out(state, below);
        heap_join_previous(heap, id);
        heap->counters.coalescings++;
    }
    if (heap_is_free(heap, above)) {
        is_remainder |= state->remainder == above;
        take_out(state, above);
        heap_join_next(heap, id);
        heap->counters.coalescings++;
    }
    settle(state, id, is_remainder);
}

/* Allocates the low end of a free block that is out of its bin. */
ALWAYS_INLINE uint32_t use(struct binned_fit *state, uint32_t id, uint64_t size, bool keep_rest)
{
    struct heap *heap = &state->heap;
    heap->counters.allocated += size;
    if (heap->blocks[id].size == size)
        return id;
    uint32_t low = heap_cut_low(heap, id, size);
    heap->counters.splits++;
    settle(state, id, keep_rest);
    return low;
}

/* Step 2 of an allocation: the last remainder serves, or goes to its bin. */
ALWAYS_INLINE uint32_t use_remainder(struct binned_fit *state, uint64_t size, uint64_t *visited)
{
    uint32_t id = state->remainder;
    bool may = state->rule == LAST_REMAINDER_ANY ||
               (state->rule == LAST_REMAINDER_SMALL && size < state->small);
    *visited += may;
    if (may && state->heap.blocks[id].size >= size) {
        take_out(state, id);
        return use(state, id, size, true);
    }
    state->remainder = NO_BLOCK;
    put_in_bin(state, id);
    return NO_BLOCK;
}

/* Steps 4 and 5: the wilderness, with the heap raised if it is too small. */
static uint32_t use_wilderness(struct binned_fit *state, uint64_t size, uint64_t *visited)
{
    struct heap *heap = &state->heap;
    uint32_t id = wilderness(state);
    *visited += id != NO_BLOCK;
    if (id == NO_BLOCK || heap->blocks[id].size < size) {
        uint32_t grown = heap_extend(heap, round_up(size, state->growth));
        if (grown == NO_BLOCK)
            return NO_BLOCK;
        heap->counters.growths++;
        enter(state, grown);
        id = grown;
    }
    take_out(state, id);
    return use(state, id, size, false);
}

static uint32_t place(struct binned_fit *state, uint64_t size, uint64_t *visited)
{
    struct cursor at = free_index_first(&state->bins, size);
    bool exact = found(at) && state->bins.nodes[at.node].size[at.entry] == size;
    if (!exact && state->remainder != NO_BLOCK) {
        uint32_t id = use_remainder(state, size, visited);
        if (id != NO_BLOCK)
            return id;
        at = free_index_first(&state->bins, size);
    }
    if (!found(at))
        return use_wilderness(state, size, visited);
    ++*visited;
    uint32_t id = block_at(&state->bins, at);
    take_out(state, id);
    return use(state, id, size, state->rule != LAST_REMAINDER_NONE);
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    uint64_t visited = 0;
    uint32_t id = place((struct binned_fit *)heap, size, &visited);
    count_search(heap, visited);
    return id;
}

static void release(struct heap *heap, uint32_t id)
{
    heap->counters.allocated -= heap->blocks[id].size;
    enter((struct binned_fit *)heap, id);
}

static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    struct binned_fit *state = (struct binned_fit *)heap;
    uint64_t old = heap->blocks[id].size;
    if (size < old) {
        uint32_t high = heap_cut_high(heap, id, size);
        heap->counters.splits++;
        heap->counters.allocated -= old - size;
        enter(state, high);
    } else if (size > old) {
        uint32_t above = heap->blocks[id].next;
        if (!heap_is_free(heap, above) || heap->blocks[above].size < size - old)
            return false;
        bool is_remainder = state->remainder == above;
        take_out(state, above);
        use(state, above, size - old, is_remainder);
        heap_join_next(heap, id);
    }
    return true;
}

static bool reserve(struct heap *heap)
{
    return heap_reserve(heap) && free_index_reserve(&((struct binned_fit *)heap)->bins);
}

static size_t replay(struct replay *replay, const struct events *events)
{
    return replay_events(replay, events, allocate, release, resize, reserve);
}

static bool init(void *memory, const struct parameters *parameters)
{
    struct binned_fit *state = memory;
    heap_init(&state->heap);
    state->rule = (enum last_remainder)parameters->last_remainder;
    state->small = parameters->small;
    state->growth = parameters->growth;
    state->entered = 0;
    state->remainder = NO_BLOCK;
    return free_index_init(&state->bins, &state->heap);
}

static void release_all(void *memory)
{
    struct binned_fit *state = memory;
    free_index_release(&state->bins);
    heap_release(&state->heap);
}

static const char *check(const void *memory)
{
    const struct binned_fit *state = memory;
    const struct heap *heap = &state->heap;
    const char *wrong = heap_check(heap);
    if (wrong == NULL)
        wrong = free_index_check(&state->bins, INDEX_BY_SIZE);
    if (wrong != NULL)
        return wrong;
    uint64_t blocks = 0;
    for (uint32_t id = heap->first; id != NO_BLOCK; id = heap->blocks[id].next) {
        if (!is_free(&heap->blocks[id]))
            continue;
        blocks++;
        if (heap_is_free(heap, heap->blocks[id].next))
            return "two adjacent free blocks have not coalesced";
        bool loose = id == heap->last || id == state->remainder;
        if (loose != (heap->blocks[id].home == HOME_LOOSE))
            return "a block is in a bin that should not be, or is in none";
    }
    if (blocks != heap->counters.free_blocks)
        return "the free blocks are miscounted";
    if (state->remainder != NO_BLOCK && !heap_is_free(heap, state->remainder))
        return "the last remainder is not free";
    return NULL;
}

const struct mechanism binned_fit = {
    .name = "binned fit",
    .state_size = sizeof(struct binned_fit),
    .init = init,
    .release = release_all,
    .replay = replay,
    .check = check,
};
