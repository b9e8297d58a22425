/* Events of a program. */
#ifndef SIMALLOC_EVENTS_H
#define SIMALLOC_EVENTS_H

#include "c/live_span.h"
#include "c/op.h"
#include "space/heap.h"

enum { ADDRESS_NONE = -1, ADDRESS_REFUSED = -2 };

/* Consecutive events in columns. An optional column is NULL unless the trace has the column and the
 * family uses it. */
struct events {
    size_t count;
    const uint8_t *op;
    const int64_t *size; /* bytes, 0 for a free */
    const uint32_t *slot;
    const int64_t *live; /* live bytes after each event, unscaled */
    const struct live_span *spans; /* totals of the first `span_count` whole batches */
    size_t span_count;
    const int64_t *alignment; /* bytes, or 0 without an alignment */
    const int64_t *time;      /* nanoseconds */
    const uint32_t *thread;
    const uint32_t *site;
    const uint32_t *stream;
    const uint32_t *pool;
    const int64_t *unwritten; /* number of bytes at the end of the object that are never written */
    int64_t *address; /* result column of the object's address after each event, ADDRESS_NONE or
                       * ADDRESS_REFUSED; may be NULL */
    const struct sight *sight; /* further result columns, or NULL */
    size_t first;              /* row of the first event in the columns of `sight` */
};

/* Result columns for each event and for the heap after it, with one entry per event. */
struct sight {
    int64_t *mapped;   /* scaled bytes */
    int64_t *resident; /* scaled bytes, or 0 if residence is not measured */
    int64_t *live;     /* live bytes, unscaled */
    int64_t *largest_free; /* scaled bytes of the largest free block, or 0 if it is not measured */
    int64_t *free_blocks; /* number of free blocks, with cached blocks */
    int64_t *region;   /* location of the object, as the family defines it (struct location) */
    int64_t *number;
    int64_t *offset;
    uint64_t *figures; /* figures that the family reports, one row per event; or NULL */
};

#define PART_OF(column, first) ((column) == NULL ? NULL : &(column)[first])

/* Returns at most `most` of the events from index `first` on. */
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
