#include "replay/timeline.h"

/* Lowest live bytes of an interval without events. */
#define NO_EVENT UINT64_MAX

void timeline_init(struct timeline *timeline, uint64_t events)
{
    timeline->begun = 0;
    timeline->length = 1;
    timeline->left = 0;
    uint64_t fewest = events / TIMELINE_INTERVALS + (events % TIMELINE_INTERVALS != 0);
    while (timeline->length < fewest)
        timeline->length *= 2;
}

void timeline_advance(struct timeline *timeline, uint64_t heap)
{
    timeline->intervals[timeline->begun++] = (struct interval){NO_EVENT, 0, heap, heap};
    timeline->left = timeline->length;
}

void timeline_note_heap(struct timeline *timeline, uint64_t heap)
{
    struct interval *interval = &timeline->intervals[timeline->begun - 1];
    bool first = interval->live_low == NO_EVENT;
    if (first || heap < interval->heap_low)
        interval->heap_low = heap;
    if (first || heap > interval->heap_high)
        interval->heap_high = heap;
}
