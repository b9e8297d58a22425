/* The slots that live objects occupy, and totals over the events of a trace. */
#ifndef SIMALLOC_LIVE_SLOTS_H
#define SIMALLOC_LIVE_SLOTS_H

#include "event.h"

#include <stdbool.h>
#include <stddef.h>

#define NO_SLOT UINT32_MAX
#define NO_OBJECT INT64_C(-1) /* object number of an event without an object; the slot of such an
                               * event is 0 */

struct live_slots {
    int64_t *sizes;      /* by slot: size of the object */
    uint32_t *free;      /* stack of free slots: the slot that was freed last is reused first */
    size_t free_count;   /* number of free slots, <= slots */
    size_t capacity;     /* entries of both arrays, >= slots */
    uint32_t slots;      /* number of slots ever in use: the maximum number of live objects */
    int64_t objects;     /* number of objects so far; number of the next one */
    int64_t reallocs;
    int64_t allocated_bytes; /* bytes of malloc and realloc events, >= live_bytes */
    int64_t live_bytes;
    int64_t max_live_bytes;
};

void live_slots_release(struct live_slots *live);

/* Reserves `more` slots in the arrays. */
bool live_slots_reserve(struct live_slots *live, size_t more);

static inline size_t live_slots_objects(const struct live_slots *live)
{
    return live->slots - live->free_count;
}

/* Returns whether `size` more bytes can be counted as allocated. */
static inline bool live_slots_can_count(const struct live_slots *live, int64_t size)
{
    return live->allocated_bytes <= INT64_MAX - size;
}

static inline void live_slots_change_bytes(struct live_slots *live, int64_t more)
{
    live->live_bytes += more;
    if (live->live_bytes > live->max_live_bytes)
        live->max_live_bytes = live->live_bytes;
}

/* Assigns a slot to the next object. A slot must have been reserved. The caller counts the bytes as
 * allocated. */
static inline uint32_t live_slots_take_uncounted(struct live_slots *live, int64_t size)
{
    uint32_t slot = live->free_count != 0 ? live->free[--live->free_count] : live->slots++;
    live->sizes[slot] = size;
    live->objects++;
    live_slots_change_bytes(live, size);
    return slot;
}

/* Assigns a slot to the next object and counts its bytes as allocated. */
static inline enum reason live_slots_take(struct live_slots *live, int64_t size, uint32_t *slot)
{
    if (!live_slots_can_count(live, size))
        return REASON_TOTAL;
    if (live->free_count == 0 && live->slots == NO_SLOT - 1)
        return REASON_TOO_MANY;
    if (live->free_count == 0 && !live_slots_reserve(live, 1))
        return REASON_MEMORY;
    live->allocated_bytes += size;
    *slot = live_slots_take_uncounted(live, size);
    return REASON_NONE;
}

static inline void live_slots_give_back(struct live_slots *live, uint32_t slot)
{
    live->free[live->free_count++] = slot;
    live->live_bytes -= live->sizes[slot];
}

/* Changes the size of an object. The caller counts the bytes as allocated. */
static inline void live_slots_resize_uncounted(struct live_slots *live, uint32_t slot, int64_t size)
{
    live->reallocs++;
    live_slots_change_bytes(live, size - live->sizes[slot]);
    live->sizes[slot] = size;
}

static inline enum reason live_slots_resize(struct live_slots *live, uint32_t slot, int64_t size)
{
    if (!live_slots_can_count(live, size))
        return REASON_TOTAL;
    live->allocated_bytes += size;
    live_slots_resize_uncounted(live, slot, size);
    return REASON_NONE;
}

#endif
