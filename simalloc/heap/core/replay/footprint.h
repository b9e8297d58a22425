/* Measures of a number of bytes after each event: mapped, resident, or of the largest free block. */
#ifndef SIMALLOC_FOOTPRINT_H
#define SIMALLOC_FOOTPRINT_H

#include "c/live_span.h"
#include "replay/timeline.h"

/* Bytes are scaled, except live bytes, which are program bytes. */
struct footprint {
    uint64_t bytes; /* now */
    uint64_t peak;
    uint64_t event_of_peak; /* the first after which it was as large */
    uint64_t live_at_peak;
    uint64_t allocated_at_peak; /* bytes in allocated blocks */
    uint64_t at_max_live;
    uint64_t lowest;
    uint64_t event_of_lowest; /* the first after which the bytes were as few */
    double sum;           /* after each event */
    double sum_of_ratios; /* sum of the ratios to the live bytes, after events with any */
    double sum_of_ratios_by_bytes; /* each ratio times the bytes that its event requested */
    struct timeline timeline;
};

/* An event after which it is larger or smaller than before. */
struct byte_change {
    size_t event; /* index of the event in its batch */
    uint64_t bytes;
    uint64_t allocated; /* scaled bytes of allocated blocks after it */
};

struct changes {
    size_t count;
    struct byte_change at[BATCH];
};

#endif
