/* Sequential fits: one list of all free blocks, coalesced at once (docs/policies.md). */
#include "free_index.h"
#include "replay.h"

struct sequential_fit {
    struct heap heap;
    struct free_index index; /* in list order; of best fit by size, then in list order */
    enum fit fit;
    enum order order;
    uint64_t growth;
    uint64_t entered; /* blocks that have entered the list; the newest has the highest number */
    uint32_t rover;   /* next fit: where the next search starts; NO_BLOCK if the list is empty */
};

/* A policy is known when the code is compiled, so that only its own branches are left. */
#define POLICY const enum fit fit, const enum order order

/* What orders a block that enters the list. */
ALWAYS_INLINE uint64_t key_of(struct sequential_fit *state, uint64_t address, POLICY)
{
    (void)fit;
    if (order == ORDER_ADDRESS)
        return address;
    state->entered++;
    return order == ORDER_FIFO ? state->entered : ~state->entered;
}

ALWAYS_INLINE void insert(struct sequential_fit *state, uint32_t id, POLICY)
{
    struct block *block = &state->heap.blocks[id];
    uint64_t key = key_of(state, block->address, fit, order);
    struct cursor at;
    if (fit == FIT_NEXT && order != ORDER_ADDRESS && state->rover != NO_BLOCK)
        at = free_index_locate(&state->index, state->rover);
    else
        at = free_index_position(&state->index, fit == FIT_BEST, block->size, key);
    free_index_insert(&state->index, at, id, block->size, key);
    if (fit == FIT_NEXT && (order == ORDER_LIFO || state->rover == NO_BLOCK))
        state->rover = id;
    state->heap.counters.free_blocks++;
}

/* Finds a free block's place; best fit orders by size, so that is how it is found. */
ALWAYS_INLINE void take_out(struct sequential_fit *state, uint32_t id, POLICY)
{
    (void)order;
    struct cursor at = free_index_locate(&state->index, id);
    if (fit == FIT_NEXT && state->rover == id)
        state->rover = state->index.blocks > 1 ? free_index_following(&state->index, at) : NO_BLOCK;
    free_index_remove(&state->index, at);
    state->heap.counters.free_blocks--;
}

/* Gives a block to the list, merged with its free neighbours. */
ALWAYS_INLINE void enter(struct sequential_fit *state, uint32_t id, POLICY)
{
    struct heap *heap = &state->heap;
    uint32_t below = heap->blocks[id].previous;
    uint32_t above = heap->blocks[id].next;
    bool below_free = heap_is_free(heap, below);
    bool above_free = heap_is_free(heap, above);
    if (below_free)
        take_out(state, below, fit, order);
    if (above_free)
        take_out(state, above, fit, order);
    if (below_free)
        heap_join_previous(heap, id);
    if (above_free)
        heap_join_next(heap, id);
    heap->counters.coalescings += (uint64_t)below_free + (uint64_t)above_free;
    insert(state, id, fit, order);
}

/* Leaves `size` fewer bytes to the free block at a cursor, at its high end, in its place in the
 * list; the low end is a new block, which is answered. */
ALWAYS_INLINE uint32_t split(struct sequential_fit *state, struct cursor at, uint64_t size, POLICY)
{
    struct heap *heap = &state->heap;
    uint32_t rest = block_at(&state->index, at);
    uint64_t key = state->index.nodes[at.node].key[at.entry];
    uint32_t low = heap_cut_low(heap, rest, size);
    heap->counters.splits++;
    if (order == ORDER_ADDRESS)
        key = heap->blocks[rest].address;
    if (fit == FIT_BEST) {
        free_index_remove(&state->index, at);
        at = free_index_position(&state->index, true, heap->blocks[rest].size, key);
        free_index_insert(&state->index, at, rest, heap->blocks[rest].size, key);
    } else {
        free_index_change(&state->index, at, heap->blocks[rest].size, key);
    }
    return low;
}

