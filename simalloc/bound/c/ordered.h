/* Placement of lives one after the other, in any order, each in a gap between lives placed
 * before. */
#ifndef SIMALLOC_ORDERED_H
#define SIMALLOC_ORDERED_H

#include "lives.h"

#include <stdbool.h>

/* A life must not overlap a life that was placed before it while both are live. Among the gaps
 * between such lives, it takes the lowest gap that is large enough or, if `smallest` is set, the
 * smallest such gap, the lowest among equals. Without such a gap, it is placed above the highest of
 * these lives. */
struct ordered {
    const struct lives *lives;
    const uint32_t *order; /* lives in the order of placement */
    bool smallest;         /* true to take the smallest gap instead of the lowest */
    int64_t *address;      /* by life */
    size_t placed;
    uint32_t *by_address; /* placed lives, ascending by address */
};

/* Initialises the placement. Returns false if memory is exhausted. ordered_end() must be called in
 * any case. */
bool ordered_begin(struct ordered *ordered);
/* Places at most `count` further lives. */
void ordered_advance(struct ordered *ordered, size_t count);
void ordered_end(struct ordered *ordered);

#endif
