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

bool live_slots_reserve(struct live_slots *live, size_t more)
{
    while (live->capacity < live->slots + more)
        if (!grow_arrays(live))
            return false;
    return true;
}
