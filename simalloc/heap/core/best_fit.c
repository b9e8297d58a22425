/* Best fit over one list of all free blocks (docs/policies.md, Sequential fit). */
#include "coalescing.h"
#include "replay.h"
#include "size_index.h"

struct best_fit {
    struct heap heap;
    struct size_index index; /* equals are in the order of the list */
    uint64_t growth;
};

ALWAYS_INLINE struct best_fit *state_of(struct heap *heap)
{
    return (struct best_fit *)heap;
}

ALWAYS_INLINE void take_out(struct heap *heap, uint32_t id, enum order order)
{
    size_index_remove(&state_of(heap)->index, heap->blocks, id, order, true);
    heap->counters.free_blocks--;
}

/* Makes a block free, merged with its free neighbours. The order is known when the code is
 * compiled, here and below. */
ALWAYS_INLINE void make_free(struct heap *heap, uint32_t id, take_out_function *take,
                             enum order order)
{
    coalesce(heap, id, take);
    size_index_insert(&state_of(heap)->index, heap->blocks, id, heap->blocks[id].size, order, true);
    heap->counters.free_blocks++;
}

/* Allocates the low `size` bytes of a block of which even the rest has no bin. */
static uint32_t use_large(struct heap *heap, uint32_t id, uint64_t size, enum order order)
{
    uint32_t low = heap_cut_low(heap, id, size);
    heap->counters.splits++;
    heap->counters.allocated += size;
    size_tree_shrink(&state_of(heap)->index.tree, id, order == ORDER_ADDRESS);
    return low;
}

/* Allocates a free block as a whole. */
ALWAYS_INLINE uint32_t use_whole(struct heap *heap, struct sized found, enum order order)
{
    size_index_take(&state_of(heap)->index, heap->blocks, found.bin, found.block, order, true);
    heap->counters.allocated += found.size;
    heap->counters.free_blocks--;
    return found.block;
}

/* Allocates the low `size` bytes of a larger free block; the rest keeps its place in the list. */
ALWAYS_INLINE uint32_t use_low_end(struct heap *heap, struct sized found, uint64_t size,
                                   enum order order)
{
    struct size_index *index = &state_of(heap)->index;
    if (UNLIKELY(found.bin == BINS) && size_index_bin(index, found.size - size) == BINS)
        return use_large(heap, found.block, size, order);
    size_index_take(index, heap->blocks, found.bin, found.block, order, true);
    heap->counters.allocated += size;
    uint32_t low = heap_cut_low(heap, found.block, size);
    heap->counters.splits++;
    size_index_insert_rest(index, heap->blocks, found.block, found.size - size, order);
    return low;
}

static uint32_t use(struct heap *heap, uint32_t id, uint64_t size, enum order order)
{
    uint64_t old = heap->blocks[id].size;
    struct sized found = {id, size_index_bin(&state_of(heap)->index, old), old};
    return old == size ? use_whole(heap, found, order) : use_low_end(heap, found, size, order);
}

static bool grow(struct heap *heap, uint64_t size, enter_function *enter)
{
    uint64_t growth = round_up(missing_at_break(heap, size), state_of(heap)->growth);
    uint32_t id = heap_extend(heap, growth);
    if (id == NO_BLOCK)
        return false;
    heap->counters.growths++;
    enter(heap, id);
    return true;
}

ALWAYS_INLINE uint32_t allocate(struct heap *heap, uint64_t size, enter_function *enter,
                                enum order order)
{
    const struct size_index *index = &state_of(heap)->index;
    struct sized exact = size_index_exact(index, size);
    count_search(heap, heap->counters.free_blocks);
    if (exact.block != NO_BLOCK)
        return use_whole(heap, exact, order);
    struct sized found = size_index_best(index, heap->blocks, size);
    if (UNLIKELY(found.block == NO_BLOCK)) {
        if (!grow(heap, size, enter))
            return NO_BLOCK;
        found = size_index_best(index, heap->blocks, size);
    }
    if (UNLIKELY(found.size == size)) /* in the tree, or new */
        return use(heap, found.block, size, order);
    return use_low_end(heap, found, size, order);
}

static bool reserve(struct heap *heap)
{
    return heap_reserve(heap) && size_index_reserve(&state_of(heap)->index, heap->capacity);
}

DEFINE_REPLAY(lifo, ORDER_LIFO)
DEFINE_REPLAY(fifo, ORDER_FIFO)
DEFINE_REPLAY(address, ORDER_ADDRESS)

static size_t replay(struct replay *replay, const struct events *events)
{
    switch (state_of(replay->heap)->index.order) {
    case ORDER_LIFO:
        return replay_lifo(replay, events);
    case ORDER_FIFO:
        return replay_fifo(replay, events);
    default:
        return replay_address(replay, events);
    }
}

static bool init(void *memory, const struct parameters *parameters)
{
    struct best_fit *state = memory;
    state->growth = parameters->growth;
    return heap_init(&state->heap) &&
           size_index_init(&state->index, &state->heap, parameters->unit | parameters->growth,
                           (enum order)parameters->order, true);
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
