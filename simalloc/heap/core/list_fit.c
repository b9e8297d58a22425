/* First and next fit over one list of all free blocks (docs/policies.md, Sequential fit). */
#include "coalescing.h"
#include "free_index.h"
#include "replay.h"

struct list_fit {
    struct heap heap;
    struct free_index index; /* in list order, but first fit LIFO the other way round, so that the
                                newest block comes last and enters without moving others */
    enum fit fit;
    enum order order;
    uint64_t growth;
    uint32_t rover; /* next fit: where the next search starts; NO_BLOCK if the list is empty */
};

/* A policy is known when the code is compiled, so that only its own branches are left. */
#define POLICY const enum fit fit, const enum order order

ALWAYS_INLINE uint32_t following(const struct list_fit *state, uint32_t id)
{
    return free_index_following(&state->index, free_index_locate(&state->index, id));
}

ALWAYS_INLINE struct cursor place_to_enter(const struct list_fit *state, uint64_t address, POLICY)
{
    if (order == ORDER_ADDRESS)
        return free_index_position(&state->index, false, 0, address);
    if (fit == FIT_NEXT && state->rover != NO_BLOCK)
        return free_index_locate(&state->index, state->rover);
    return free_index_back(&state->index);
}

ALWAYS_INLINE void insert(struct list_fit *state, uint32_t id, POLICY)
{
    const struct block *block = &state->heap.blocks[id];
    struct cursor at = place_to_enter(state, block->address, fit, order);
    free_index_insert(&state->index, at, id, block->size, block->address,
                      order == ORDER_ADDRESS);
    if (fit == FIT_NEXT && (order == ORDER_LIFO || state->rover == NO_BLOCK))
        state->rover = id;
    state->heap.counters.free_blocks++;
}

ALWAYS_INLINE void take_out_at(struct heap *heap, struct cursor at, POLICY)
{
    struct list_fit *state = (struct list_fit *)heap;
    if (fit == FIT_NEXT && state->rover == block_at(&state->index, at))
        state->rover = state->index.blocks > 1 ? free_index_following(&state->index, at) : NO_BLOCK;
    free_index_remove(&state->index, at, order == ORDER_ADDRESS);
    heap->counters.free_blocks--;
}

ALWAYS_INLINE void take_out(struct heap *heap, uint32_t id, POLICY)
{
    struct list_fit *state = (struct list_fit *)heap;
    take_out_at(heap, free_index_locate(&state->index, id), fit, order);
}

/* Merges a block into a free neighbour, whose place among the addresses it takes; false if there
 * is none. The rover moves as if the neighbours had left and the result had entered. */
ALWAYS_INLINE bool enter_neighbour(struct heap *heap, uint32_t id, POLICY)
{
    struct list_fit *state = (struct list_fit *)heap;
    uint32_t below = heap->blocks[id].previous;
    uint32_t above = heap->blocks[id].next;
    uint32_t merged = below;
    if (heap_is_free(heap, below)) {
        if (heap_is_free(heap, above)) {
            take_out(heap, above, fit, order);
            heap_join_next(heap, id);
            heap->counters.coalescings++;
        }
        if (fit == FIT_NEXT && state->rover == below)
            state->rover = following(state, below);
        heap_join_next(heap, below);
    } else if (heap_is_free(heap, above)) {
        if (fit == FIT_NEXT && state->rover == above)
            state->rover = following(state, above);
        heap_join_previous(heap, above);
        merged = above;
    } else {
        return false;
    }
    heap->counters.coalescings++;
    const struct block *block = &heap->blocks[merged];
    free_index_change(&state->index, free_index_locate(&state->index, merged), block->size,
                      block->address, true);
    return true;
}

/* Allocates the low `size` bytes of the free block at a cursor; the rest keeps its place. */
ALWAYS_INLINE uint32_t use_at(struct heap *heap, struct cursor at, uint64_t size, POLICY)
{
    struct free_index *index = &((struct list_fit *)heap)->index;
    uint32_t id = block_at(index, at);
    heap->counters.allocated += size;
    if (heap->blocks[id].size == size) {
        take_out_at(heap, at, fit, order);
        return id;
    }
    uint32_t low = heap_cut_low(heap, id, size);
    heap->counters.splits++;
    free_index_change(index, at, heap->blocks[id].size, heap->blocks[id].address,
                      order == ORDER_ADDRESS);
    return low;
}

/* Finds the block to use and counts what a walk along the list would have looked at. */
ALWAYS_INLINE struct cursor search(struct list_fit *state, uint64_t size, uint64_t *visited,
                                   POLICY)
{
    const struct free_index *index = &state->index;
    struct cursor start = {NO_NODE, 0};
    struct cursor at;
    if (fit == FIT_NEXT && state->rover != NO_BLOCK) {
        start = free_index_locate(index, state->rover);
        *visited = 1;
        if (LIKELY(state->heap.blocks[state->rover].size >= size))
            return start; /* as it does nearly always on real programs */
        at = free_index_first_from(index, start, size);
        if (!found(at))
            at = free_index_first(index, size);
    } else if (fit == FIT_FIRST && order == ORDER_LIFO) {
        at = free_index_back(index);
        *visited = 1;
        if (at.entry > 0 && index->nodes[at.node].size[at.entry - 1] >= size)
            return (struct cursor){at.node, at.entry - 1};
        at = free_index_last(index, size);
    } else {
        at = free_index_first(index, size);
    }
    *visited = index->blocks;
    if (found(at) && fit == FIT_NEXT) {
        int64_t distance = free_index_distance(index, start, at);
        *visited = (uint64_t)(distance < 0 ? distance + index->blocks : distance) + 1;
    } else if (found(at)) {
        uint64_t rank = free_index_rank(index, at);
        *visited = order == ORDER_LIFO ? index->blocks - rank : rank + 1;
    }
    return at;
}

