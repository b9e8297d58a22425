/* The heap map of a replay, from its events. */
#ifndef SIMALLOC_HEAP_MAP_H
#define SIMALLOC_HEAP_MAP_H

#include "cells.h"

#include <stdbool.h>

/* What a replay did, event by event. */
struct placements {
    size_t count;
    const uint8_t *op;
    const int64_t *size;    /* bytes requested */
    const uint32_t *slot;   /* below `slots` */
    const int64_t *address; /* scaled; -1 for a free */
    uint64_t slots;
    uint64_t scale;
};

/* Fills a map with a replay; false if memory runs out or a slot is out of range. */
bool heap_map_fill(struct heap_map *map, const struct placements *placements);

#endif
