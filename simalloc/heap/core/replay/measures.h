/* Measures of a heap and its objects after each event.
 *
 * Each event stores the necessary values. They are measured once per batch, in loops over
 * arrays. */
#ifndef SIMALLOC_MEASURES_H
#define SIMALLOC_MEASURES_H

#include "replay/footprint.h"
#include "space/variant.h"

struct measures {
    uint64_t scale;  /* scale of the heap's bytes */
    uint64_t events; /* number of events so far */
    uint64_t live;   /* current live bytes, unscaled */
    uint64_t max_live;
    /* Number of events after which no byte is live; means of ratios to live bytes exclude them. */
    uint64_t events_without_live;
    /* Requested bytes of all events: the total weight of means by bytes. */
    uint64_t allocated_bytes;
    uint64_t sum_of_free_blocks;
    uint64_t peak_free_blocks;
    struct footprint mapped;
    /* Requested additional measures: resident bytes, bytes of occupied pages, the largest free
     * block. */
    struct byte_series *series;
    size_t series_count;
};

/* A number of bytes that is measured like the mapped bytes. */
struct byte_series {
    struct footprint footprint;
    struct changes changes; /* changes in the current batch */
};

/* Values of executed events that are not measured yet. */
struct batch {
    size_t events;
    uint32_t free_blocks[BATCH]; /* number of free blocks after each event */
    struct changes mapped;
    bool has_series; /* true if `series` have changes in the batch */
};

_Static_assert((int)BATCH == (int)SPAN_EVENTS, "a batch must be one span, whose sums are known");

struct events;

typedef void measure_function(struct measures *measures, const struct batch *batch,
                              const struct events *events);
measure_function measure, measure_avx2;

#endif