ALWAYS_INLINE struct cursor search(struct sequential_fit *state, uint64_t size, POLICY)
{
    (void)order;
    if (fit != FIT_NEXT || state->rover == NO_BLOCK)
        return free_index_first(&state->index, size);
    struct cursor start = free_index_locate(&state->index, state->rover);
    struct cursor at = free_index_first_from(&state->index, start, size);
    return found(at) ? at : free_index_first(&state->index, size);
}

ALWAYS_INLINE uint64_t visited(const struct sequential_fit *state, struct cursor at, POLICY)
{
    (void)order;
    uint64_t blocks = state->index.blocks;
    if (fit == FIT_BEST || !found(at))
        return blocks;
    uint64_t rank = free_index_rank(&state->index, at);
    if (fit == FIT_NEXT) {
        uint64_t start =
            free_index_rank(&state->index, free_index_locate(&state->index, state->rover));
        rank += rank >= start ? 0 : blocks;
        rank -= start;
    }
    return rank + 1;
}

/* Raises the break until a block of `size` bytes ends at it; false if the heap cannot grow so. */
ALWAYS_INLINE bool grow(struct sequential_fit *state, uint64_t size, POLICY)
{
    struct heap *heap = &state->heap;
    uint64_t tail = heap_is_free(heap, heap->last) ? heap->blocks[heap->last].size : 0;
    uint32_t id = heap_extend(heap, round_up(size - tail, state->growth));
    if (id == NO_BLOCK)
        return false;
    heap->counters.growths++;
    enter(state, id, fit, order);
    return true;
}

ALWAYS_INLINE uint32_t allocate(struct heap *heap, uint64_t size, POLICY)
{
    struct sequential_fit *state = (struct sequential_fit *)heap;
    struct cursor at = search(state, size, fit, order);
    count_search(heap, visited(state, at, fit, order));
    if (UNLIKELY(!found(at))) {
        if (!grow(state, size, fit, order))
            return NO_BLOCK;
        at = search(state, size, fit, order);
    }
    uint32_t id = block_at(&state->index, at);
    heap->counters.allocated += size;
    if (heap->blocks[id].size == size) {
        if (fit == FIT_NEXT)
            state->rover = id; /* so that taking it out moves the rover on */
        take_out(state, id, fit, order);
        return id;
    }
    if (fit == FIT_NEXT)
        state->rover = id;
    return split(state, at, size, fit, order);
}

ALWAYS_INLINE void release(struct heap *heap, uint32_t id, POLICY)
{
    heap->counters.allocated -= heap->blocks[id].size;
    enter((struct sequential_fit *)heap, id, fit, order);
}

ALWAYS_INLINE bool resize(struct heap *heap, uint32_t id, uint64_t size, POLICY)
{
    struct sequential_fit *state = (struct sequential_fit *)heap;
    uint64_t old = heap->blocks[id].size;
    if (size < old) {
        uint32_t high = heap_cut_high(heap, id, size);
        heap->counters.splits++;
        heap->counters.allocated -= old - size;
        enter(state, high, fit, order);
    } else if (size > old) {
        uint32_t above = heap->blocks[id].next;
        if (!heap_is_free(heap, above) || heap->blocks[above].size < size - old)
            return false;
        if (heap->blocks[above].size == size - old)
            take_out(state, above, fit, order);
        else
            split(state, free_index_locate(&state->index, above), size - old, fit, order);
        heap_join_next(heap, id);
        heap->counters.allocated += size - old;
    }
    return true;
}

static bool reserve(struct heap *heap)
{
    return heap_reserve(heap) && free_index_reserve(&((struct sequential_fit *)heap)->index);
}

#define DEFINE_REPLAY(name, FIT, ORDER)                                                       \
    static uint32_t allocate_##name(struct heap *heap, uint64_t size)                         \
    {                                                                                         \
        return allocate(heap, size, FIT, ORDER);                                              \
    }                                                                                         \
    static void release_##name(struct heap *heap, uint32_t id)                                \
    {                                                                                         \
        release(heap, id, FIT, ORDER);                                                        \
    }                                                                                         \
    static bool resize_##name(struct heap *heap, uint32_t id, uint64_t size)                  \
    {                                                                                         \
        return resize(heap, id, size, FIT, ORDER);                                            \
    }                                                                                         \
    static size_t replay_##name(struct replay *replay, const struct events *events)           \
    {                                                                                         \
        return replay_events(replay, events, allocate_##name, release_##name, resize_##name,  \
                             reserve);                                                        \
    }

