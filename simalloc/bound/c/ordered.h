/* Placing lives one after the other, in any order, each in a gap between those placed before. */
#ifndef SIMALLOC_ORDERED_H
#define SIMALLOC_ORDERED_H

#include "lives.h"

#include <stdbool.h>

/* A life may use the addresses that no life placed before it uses while both are live. Of the gaps
 * between those it takes the lowest that is large enough, or the smallest, of equals the lowest;
 * without one it goes above the highest of those lives. */
struct ordered {
    const struct lives *lives;
    const uint32_t *order; /* the lives, in the order in which they are placed */
    bool smallest;         /* takes the smallest gap, not the lowest */
    int64_t *address;      /* by life */
    size_t placed;
    uint32_t *by_address; /* the lives placed so far, ascending by address */
};

/* False if memory is exhausted; ordered_end() is to be called in any case. */
bool ordered_begin(struct ordered *ordered);
/* Places at most `count` more lives. */
void ordered_advance(struct ordered *ordered, size_t count);
void ordered_end(struct ordered *ordered);

#endif
