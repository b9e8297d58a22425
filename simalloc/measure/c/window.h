/* Heap map of a window, from ranges of stays that contain all stays of the window. */
#ifndef SIMALLOC_WINDOW_H
#define SIMALLOC_WINDOW_H

#include "cells.h"

#include <stdbool.h>

/* Columns of the parts of stays, and ranges of stays. A range is two indexes: its first stay, and
 * one past its last stay. */
struct stays {
    size_t count;
    const int64_t *address; /* scaled bytes */
    const int64_t *size;    /* requested bytes */
    const int64_t *birth;
    const int64_t *since;
    const int64_t *until;
    const int64_t *ranges;
    size_t pairs;
    uint64_t scale;
};

/* Returns whether every range is within the stays. */
bool window_is_sound(const struct stays *stays);
/* Fills a map with the stays of all ranges. The ranges must be valid. Returns false if memory is
 * exhausted. */
bool window_fill(struct heap_map *map, const struct stays *stays);

#endif
