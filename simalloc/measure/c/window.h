/* The heap map of a window, from ranges of stays that contain all stays in the window. */
#ifndef SIMALLOC_WINDOW_H
#define SIMALLOC_WINDOW_H

#include "cells.h"

#include <stdbool.h>

/* A column for each part of a stay, and pairs of places: the first of a range, one past its last. */
struct stays {
    size_t count;
    const int64_t *address; /* scaled */
    const int64_t *size;    /* bytes requested */
    const int64_t *birth;
    const int64_t *since;
    const int64_t *until;
    const int64_t *ranges;
    size_t pairs;
    uint64_t scale;
};

/* Returns whether every range is within the stays. */
bool window_is_sound(const struct stays *stays);
/* Fills a map with the stays of the ranges, which are sound; false if memory runs out. */
bool window_fill(struct heap_map *map, const struct stays *stays);

#endif
