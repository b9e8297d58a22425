#include "live_slots.h"

#include <stdlib.h>

void live_slots_release(struct live_slots *live)
{
    free(live->sizes);
    free(live->free);
    *live = (struct live_slots){0};
}

static bool grow_arrays(struct live_slots *live)
{
    size_t capacity = live->capacity ? 2 * live->capacity : 64;
    int64_t *sizes = realloc(live->sizes, capacity * sizeof *sizes);
    if (sizes == NULL)
        return false;
    live->sizes = sizes;
    uint32_t *free_slots = realloc(live->free, capacity * sizeof *free_slots);
    if (free_slots == NULL)
        return false;
    live->free = free_slots;
    live->capacity = capacity;
    return true;
}

enum reason live_slots_grow(struct live_slots *live)
{
    if (live->slots == NO_SLOT - 1)
        return REASON_TOO_MANY;
    if (live->slots == live->capacity && !grow_arrays(live))
        return REASON_MEMORY;
    live->free[live->free_count++] = live->slots++;
    return REASON_NONE;
}
