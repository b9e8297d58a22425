/* Best fit over one list of all free blocks (docs/policies.md, Sequential fit). */
#include "coalescing.h"
#include "replay.h"
#include "size_index.h"

struct best_fit {
    struct heap heap;
    struct size_index index; /* the key is the block's place in the list */
    enum order order;
    uint64_t growth;
    uint64_t entered; /* blocks that have entered the list */
};

ALWAYS_INLINE void insert(struct best_fit *state, uint32_t id, uint64_t size, uint64_t key)
{
    size_index_insert(&state->index, id, size,
                      state->order == ORDER_ADDRESS ? state->heap.blocks[id].address : key);
}

ALWAYS_INLINE void take_out(struct heap *heap, uint32_t id)
{
    size_index_remove(&((struct best_fit *)heap)->index, id, heap->blocks[id].size);
    heap->counters.free_blocks--;
}

ALWAYS_INLINE void enter(struct heap *heap, uint32_t id)
{
    struct best_fit *state = (struct best_fit *)heap;
    coalesce(heap, id, take_out);
    state->entered++;
    heap->counters.free_blocks++;
    insert(state, id, heap->blocks[id].size,
           state->order == ORDER_FIFO ? state->entered : ~state->entered);
}

ALWAYS_INLINE uint32_t use_sized(struct heap *heap, struct sized found, uint64_t size)
{
    struct best_fit *state = (struct best_fit *)heap;
    uint64_t key = size_index_remove(&state->index, found.block, found.size);
    heap->counters.allocated += size;
    if (found.size == size) {
        heap->counters.free_blocks--;
        return found.block;
    }
    uint32_t low = heap_cut_low(heap, found.block, size);
    heap->counters.splits++;
    insert(state, found.block, found.size - size, key);
    return low;
}

static uint32_t use(struct heap *heap, uint32_t id, uint64_t size)
{
    return use_sized(heap, (struct sized){id, heap->blocks[id].size}, size);
}

static bool grow(struct heap *heap, uint64_t size)
{
    const struct best_fit *state = (const struct best_fit *)heap;
    uint32_t id = heap_extend(heap, round_up(missing_at_break(heap, size), state->growth));
    if (id == NO_BLOCK)
        return false;
    heap->counters.growths++;
    enter(heap, id);
    return true;
}

ALWAYS_INLINE uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct best_fit *state = (struct best_fit *)heap;
    struct sized found = size_index_best(&state->index, size);
    count_search(heap, heap->counters.free_blocks);
    if (UNLIKELY(found.block == NO_BLOCK)) {
        if (!grow(heap, size))
            return NO_BLOCK;
        found = size_index_best(&state->index, size);
    }
    return use_sized(heap, found, size);
}

ALWAYS_INLINE void release(struct heap *heap, uint32_t id)
{
    heap->counters.allocated -= heap->blocks[id].size;
    enter(heap, id);
}

static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    return resize_in_place(heap, id, size, enter, use);
}

ALWAYS_INLINE bool reserve(struct heap *heap)
{
    return heap_reserve(heap) && size_index_reserve(&((struct best_fit *)heap)->index);
}

static size_t replay(struct replay *replay, const struct events *events)
{
    return replay_events(replay, events, allocate, release, resize, reserve);
}

static bool init(void *memory, const struct parameters *parameters)
{
    struct best_fit *state = memory;
    state->order = (enum order)parameters->order;
    state->growth = parameters->growth;
    state->entered = 0;
    return heap_init(&state->heap) &&
           size_index_init(&state->index, &state->heap, parameters->unit | parameters->growth);
}

static void release_all(void *memory)
{
    struct best_fit *state = memory;
    size_index_release(&state->index);
    heap_release(&state->heap);
}

static const char *check(const void *memory)
{
    const struct best_fit *state = memory;
    const char *wrong = heap_check(&state->heap);
    if (wrong == NULL)
        wrong = check_coalesced(&state->heap);
    if (wrong == NULL)
        wrong = size_index_check(&state->index, state->heap.counters.free_blocks);
    return wrong;
}

const struct mechanism MECHANISM(best_fit) = {
    .name = "best fit",
    .state_size = sizeof(struct best_fit),
    .init = init,
    .release = release_all,
    .replay = replay,
    .check = check,
};
