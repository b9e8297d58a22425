/* The slots that live objects occupy, and what a trace's events add up to. */
#ifndef SIMALLOC_LIVE_SLOTS_H
#define SIMALLOC_LIVE_SLOTS_H

#include "event.h"

#include <stdbool.h>
#include <stddef.h>

#define NO_SLOT UINT32_MAX

struct live_slots {
    int64_t *sizes;      /* of the object in each slot */
    uint32_t *free;      /* a stack: the slot freed last is taken first */
    size_t free_count;   /* live + free_count == slots */
    size_t capacity;     /* of the two arrays */
    uint32_t slots;      /* ever in use: the most objects that were live at once */
    size_t live;         /* objects, now */
    int64_t objects;     /* allocated so far, and the number of the next one */
    int64_t reallocs;
    int64_t allocated_bytes; /* by malloc and realloc events; bounds live_bytes */
    int64_t live_bytes;
    int64_t max_live_bytes;
};

void live_slots_release(struct live_slots *live);

/* Sees to it that a slot is free when there is none. */
enum reason live_slots_grow(struct live_slots *live);

static inline void live_slots_count_bytes(struct live_slots *live, int64_t allocated, int64_t freed)
{
    live->allocated_bytes += allocated;
    live->live_bytes += allocated - freed;
    if (live->live_bytes > live->max_live_bytes)
        live->max_live_bytes = live->live_bytes;
}

/* Whether `size` more bytes can be counted. */
static inline bool live_slots_count(const struct live_slots *live, int64_t size)
{
    return live->allocated_bytes <= INT64_MAX - size;
}

/* Gives the next object a slot of those that are free, of which there is one. */
static inline uint32_t live_slots_take_free(struct live_slots *live, int64_t size)
{
    uint32_t slot = live->free[--live->free_count];
    live->sizes[slot] = size;
    live->live++;
    live->objects++;
    live_slots_count_bytes(live, size, 0);
    return slot;
}

/* Gives the next object a slot. */
static inline enum reason live_slots_take(struct live_slots *live, int64_t size, uint32_t *slot)
{
    if (!live_slots_count(live, size))
        return REASON_TOTAL;
    if (live->free_count == 0) {
        enum reason why = live_slots_grow(live);
        if (why != REASON_NONE)
            return why;
    }
    *slot = live_slots_take_free(live, size);
    return REASON_NONE;
}

static inline void live_slots_give_back(struct live_slots *live, uint32_t slot)
{
    live->free[live->free_count++] = slot;
    live->live--;
    live->live_bytes -= live->sizes[slot];
}

static inline enum reason live_slots_resize(struct live_slots *live, uint32_t slot, int64_t size)
{
    if (!live_slots_count(live, size))
        return REASON_TOTAL;
    live->reallocs++;
    live_slots_count_bytes(live, size, live->sizes[slot]);
    live->sizes[slot] = size;
    return REASON_NONE;
}

#endif
