/* What is measured of a heap and the objects in it, after each event.
 *
 * Events leave behind what is needed, and are measured by the batch, in loops over arrays. */
#ifndef SIMALLOC_MEASURES_H
#define SIMALLOC_MEASURES_H

#include "native/live_span.h"
#include "replay/timeline.h"
#include "space/variant.h"

struct measures {
    uint64_t scale;  /* of the heap's bytes */
    uint64_t events; /* done so far */
    uint64_t live;   /* bytes of the program, now */
    uint64_t heap;   /* mapped bytes, scaled */
    uint64_t max_live;
    uint64_t heap_at_max_live;
    uint64_t peak_heap;
    uint64_t event_of_peak_heap; /* the first after which the heap was as large */
    uint64_t live_at_peak_heap;
    uint64_t allocated_at_peak_heap;
    uint64_t events_without_live; /* the mean of heap / live is over the others */
    double sum_of_ratios;
    uint64_t allocated_bytes; /* of the program, by all events; the other mean is over these */
    double sum_of_ratios_by_bytes;
    uint64_t sum_of_free_blocks;
    uint64_t peak_free_blocks;
    struct timeline timeline;
};

/* An event after which the heap is larger or smaller than before. */
struct heap_change {
    size_t event;       /* of its batch */
    uint64_t heap;      /* mapped bytes after it */
    uint64_t allocated; /* scaled bytes of allocated blocks after it */
};

/* Events that were carried out and are to be measured. */
struct batch {
    size_t events;
    uint32_t free_blocks[BATCH]; /* after the event */
    size_t changes;
    struct heap_change change[BATCH];
};

_Static_assert((int)BATCH == (int)SPAN_EVENTS, "what a whole batch comes to is looked up");

struct events;

/* Measures a batch of these events. */
typedef void measure_function(struct measures *measures, const struct batch *batch,
                              const struct events *events);
measure_function measure, measure_avx2;

#endif
