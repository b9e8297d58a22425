/* Measures of a number of bytes after each event: the mapped or resident bytes, or the bytes of the
 * largest free block. */
#ifndef SIMALLOC_FOOTPRINT_H
#define SIMALLOC_FOOTPRINT_H

#include "c/live_span.h"
#include "replay/timeline.h"

/* All bytes are scaled, except live bytes. */
struct footprint {
    uint64_t bytes; /* current number of bytes */
    uint64_t peak;
    uint64_t event_of_peak; /* first event after which the bytes reach the peak */
    uint64_t live_at_peak;
    uint64_t allocated_at_peak; /* scaled bytes of allocated blocks */
    uint64_t at_max_live;
    uint64_t lowest;
    uint64_t event_of_lowest; /* first event after which the bytes are lowest */
    double sum;           /* sum of the bytes after each event, unscaled */
    /* Sum of bytes / live bytes, over events after which the live bytes are not 0. */
    double sum_of_ratios;
    /* Sum of bytes / live bytes * requested bytes, over events after which the live bytes are not
     * 0. */
    double sum_of_ratios_by_bytes;
    struct timeline timeline;
};

/* A change of the bytes by an event. */
struct byte_change {
    size_t event; /* index of the event in its batch */
    uint64_t bytes;
    uint64_t allocated; /* scaled bytes of allocated blocks after the event */
};

struct changes {
    size_t count;
    struct byte_change at[BATCH];
};

#endif
