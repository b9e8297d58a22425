/* The modified binary buddy: any two neighbours of a size merge
 * (simalloc/policy/families/modified_buddy.md). */
#include "parts/buddy.h"

struct modified_buddy {
    struct buddies buddies;
    uint64_t order;  /* enum order */
    uint64_t growth; /* a power of two */
};

ALWAYS_INLINE void enter(struct buddies *buddies, uint32_t id, enum bin_kind kind)
{
    unsigned class = exact_class(buddies->heap.blocks[id].size);
    while (buddy_merge(buddies, id, class, false, kind) ||
           buddy_merge(buddies, id, class, true, kind))
        class++;
    buddy_insert(buddies, id, class, kind);
}

static bool grow(struct heap *heap, unsigned class)
{
    struct modified_buddy *state = (struct modified_buddy *)heap;
    uint64_t size = class_size(class);
    uint32_t id = heap_extend(heap, size > state->growth ? size : state->growth);
    if (id == NO_BLOCK)
        return false;
    heap->counters.growths++;
    buddy_insert(&state->buddies, id, exact_class(heap->blocks[id].size),
                 state->buddies.tables.kind);
    return true;
}

ALWAYS_INLINE void halved(struct buddies *buddies, uint32_t low, uint32_t high)
{
    (void)buddies, (void)low, (void)high;
}

ALWAYS_INLINE uint32_t allocate(struct heap *heap, uint64_t size, enum bin_kind kind)
{
    return buddy_allocate((struct buddies *)heap, class_of(size, false), grow, halved, kind);
}

static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    return class_size(class_of(size, false)) == heap->blocks[id].size;
}

static bool reserve(struct heap *heap)
{
    return buddy_reserve((struct buddies *)heap);
}

static uint64_t rounded(const struct heap *heap, uint64_t size)
{
    (void)heap;
    return class_size(class_of(size, false));
}

DEFINE_BUDDY_LAYERS

static bool init(void *memory)
{
    struct modified_buddy *state = memory;
    return buddy_init(&state->buddies, (enum order)state->order);
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
        if ((block->size & (block->size - 1)) != 0)
            return "a buddy is not a power of two";
        if (is_free(block) && heap_is_free(heap, block->next) &&
            heap->blocks[block->next].size == block->size)
            return "two free neighbours of a size have not merged";
    }
    return NULL;
}

static const struct parameter parameters[] = {
    CHOICE_PARAMETER(struct modified_buddy, order, order_names),
    UNIT_PARAMETER(struct modified_buddy, growth),
};

const struct family modified_buddy = {
    .name = "modified binary buddy",
    .state_size = sizeof(struct modified_buddy),
    PARAMETERS(parameters),
    .blocks_an_event = 64,
    .init = init,
    .release = release_all,
    .settle = settle,
    .check = check,
    .change_form = change_form,
};
