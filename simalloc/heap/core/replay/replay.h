/* Carrying out a trace's events on a heap.
 *
 * replay_events() is inlined into every family with that family's own functions, so that the whole
 * of an event is one piece of straight code. */
#ifndef SIMALLOC_REPLAY_H
#define SIMALLOC_REPLAY_H

#include "families/family.h"
#include "parts/overhead.h"
#include "replay/events.h"
#include "replay/measures.h"
#include "replay/objects.h"
#include "replay/occupancy.h"
#include "replay/refusals.h"

enum realloc_rule { REALLOC_FREE_FIRST, REALLOC_MOVE, REALLOC_IN_PLACE };

#define INVALID_EVENTS "the events are not those of a valid trace" /* a failure */

struct replay {
    const struct family *family;
    struct heap *heap; /* the family's state begins with it */
    enum realloc_rule realloc_rule;
    bool checked; /* verify the whole heap after each event */
    bool is_trial; /* the first refused request is all that is wanted: measure nothing */
    measure_function *measure; /* the variant for this processor, independent of the family's
                                * variant */
    bool measures_largest_free; /* the last of the series */
    struct objects objects;
    struct occupancy occupancy;
    struct refusals refusals; /* refusals of a family that refuses */
    struct measures measures;
};

/* Reallocates block `old` by the rule in force and returns the block that takes its place. Not
 * inlined: it would be a second and a third copy of the layer's functions. */
uint32_t reallocate(const struct replay *replay, uint32_t old, uint64_t size,
                    const struct layer *layer);

/* Makes ready for the batch that begins at event `first`, which is returned in `part`: of one event
 * if each is watched. False, with the heap's failure set, when memory is exhausted. */
bool replay_begin(struct replay *replay, const struct events *events, size_t first,
                  reserve_function *reserve, struct events *part);
/* Measures the stored values of a batch; `used` block ids were in use before it. Returns the number
 * of events of the batch. */
size_t replay_end(struct replay *replay, const struct events *part, struct batch *batch,
                  uint32_t used);

/* Carries out an event other than malloc, free and realloc. Returns the block of its object. */
uint32_t replay_seldom(const struct replay *replay, uint8_t op, uint32_t block, uint64_t size,
                       const struct layer *layer);

/* Allocates an object's block, or reallocates the one that it has; NO_BLOCK, with the heap's
 * failure set, if that cannot be. */
ALWAYS_INLINE uint32_t replay_request(const struct replay *replay, struct heap *heap, uint8_t op,
                                      uint32_t block, uint64_t size, allocate_function *allocate,
                                      const struct layer *layer)
{
    _Static_assert(OP_MALLOC == 0 && NO_BLOCK == 0, "a malloc of no object yet is seen at once");
    if (LIKELY((op | block) == 0))
        return allocate(heap, size);
    if (UNLIKELY(op >= OP_USE))
        return replay_seldom(replay, op, block, size, layer);
    if (UNLIKELY(op != OP_REALLOC || block == NO_BLOCK)) {
        heap_fail(heap, INVALID_EVENTS);
        return NO_BLOCK;
    }
    return reallocate(replay, block, size, layer);
}

/* Begins a batch of a heap that keeps track of its pages: each event is noted. */
void replay_begin_pages(struct replay *replay);
/* Stores the change of the heap by an event. If residence is measured, also stores the pages of the
 * object's block that were written, and the resident bytes. Returns false if the heap has failed.
 */
bool replay_note(struct replay *replay, const struct events *events, struct batch *batch,
                 size_t event);

/* Carries out the events of a batch, or less if the heap fails. `free_may_shrink`: also a free may
 * change the heap or its pages, or fail. */
ALWAYS_INLINE void replay_batch(struct replay *replay, const struct events *events,
                                struct batch *batch, allocate_function *allocate,
                                free_function *release, const struct layer *layer,
                                bool free_may_shrink)
{
    struct heap *heap = replay->heap;
    uint32_t *blocks = replay->objects.blocks;
    uint64_t scale = heap->setting.scale;
    const bool has_overhead = overhead_is_on(&heap->setting);
    size_t i = 0;
    batch->mapped.count = 0;
    batch->has_series = heap->residence != NULL;
    if (batch->has_series)
        replay_begin_pages(replay);
    for (; i < events->count; i++) {
        uint32_t *object = &blocks[events->slot[i]];
        uint8_t op = events->op[i];
        uint32_t block = *object;
        if (op == OP_FREE) { /* asked first: it is known sooner than the block */
            if (UNLIKELY(block == NO_BLOCK)) {
                heap_fail(heap, INVALID_EVENTS);
                break;
            }
            *object = NO_BLOCK;
            release(heap, block);
            if (free_may_shrink && UNLIKELY(heap->heap_changed) &&
                !replay_note(replay, events, batch, i))
                break;
        } else {
            heap->request.size = (uint64_t)events->size[i];
            uint64_t size = scaled(heap->request.size, scale);
            if (UNLIKELY(has_overhead))
                size = overhead_gross(&heap->setting, size);
            block = replay_request(replay, heap, op, block, size, allocate, layer);
            *object = block;
            if (UNLIKELY(heap->heap_changed) && !replay_note(replay, events, batch, i))
                break;
        }
        batch->free_blocks[i] =
            (uint32_t)(heap->counters.free_blocks + heap->counters.cached_blocks);
    }
    batch->events = i;
}

ALWAYS_INLINE size_t replay_events(struct replay *replay, const struct events *events,
                                   allocate_function *allocate, free_function *release,
                                   reserve_function *reserve, const struct layer *layer,
                                   bool free_may_shrink)
{
    struct heap *heap = replay->heap;
    struct events part;
    struct batch batch;
    size_t done = 0;
    while (done < events->count && heap->failure == NULL &&
           replay_begin(replay, events, done, reserve, &part)) {
        uint32_t used = heap->used;
        replay_batch(replay, &part, &batch, allocate, release, layer, free_may_shrink);
        done += replay_end(replay, &part, &batch, used);
    }
    return done;
}

/* Carries out events batch by batch, each by the layer that is due before it. */
size_t replay_all(struct replay *replay, const struct events *events);

#endif
