/* Measures of a heap and its objects after each event.
 *
 * Events store the necessary values, which are measured by the batch, in loops over arrays. */
#ifndef SIMALLOC_MEASURES_H
#define SIMALLOC_MEASURES_H

#include "replay/footprint.h"
#include "space/variant.h"

struct measures {
    uint64_t scale;  /* scale of the heap's bytes */
    uint64_t events; /* done so far */
    uint64_t live;   /* bytes of the program, now */
    uint64_t max_live;
    uint64_t events_without_live; /* means of ratios to the live bytes are over the others */
    uint64_t allocated_bytes; /* program bytes of all events, weights of the other means */
    uint64_t sum_of_free_blocks;
    uint64_t peak_free_blocks;
    struct footprint mapped;
    /* Requested extras: resident bytes, bytes of occupied pages, the largest free block. */
    struct byte_series *series;
    size_t series_count;
};

/* A number of bytes that is measured as the mapped ones are. */
struct byte_series {
    struct footprint footprint;
    struct changes changes; /* changes in the current batch */
};

/* Events that were carried out and are to be measured. */
struct batch {
    size_t events;
    uint32_t free_blocks[BATCH]; /* after the event */
    struct changes mapped;
    bool has_series; /* true if the other series have changes in the batch */
};

_Static_assert((int)BATCH == (int)SPAN_EVENTS, "what a whole batch comes to is looked up");

struct events;

/* Measures a batch of these events. */
typedef void measure_function(struct measures *measures, const struct batch *batch,
                              const struct events *events);
measure_function measure, measure_avx2;

#endif
