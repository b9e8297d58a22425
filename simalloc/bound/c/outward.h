/* Placing the lives of a trace outward from one event, forward or backward in time. */
#ifndef SIMALLOC_OUTWARD_H
#define SIMALLOC_OUTWARD_H

#include <stdbool.h>

#include "gaps.h"
#include "lives.h"

enum fit {
    FIT_FIRST, /* the lowest gap that is large enough */
    FIT_BEST,  /* the smallest, of equals the lowest */
    FIT_MATCH, /* among the smallest, the one with the least cost (outward.c) */
};

/* A live object or a gap; blocks tile the addresses from 0 to the highest one in use. */
struct place_block {
    uint64_t address;
    uint64_t size;
    int64_t until;  /* the object's end, in the direction of time */
    uint32_t below; /* the neighbouring blocks, NONE at the ends */
    uint32_t above;
};

struct outward {
    const struct lives *lives;
    bool backward;
    enum fit fit;
    uint32_t max_gaps; /* gaps that FIT_MATCH weighs for one object, at most */
    uint64_t limit;     /* the height at which the placement gives up */
    uint64_t height;    /* the highest address in use so far */
    size_t start;       /* the event from which time runs, and after which its objects stand */
    size_t done;        /* events gone through */
    bool ended;         /* at the last event, or at the limit */
    int64_t *address;   /* by life: where it is */
    struct gaps gaps;
    struct place_block *block; /* by slot: the object's block; behind all slots: blocks of gaps */
    uint32_t *spare;           /* blocks for gaps that are not in use */
    uint32_t spares;
    uint32_t blocks; /* gaps' blocks that were ever in use, and slots */
    uint32_t top;    /* the highest block */
};

/* Packs the lives `order`, lowest first, from address 0 on: all that are live after event `start`.
 * False if memory is exhausted; outward_end() is to be called in any case. */
bool outward_begin(struct outward *outward, const uint32_t *order, size_t count);
/* Goes through at most `events` more events. False if memory is exhausted. */
bool outward_advance(struct outward *outward, size_t events);
void outward_end(struct outward *outward);

#endif
