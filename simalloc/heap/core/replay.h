/* Carrying out a trace's events on a heap.
 *
 * replay_events() is inlined into every mechanism with that mechanism's own functions, so that the
 * whole of an event is one piece of straight code. */
#ifndef SIMALLOC_REPLAY_H
#define SIMALLOC_REPLAY_H

#include "measures.h"
#include "mechanism.h"
#include "objects.h"

enum op { OP_MALLOC = 0, OP_FREE = 1, OP_REALLOC = 2 };
enum realloc_rule { REALLOC_FREE_FIRST, REALLOC_MOVE, REALLOC_IN_PLACE };

/* A run of events, column by column. */
struct events {
    size_t count;
    const uint8_t *op;
    const int64_t *size; /* 0 of a free */
    const uint32_t *slot;
    const int64_t *live; /* bytes of the program that are live after each event */
    const struct live_span *spans; /* what the first `span_count` whole batches come to */
    size_t span_count;
    int64_t *address; /* filled with the object's address after each event; may be NULL */
};

/* At most `most` of the events from number `first` on. */
ALWAYS_INLINE struct events events_from(const struct events *events, size_t first, size_t most)
{
    size_t left = events->count - first;
    size_t spans = first % SPAN_EVENTS == 0 ? first / SPAN_EVENTS : events->span_count;
    if (spans > events->span_count)
        spans = events->span_count;
    return (struct events){
        .count = left < most ? left : most,
        .op = &events->op[first],
        .size = &events->size[first],
        .slot = &events->slot[first],
        .live = &events->live[first],
        .spans = &events->spans[spans],
        .span_count = events->span_count - spans,
        .address = events->address == NULL ? NULL : &events->address[first],
    };
}

struct replay {
    const struct mechanism *mechanism;
    struct heap *heap; /* the mechanism's state begins with it */
    enum realloc_rule realloc_rule;
    bool checked; /* verify the whole heap after each event */
    struct objects objects;
    struct measures measures;
};

/* What a mechanism inlines into replay_events(). */
typedef uint32_t allocate_function(struct heap *heap, uint64_t size);
typedef void free_function(struct heap *heap, uint32_t block);
typedef bool resize_function(struct heap *heap, uint32_t block, uint64_t size);
/* Makes sure that a batch of events finds memory enough; false when it is exhausted. */
typedef bool reserve_function(struct heap *heap);

/* The size of the block for a request. One too large to be scaled is caught by the heap's limit. */
ALWAYS_INLINE uint64_t scaled(uint64_t request, uint64_t scale)
{
    return (request + (request == 0)) * scale;
}

/* Reallocates block `old` and answers the block that takes its place. Not inlined: it would be a
 * second and a third copy of both functions. */
uint32_t reallocate(const struct replay *replay, uint32_t old, uint64_t size,
                    allocate_function *allocate, free_function *release, resize_function *resize);

/* Asks for the memory that a batch of events will touch, when the heap has outgrown the nearest
 * caches: all of it at once, and not one piece after the other. */
void replay_prefetch(const struct replay *replay, const struct events *events);

/* Asks for the columns of the batch that begins at an event, if one does: quick mechanisms go through them faster
 * than the processor asks by itself. */
void replay_prefetch_columns(const struct events *events, size_t first);

/* What is asked for only in tests: an event's address, and the heap verified after it. */
void replay_watch(const struct replay *replay, const struct events *event);

/* Allocates an object's block, or reallocates the one that it has; NO_BLOCK, with the heap's failure
 * set, if that cannot be. */
ALWAYS_INLINE uint32_t replay_request(const struct replay *replay, struct heap *heap, uint8_t op,
                                      uint32_t block, uint64_t size, allocate_function *allocate,
                                      free_function *release, resize_function *resize)
{
    _Static_assert(OP_MALLOC == 0 && NO_BLOCK == 0, "a malloc of no object yet is told at once");
    if (LIKELY((op | block) == 0))
        return allocate(heap, size);
    if (UNLIKELY(op != OP_REALLOC || block == NO_BLOCK)) {
        heap->failure = "the events are not those of a valid trace";
        heap->news = true;
        return NO_BLOCK;
    }
    return reallocate(replay, block, size, allocate, release, resize);
}

ALWAYS_INLINE void note_rise(struct batch *batch, size_t event, struct heap *heap)
{
    heap->news = false;
    batch->rise[batch->rises++] = (struct rise){event, heap->brk, heap->counters.allocated};
}

/* Carries out the events of a batch, or less if the heap fails. */
ALWAYS_INLINE void replay_batch(struct replay *replay, const struct events *events,
                                struct batch *batch, allocate_function *allocate,
                                free_function *release, resize_function *resize)
{
    struct heap *heap = replay->heap;
    uint32_t *blocks = replay->objects.blocks;
    uint64_t scale = replay->measures.scale;
    size_t i = 0;
    batch->rises = 0;
    for (; i < events->count; i++) {
        uint32_t *object = &blocks[events->slot[i]];
        uint8_t op = events->op[i];
        uint32_t block = *object;
        if (op == OP_FREE && LIKELY(block != NO_BLOCK)) {
            *object = NO_BLOCK;
            release(heap, block);
        } else {
            uint64_t size = scaled((uint64_t)events->size[i], scale);
            block = replay_request(replay, heap, op, block, size, allocate, release, resize);
            *object = block;
            if (UNLIKELY(heap->news)) {
                if (block == NO_BLOCK)
                    break;
                note_rise(batch, i, heap);
            }
        }
        batch->free_blocks[i] = (uint32_t)heap->counters.free_blocks;
    }
    if (UNLIKELY(heap->news) && heap->failure == NULL)
        note_rise(batch, i - 1, heap); /* a policy of one's own may raise it in a free: a batch */
    batch->events = i;
}

ALWAYS_INLINE size_t replay_events(struct replay *replay, const struct events *events,
                                   allocate_function *allocate, free_function *release,
                                   resize_function *resize, reserve_function *reserve)
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
        replay_batch(replay, &part, &batch, allocate, release, resize);
        if (watched && heap->failure == NULL)
            replay_watch(replay, &part);
        if (part.count == 1 && heap->failure != NULL)
            batch.events = 0; /* it may have failed after the loop has taken it for done */
        MECHANISM(measure)(&replay->measures, &batch, &part);
        done += batch.events;
    }
    return done;
}

/* A replay of events for a heap that is kept in some form. */
typedef size_t replay_function(struct replay *replay, const struct events *events);
/* Changes the form if that is due, and answers its replay; NULL when memory is exhausted. */
typedef replay_function *settle_function(struct heap *heap);

/* Carries out events batch by batch, each in the form that is due before it. */
size_t replay_settled(struct replay *replay, const struct events *events, settle_function *settle);

#endif
