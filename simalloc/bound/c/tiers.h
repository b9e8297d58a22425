/* Placement of the lives of a trace tier by tier, each tier over the whole time. */
#ifndef SIMALLOC_TIERS_H
#define SIMALLOC_TIERS_H

#include "lives.h"
#include "spans.h"

/* Lives are placed in the order of their tiers and, within a tier, in the order of their births.
 * Each life takes the lowest addresses that no earlier life occupies during the same time.
 *
 * Each tier takes two passes. In the backward pass over the earlier tiers, the placement finds when
 * each address is wanted next. In the forward pass, the tier is placed. The forward pass needs the
 * results of the backward pass at the ends of lives in the opposite order, so they are on a
 * stack. */
struct tiers {
    const struct lives *lives;
    const uint32_t *tier; /* by life */
    uint32_t tiers;
    uint64_t limit;   /* height at which the placement is abandoned */
    uint64_t height;  /* highest address used so far */
    size_t done;      /* number of processed births and deaths */
    bool ended;       /* true if all lives are placed or the height is at the limit */
    int64_t *address; /* by life: its address */

    uint32_t current; /* tier that is being placed */
    bool forward;     /* true in the forward pass */
    size_t event;     /* number of processed events of the pass */
    size_t *order;    /* events of the placed tiers by time, then the events of each later tier */
    size_t *upto;     /* by tier: number of events of the tier and all earlier tiers */
    size_t *aside;    /* buffer for the events of one tier */
    struct spans spans;
    struct wanted *wanted; /* stack of pieces */
    size_t wants;
    size_t room;
};

/* Initialises the placement. Returns false if memory is exhausted. tiers_end() must be called in
 * any case. */
bool tiers_begin(struct tiers *tiers);
/* Processes at most `events` further events in one direction. Returns false if memory is
 * exhausted. */
bool tiers_advance(struct tiers *tiers, size_t events);
void tiers_end(struct tiers *tiers);

#endif
