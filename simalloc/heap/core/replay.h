/* Carrying out a trace's events on a heap, and measuring it after each of them.
 *
 * replay_events() is inlined into every mechanism with that mechanism's own functions, so that the
 * whole of an event is one piece of straight code. */
#ifndef SIMALLOC_REPLAY_H
#define SIMALLOC_REPLAY_H

#include "mechanism.h"
#include "timeline.h"

enum op { OP_MALLOC = 0, OP_FREE = 1, OP_REALLOC = 2 };
enum realloc_rule { REALLOC_FREE_FIRST, REALLOC_MOVE, REALLOC_IN_PLACE };

/* A run of events, column by column. */
struct events {
    size_t count;
    const uint8_t *op;
    const int64_t *size;
    const uint32_t *slot;
    int64_t *address; /* filled with the object's address after each event; may be NULL */
};

/* An object that is live: trace.py numbers the slots. */
struct slot {
    uint64_t request; /* bytes of the program */
    uint32_t block;   /* NO_BLOCK: no object here now */
};

struct measures {
    uint64_t events; /* done so far */
    uint64_t live;  /* bytes of the program, now */
    uint64_t heap;  /* the break when it was last looked at, scaled */
    double heap_bytes; /* the same in bytes of the program */
    uint64_t max_live;
    uint64_t heap_at_max_live;
    uint64_t peak_heap;
    uint64_t live_at_peak_heap;
    uint64_t allocated_at_peak_heap;
    uint64_t events_without_live; /* the mean of heap / live is over the others */
    double sum_of_ratios;
    uint64_t allocated_bytes; /* of the program, by all events; the other mean is over these */
    double sum_of_ratios_by_bytes;
    uint64_t sum_of_free_blocks;
    uint64_t peak_free_blocks;
};

struct replay {
    const struct mechanism *mechanism;
    struct heap *heap; /* the mechanism's state begins with it */
    uint64_t scale;
    enum realloc_rule realloc_rule;
    bool checked; /* verify the whole heap after each event */
    struct slot *slots;
    uint64_t slot_count;
    struct measures measures;
    struct timeline timeline;
};

bool replay_grow_slots(struct replay *replay, uint32_t slot);

/* A size too large to be scaled is caught by the heap's limit. */
ALWAYS_INLINE uint64_t scaled(const struct replay *replay, uint64_t request)
{
    return (request == 0 ? 1 : request) * replay->scale;
}

/* Notes a new break, which few events bring. */
void replay_note_break(struct replay *replay);

/* Measures the state after an event that allocated so many bytes of the program. */
ALWAYS_INLINE void measure(struct replay *replay, uint64_t allocated_bytes)
{
    struct measures *measures = &replay->measures;
    const struct heap *heap = replay->heap;
    uint64_t live = measures->live;
    if (UNLIKELY(heap->brk != measures->heap))
        replay_note_break(replay);
    if (UNLIKELY(live > measures->max_live)) {
        measures->max_live = live;
        measures->heap_at_max_live = heap->brk;
    }
    if (LIKELY(live > 0)) {
        double ratio = measures->heap_bytes / (double)(int64_t)live;
        measures->sum_of_ratios += ratio;
        measures->sum_of_ratios_by_bytes += ratio * (double)(int64_t)allocated_bytes;
    } else {
        measures->events_without_live++;
    }
    measures->allocated_bytes += allocated_bytes;
    measures->sum_of_free_blocks += heap->counters.free_blocks;
    if (UNLIKELY(heap->counters.free_blocks > measures->peak_free_blocks))
        measures->peak_free_blocks = heap->counters.free_blocks;
    timeline_note(&replay->timeline, live);
}

/* What a mechanism inlines into replay_events(). */
typedef uint32_t allocate_function(struct heap *heap, uint64_t size);
typedef void free_function(struct heap *heap, uint32_t block);
typedef bool resize_function(struct heap *heap, uint32_t block, uint64_t size);
typedef bool reserve_function(struct heap *heap);

ALWAYS_INLINE void reallocate(struct replay *replay, struct slot *slot, uint64_t size,
                              allocate_function *allocate, free_function *release,
                              resize_function *resize)
{
    struct heap *heap = replay->heap;
    uint32_t old = slot->block;
    if (replay->realloc_rule == REALLOC_FREE_FIRST) {
        release(heap, old);
        slot->block = allocate(heap, size);
    } else if (replay->realloc_rule == REALLOC_MOVE || !resize(heap, old, size)) {
        slot->block = allocate(heap, size);
        release(heap, old);
    }
}

/* Carries out event `i`; false, with the heap's failure set, if that cannot be done. */
ALWAYS_INLINE bool replay_event(struct replay *replay, const struct events *events, size_t i,
                                allocate_function *allocate, free_function *release,
                                resize_function *resize, reserve_function *reserve)
{
    struct heap *heap = replay->heap;
    uint32_t number = events->slot[i];
    uint8_t op = events->op[i];
    if (UNLIKELY(number >= replay->slot_count) && !replay_grow_slots(replay, number))
        return false;
    if (UNLIKELY(!reserve(heap))) {
        heap->failure = "no memory is left for the simulated heap";
        return false;
    }
    struct slot *slot = &replay->slots[number];
    if (UNLIKELY((slot->block == NO_BLOCK) != (op == OP_MALLOC))) {
        heap->failure = "the events are not those of a valid trace";
        return false;
    }
    if (op == OP_FREE) {
        replay->measures.live -= slot->request;
        release(heap, slot->block);
        slot->block = NO_BLOCK;
        measure(replay, 0);
        return true;
    }
    uint64_t request = (uint64_t)events->size[i];
    uint64_t size = scaled(replay, request);
    if (LIKELY(op == OP_MALLOC)) {
        slot->block = allocate(heap, size);
    } else {
        replay->measures.live -= slot->request;
        reallocate(replay, slot, size, allocate, release, resize);
    }
    if (UNLIKELY(heap->failure != NULL))
        return false;
    slot->request = request;
    replay->measures.live += request;
    measure(replay, request);
    return true;
}

/* What is asked for only in tests: every address, and the heap verified after each event. */
bool replay_watch(struct replay *replay, const struct events *events, size_t i);

ALWAYS_INLINE size_t replay_events(struct replay *replay, const struct events *events,
                                   allocate_function *allocate, free_function *release,
                                   resize_function *resize, reserve_function *reserve)
{
    const bool watched = events->address != NULL || replay->checked;
    bool sound = true;
    size_t i = 0;
    while (sound && i < events->count) {
        size_t start = i;
        size_t end = i + timeline_room(&replay->timeline, events->count - i, replay->heap->brk);
        while (i < end) {
            sound = replay_event(replay, events, i, allocate, release, resize, reserve) &&
                    (LIKELY(!watched) || replay_watch(replay, events, i));
            if (UNLIKELY(!sound))
                break;
            i++;
        }
        replay->measures.events += i - start;
        timeline_pass(&replay->timeline, i - start);
    }
    return i;
}

#endif
