/* Binary buddies in one aligned space (docs/policies.md). */
#include "buddy.h"
#include "replay.h"

struct binary_buddy {
    struct buddies buddies;
    uint64_t growth; /* a power of two; the break is always a multiple of it */
};

ALWAYS_INLINE void enter(struct binary_buddy *state, uint32_t id, bool heaps)
{
    const struct block *block = &state->buddies.heap.blocks[id];
    unsigned class = exact_class(block->size);
    while (buddy_merge(&state->buddies, id, class, (block->address & block->size) == 0,
                       heaps))
        class += 2;
    buddy_insert(&state->buddies, id, class, heaps);
}

static void enter_any(struct binary_buddy *state, uint32_t id)
{
    if (state->buddies.bins.heaps)
        enter(state, id, true);
    else
        enter(state, id, false);
}

/* Whether [address, break) is free: the break's own binary digits say of which blocks it then
 * consists, largest first. */
static bool is_free_to_the_break(const struct heap *heap, uint64_t address)
{
    uint32_t id = heap_last(heap);
    while (heap_is_free(heap, id) && heap->blocks[id].address > address)
        id = heap->blocks[id].previous;
    return heap_is_free(heap, id) && heap->blocks[id].address == address;
}

static bool grow(struct heap *heap, unsigned class)
{
    struct binary_buddy *state = (struct binary_buddy *)heap;
    uint64_t size = class_size(class);
    uint64_t end = heap->brk + state->growth;
    if (size > state->growth) {
        uint64_t start = heap->brk & ~(size - 1);
        if (start == heap->brk || !is_free_to_the_break(heap, start))
            start = round_up(heap->brk, size);
        end = start + size;
    }
    uint32_t rest = heap_extend(heap, end - heap->brk);
    if (rest == NO_BLOCK)
        return false;
    heap->counters.growths++;
    for (;;) {
        uint64_t address = heap->blocks[rest].address;
        uint64_t largest = UINT64_C(1) << (63 - __builtin_clzll(heap->blocks[rest].size));
        uint64_t aligned = address & -address;
        uint64_t piece = address != 0 && aligned < largest ? aligned : largest;
        if (piece == heap->blocks[rest].size)
            break;
        enter_any(state, heap_cut_low(heap, rest, piece));
    }
    enter_any(state, rest);
    return true;
}

ALWAYS_INLINE uint32_t allocate(struct heap *heap, uint64_t size, bool heaps)
{
    struct binary_buddy *state = (struct binary_buddy *)heap;
    return buddy_allocate(&state->buddies, class_of(size, false), grow, heaps);
}

ALWAYS_INLINE uint32_t allocate_in_lists(struct heap *heap, uint64_t size)
{
    return allocate(heap, size, false);
}

ALWAYS_INLINE uint32_t allocate_in_heaps(struct heap *heap, uint64_t size)
{
    return allocate(heap, size, true);
}

ALWAYS_INLINE void release(struct heap *heap, uint32_t id, bool heaps)
{
    heap->counters.allocated -= heap->blocks[id].size;
    enter((struct binary_buddy *)heap, id, heaps);
}

ALWAYS_INLINE void release_in_lists(struct heap *heap, uint32_t id)
{
    release(heap, id, false);
}

ALWAYS_INLINE void release_in_heaps(struct heap *heap, uint32_t id)
{
    release(heap, id, true);
}

static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    return class_size(class_of(size, false)) == heap->blocks[id].size;
}

static bool reserve(struct heap *heap)
{
    return buddy_reserve((struct buddies *)heap);
}

static size_t replay(struct replay *replay, const struct events *events)
{
    if (((struct buddies *)replay->heap)->bins.heaps)
        return replay_events(replay, events, allocate_in_heaps, release_in_heaps, resize, reserve);
    return replay_events(replay, events, allocate_in_lists, release_in_lists, resize, reserve);
}

static bool init(void *memory, const struct parameters *parameters)
{
    struct binary_buddy *state = memory;
    state->growth = parameters->growth;
    enum order order = (enum order)parameters->order;
    return buddy_init(&state->buddies, order, order == ORDER_ADDRESS);
}

static void release_all(void *memory)
{
    buddy_release(memory);
}

static const char *check(const void *memory)
{
    const struct heap *heap = memory;
    const char *wrong = buddy_check(memory);
    if (wrong != NULL)
        return wrong;
    for (uint32_t id = heap_first(heap); id != NO_BLOCK; id = heap->blocks[id].next) {
        const struct block *block = &heap->blocks[id];
        if ((block->size & (block->size - 1)) != 0 || (block->address & (block->size - 1)) != 0)
            return "a buddy is not a power of two, or not aligned to its size";
        if (is_free(block) && (block->address & block->size) == 0 &&
            heap_is_free(heap, block->next) && heap->blocks[block->next].size == block->size)
            return "two free buddies have not merged";
    }
    return NULL;
}

const struct mechanism MECHANISM(binary_buddy) = {
    .name = "binary buddy",
    .state_size = sizeof(struct binary_buddy),
    .init = init,
    .release = release_all,
    .replay = replay,
    .check = check,
};
