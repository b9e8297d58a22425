/* Execution of a trace's events on a heap.
 *
 * replay_events() is inlined into every family with the functions of the family, so that the
 * compiler can inline these functions into the loop over events. */
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

#define INVALID_EVENTS "the events do not form a valid trace" /* a failure */

struct replay {
    const struct family *family;
    struct heap *heap; /* first member of the family's state */
    enum realloc_rule realloc_rule;
    bool checked; /* true if the whole heap is verified after each event */
    bool is_trial; /* true if the run ends at the first refused request and measures nothing */
    measure_function *measure; /* variant for this processor, which may differ from the variant of
                                * the family */
    bool measures_largest_free; /* true if the last of the series is the largest free block */
    struct objects objects;
    struct occupancy occupancy;
    struct refusals refusals; /* refusals, if the family or a capacity can refuse requests */
    struct measures measures;
};

/* Reallocates block `old` by the realloc rule. Returns the new block. The function is not inlined,
 * to avoid further copies of the layer's functions. */
uint32_t reallocate(const struct replay *replay, uint32_t old, uint64_t size,
                    const struct layer *layer);

/* Prepares the batch that begins at event `first` and stores its events in `part`: one event if
 * each event is watched. Returns false, with the heap's failure set, if memory is exhausted. */
bool replay_begin(struct replay *replay, const struct events *events, size_t first,
                  reserve_function *reserve, struct events *part);
/* Measures the stored values of a batch. `used` is the number of used block ids before the batch.
 * Returns the number of events in the batch. */
size_t replay_end(struct replay *replay, const struct events *part, struct batch *batch,
                  uint32_t used);

/* Executes an event other than malloc, free and realloc. Returns the block of its object. */
uint32_t replay_seldom(const struct replay *replay, uint8_t op, uint32_t block, uint64_t size,
                       const struct layer *layer);

/* Allocates or reallocates the block of an object. Returns NO_BLOCK if the heap refuses the memory
 * or fails. */
ALWAYS_INLINE uint32_t replay_request(const struct replay *replay, struct heap *heap, uint8_t op,
                                      uint32_t block, uint64_t size, allocate_function *allocate,
                                      const struct layer *layer)
{
    _Static_assert(OP_MALLOC == 0 && NO_BLOCK == 0, "a malloc of a new object must have op | block "
                                                    "== 0");
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

/* Begins a batch of a heap whose residence is measured. replay_note() is then called after each
 * event. */
void replay_begin_pages(struct replay *replay);
/* Stores the change of the heap by an event. If residence is measured, also records the written
 * pages of the object's block and stores the resident bytes. Returns false if the heap has
 * failed. */
bool replay_note(struct replay *replay, const struct events *events, struct batch *batch,
                 size_t event);

/* Executes the events of a batch, or fewer if the heap fails. `free_may_shrink` is true if a free
 * may change the heap or its pages, or fail. */
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
        /* Tested first, because the operation is known earlier than the block. */
        if (op == OP_FREE) {
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

/* Executes events in batches. Each batch uses the layer that the family chooses before it. */
size_t replay_all(struct replay *replay, const struct events *events);

#endif
