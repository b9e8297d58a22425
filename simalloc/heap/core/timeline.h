/* Live bytes and heap over time in a fixed number of intervals that keep their extremes.
 *
 * Intervals begin one event long; when all are taken they are joined in pairs, so that an interval
 * is always 2**k events and nothing needs to be known of the trace's length. */
#ifndef SIMALLOC_TIMELINE_H
#define SIMALLOC_TIMELINE_H

#include "heap.h"

enum { TIMELINE_INTERVALS = 2048 };

struct interval {
    uint64_t live_low;
    uint64_t live_high;
    uint64_t heap_low;
    uint64_t heap_high;
};

struct timeline {
    struct interval intervals[TIMELINE_INTERVALS];
    uint32_t current; /* the interval being filled */
    uint64_t length;  /* events in an interval */
    uint64_t left;    /* events still to come in the current one */
};

void timeline_init(struct timeline *timeline);

/* Begins an interval in this state, first joining all in pairs if none is left. */
void timeline_advance(struct timeline *timeline, uint64_t live, uint64_t heap);

/* Takes note of the state after an event, of whose heap timeline_note_heap() has been told if it
 * has changed. */
ALWAYS_INLINE void timeline_note(struct timeline *timeline, uint64_t live, uint64_t heap)
{
    if (UNLIKELY(timeline->left == 0))
        timeline_advance(timeline, live, heap);
    timeline->left--;
    struct interval *interval = &timeline->intervals[timeline->current];
    if (UNLIKELY(live < interval->live_low))
        interval->live_low = live;
    if (UNLIKELY(live > interval->live_high))
        interval->live_high = live;
}

ALWAYS_INLINE void timeline_note_heap(struct timeline *timeline, uint64_t heap)
{
    if (timeline->left == 0) /* the next interval will begin with it */
        return;
    struct interval *interval = &timeline->intervals[timeline->current];
    interval->heap_low = heap < interval->heap_low ? heap : interval->heap_low;
    interval->heap_high = heap > interval->heap_high ? heap : interval->heap_high;
}

#endif
