/* What a program asked for, event by event. */
#ifndef SIMALLOC_EVENTS_H
#define SIMALLOC_EVENTS_H

#include "native/live_span.h"
#include "native/op.h"
#include "space/heap.h"

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
    const int64_t *alignment; /* that each event asks for, 0 for none; may be NULL */
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
        .alignment = events->alignment == NULL ? NULL : &events->alignment[first],
    };
}

#endif
