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

enum realloc_rule { REALLOC_FREE_FIRST, REALLOC_MOVE, REALLOC_IN_PLACE };

struct replay {
    const struct family *family;
    struct heap *heap; /* the family's state begins with it */
    enum realloc_rule realloc_rule;
    bool checked; /* verify the whole heap after each event */
    struct objects objects;
    struct measures measures;
};

/* Reallocates block `old` by the rule in force and answers the block that takes its place. Not
 * inlined: it would be a second and a third copy of the layer's functions. */
uint32_t reallocate(const struct replay *replay, uint32_t old, uint64_t size,
                    const struct layer *layer);

/* Asks for the memory that a batch of events will touch, when the heap has outgrown the nearest
 * caches: all of it at once, and not one piece after the other. */
void replay_prefetch(const struct replay *replay, const struct events *events);

/* Asks for the columns of the batch that begins at an event, if one does: quick families go through them faster
 * than the processor asks by itself. */
void replay_prefetch_columns(const struct events *events, size_t first);

/* What is asked for only in tests: an event's address, and the heap verified after it, which has
 * taken so many new ids for blocks. */
void replay_watch(const struct replay *replay, const struct events *event, uint32_t taken);

/* Allocates an object's block, or reallocates the one that it has; NO_BLOCK, with the heap's failure
 * set, if that cannot be. */
ALWAYS_INLINE uint32_t replay_request(const struct replay *replay, struct heap *heap, uint8_t op,
                                      uint32_t block, uint64_t size, allocate_function *allocate,
                                      const struct layer *layer)
{
    _Static_assert(OP_MALLOC == 0 && NO_BLOCK == 0, "a malloc of no object yet is told at once");
    if (LIKELY((op | block) == 0))
        return allocate(heap, size);
    if (UNLIKELY(op != OP_REALLOC || block == NO_BLOCK)) {
        heap_fail(heap, "the events are not those of a valid trace");
        return NO_BLOCK;
    }
    return reallocate(replay, block, size, layer);
}

/* Notes that the heap has changed; false if it has failed. */
ALWAYS_INLINE bool note_news(struct batch *batch, size_t event, struct heap *heap)
{
    if (heap->failure != NULL)
        return false;
    heap->news = false;
    batch->change[batch->changes++] =
        (struct heap_change){event, heap->mapped, heap->counters.allocated};
    return true;
}

/* Carries out the events of a batch, or less if the heap fails. `falls`: also a free may change the
 * heap, or fail. */
ALWAYS_INLINE void replay_batch(struct replay *replay, const struct events *events,
                                struct batch *batch, allocate_function *allocate,
                                free_function *release, const struct layer *layer, bool falls)
{
    struct heap *heap = replay->heap;
    uint32_t *blocks = replay->objects.blocks;
    uint64_t scale = heap->setting.scale;
    const bool has_overhead = overhead_is_on(&heap->setting);
    size_t i = 0;
    batch->changes = 0;
    for (; i < events->count; i++) {
        uint32_t *object = &blocks[events->slot[i]];
        uint8_t op = events->op[i];
        uint32_t block = *object;
        if (op == OP_FREE && LIKELY(block != NO_BLOCK)) {
            *object = NO_BLOCK;
            uint64_t coalescings = heap->counters.coalescings;
            release(heap, block);
            heap->counters.coalescing_frees += heap->counters.coalescings != coalescings;
            if (falls && UNLIKELY(heap->news) && !note_news(batch, i, heap))
                break;
        } else {
            uint64_t size = scaled((uint64_t)events->size[i], scale);
            if (UNLIKELY(has_overhead))
                size = overhead_gross(&heap->setting, size);
            block = replay_request(replay, heap, op, block, size, allocate, layer);
            *object = block;
            if (UNLIKELY(heap->news) && !note_news(batch, i, heap))
                break;
        }
        batch->free_blocks[i] =
            (uint32_t)(heap->counters.free_blocks + heap->counters.cached_blocks);
    }
    batch->events = i;
}

ALWAYS_INLINE size_t replay_events(struct replay *replay, const struct events *events,
                                   allocate_function *allocate, free_function *release,
                                   reserve_function *reserve, const struct layer *layer, bool falls)
{
    const bool watched = events->address != NULL || replay->checked;
    struct heap *heap = replay->heap;
    struct batch batch;
    size_t done = 0;
    while (done < events->count && heap->failure == NULL) {
        struct events part = events_from(events, done, watched ? 1 : BATCH);
        if (!reserve(heap) || !objects_reserve(&replay->objects, part.slot, part.count)) {
            heap->failure = OUT_OF_MEMORY;
            break;
        }
        replay_prefetch_columns(events, done + BATCH);
        if (heap->used > NEAR_BLOCKS)
            replay_prefetch(replay, &part);
        uint32_t used = heap->used;
        replay_batch(replay, &part, &batch, allocate, release, layer, falls);
        if (watched && heap->failure == NULL)
            replay_watch(replay, &part, heap->used - used);
        if (part.count == 1 && heap->failure != NULL)
            batch.events = 0; /* it may have failed after the loop has taken it for done */
        VARIANT(measure)(&replay->measures, &batch, &part);
        done += batch.events;
    }
    return done;
}

/* Carries out events batch by batch, each by the layer that is due before it. */
size_t replay_all(struct replay *replay, const struct events *events);

/* Defines layer_NAME, with its replay, from functions of a heap that are known when the code is
 * compiled, and of what else struct layer has, by name. `falls`: the heap may fall, or fail, in a
 * free. */
#define DEFINE_LAYER(name, falls, allocate_, release_, reserve_, ...)                            \
    static size_t replay_##name(struct replay *replay, const struct events *events);             \
    static const struct layer layer_##name = {                                                   \
        .replay = replay_##name,                                                                 \
        .allocate = allocate_,                                                                   \
        .release = release_,                                                                     \
        .reserve = reserve_,                                                                     \
        __VA_ARGS__,                                                                             \
    };                                                                                           \
    static size_t replay_##name(struct replay *replay, const struct events *events)              \
    {                                                                                            \
        return replay_events(replay, events, allocate_, release_, reserve_, &layer_##name, falls); \
    }

#endif
