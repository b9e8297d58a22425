/* Extremes of the live bytes and of the heap over time, in a fixed number of intervals.
 *
 * An interval has 2**k events, with the smallest k for which the number of intervals is
 * sufficient. */
#ifndef SIMALLOC_TIMELINE_H
#define SIMALLOC_TIMELINE_H

#include "space/heap.h"

enum { TIMELINE_INTERVALS = 2048 };

struct interval {
    uint64_t live_low;
    uint64_t live_high;
    uint64_t heap_low;
    uint64_t heap_high;
};

struct timeline {
    struct interval intervals[TIMELINE_INTERVALS];
    uint32_t begun;   /* number of intervals begun so far; the last one is current */
    uint64_t length;  /* number of events in an interval */
    /* Number of events that are missing in the current interval; equal to `length` in an empty
     * interval. */
    uint64_t left;
};

/* Initialises a timeline for up to `events` events. */
void timeline_init(struct timeline *timeline, uint64_t events);

/* Begins the next interval. */
void timeline_advance(struct timeline *timeline, uint64_t heap);

/* Returns the number of the next `events` that belong to the current interval; starts a new
 * interval if necessary. */
ALWAYS_INLINE uint64_t timeline_room(struct timeline *timeline, uint64_t events, uint64_t heap)
{
    if (timeline->left == 0)
        timeline_advance(timeline, heap);
    return events < timeline->left ? events : timeline->left;
}

/* Records the extremes of the live bytes after `events` events, all in the current interval. */
ALWAYS_INLINE void timeline_note(struct timeline *timeline, uint64_t low, uint64_t high,
                                 uint64_t events)
{
    struct interval *interval = &timeline->intervals[timeline->begun - 1];
    if (low < interval->live_low)
        interval->live_low = low;
    if (high > interval->live_high)
        interval->live_high = high;
    timeline->left -= events;
}

/* Records a change of the heap, before the live bytes after the same event are recorded. */
void timeline_note_heap(struct timeline *timeline, uint64_t heap);

#endif
