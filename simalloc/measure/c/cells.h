/* The cells of a heap map: how much of each stretch of addresses was live in each of events.
 *
 * The plane of events and addresses is cut into cells of equal size. A block that stays where it is
 * covers a rectangle of the plane; a cell adds up what rectangles cover of it, in byte-events. */
#ifndef SIMALLOC_CELLS_H
#define SIMALLOC_CELLS_H

#include <stddef.h>
#include <stdint.h>

/* Cells, column by column; their sums are exact until they are made doubles. */
struct heap_map {
    int64_t first_event;
    int64_t last_event; /* one past the window's last, within the last column */
    uint64_t lowest_address;
    int64_t cell_events;
    uint64_t cell_bytes;
    size_t columns;
    size_t rows;
    double *live; /* byte-events covered, scaled */
    double *born; /* byte-events weighted by the event of the block's birth, scaled */
};

/* A block that stays at an address with a size. */
struct stay {
    uint64_t address;
    uint64_t size;
    int64_t birth; /* the event that put the object at this address */
    int64_t since; /* the event that gave the block this size */
    int64_t until;
};

struct sums;

/* Returns empty cells for a map, or NULL if memory runs out. */
struct sums *cells_new(const struct heap_map *map);
/* Covers the rectangle of a stay. */
void cells_cover(const struct heap_map *map, struct sums *cells, const struct stay *stay);
/* Hands the map the sums of its cells. */
void cells_add_up(const struct heap_map *map, struct sums *cells);

#endif
