/* The heap map: how much of each stretch of addresses was live in each stretch of events.
 *
 * The plane of events and addresses is cut into cells of equal size. A block that stays where it is
 * covers a rectangle of the plane; a cell adds up what rectangles cover of it, in byte-events. */
#ifndef SIMALLOC_HEAP_MAP_H
#define SIMALLOC_HEAP_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* Cells, column by column; their sums are exact until they are made doubles. */
struct heap_map {
    int64_t first_event;
    uint64_t lowest_address;
    int64_t cell_events;
    uint64_t cell_bytes;
    size_t columns;
    size_t rows;
    double *live; /* byte-events covered, scaled */
    double *born; /* the same, each weighted by the event of its block's birth */
};

/* Fills a map with a replay; false if memory runs out or a slot is out of range. */
bool heap_map_fill(struct heap_map *map, const struct placements *placements);

#endif
