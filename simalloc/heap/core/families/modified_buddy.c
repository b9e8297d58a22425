/* The modified binary buddy system: any two neighbours of the same size merge
 * (policy/families/modified_buddy.md). */
#include "parts/power_buddy.h"

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
    struct power_buddy *state = (struct power_buddy *)heap;
    uint64_t size = class_size(class);
    uint32_t id = heap_extend(heap, size > state->growth ? size : state->growth);
    if (id == NO_BLOCK)
        return false;
    heap->counters.growths++;
    buddy_insert(&state->buddies, id, exact_class(heap->blocks[id].size),
                 state->buddies.tables.kind);
    return true;
}

static const char *check_block(const struct block *block, bool above_is_like_it)
{
    (void)block;
    return above_is_like_it ? "two free neighbours of the same size have not merged" : NULL;
}

const struct family modified_buddy = {
    .name = "modified binary buddy",
    POWER_BUDDY,
};