ALWAYS_INLINE uint32_t allocate(struct heap *heap, uint64_t size, enter_function *enter, POLICY)
{
    struct list_fit *state = (struct list_fit *)heap;
    uint64_t visited;
    struct cursor at = search(state, size, &visited, fit, order);
    count_search(heap, visited);
    if (UNLIKELY(!found(at))) {
        uint32_t id = heap_extend(heap, round_up(missing_at_break(heap, size), state->growth));
        if (id == NO_BLOCK)
            return NO_BLOCK;
        heap->counters.growths++;
        enter(heap, id);
        at = search(state, size, &visited, fit, order);
    }
    if (fit == FIT_NEXT)
        state->rover = block_at(&state->index, at); /* taking it out moves the rover on */
    return use_at(heap, at, size, fit, order);
}

static bool reserve(struct heap *heap)
{
    return heap_reserve(heap) && free_index_reserve(&((struct list_fit *)heap)->index);
}

#define DEFINE_POLICY(name, FIT, ORDER)                                                      \
    static void take_out_##name(struct heap *heap, uint32_t id)                              \
    {                                                                                        \
        take_out(heap, id, FIT, ORDER);                                                      \
    }                                                                                        \
    static void enter_##name(struct heap *heap, uint32_t id)                                 \
    {                                                                                        \
        if (ORDER == ORDER_ADDRESS && enter_neighbour(heap, id, FIT, ORDER))                 \
            return;                                                                          \
        coalesce(heap, id, take_out_##name);                                                 \
        insert((struct list_fit *)heap, id, FIT, ORDER);                                     \
    }                                                                                        \
    static uint32_t use_##name(struct heap *heap, uint32_t id, uint64_t size)                \
    {                                                                                        \
        struct free_index *index = &((struct list_fit *)heap)->index;                        \
        return use_at(heap, free_index_locate(index, id), size, FIT, ORDER);                 \
    }                                                                                        \
    static uint32_t allocate_##name(struct heap *heap, uint64_t size)                        \
    {                                                                                        \
        return allocate(heap, size, enter_##name, FIT, ORDER);                               \
    }                                                                                        \
    static void release_##name(struct heap *heap, uint32_t id)                               \
    {                                                                                        \
        heap->counters.allocated -= heap->blocks[id].size;                                   \
        enter_##name(heap, id);                                                              \
    }                                                                                        \
    static bool resize_##name(struct heap *heap, uint32_t id, uint64_t size)                 \
    {                                                                                        \
        return resize_in_place(heap, id, size, enter_##name, use_##name);                    \
    }                                                                                        \
    static size_t replay_##name(struct replay *replay, const struct events *events)          \
    {                                                                                        \
        return replay_events(replay, events, allocate_##name, release_##name, resize_##name, \
                             reserve);                                                       \
    }

DEFINE_POLICY(first_lifo, FIT_FIRST, ORDER_LIFO)
DEFINE_POLICY(first_fifo, FIT_FIRST, ORDER_FIFO)
DEFINE_POLICY(first_address, FIT_FIRST, ORDER_ADDRESS)
DEFINE_POLICY(next_lifo, FIT_NEXT, ORDER_LIFO)
DEFINE_POLICY(next_fifo, FIT_NEXT, ORDER_FIFO)
DEFINE_POLICY(next_address, FIT_NEXT, ORDER_ADDRESS)

static size_t replay(struct replay *replay, const struct events *events)
{
    typedef size_t replay_function(struct replay *, const struct events *);
    static replay_function *const of[2][3] = {
        [FIT_FIRST] = {replay_first_lifo, replay_first_fifo, replay_first_address},
        [FIT_NEXT] = {replay_next_lifo, replay_next_fifo, replay_next_address},
    };
    const struct list_fit *state = (const struct list_fit *)replay->heap;
    return of[state->fit][state->order](replay, events);
}

static bool init(void *memory, const struct parameters *parameters)
{
    struct list_fit *state = memory;
    heap_init(&state->heap);
    state->fit = (enum fit)parameters->fit;
    state->order = (enum order)parameters->order;
    state->growth = parameters->growth;
    state->rover = NO_BLOCK;
    return free_index_init(&state->index, &state->heap);
}

static void release_all(void *memory)
{
    struct list_fit *state = memory;
    free_index_release(&state->index);
    heap_release(&state->heap);
}

static const char *check(const void *memory)
{
    const struct list_fit *state = memory;
    const struct heap *heap = &state->heap;
    enum index_order order = state->order == ORDER_ADDRESS ? INDEX_BY_KEY : INDEX_BY_POSITION;
    const char *wrong = heap_check(heap);
    if (wrong == NULL)
        wrong = check_coalesced(heap);
    if (wrong == NULL)
        wrong = free_index_check(&state->index, order);
    if (wrong != NULL)
        return wrong;
    if (state->index.blocks != heap->counters.free_blocks)
        return "the list does not hold exactly the free blocks";
    if (state->fit == FIT_NEXT && (state->rover == NO_BLOCK) != (state->index.blocks == 0))
        return "the rover is not on the list";
    if (state->fit == FIT_NEXT && state->rover != NO_BLOCK && !heap_is_free(heap, state->rover))
        return "the rover stands on a block that is not free";
    return NULL;
}

const struct mechanism MECHANISM(list_fit) = {
    .name = "list fit",
    .state_size = sizeof(struct list_fit),
    .init = init,
    .release = release_all,
    .replay = replay,
    .check = check,
};
