/* The events of a program. */
#ifndef SIMALLOC_EVENTS_H
#define SIMALLOC_EVENTS_H

#include "c/live_span.h"
#include "c/op.h"
#include "space/heap.h"

enum { ADDRESS_NONE = -1, ADDRESS_REFUSED = -2 };

/* A run of events in columns. An optional column is NULL unless the trace has it and the family
 * uses it. */
struct events {
    size_t count;
    const uint8_t *op;
    const int64_t *size; /* 0 of a free */
    const uint32_t *slot;
    const int64_t *live; /* bytes of the program that are live after each event */
    const struct live_span *spans; /* totals of the first `span_count` whole batches */
    size_t span_count;
    const int64_t *alignment; /* 0 for none */
    const int64_t *time;      /* nanoseconds */
    const uint32_t *thread;
    const uint32_t *site;
    const uint32_t *stream;
    const uint32_t *pool;
    const int64_t *unwritten; /* bytes of the object, its last ones, that nobody ever writes */
    int64_t *address; /* filled with the object's address after each event, or ADDRESS_NONE or
                       * ADDRESS_REFUSED; may be NULL */
    const struct sight *sight; /* further columns to fill; NULL: none */
    size_t first;              /* index of the first event among the events of the sight */
};

/* Results for each event and the heap after it, in columns with an entry an event. */
struct sight {
    int64_t *mapped;   /* scaled bytes */
    int64_t *resident; /* scaled bytes; 0 if residence is not tracked */
    int64_t *live;     /* bytes of the program */
    int64_t *largest_free; /* scaled bytes of the largest free block; 0 if not measured */
    int64_t *free_blocks; /* cached ones too */
    int64_t *region;   /* region of the object, from the family (struct location) */
    int64_t *number;
    int64_t *offset;
    uint64_t *figures; /* a row an event, with the figures that the family reports; or NULL */
};

#define PART_OF(column, first) ((column) == NULL ? NULL : &(column)[first])

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
        .alignment = PART_OF(events->alignment, first),
        .time = PART_OF(events->time, first),
        .thread = PART_OF(events->thread, first),
        .site = PART_OF(events->site, first),
        .stream = PART_OF(events->stream, first),
        .pool = PART_OF(events->pool, first),
        .unwritten = PART_OF(events->unwritten, first),
        .address = PART_OF(events->address, first),
        .sight = events->sight,
        .first = events->first + first,
    };
}

#endif
