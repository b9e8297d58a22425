/* Live bytes and heap over time in a fixed number of intervals that keep their extremes.
 *
 * An interval is 2**k events, the fewest with which the intervals are enough. */
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
    uint32_t begun;   /* the last of these is being filled */
    uint64_t length;  /* events in an interval */
    uint64_t left;    /* events still to come in the current one, which is empty if all are */
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

/* Notes the extremes of the live bytes after some events, all in the current interval. */
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

/* Notes a heap that has changed, before the live bytes after the same event. */
void timeline_note_heap(struct timeline *timeline, uint64_t heap);

#endif