DEFINE_REPLAY(first_lifo, FIT_FIRST, ORDER_LIFO)
DEFINE_REPLAY(first_fifo, FIT_FIRST, ORDER_FIFO)
DEFINE_REPLAY(first_address, FIT_FIRST, ORDER_ADDRESS)
DEFINE_REPLAY(next_lifo, FIT_NEXT, ORDER_LIFO)
DEFINE_REPLAY(next_fifo, FIT_NEXT, ORDER_FIFO)
DEFINE_REPLAY(next_address, FIT_NEXT, ORDER_ADDRESS)
DEFINE_REPLAY(best_lifo, FIT_BEST, ORDER_LIFO)
DEFINE_REPLAY(best_fifo, FIT_BEST, ORDER_FIFO)
DEFINE_REPLAY(best_address, FIT_BEST, ORDER_ADDRESS)

static size_t replay(struct replay *replay, const struct events *events)
{
    typedef size_t replay_function(struct replay *, const struct events *);
    static replay_function *const of[3][3] = {
        [FIT_FIRST] = {replay_first_lifo, replay_first_fifo, replay_first_address},
        [FIT_NEXT] = {replay_next_lifo, replay_next_fifo, replay_next_address},
        [FIT_BEST] = {replay_best_lifo, replay_best_fifo, replay_best_address},
    };
    const struct sequential_fit *state = (const struct sequential_fit *)replay->heap;
    return of[state->fit][state->order](replay, events);
}

static bool init(void *memory, const struct parameters *parameters)
{
    struct sequential_fit *state = memory;
    heap_init(&state->heap);
    state->fit = (enum fit)parameters->fit;
    state->order = (enum order)parameters->order;
    state->growth = parameters->growth;
    state->entered = 0;
    state->rover = NO_BLOCK;
    return free_index_init(&state->index, &state->heap);
}

static void release_all(void *memory)
{
    struct sequential_fit *state = memory;
    free_index_release(&state->index);
    heap_release(&state->heap);
}

static enum index_order list_order(const struct sequential_fit *state)
{
    if (state->fit == FIT_BEST)
        return INDEX_BY_SIZE;
    return state->fit == FIT_NEXT && state->order != ORDER_ADDRESS ? INDEX_BY_POSITION
                                                                   : INDEX_BY_KEY;
}

static const char *check(const void *memory)
{
    const struct sequential_fit *state = memory;
    const struct heap *heap = &state->heap;
    const char *wrong = heap_check(heap);
    if (wrong == NULL)
        wrong = free_index_check(&state->index, list_order(state));
    if (wrong != NULL)
        return wrong;
    uint64_t blocks = 0;
    for (uint32_t id = heap->first; id != NO_BLOCK; id = heap->blocks[id].next) {
        blocks += is_free(&heap->blocks[id]);
        if (is_free(&heap->blocks[id]) && heap_is_free(heap, heap->blocks[id].next))
            return "two adjacent free blocks have not coalesced";
    }
    if (blocks != state->index.blocks || blocks != heap->counters.free_blocks)
        return "the list does not hold exactly the free blocks";
    if (state->fit == FIT_NEXT && (state->rover == NO_BLOCK) != (blocks == 0))
        return "the rover is not on the list";
    if (state->fit == FIT_NEXT && blocks > 0 && !heap_is_free(heap, state->rover))
        return "the rover stands on a block that is not free";
    return NULL;
}

const struct mechanism sequential_fit = {
    .name = "sequential fit",
    .state_size = sizeof(struct sequential_fit),
    .init = init,
    .release = release_all,
    .replay = replay,
    .check = check,
};
