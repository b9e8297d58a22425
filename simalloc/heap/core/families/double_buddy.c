/* Two buddy systems side by side, with sizes 2**N and 3 * 2**N, in one set of bins
 * (policy/families/double_buddy.md). */
#include "parts/buddy.h"
#include "space/table.h"

/* Memory from one raise of the break. Blocks merge only within one growth. */
struct growth {
    uint64_t address;
    uint64_t size;
};

struct double_buddy {
    struct buddies buddies;
    uint64_t order;     /* enum order */
    uint64_t growth;    /* growth for sizes 2**N */
    uint64_t growth_3x; /* growth for sizes 3 * 2**N */
    struct growth *growths;
    uint32_t growth_count;
    uint32_t growth_capacity;
    uint32_t *growth_of; /* number of each block's growth, by block id */
    uint32_t growth_of_capacity;
};

/* Returns whether the buddy of a block is above it. */
static bool is_lower(const struct growth *growth, const struct block *block)
{
    /* Bit N of an offset is the parity of the offset divided by 2**N or 3 * 2**N. */
    return ((block->address - growth->address) & block->size & -block->size) == 0;
}

/* Returns whether a neighbour is free and has the size of a block's buddy. Uses one branch instead
 * of two. */
ALWAYS_INLINE bool is_like_buddy(const struct heap *heap, uint32_t neighbour, uint64_t size)
{
    return heap_is_free(heap, neighbour) & (heap->blocks[neighbour].size == size);
}

/* Tests both neighbours first, because they are usually in the cache and a block's growth usually
 * is not. */
ALWAYS_INLINE void enter(struct buddies *buddies, uint32_t id, enum bin_kind kind)
{
    const struct double_buddy *state = (const struct double_buddy *)buddies;
    const struct heap *heap = &buddies->heap;
    const struct block *block = &heap->blocks[id];
    unsigned class = exact_class(block->size);
    while ((int)is_like_buddy(heap, block->previous, block->size) |
           (int)is_like_buddy(heap, block->next, block->size)) {
        const struct growth *growth = &state->growths[state->growth_of[id]];
        if (block->size == growth->size ||
            !buddy_merge(buddies, id, class, is_lower(growth, block), kind))
            break;
        class++;
    }
    buddy_insert(buddies, id, class, kind);
}

static bool grow(struct heap *heap, unsigned class)
{
    struct double_buddy *state = (struct double_buddy *)heap;
    uint64_t size = class_size(class);
    uint64_t unit = is_three_class(class) ? state->growth_3x : state->growth;
    uint32_t id = heap_extend(heap, size > unit ? size : unit);
    if (id == NO_BLOCK)
        return false;
    heap->counters.growths++;
    const struct block *block = &heap->blocks[id];
    state->growth_of[id] = state->growth_count;
    state->growths[state->growth_count++] = (struct growth){block->address, block->size};
    buddy_insert(&state->buddies, id, exact_class(block->size), state->buddies.tables.kind);
    return true;
}

ALWAYS_INLINE void halved(struct buddies *buddies, uint32_t low, uint32_t high)
{
    uint32_t *growth_of = ((struct double_buddy *)buddies)->growth_of;
    growth_of[high] = growth_of[low];
}

ALWAYS_INLINE uint32_t allocate(struct heap *heap, uint64_t size, enum bin_kind kind)
{
    return buddy_allocate((struct buddies *)heap, class_of(size, true), grow, halved, kind);
}

static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    return class_size(class_of(size, true)) == heap->blocks[id].size;
}

static bool reserve(struct heap *heap)
{
    struct double_buddy *state = (struct double_buddy *)heap;
    return buddy_reserve(&state->buddies) &&
           TABLE_SPARE(state->growths, state->growth_count, BATCH, UINT32_MAX,
                       state->growth_capacity) &&
           TABLE_FOLLOW(state->growth_of, state->growth_of_capacity, heap->capacity);
}

static uint64_t rounded(const struct heap *heap, uint64_t size)
{
    (void)heap;
    return class_size(class_of(size, true));
}

DEFINE_BUDDY_LAYERS

static bool init(void *memory)
{
    struct double_buddy *state = memory;
    return buddy_init(&state->buddies, (enum order)state->order);
}

static void release_all(void *memory)
{
    struct double_buddy *state = memory;
    table_release(state->growths);
    table_release(state->growth_of);
    buddy_release(&state->buddies);
}

static bool is_three(uint64_t size)
{
    return (size & (size - 1)) != 0;
}

static const char *check_block(const struct double_buddy *state, uint32_t id)
{
    const struct heap *heap = &state->buddies.heap;
    const struct block *block = &heap->blocks[id];
    if (state->growth_of[id] >= state->growth_count)
        return "a block has no growth";
    const struct growth *growth = &state->growths[state->growth_of[id]];
    uint64_t offset = block->address - growth->address;
    if (offset % block->size != 0 || offset + block->size > growth->size)
        return "a block is not at an address that halving its growth can produce";
    if (class_size(class_of(block->size, true)) != block->size ||
        is_three(block->size) != is_three(growth->size))
        return "a block has a size of the other buddy system";
    if (is_free(block) && is_lower(growth, block) && heap_is_free(heap, block->next) &&
        heap->blocks[block->next].size == block->size &&
        state->growth_of[block->next] == state->growth_of[id])
        return "two free buddies have not merged";
    return NULL;
}

static const char *check(const void *memory)
{
    const struct double_buddy *state = memory;
    const struct heap *heap = &state->buddies.heap;
    const char *wrong = buddy_check(&state->buddies);
    for (uint32_t id = heap_first(heap); id != NO_BLOCK && wrong == NULL; id = heap->blocks[id].next)
        wrong = check_block(state, id);
    return wrong;
}

static const struct parameter parameters[] = {
    CHOICE_PARAMETER(struct double_buddy, order, order_names),
    UNIT_PARAMETER(struct double_buddy, growth),
    UNIT_PARAMETER(struct double_buddy, growth_3x),
};

const struct family double_buddy = {
    .name = "double buddy",
    FAMILY_OF(struct double_buddy),
    .blocks_an_event = 64,
    .change_form = change_form,
};
