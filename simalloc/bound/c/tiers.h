/* Placing the lives of a trace tier by tier, each over the whole time. */
#ifndef SIMALLOC_TIERS_H
#define SIMALLOC_TIERS_H

#include "lives.h"
#include "spans.h"

/* In the order of their tiers, and within a tier in the order of their births, lives take the
 * lowest addresses that no earlier life takes while they are live.
 *
 * For each tier, time runs backward over the tiers before it, to find when each address is wanted
 * next, and then forward, when it is placed. The forward pass needs the results of the backward
 * pass at the ends of lives in the opposite order, so they are on a stack. */
struct tiers {
    const struct lives *lives;
    const uint32_t *tier; /* by life */
    uint32_t tiers;
    uint64_t limit;   /* the height at which the placement gives up */
    uint64_t height;  /* the highest address in use so far */
    size_t done;      /* births and deaths gone through */
    bool ended;       /* all are placed, or the height is at the limit */
    int64_t *address; /* by life: where it is */

    uint32_t current; /* the tier that is being placed */
    bool forward;     /* the way that time runs */
    size_t event;     /* events of this way gone through */
    size_t *order;    /* events of the placed tiers, by time; then the events of each later tier */
    size_t *upto;     /* by tier: how many of those events are of it or of one before */
    size_t *aside;    /* room for the events of one tier */
    struct spans spans;
    struct wanted *wanted; /* the stack */
    size_t wants;
    size_t room;
};

/* False if memory is exhausted; tiers_end() is to be called in any case. */
bool tiers_begin(struct tiers *tiers);
/* Goes through at most `events` more events, in one direction. False if memory is exhausted. */
bool tiers_advance(struct tiers *tiers, size_t events);
void tiers_end(struct tiers *tiers);

#endif
