/* Placement of the lives of a trace outward from one event, forward or backward in time. */
#ifndef SIMALLOC_OUTWARD_H
#define SIMALLOC_OUTWARD_H

#include <stdbool.h>

#include "gaps.h"
#include "lives.h"

enum fit {
    FIT_FIRST, /* lowest gap that is large enough */
    FIT_BEST,  /* smallest gap that is large enough, the lowest among equals */
    FIT_MATCH, /* gap with the lowest cost among the smallest gaps (outward.c) */
};

/* A live object or a gap. Blocks tile the addresses from 0 to the highest used address. */
struct place_block {
    uint64_t address;
    uint64_t size;
    /* event of the object's death or, if time runs backward, minus the event of its birth */
    int64_t until;
    uint32_t below; /* neighbouring blocks, or NONE */
    uint32_t above;
};

struct outward {
    const struct lives *lives;
    bool backward;
    enum fit fit;
    uint32_t max_gaps; /* maximum number of gaps that FIT_MATCH compares for one object */
    uint64_t limit;     /* height at which the placement is abandoned */
    uint64_t height;    /* highest address used so far */
    size_t start;       /* event from which time runs; the lives at this event are placed first */
    size_t done;        /* number of processed events */
    bool ended;         /* true at the last event or at the limit */
    int64_t *address;   /* by life: its address */
    struct gaps gaps;
    struct place_block *block; /* by slot: block of the object; higher indexes are blocks of gaps */
    uint32_t *spare;           /* unused blocks of gaps */
    uint32_t spares;
    uint32_t blocks; /* number of slots and of blocks of gaps that were ever used */
    uint32_t top;    /* highest block */
};

/* Packs the lives `order`, lowest first, from address 0 on. They are the lives that are live after
 * event `start`. Returns false if memory is exhausted. outward_end() must be called in any case. */
bool outward_begin(struct outward *outward, const uint32_t *order, size_t count);
/* Processes at most `events` further events. Returns false if memory is exhausted. */
bool outward_advance(struct outward *outward, size_t events);
void outward_end(struct outward *outward);

#endif
