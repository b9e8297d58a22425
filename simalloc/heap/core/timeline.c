#include "timeline.h"

/* The lowest live bytes of an interval in which nothing has happened yet. */
#define NO_EVENT UINT64_MAX

void timeline_init(struct timeline *timeline)
{
    timeline->current = UINT32_MAX; /* none is begun */
    timeline->length = 1;
    timeline->left = 0;
}

static struct interval joined(struct interval a, struct interval b)
{
    return (struct interval){
        a.live_low < b.live_low ? a.live_low : b.live_low,
        a.live_high > b.live_high ? a.live_high : b.live_high,
        a.heap_low < b.heap_low ? a.heap_low : b.heap_low,
        a.heap_high > b.heap_high ? a.heap_high : b.heap_high,
    };
}

void timeline_advance(struct timeline *timeline, uint64_t heap)
{
    timeline->current++;
    if (timeline->current == TIMELINE_INTERVALS) {
        timeline->current /= 2;
        timeline->length *= 2;
        for (uint32_t i = 0; i < timeline->current; i++)
            timeline->intervals[i] =
                joined(timeline->intervals[2 * i], timeline->intervals[2 * i + 1]);
    }
    timeline->intervals[timeline->current] = (struct interval){NO_EVENT, 0, heap, heap};
    timeline->left = timeline->length;
}

void timeline_note_heap(struct timeline *timeline, uint64_t heap)
{
    struct interval *interval = &timeline->intervals[timeline->current];
    bool first = interval->live_low == NO_EVENT;
    if (first || heap < interval->heap_low)
        interval->heap_low = heap;
    if (first || heap > interval->heap_high)
        interval->heap_high = heap;
}
