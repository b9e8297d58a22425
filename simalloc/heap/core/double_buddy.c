/* Two buddy systems side by side, sizes 2**N and 3 * 2**N (docs/policies.md), in one set of bins. */
#include "buddy.h"
#include "table.h"

/* One raising of the break: blocks merge within it and not beyond. */
struct growth {
    uint64_t address;
    uint64_t size;
};

struct double_buddy {
    /* A block's `mark` is the number of its growth, which leaves no room for lists. */
    struct buddies buddies;
    uint64_t unit[2]; /* of sizes 2**N, of sizes 3 * 2**N */
    struct growth *growths;
    uint32_t growth_count;
    uint32_t growth_capacity;
};

/* Whether the buddy of a block is above it. */
static bool is_lower(const struct growth *growth, const struct block *block)
{
    /* The parity of an offset divided by 2**N or 3 * 2**N is the offset's bit N. */
    return ((block->address - growth->address) & block->size & -block->size) == 0;
}

ALWAYS_INLINE void enter(struct buddies *buddies, uint32_t id, enum bin_kind kind)
{
    const struct double_buddy *state = (const struct double_buddy *)buddies;
    const struct block *block = &buddies->heap.blocks[id];
    const struct growth *growth = &state->growths[block->mark];
    unsigned class = exact_class(block->size);
    while (block->size != growth->size &&
           buddy_merge(buddies, id, class, is_lower(growth, block), kind))
        class++;
    buddy_insert(buddies, id, class, kind);
}

static bool grow(struct heap *heap, unsigned class)
{
    struct double_buddy *state = (struct double_buddy *)heap;
    uint64_t size = class_size(class);
    uint64_t unit = state->unit[is_three_class(class)];
    uint32_t id = heap_extend(heap, size > unit ? size : unit);
    if (id == NO_BLOCK)
        return false;
    heap->counters.growths++;
    struct block *block = &heap->blocks[id];
    block->mark = state->growth_count;
    state->growths[state->growth_count++] = (struct growth){block->address, block->size};
    buddy_insert(&state->buddies, id, exact_class(block->size), state->buddies.kind);
    return true;
}

ALWAYS_INLINE uint32_t allocate(struct heap *heap, uint64_t size, enum bin_kind kind)
{
    return buddy_allocate((struct buddies *)heap, class_of(size, true), grow, kind);
}

static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    return class_size(class_of(size, true)) == heap->blocks[id].size;
}

static bool reserve_growth(struct double_buddy *state)
{
    if (LIKELY(state->growth_capacity - state->growth_count >= BATCH))
        return true;
    struct growth *growths = table_grow(state->growths, sizeof *growths, state->growth_count,
                                        BATCH, UINT32_MAX, &state->growth_capacity);
    if (growths == NULL)
        return false;
    state->growths = growths;
    return true;
}

static bool reserve(struct heap *heap)
{
    struct double_buddy *state = (struct double_buddy *)heap;
    return buddy_reserve(&state->buddies) && reserve_growth(state);
}

DEFINE_BUDDY_REPLAY(by_address, BIN_HEAP)
DEFINE_BUDDY_REPLAY(by_key, BIN_HEAP_BY_KEY)

static size_t replay(struct replay *replay, const struct events *events)
{
    bool by_key = ((const struct buddies *)replay->heap)->kind == BIN_HEAP_BY_KEY;
    return by_key ? replay_by_key(replay, events) : replay_by_address(replay, events);
}

static bool init(void *memory, const struct parameters *parameters)
{
    struct double_buddy *state = memory;
    state->unit[0] = parameters->growth;
    state->unit[1] = parameters->growth_3x;
    enum order order = (enum order)parameters->order;
    return buddy_init(&state->buddies, order, order == ORDER_ADDRESS ? BIN_HEAP : BIN_HEAP_BY_KEY);
}

static void release_all(void *memory)
{
    struct double_buddy *state = memory;
    table_release(state->growths);
    buddy_release(&state->buddies);
}

static bool is_three(uint64_t size)
{
    return (size & (size - 1)) != 0;
}

static const char *check_block(const struct double_buddy *state, const struct block *block)
{
    const struct heap *heap = &state->buddies.heap;
    if (block->mark >= state->growth_count)
        return "a block belongs to no growth";
    const struct growth *growth = &state->growths[block->mark];
    uint64_t offset = block->address - growth->address;
    if (offset % block->size != 0 || offset + block->size > growth->size)
        return "a block is not where its growth could have been halved";
    if (class_size(class_of(block->size, true)) != block->size ||
        is_three(block->size) != is_three(growth->size))
        return "a block has a size of the other system";
    if (is_free(block) && is_lower(growth, block) && heap_is_free(heap, block->next) &&
        heap->blocks[block->next].size == block->size &&
        heap->blocks[block->next].mark == block->mark)
        return "two free buddies have not merged";
    return NULL;
}

static const char *check(const void *memory)
{
    const struct double_buddy *state = memory;
    const struct heap *heap = &state->buddies.heap;
    const char *wrong = buddy_check(&state->buddies);
    for (uint32_t id = heap_first(heap); id != NO_BLOCK && wrong == NULL; id = heap->blocks[id].next)
        wrong = check_block(state, &heap->blocks[id]);
    return wrong;
}

const struct mechanism MECHANISM(double_buddy) = {
    .name = "double buddy",
    .state_size = sizeof(struct double_buddy),
    .init = init,
    .release = release_all,
    .replay = replay,
    .check = check,
};
