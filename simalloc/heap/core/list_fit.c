/* First and next fit over one list of all free blocks (docs/policies.md, Sequential fit). */
#include "block_list_edit.h"
#include "coalescing.h"
#include "replay.h"

struct list_fit {
    struct heap heap;
    struct block_list list; /* but first fit LIFO the other way round, so that the newest block
                               comes last and enters without moving others */
    enum fit fit;
    enum order order;
    uint64_t growth;
    uint32_t rover; /* next fit: where the next search starts; NO_BLOCK if the list is empty */
};

/* A policy is known when the code is compiled, so that only its own branches are left. */
#define POLICY const enum fit fit, const enum order order

ALWAYS_INLINE uint32_t following(const struct list_fit *state, uint32_t id)
{
    return block_list_following(&state->list, block_list_locate(&state->list, id));
}

ALWAYS_INLINE struct cursor place_to_enter(const struct list_fit *state, uint64_t address, POLICY)
{
    if (order == ORDER_ADDRESS)
        return block_list_position(&state->list, address);
    if (fit == FIT_NEXT && state->rover != NO_BLOCK)
        return block_list_locate(&state->list, state->rover);
    return block_list_back(&state->list);
}

ALWAYS_INLINE void insert(struct list_fit *state, uint32_t id, POLICY)
{
    const struct block *block = &state->heap.blocks[id];
    struct cursor at = place_to_enter(state, block->address, fit, order);
    block_list_insert(&state->list, at, id, order == ORDER_ADDRESS);
    if (fit == FIT_NEXT && (order == ORDER_LIFO || state->rover == NO_BLOCK))
        state->rover = id;
    state->heap.counters.free_blocks++;
}

ALWAYS_INLINE void take_out_at(struct heap *heap, struct cursor at, const enum fit fit)
{
    struct list_fit *state = (struct list_fit *)heap;
    if (fit == FIT_NEXT && state->rover == block_at(&state->list, at))
        state->rover = state->list.blocks > 1 ? block_list_following(&state->list, at) : NO_BLOCK;
    block_list_remove(&state->list, at);
    heap->counters.free_blocks--;
}

ALWAYS_INLINE void take_out(struct heap *heap, uint32_t id, const enum fit fit)
{
    struct list_fit *state = (struct list_fit *)heap;
    take_out_at(heap, block_list_locate(&state->list, id), fit);
}

/* Merges a block into a free neighbour, whose place among the addresses it takes; false if there
 * is none. The rover moves as if the neighbours had left and the result had entered. */
ALWAYS_INLINE bool enter_neighbour(struct heap *heap, uint32_t id, const enum fit fit)
{
    struct list_fit *state = (struct list_fit *)heap;
    uint32_t below = heap->blocks[id].previous;
    uint32_t above = heap->blocks[id].next;
    uint32_t merged;
    uint64_t old;
    if (heap_is_free(heap, below)) {
        merged = below;
        old = heap->blocks[below].size;
        if (heap_is_free(heap, above)) {
            take_out(heap, above, fit);
            heap_join_next(heap, id);
            heap->counters.coalescings++;
        }
        if (fit == FIT_NEXT && state->rover == below)
            state->rover = following(state, below);
        heap_join_next(heap, below);
    } else if (heap_is_free(heap, above)) {
        merged = above;
        old = heap->blocks[above].size;
        if (fit == FIT_NEXT && state->rover == above)
            state->rover = following(state, above);
        heap_join_previous(heap, above);
    } else {
        return false;
    }
    heap->counters.coalescings++;
    const struct block *block = &heap->blocks[merged];
    block_list_change(&state->list, block_list_locate(&state->list, merged), old, block->size,
                      block->address, true);
    return true;
}

/* Allocates the low `size` bytes of the free block at a cursor; the rest keeps its place. */
ALWAYS_INLINE uint32_t use_at(struct heap *heap, struct cursor at, uint64_t size, POLICY)
{
    struct block_list *list = &((struct list_fit *)heap)->list;
    uint32_t id = block_at(list, at);
    heap->counters.allocated += size;
    uint64_t old = block_list_size_at(list, at);
    if (old == size) {
        take_out_at(heap, at, fit);
        return id;
    }
    uint32_t low = heap_cut_low(heap, id, size);
    heap->counters.splits++;
    block_list_change(list, at, old, old - size, heap->blocks[id].address,
                      order == ORDER_ADDRESS);
    return low;
}

/* Finds the block to use and counts what a walk along the list would have looked at. */
ALWAYS_INLINE struct cursor search(struct list_fit *state, uint64_t size, uint64_t *visited,
                                   POLICY)
{
    struct block_list *list = &state->list;
    struct cursor start = NOWHERE;
    struct cursor at;
    if (fit == FIT_NEXT && state->rover != NO_BLOCK) {
        start = block_list_locate(list, state->rover);
        at = block_list_first_from(list, start, size);
        if (!found(at))
            at = block_list_first(list, size);
    } else if (fit == FIT_FIRST && order == ORDER_LIFO) {
        at = block_list_last(list, size);
    } else {
        at = block_list_first(list, size);
    }
    if (!found(at))
        *visited = list->blocks;
    else if (fit == FIT_NEXT)
        *visited = block_list_distance(list, start, at) + 1;
    else if (order == ORDER_LIFO)
        *visited = list->blocks - block_list_rank(list, at);
    else
        *visited = block_list_rank(list, at) + 1;
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
        state->rover = block_at(&state->list, at); /* taking it out moves the rover on */
    return use_at(heap, at, size, fit, order);
}

static bool reserve(struct heap *heap)
{
    return heap_reserve(heap) && block_list_reserve(&((struct list_fit *)heap)->list);
}

#define DEFINE_POLICY(name, FIT, ORDER)                                                      \
    static void take_out_##name(struct heap *heap, uint32_t id)                              \
    {                                                                                        \
        take_out(heap, id, FIT);                                                      \
    }                                                                                        \
    static void enter_##name(struct heap *heap, uint32_t id)                                 \
    {                                                                                        \
        if (ORDER == ORDER_ADDRESS && enter_neighbour(heap, id, FIT))                 \
            return;                                                                          \
        coalesce(heap, id, take_out_##name);                                                 \
        insert((struct list_fit *)heap, id, FIT, ORDER);                                     \
    }                                                                                        \
    static uint32_t use_##name(struct heap *heap, uint32_t id, uint64_t size)                \
    {                                                                                        \
        struct block_list *list = &((struct list_fit *)heap)->list;                        \
        return use_at(heap, block_list_locate(list, id), size, FIT, ORDER);                 \
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
    return block_list_init(&state->list, &state->heap, parameters->unit | parameters->growth);
}

static void release_all(void *memory)
{
    struct list_fit *state = memory;
    block_list_release(&state->list);
    heap_release(&state->heap);
}

static const char *check(const void *memory)
{
    const struct list_fit *state = memory;
    const struct heap *heap = &state->heap;
    const char *wrong = heap_check(heap);
    if (wrong == NULL)
        wrong = check_coalesced(heap);
    if (wrong == NULL)
        wrong = block_list_check(&state->list, state->order == ORDER_ADDRESS);
    if (wrong != NULL)
        return wrong;
    if (state->list.blocks != heap->counters.free_blocks)
        return "the list does not hold exactly the free blocks";
    if (state->fit == FIT_NEXT && (state->rover == NO_BLOCK) != (state->list.blocks == 0))
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
