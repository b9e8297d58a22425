/* Common part of the buddy systems with power-of-two sizes.
 *
 * The family defines when the break rises and which blocks merge. */
#ifndef SIMALLOC_POWER_BUDDY_H
#define SIMALLOC_POWER_BUDDY_H

#include "parts/buddy.h"

struct power_buddy {
    struct buddies buddies;
    uint64_t order;  /* enum order */
    uint64_t growth; /* bytes, a power of two */
};

/* Functions of the family. */
ALWAYS_INLINE void enter(struct buddies *buddies, uint32_t id, enum bin_kind kind);
static bool grow(struct heap *heap, unsigned class);
/* Returns a description of the fault in a block, or NULL. `above_is_like_it` is true if both the
 * block and the block above are free and have the same size. */
static const char *check_block(const struct block *block, bool above_is_like_it);

ALWAYS_INLINE void halved(struct buddies *buddies, uint32_t low, uint32_t high)
{
    (void)buddies, (void)low, (void)high; /* the address alone identifies a buddy */
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
    struct power_buddy *state = memory;
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
    for (uint32_t id = heap_first(heap); id != NO_BLOCK && wrong == NULL;
         id = heap->blocks[id].next) {
        const struct block *block = &heap->blocks[id];
        bool above_is_like_it = is_free(block) && heap_is_free(heap, block->next) &&
                                heap->blocks[block->next].size == block->size;
        wrong = (block->size & (block->size - 1)) != 0 ? "a buddy is not a power of two"
                                                       : check_block(block, above_is_like_it);
    }
    return wrong;
}

static const struct parameter parameters[] = {
    CHOICE_PARAMETER(struct power_buddy, order, order_names),
    UNIT_PARAMETER(struct power_buddy, growth),
};

#define POWER_BUDDY                                                                        \
    .state_size = sizeof(struct power_buddy), PARAMETERS(parameters), .blocks_an_event = 64, \
    .init = init, .release = release_all, .next_layer = next_layer, .change_form = change_form, \
    .check = check

#endif
